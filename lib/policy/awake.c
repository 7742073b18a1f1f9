/* SPDX-License-Identifier: Apache-2.0 */
/*
 * See awake.h.
 */
#include "policy/awake.h"

#include "base/util.h"

/* Two thousand a second: waking takes a tenth of the time. */
#define GAP_OFTEN 500000u
/* A pause is no worse than this, or the end of one would be noticed late. */
#define GAP_MOST 8000000u
/* The average is of about so many. */
#define FAULTS 16u

bool hz_awake_often(struct hz_awake_rate *r, uint64_t now)
{
	uint64_t gap =
		r->last ? hz_min(now - r->last, (uint64_t)GAP_MOST) : GAP_MOST;
	uint64_t before = r->last ? r->gap : GAP_MOST;

	r->last = now;
	r->gap = ((FAULTS - 1) * before + gap) / FAULTS;
	return r->gap < GAP_OFTEN;
}
