/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The part of attention that is not a product: each row of scores becomes
 * weights, and the other way their gradients. A row is one query of one head;
 * what lies beyond its own place becomes zero, so that products may take
 * whole rows.
 */
#include "gpu.h"

template <typename T>
static __device__ void weigh(T *p, int t, int seq)
{
	float top = -INFINITY, sum = 0;

	for (int j = lane(); j <= t; j += WARP)
		top = fmaxf(top, get(p + j));
	top = warp_max(top);
	for (int j = lane(); j <= t; j += WARP)
		sum += expf(get(p + j) - top);
	sum = warp_sum(sum);
	for (int j = lane(); j < seq; j += WARP)
		put(p + j, j <= t ? expf(get(p + j) - top) / sum : 0);
}

/* dp: in, the gradient of the weights; out, that of the scores. */
template <typename T>
static __device__ void unweigh(T *dp, const T *p, int t, int seq, float scale)
{
	float mean = 0;

	for (int j = lane(); j <= t; j += WARP)
		mean += get(p + j) * get(dp + j);
	mean = warp_sum(mean);
	for (int j = lane(); j < seq; j += WARP)
		put(dp + j, j <= t ? get(p + j) * (get(dp + j) - mean) * scale
				   : 0);
}

#define ATTENTION(suffix_, t_)                                             \
	KERNEL(weigh_##suffix_)(t_ * p, long long queries, int seq)        \
	{                                                                  \
		long long r = warp_row();                                  \
                                                                           \
		if (r < queries)                                           \
			weigh(p + r * seq, r % seq, seq);                  \
	}                                                                  \
	KERNEL(unweigh_##suffix_)(t_ * dp, const t_ *p, long long queries, \
				  int seq, float scale)                    \
	{                                                                  \
		long long r = warp_row();                                  \
                                                                           \
		if (r < queries)                                           \
			unweigh(dp + r * seq, p + r * seq, r % seq, seq,   \
				scale);                                    \
	}

ATTENTION(f32, float)
ATTENTION(bf16, bf16)
