/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What no policy can beat: bytes over the link, and time.
 */
#ifndef HZ_REPLAY_BOUND_H
#define HZ_REPLAY_BOUND_H

#include "replay/sim.h"

enum bound_kind { BOUND_CLOSED, BOUND_LP };

struct bound {
	struct hz_step_bound step;
	uint64_t bytes; /* both directions, a step */
	enum bound_kind kind;
};

void bound_find(struct bound *b, const struct hz_step *step,
		const struct profile *profile);

/* The linear programme's bytes, in both directions, where tensors may be
 * split at will; false: it was not solved (not built in, too large). `gap`
 * has the gaps of a plan of `step`. */
bool bound_lp(const struct hz_step *step, const struct hz_gap *gap,
	      uint64_t fast, double *bytes);
extern const bool bound_lp_built;

#endif
