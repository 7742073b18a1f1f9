/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The trainer's loss and gradients against central differences of a loss in
 * double precision, with every set of inner loops this CPU can run.
 */
#include <math.h>
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "data.h"
#include "kernel.h"
#include "matmul.h"
#include "passes.h"
#include "reference.h"
#include "rng.h"

enum { SAMPLES = 24, THREADS = 2 };

static const char *const names[] = {
#define T(group_, name_, ...) #name_,
#include "tensors.def"
#undef T
};

struct check {
	struct model m;
	struct batch b;
	double **w; /* the weights, doubled */
	double worst;
};

static double **copy(const struct model *m)
{
	const struct list *l = &m->list[WEIGHT];
	double **w = calloc((unsigned)l->n, sizeof(*w));

	for (int i = 0; i < l->n; i++) {
		w[i] = calloc(l->t[i].len, sizeof(*w[i]));
		for (long j = 0; j < l->t[i].len; j++)
			w[i][j] = m->array[VALUE].at[i][j];
	}
	return w;
}

/* Away from the first values, where biases and gains would hide mistakes. */
static void stir(struct model *m)
{
	const struct list *l = &m->list[WEIGHT];

	model_fill(m, 1);
	for (int i = 0; i < l->n; i++)
		for (long j = 0; j < l->t[i].len; j++)
			m->array[VALUE].at[i][j] +=
			        0.2f * rng_normal(1000 + i, j);
}

static double slope(struct check *c, int i, long j)
{
	const double h = 1e-5;
	double keep = c->w[i][j], high, low;

	c->w[i][j] = keep + h;
	high = reference_loss(&c->m, c->w, &c->b);
	c->w[i][j] = keep - h;
	low = reference_loss(&c->m, c->w, &c->b);
	c->w[i][j] = keep;
	return (high - low) / (2 * h);
}

static double largest(const float *x, long n)
{
	double max = 0;

	for (long i = 0; i < n; i++)
		max = fmax(max, fabs(x[i]));
	return max;
}

/* Errors are told as parts of the tensor's largest gradient. */
static void check_tensor(struct check *c, int i)
{
	const struct tensor *t = &c->m.list[WEIGHT].t[i];
	const float *g = c->m.array[GRAD].at[i];
	double scale = largest(g, t->len) + 1e-6, worst = 0;

	for (int s = 0; s < SAMPLES; s++) {
		long j = rng_at(2000 + i, s) % t->len;

		worst = fmax(worst, fabs(slope(c, i, j) - g[j]) / scale);
	}
	if (!(worst < 1e-4))
		printf("%s of layer %d: error %.3g\n", names[t->id], t->layer,
		       worst);
	c->worst = worst > c->worst || isnan(worst) ? worst : c->worst;
}

/* Twice, so that adding to the gradient is checked as well. */
static void check_kernel(struct check *c)
{
	double loss, want = reference_loss(&c->m, c->w, &c->b);
	float scale = 0.5f / shape_rows(&c->m.shape);

	c->worst = 0;
	for (int i = 0; i < 2; i++) {
		loss = forward(&c->m, &c->b, scale);
		backward(&c->m, &c->b, i > 0);
	}
	c->worst = fabs(loss - want) / want;
	for (int i = 0; i < c->m.list[WEIGHT].n; i++)
		check_tensor(c, i);
	printf("%s: loss %.9g, %.9g in double, worst error %.3g\n",
	       kernel->name, loss, want, c->worst);
}

static int check_shape(const struct shape *s)
{
	static uint8_t bytes[4096];
	struct text text = {bytes, sizeof(bytes)};
	struct check c = {.worst = 0};
	int bad = 0;

	for (size_t i = 0; i < sizeof(bytes); i++)
		bytes[i] = rng_at(3000, i);
	if (model_layout(&c.m, s) || model_alloc(&c.m, true) ||
	    batch_open(&c.b, s))
		return 1;
	batch_draw(&c.b, s, &text, 1, 0);
	stir(&c.m);
	c.w = copy(&c.m);
	for (int k = 0; kernel_pick(k); k++) {
		check_kernel(&c);
		bad |= !(c.worst < 1e-4);
	}
	for (int i = 0; i < c.m.list[WEIGHT].n; i++)
		free(c.w[i]);
	free(c.w);
	batch_close(&c.b);
	model_close(&c.m);
	return bad;
}

int main(void)
{
	/* The second fits no tile, and is more than one block wide. */
	static const struct shape shapes[] = {
	        {.layers = 2, .hidden = 16, .heads = 2, .seq = 8, .batch = 2},
	        {.layers = 1, .hidden = 75, .heads = 3, .seq = 7, .batch = 1},
	};
	int bad = 0;

	omp_set_num_threads(THREADS);
	if (matmul_open(THREADS))
		return 1;
	for (size_t i = 0; i < sizeof(shapes) / sizeof(shapes[0]); i++)
		bad |= check_shape(&shapes[i]);
	matmul_close();
	return bad;
}
