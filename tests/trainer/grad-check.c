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

#include "bf16.h"
#include "data.h"
#include "hash.h"
#include "kernel.h"
#include "passes.h"
#include "reference.h"
#include "rng.h"
#include "scratch.h"

enum { SAMPLES = 24, THREADS = 2 };

/* Two micro-batches: the same twice, but where there is a table, for the rows
 * of one are not those of the other. */
struct check {
	struct model m;
	struct batch b[2];
	struct hash h;
	double **w; /* the weights in use and the table, doubled */
	double worst;
};

static double *copy_tensor(const void *from, bool half, long len)
{
	double *w = calloc(len, sizeof(*w));

	for (long j = 0; j < len; j++)
		w[j] = half ? bf16_widen(((const bf16 *)from)[j])
		            : ((const float *)from)[j];
	return w;
}

static double **copy(const struct model *m)
{
	const struct list *l = &m->list[WEIGHT];
	double **w = calloc(l->n + 1u, sizeof(*w));

	for (int i = 0; i < l->n; i++)
		w[i] = copy_tensor(m->array[VALUE].at[i], m->shape.narrow,
		                   l->t[i].len);
	if (m->shape.buckets)
		w[l->n] = copy_tensor(model_at(m, TABLE, T_GRAMS, 0), false,
		                      m->list[HASHED].len);
	return w;
}

/* Away from the first values, where biases and gains would hide mistakes. */
static void stir(struct model *m)
{
	const struct list *l = &m->list[WEIGHT];

	model_fill(m, 1);
	for (int i = 0; i < l->n; i++) {
		float *w = m->array[model_exact(m)].at[i];

		for (long j = 0; j < l->t[i].len; j++)
			w[j] += 0.2f * rng_normal(1000 + i, j);
	}
	model_narrow(m);
}

static double wanted(const struct check *c)
{
	double loss = reference_loss(&c->m, c->w, &c->b[0]);

	return c->b[1].grams
	               ? (loss + reference_loss(&c->m, c->w, &c->b[1])) / 2
	               : loss;
}

static double slope(struct check *c, int i, long j)
{
	const double h = 1e-5;
	double keep = c->w[i][j], high, low;

	c->w[i][j] = keep + h;
	high = wanted(c);
	c->w[i][j] = keep - h;
	low = wanted(c);
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

/* In bf16 activations have eight bits, and gradients add up their errors. */
static double allowed(const struct check *c)
{
	return c->m.shape.narrow ? 0.05 : 1e-4;
}

/* Gradients of the i-th array of weights, g, of which the first is at from.
 * Errors are told as parts of the largest gradient. */
static void compare(struct check *c, const char *name, int layer, int i,
                    const float *g, long len, long from)
{
	double scale = largest(g, len) + 1e-6, worst = 0;

	for (int s = 0; s < SAMPLES; s++) {
		long j = rng_at(2000 + i, s) % len;

		worst = fmax(worst, fabs(slope(c, i, from + j) - g[j]) / scale);
	}
	if (!(worst < allowed(c)))
		printf("%s of layer %d: error %.3g\n", name, layer, worst);
	c->worst = worst > c->worst || isnan(worst) ? worst : c->worst;
}

static void check_tensor(struct check *c, int i)
{
	const struct tensor *t = &c->m.list[WEIGHT].t[i];

	compare(c, model_name(t->id), t->layer, i, c->m.array[GRAD].at[i],
	        t->len, 0);
}

/* Every row that the batch uses. */
static void check_table(struct check *c)
{
	int width = c->m.shape.hidden, i = c->m.list[WEIGHT].n;

	if (!c->h.rows)
		printf("no row of the table is used\n");
	c->worst = c->h.rows ? c->worst : INFINITY;
	for (long r = 0; r < c->h.rows; r++)
		compare(c, "row of the table", 0, i, c->h.grad + r * width,
		        width, c->h.use[c->h.first[r]].row * width);
}

static int find_rows(struct check *c)
{
	int err = 0;

	hash_begin(&c->h, &c->m);
	for (int i = 0; i < 2 && !err; i++)
		err = hash_draw(&c->h, &c->b[i], i);
	return err ? err : hash_sort(&c->h, &c->m);
}

/* Twice, so that adding to the gradient is checked as well. */
static double run(struct check *c)
{
	float scale = 0.5f / shape_rows(&c->m.shape);
	double loss = 0;

	if (c->b[0].grams && find_rows(c))
		return NAN;
	for (int i = 0; i < 2; i++) {
		loss += forward(&c->m, &c->b[i], scale) / 2;
		backward(&c->m, &c->b[i], i > 0);
		if (c->b[i].grams)
			hash_back(&c->h, &c->m, i);
	}
	return loss;
}

static void check_kernel(struct check *c)
{
	double want = wanted(c), loss = run(c);

	c->worst = fabs(loss - want) / want;
	for (int i = 0; i < c->m.list[WEIGHT].n; i++)
		check_tensor(c, i);
	if (c->b[0].grams)
		check_table(c);
	printf("%s, %s: loss %.9g, %.9g in double, worst error %.3g\n",
	       kernel->name, c->m.shape.narrow ? "bf16" : "f32", loss, want,
	       c->worst);
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
	    scratch_open(THREADS, s))
		return 1;
	for (int i = 0; i < 2; i++) {
		if (batch_open(&c.b[i], s))
			return 1;
		batch_draw(&c.b[i], s, &text, 1, s->buckets ? i : 0);
		if (c.b[i].grams)
			hash_grams(&c.m, &c.b[i]);
	}
	stir(&c.m);
	c.w = copy(&c.m);
	for (int k = 0; kernel_pick(k); k++) {
		check_kernel(&c);
		bad |= !(c.worst < allowed(&c));
	}
	for (int i = 0; i <= c.m.list[WEIGHT].n; i++)
		free(c.w[i]);
	free(c.w);
	hash_close(&c.h);
	scratch_close();
	batch_close(&c.b[0]);
	batch_close(&c.b[1]);
	model_close(&c.m);
	return bad;
}

int main(void)
{
	/* The second fits no tile, and is more than one block wide. In a small
	 * table several n-grams share a row. */
	static const struct shape shapes[] = {
	        {.layers = 2, .hidden = 16, .heads = 2, .seq = 8, .batch = 2},
	        {.layers = 1, .hidden = 75, .heads = 3, .seq = 7, .batch = 1},
	        {.layers = 1, .hidden = 16, .heads = 2, .seq = 7, .batch = 2,
	         .buckets = 8},
	        {.layers = 2, .hidden = 24, .heads = 2, .seq = 8, .batch = 2,
	         .narrow = true},
	        {.layers = 1, .hidden = 21, .heads = 3, .seq = 7, .batch = 1,
	         .narrow = true, .buckets = 8},
	};
	int bad = 0;

	omp_set_num_threads(THREADS);
	for (size_t i = 0; i < sizeof(shapes) / sizeof(shapes[0]); i++)
		bad |= check_shape(&shapes[i]);
	return bad;
}
