/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which blocks a confirmed run will need next.
 *
 * The number asked for doubles with each step of the run up to the limit, and
 * then keeps that distance: each used block asks for one more. Blocks that
 * the caller has already are stepped over, so that a run through memory that
 * is resident in part still finds what is missing. Pure.
 */
#ifndef HZ_PREDICT_H
#define HZ_PREDICT_H

#include "policy/learn.h"

/* Blocks that one call may step over. */
#define HZ_PREDICT_SCAN 256

struct hz_predict_where {
	uint32_t blocks; /* the region's end */
	/* Is it worth asking for this block? */
	bool (*missing)(void *arg, uint32_t block);
	void *arg;
};

/* Up to `max` blocks, nearest first, that are missing, lie ahead of `run` and
 * were not requested in it; `limit` bounds the blocks outstanding. */
unsigned hz_predict_run(const struct hz_run *run, unsigned limit,
                        const struct hz_predict_where *where, uint32_t *out,
                        unsigned max);

/* `block` of this run was requested; `block` was used after it was. */
void hz_predict_requested(struct hz_run *run, uint32_t block);
void hz_predict_used(struct hz_run *run);

#endif
