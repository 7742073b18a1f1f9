/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A step as it was and as it is now: what is still there, and where. See
 * tensor_plan_again.c.
 */
#ifndef HZ_TENSOR_PLAN_SAME_H
#define HZ_TENSOR_PLAN_SAME_H

#include "policy/tensor_plan_int.h"

/* The two steps: where each kernel of the one that was is now, or, with
 * HZ_TP_GONE, what came then instead of it. */
struct hz_tp_same {
	const struct hz_step *was, *now;
	const struct hz_gap *gap; /* of `was` */
	uint32_t *kernel;
	uint32_t changed; /* kernels of either that have no match */
	/* By uses of `was`, and one more that is never reached; and the first
	 * one there, by use >> shift. */
	struct hz_tp_stretch *stretch;
	uint32_t *stretch_of;
	uint32_t stretches;
	unsigned shift;
	const uint32_t *prev; /* of `was` */
	uint64_t *other; /* a bit a tensor: a kernel with it has no match */
};

/* Kernels in a row that have a match: what their first use is, and what is to
 * be added to uses and kernels. Unsigned, it wraps. */
struct hz_tp_stretch {
	uint32_t first, uses, kernels;
};

#define HZ_TP_GONE (1u << 31)

/* For tp and the plan that was; `now` and `was` are set. What is kept of it
 * lies where the queue and the tensors' states will. False: they differ too
 * much. */
bool hz_tp_compare(struct hz_tp *tp, struct hz_tp_same *s,
		   const struct hz_tensor_plan *was);

/* Of a use that is still there. */
static inline const struct hz_tp_stretch *
hz_tp_stretch_of(const struct hz_tp_same *s, uint32_t use)
{
	const struct hz_tp_stretch *r =
		&s->stretch[s->stretch_of[use >> s->shift]];

	while (r[1].first <= use)
		r++;
	return r;
}

static inline bool hz_tp_is_other(const struct hz_tp_same *s, uint32_t t)
{
	return s->other[t / 64] >> (t % 64) & 1;
}

/* A use, in its kernel, of the step as it is now; HZ_NONE: it is gone. */
static inline uint32_t hz_tp_use_now(const struct hz_tp_same *s, uint32_t use,
				     uint32_t kernel)
{
	uint32_t now = s->kernel[kernel];

	if (now & HZ_TP_GONE)
		return HZ_NONE;
	return s->now->first[now] + use - s->was->first[kernel];
}

/* An absolute kernel. */
static inline uint32_t hz_tp_kernel_now(const struct hz_tp_same *s,
					uint32_t kernel)
{
	uint32_t m = s->was->kernels;

	if (kernel >= m)
		return (s->kernel[kernel - m] & ~HZ_TP_GONE) + s->now->kernels;
	return s->kernel[kernel] & ~HZ_TP_GONE;
}

#endif
