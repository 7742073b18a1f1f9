/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which kernels of a run that is under way are one step of it.
 *
 * A candidate is a distance: the period of the tensors' uses at first, and
 * later, when a plan is followed and kernels come that it does not have, the
 * distance to the same kernel before: micro-batches are found first, then the
 * steps around them. It is believed where all kernels of two periods on end
 * are the same, down to what dies in them, so that an evaluation pass, which
 * begins like a step, is not taken for a part of one.
 */
#ifndef HZ_REPLAY_RECOGNISE_H
#define HZ_REPLAY_RECOGNISE_H

#include "policy/period.h"
#include "replay/sim.h"

struct recogniser {
	const struct run *run;
	struct hz_period period;
	void *period_mem;
	uint32_t *sign; /* by position: equal for equal uses */
	uint32_t *last; /* by two signs on end, hashed: position + 1 */
	uint32_t mask;
	uint32_t next_try; /* position, of a distance by one kernel */
};

void recognise_start(struct recogniser *r, const struct run *run);
void recognise_stop(struct recogniser *r);
/* Kernel `pos` is about to run; all before it are over. */
void recognise_add(struct recogniser *r, uint32_t pos);
/* The first step: positions [*a, *b). */
bool recognise(struct recogniser *r, uint32_t pos, uint32_t *a, uint32_t *b);
/* The kernel before `pos` was not expected: is there a step of `least` to
 * `most` kernels that ends with it? */
bool recognise_around(struct recogniser *r, uint32_t pos, uint32_t least,
		      uint32_t most, uint32_t *a, uint32_t *b);

/* What a kernel uses, as a number; with `deaths`: and what dies in it. */
uint32_t recognise_sign(const struct run *run, uint32_t pos, bool deaths);

#endif
