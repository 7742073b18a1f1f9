/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Budget arithmetic.
 */
#include "policy/tier.h"

#define HEADROOM_LEAST   ((uint64_t)64 << 20)
#define HEADROOM_PERCENT 3
#define FREE_LEAST       2u

void hz_tier_add(struct hz_tier *tier, uint64_t bytes)
{
	tier->resident += bytes;
	tier->peak = hz_max(tier->peak, tier->resident);
}

void hz_tier_sub(struct hz_tier *tier, uint64_t bytes)
{
	tier->resident -= hz_min(tier->resident, bytes);
}

static uint64_t less(uint64_t a, uint64_t b)
{
	return a > b ? a - b : 0;
}

uint64_t hz_tier_room(const struct hz_tier *tier)
{
	return less(tier->capacity, tier->resident);
}

uint64_t hz_tier_headroom(uint64_t limit)
{
	/* Divided first: the limit may be as large as the type. */
	return hz_max(limit / 100 * HEADROOM_PERCENT, HEADROOM_LEAST);
}

uint64_t hz_tier_budget(uint64_t ram, uint64_t limit, uint64_t others,
                        uint64_t headroom)
{
	return hz_min(ram, less(less(limit, others), headroom));
}

uint32_t hz_tier_free_target(uint32_t capacity, uint32_t read_ahead,
                             uint32_t io_depth, uint32_t knob)
{
	uint64_t want = (uint64_t)read_ahead + io_depth;
	uint64_t most = capacity / 8;

	if (knob) {
		want = knob;
		most = capacity / 2;
	}
	want = hz_min(want, most);
	return (uint32_t)hz_max(want, (uint64_t)FREE_LEAST);
}
