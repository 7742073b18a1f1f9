/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bf16 on the host: conversions against arithmetic, and products against
 * double precision; every set of inner loops that this CPU can run has to
 * make the same bits, also of numbers that are not normal, and to leave the
 * thread's treatment of those as it was.
 */
#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kernel.h"
#include "rng.h"

enum { MARGIN = 16 };

static int failures;

static void fail(const char *what, long i)
{
	printf("FAIL: %s: %s, at %ld\n", kernel->name, what, i);
	failures++;
}

/* The neighbours of x in bf16, and which is nearer; the even one of two. */
static bf16 nearest(float x)
{
	uint32_t bits;
	bf16 low, high;
	double down, up;

	memcpy(&bits, &x, sizeof(bits));
	low = bits >> 16;
	high = low + 1;
	down = fabs((double)x - bf16_widen(low));
	up = isinf(bf16_widen(high)) ? ldexp(1, 128) - fabs(x)
	                             : fabs((double)x - bf16_widen(high));
	return down < up || (down == up && low % 2 == 0) ? low : high;
}

static void check_round(float *x, bf16 *y, long n)
{
	kernel->narrow(y, x, n);
	for (long i = 0; i < n; i++)
		if (isnan(x[i]) ? !isnan(bf16_widen(y[i]))
		    : isinf(x[i]) ? bf16_widen(y[i]) != x[i]
		                  : y[i] != nearest(x[i]))
			fail("rounds wrong", i);
	kernel->widen(x, y, n);
	for (long i = 0; i < n; i++)
		if (!isnan(x[i]) && x[i] != bf16_widen(y[i]))
			fail("widens wrong", i);
}

/* All kinds: any bits, ties, the largest, infinite, none. */
static void check_conversions(void)
{
	enum { N = 4099 };
	static float x[N];
	static bf16 y[N];

	for (int i = 0; i < N; i++) {
		uint32_t bits = rng_at(1, i);

		if (i % 3 == 0)
			bits = (bits & 0xffff0000) | 0x8000;
		memcpy(&x[i], &bits, sizeof(bits));
	}
	x[0] = FLT_MAX;
	x[1] = -INFINITY;
	x[2] = NAN;
	x[4] = FLT_MIN / 3;
	x[5] = -0.0f;
	check_round(x, y, N);
}

struct product {
	struct gemm g;
	bf16 *a, *b, *bias, *plus;
	void *c, *first; /* first: what the first set made of c */
	size_t bytes;
};

/* Some are tiny, so that products and sums of them are not normal. */
static bf16 value(uint64_t stream, long i, bool tiny)
{
	float x = rng_normal(stream, i);

	if (i % 7 == 3)
		x *= 0x1p-130f;
	else if (tiny)
		x *= 0x1p-63f;
	return bf16_round(x);
}

static bf16 *values(uint64_t stream, long n, bool tiny)
{
	bf16 *x = malloc(n * sizeof(*x));

	for (long i = 0; i < n; i++)
		x[i] = value(stream, i, tiny);
	return x;
}

static void open_product(struct product *p, bool tiny)
{
	struct gemm *g = &p->g;

	p->a = values(2, (long)g->m * g->k, tiny);
	p->b = values(3, (long)g->k * g->n, tiny);
	p->bias = values(4, g->n, tiny);
	p->plus = values(5, g->m * g->ldc, tiny);
	p->bytes = g->m * g->ldc * (g->full ? sizeof(float) : sizeof(bf16));
	p->c = malloc(p->bytes);
	p->first = malloc(p->bytes);
	g->a = p->a;
	g->b = p->b;
	g->c = p->c;
	g->bias = g->add ? NULL : p->bias;
	g->plus = g->full ? NULL : p->plus;
}

static void close_product(struct product *p)
{
	free(p->a);
	free(p->b);
	free(p->bias);
	free(p->plus);
	free(p->c);
	free(p->first);
}

/* size: of all that is added up, to measure errors by. */
static double wanted(const struct product *p, int i, int j, double *size)
{
	const struct gemm *g = &p->g;
	double sum = g->add ? 1 : 0, bias, plus;

	*size = g->add;
	for (int k = 0; k < g->k; k++) {
		double t = (double)bf16_widen(
		                   p->a[i * g->a_row + k * g->a_col]) *
		           bf16_widen(p->b[k * g->b_row + j * g->b_col]);

		sum += t;
		*size += fabs(t);
	}
	bias = g->bias ? bf16_widen(p->bias[j]) : 0;
	plus = g->plus ? bf16_widen(p->plus[i * g->ldc + j]) : 0;
	*size += fabs(bias) + fabs(plus);
	return sum + bias + plus;
}

