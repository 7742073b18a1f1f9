/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Gradient norm and AdamW, each one launch a tensor.
 */
#include "gpu.h"

/* A block a part. */
KERNEL(norm_square)(double *part, const float *x, long long len)
{
	double sum = 0;

	for (long long i = flat_first(); i < len; i += flat_step())
		sum += (double)x[i] * x[i];
	sum = block_sum(sum);
	if (threadIdx.x == 0)
		part[blockIdx.x] = sum;
}

/* One block. */
KERNEL(norm_finish)(step_out *out, const step_in *in, const double *part,
		    int parts)
{
	double sum = 0, norm;

	for (int i = threadIdx.x; i < parts; i += blockDim.x)
		sum += part[i];
	norm = sqrt(block_sum(sum)) * in->unscale;
	if (threadIdx.x)
		return;
	out->norm = norm;
	out->scale = (in->clip > 0 && norm > in->clip ? in->clip / norm : 1) *
		     in->unscale;
}

/* narrow: a copy of p, or NULL. Nothing where the norm is not finite. */
KERNEL(adamw)(float *p, bf16 *narrow, const float *g, float *m, float *v,
	      long long len, float decay, const step_in *in,
	      const step_out *out)
{
	const float b1 = 0.9f, b2 = 0.95f, scale = out->scale;
	const float keep = 1 - in->rate * decay, rate = in->rate * in->fix1;
	const float fix2 = in->fix2;

	if (!(out->norm < INFINITY))
		return;
	for (long long i = flat_first(); i < len; i += flat_step()) {
		float d = g[i] * scale;
		float a = m[i] * b1 + (1 - b1) * d;
		float b = v[i] * b2 + (1 - b2) * d * d;
		float q = p[i] * keep - rate * a / (sqrtf(b * fix2) + 1e-8f);

		m[i] = a;
		v[i] = b;
		p[i] = q;
		if (narrow)
			put(narrow + i, q);
	}
}
