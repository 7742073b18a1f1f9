/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Softmax cross entropy with its gradient, a warp a row.
 */
#include "gpu.h"

template <typename T>
static __device__ void loss_row(float *loss, T *d, const float *logits,
				int want, int vocab, float scale)
{
	float top = -INFINITY, sum = 0;

	for (int c = lane(); c < vocab; c += WARP)
		top = fmaxf(top, logits[c]);
	top = warp_max(top);
	for (int c = lane(); c < vocab; c += WARP)
		sum += expf(logits[c] - top);
	sum = warp_sum(sum);
	for (int c = lane(); c < vocab; c += WARP)
		put(d + c, expf(logits[c] - top) * (scale / sum) -
				   (c == want ? scale : 0));
	if (lane() == 0)
		*loss = logf(sum) + top - logits[want];
}

#define LOSS(suffix_, t_)                                                 \
	KERNEL(loss_##suffix_)(float *loss, t_ *d, const float *logits,   \
			       const byte *want, int rows, int vocab,     \
			       float scale)                               \
	{                                                                 \
		long long r = warp_row();                                 \
                                                                          \
		if (r < rows)                                             \
			loss_row(loss + r, d + r * vocab,                 \
				 logits + r * vocab, want[r], vocab,      \
				 scale);                                  \
	}

LOSS(f32, float)
LOSS(bf16, bf16)

/* One block. The first micro-batch sets, later ones add. */
KERNEL(loss_mean)(step_out *out, const float *loss, int rows, int add)
{
	double sum = 0;

	for (int r = threadIdx.x; r < rows; r += blockDim.x)
		sum += loss[r];
	sum = block_sum(sum) / rows;
	if (threadIdx.x == 0)
		out->loss = add ? out->loss + sum : sum;
}
