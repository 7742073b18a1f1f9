/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Gradient norm and AdamW.
 */
#include "adamw.h"

#include <math.h>
#include "kernel.h"

/* A tensor is cut into SLOTS runs whatever the number of threads, and a run
 * into chunks, so that every sum is made in the same order. */
enum { SLOTS = 64, CHUNK = 4096 };

static long cut(long len, int slot)
{
	return len / SLOTS * slot + len % SLOTS * slot / SLOTS;
}

/* Where a sum in float is too large. */
static double wide_square(const float *x, long n)
{
	double sum = 0;

	for (long i = 0; i < n; i++)
		sum += (double)x[i] * x[i];
	return sum;
}

static double run_square(const float *x, long from, long to)
{
	double sum = 0;

	for (long i = from; i < to; i += CHUNK) {
		long n = to - i < CHUNK ? to - i : CHUNK;
		float part = kernel->dot(x + i, x + i, n);

		sum += isfinite(part) ? part : wide_square(x + i, n);
	}
	return sum;
}

double square_sum(const float *x, long len)
{
	double part[SLOTS], sum = 0;

#pragma omp parallel for schedule(static)
	for (int s = 0; s < SLOTS; s++)
		part[s] = run_square(x, cut(len, s), cut(len, s + 1));
	for (int s = 0; s < SLOTS; s++)
		sum += part[s];
	return sum;
}

double adamw_square(const struct model *m)
{
	const struct list *l = &m->list[WEIGHT];
	double sum = 0;

	for (int i = 0; i < l->n; i++)
		sum += square_sum(m->array[GRAD].at[i], l->t[i].len);
	return sum;
}

static void tensor_step(struct model *m, int i, const struct adamw *o)
{
	long len = m->list[WEIGHT].t[i].len;
	float *p = m->array[model_exact(m)].at[i], *g = m->array[GRAD].at[i];
	float *m1 = m->array[MOMENT1].at[i], *m2 = m->array[MOMENT2].at[i];
	bf16 *half = m->shape.narrow ? m->array[VALUE].at[i] : NULL;

#pragma omp parallel for schedule(static)
	for (int s = 0; s < SLOTS; s++) {
		long from = cut(len, s), n = cut(len, s + 1) - from;

		kernel->adamw(o, p + from, g + from, m1 + from, m2 + from, n);
		if (half)
			kernel->narrow(half + from, p + from, n);
	}
}

void adamw_apply(struct model *m, const struct schedule *s, long step,
                 double norm)
{
	struct adamw o = {
	        .rate = s->rate,
	        .beta1 = 0.9f,
	        .beta2 = 0.95f,
	        .eps = 1e-8f,
	        .fix1 = 1 / (1 - pow(0.9, step)),
	        .fix2 = 1 / (1 - pow(0.95, step)),
	        .scale = schedule_scale(s, norm),
	};

	for (int i = 0; i < m->list[WEIGHT].n; i++) {
		o.decay = m->list[WEIGHT].t[i].flags & DECAY ? 0.1f : 0;
		tensor_step(m, i, &o);
	}
}
