/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Element by element: the activation function, and conversions.
 */
#include "gpu.h"

/* With u = sqrt(2/pi) (x + 0.044715 x^3), (1 + tanh u) / 2 is the logistic
 * function of 2u: one exponential, and nothing cancels. */
static __device__ __forceinline__ float gate(float x)
{
	float u = x * (0.0713548162726f * (x * x) + 1.59576912161f);

	return 1 / (1 + expf(-u));
}

static __device__ __forceinline__ float gelu_slope(float x)
{
	float g = gate(x);

	return g + x * g * (1 - g) *
			   (3 * 0.0713548162726f * (x * x) + 1.59576912161f);
}

#define ROWS(suffix_, t_)                                                  \
	KERNEL(gelu_##suffix_)(t_ * y, const t_ *x, long long len)         \
	{                                                                  \
		for (long long i = flat_first(); i < len; i += flat_step()) \
			put(y + i, get(x + i) * gate(get(x + i)));         \
	}                                                                  \
	KERNEL(gelu_back_##suffix_)(t_ * dy, const t_ *x, long long len)   \
	{                                                                  \
		for (long long i = flat_first(); i < len; i += flat_step()) \
			put(dy + i, get(dy + i) * gelu_slope(get(x + i))); \
	}

ROWS(f32, float)
ROWS(bf16, bf16)

KERNEL(narrow)(bf16 *y, const float *x, long long len)
{
	for (long long i = flat_first(); i < len; i += flat_step())
		put(y + i, x[i]);
}