static double made(const struct product *p, long at)
{
	return p->g.full ? ((const float *)p->c)[at]
	                 : bf16_widen(((const bf16 *)p->c)[at]);
}

/* Beyond the columns of C nothing may be written. */
static void compare(const struct product *p)
{
	const struct gemm *g = &p->g;

	for (int i = 0; i < g->m; i++) {
		for (int j = 0; j < g->n; j++) {
			double size, want = wanted(p, i, j, &size);
			double error = fabs(made(p, i * g->ldc + j) - want);

			if (!(error <= g->k * FLT_MIN + 2e-6 * size +
			               (g->full ? 0 : fabs(want) / 256)))
				fail("wrong product", i * g->ldc + j);
		}
		for (int j = g->n; j < g->ldc; j++)
			if (made(p, i * g->ldc + j) != 1)
				fail("writes beyond its columns", i);
	}
}

/* On the CPUs that have sets to choose from, a sum is normal or zero. */
static void check_normal(const struct product *p)
{
#ifdef __x86_64__
	for (long i = 0; p->g.full && i < p->g.m * p->g.ldc; i++)
		if (made(p, i) != 0 && fabs(made(p, i)) < FLT_MIN)
			fail("a sum that is not normal", i);
#endif
}

/* In two parts, as two threads would; C holds ones before. */
static void run(struct product *p, float *scratch)
{
	int half = p->g.m / 2 / kernel->tile_rows * kernel->tile_rows;
	struct rect top = {0, half, 0, p->g.n};
	struct rect rest = {half, p->g.m, 0, p->g.n};
	volatile float small = FLT_MIN;

	for (long i = 0; i < p->g.m * p->g.ldc; i++)
		if (p->g.full)
			((float *)p->c)[i] = 1;
		else
			((bf16 *)p->c)[i] = bf16_round(1);
	kernel->gemm_narrow(&p->g, &top, scratch);
	kernel->gemm_narrow(&p->g, &rest, scratch);
	if (small / 2 == 0)
		fail("small numbers are zero from now on", 0);
}

/* A base set without fused operations rounds a product that is not normal
 * before it adds it. */
static bool is_exact(bool tiny)
{
	return !tiny || kernel != &kernel_base;
}

static void check_product(struct gemm g, bool tiny, float *scratch)
{
	struct product p = {.g = g};

	open_product(&p, tiny);
	for (int k = 0; kernel_pick(k); k++) {
		run(&p, scratch);
		if (tiny)
			check_normal(&p);
		else
			compare(&p);
		if (k == 0)
			memcpy(p.first, p.c, p.bytes);
		else if (is_exact(tiny) && memcmp(p.first, p.c, p.bytes))
			fail("other bits than the best set", g.k);
	}
	close_product(&p);
}

/* y = x w^T, dx = dy w, dw = dy^T x, as matmul.c asks for them. */
static void check_shape(int m, int n, int k, bool tiny, float *scratch)
{
	const struct gemm base = {.m = m, .n = n, .k = k, .ldc = n + MARGIN};
	struct gemm forward = base, input = base, weight = base;

	forward.a_row = input.a_row = k;
	forward.a_col = input.a_col = 1;
	forward.b_row = 1;
	forward.b_col = k;
	input.b_row = weight.b_row = n;
	input.b_col = weight.b_col = 1;
	weight.a_row = 1;
	weight.a_col = m;
	weight.full = true;
	check_product(forward, tiny, scratch);
	check_product(input, tiny, scratch);
	check_product(weight, tiny, scratch);
	weight.add = true;
	check_product(weight, tiny, scratch);
}

int main(void)
{
	float *scratch = malloc(GEMM_NARROW_SCRATCH * sizeof(*scratch));

	for (int k = 0; kernel_pick(k); k++)
		check_conversions();
	/* More than a block each way; less than a tile; odd and even terms. */
	check_shape(301, 270, 33, false, scratch);
	check_shape(13, 19, 519, false, scratch);
	check_shape(24, 32, 256, false, scratch);
	check_shape(5, 3, 1, false, scratch);
	check_shape(29, 37, 70, true, scratch);
	free(scratch);
	for (int k = 0; kernel_pick(k); k++)
		printf("%s ", kernel->name);
	printf("agree: %d failures\n", failures);
	return failures > 0;
}
