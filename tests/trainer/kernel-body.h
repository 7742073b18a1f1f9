/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Body of kernel-*.c: everything but the instruction set.
 */
#include "simd.h"
#include "kernel-gemm.h"
#include "kernel-narrow.h"

static float sum(const float *x, long n)
{
	vec s = {0};

	for (long i = 0; i < n; i += LANES)
		s += vload_n(x + i, n - i);
	return vsum(s);
}

static float dot(const float *x, const float *y, long n)
{
	vec s = {0}, t = {0};
	long i = 0;

	for (; i + 2 * LANES <= n; i += 2 * LANES) {
		s = vfma(vload(x + i), vload(y + i), s);
		t = vfma(vload(x + i + LANES), vload(y + i + LANES), t);
	}
	for (; i < n; i += LANES)
		s = vfma(vload_n(x + i, n - i), vload_n(y + i, n - i), s);
	return vsum(s + t);
}

static void axpy(float *y, float a, const float *x, long n)
{
	vec all = vall(a);

	for (long i = 0; i < n; i += LANES) {
		vec z = vload_n(y + i, n - i);

		z = vfma(all, vload_n(x + i, n - i), z);
		vstore_n(y + i, z, n - i);
	}
}

static float softmax(float *x, float max, long n)
{
	for (long i = 0; i < n; i += LANES) {
		vec z = vload_n(x + i, n - i);

		vstore_n(x + i, vexp(z - vall(max)), n - i);
	}
	return sum(x, n);
}

/* With u = sqrt(2/pi) (x + 0.044715 x^3), (1 + tanh u) / 2 is the logistic
 * function of 2u: one exponential, and nothing cancels. */
static inline vec gate(vec x)
{
	vec u = x * vfma(vall(0.0713548162726f), x * x, vall(1.59576912161f));

	return vall(1.0f) / (vall(1.0f) + vexp(-u));
}

static void gelu(float *y, const float *x, long n)
{
	for (long i = 0; i < n; i += LANES) {
		vec z = vload_n(x + i, n - i);

		vstore_n(y + i, z * gate(z), n - i);
	}
}

static void gelu_back(float *dy, const float *x, long n)
{
	const vec one = vall(1.0f);

	for (long i = 0; i < n; i += LANES) {
		vec z = vload_n(x + i, n - i), d = vload_n(dy + i, n - i);
		vec g = gate(z);
		vec slope = vfma(vall(3 * 0.0713548162726f), z * z,
		                 vall(1.59576912161f));

		slope = g + z * g * (one - g) * slope;
		vstore_n(dy + i, d * slope, n - i);
	}
}

static void adamw(const struct adamw *o, float *p, const float *g, float *m,
                  float *v, long n)
{
	const vec b1 = vall(o->beta1), b2 = vall(o->beta2);
	const vec one = vall(1.0f), eps = vall(o->eps);
	const vec keep = vall(1.0f - o->rate * o->decay);
	const vec rate = vall(o->rate * o->fix1), fix2 = vall(o->fix2);

	for (long i = 0; i < n; i += LANES) {
		long w = n - i;
		vec d = vload_n(g + i, w) * vall(o->scale);
		vec a = vload_n(m + i, w) * b1 + (one - b1) * d;
		vec b = vload_n(v + i, w) * b2 + (one - b2) * d * d;
		vec q = vload_n(p + i, w) * keep;

		q -= rate * a / (vsqrt(b * fix2) + eps);
		vstore_n(m + i, a, w);
		vstore_n(v + i, b, w);
		vstore_n(p + i, q, w);
	}
}

SIMD_END

const struct kernel KERNEL = {
        .name = NAME,
        .tile_rows = TILE_ROWS,
        .tile_cols = TILE_COLS,
        .gemm = gemm,
        .gemm_narrow = gemm_narrow,
        .widen = widen,
        .narrow = narrow,
        .sum = sum,
        .dot = dot,
        .axpy = axpy,
        .softmax = softmax,
        .gelu = gelu,
        .gelu_back = gelu_back,
        .adamw = adamw,
};
