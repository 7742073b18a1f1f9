/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Budget arithmetic.
 */
#include "policy/tier.h"

/* The budget is looked at twenty times a second, and a thread that touches new
 * memory takes a GiB or more a second. */
#define HEADROOM_LEAST   ((uint64_t)64 << 20)
#define HEADROOM_PERCENT 3
/* Of the headroom, what nothing of ours is in: small allocations find memory
 * without the kernel looking for some. */
#define HEADROOM_EMPTY	 ((uint64_t)8 << 20)
#define FREE_LEAST       2u

/* Frames that eviction keeps free while a schedule is followed: it knows when
 * room is needed, and the rest holds blocks. In a simulation of a recorded
 * training step at 25 to 90 % of its memory, 8 instead of 24 to 32 save 7 to
 * 25 % of the reads and up to 3 % of the time. Measured at 75 and 90 %, 6 and 4
 * instead of 8 save 4 and 6 % of the reads in the same time, but with 4 half of
 * the reads begin too late, and with 2 all of them. */
#define FOLLOW_FREE 6u

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

/* More would need tables that are large themselves. */
#define PACKED_MOST  ((uint64_t)1 << 30)
#define PACKED_SHARE 8u

uint64_t hz_tier_packed(uint64_t limit)
{
	return hz_min(limit / PACKED_SHARE, PACKED_MOST);
}

uint64_t hz_tier_spare(uint64_t headroom)
{
	return less(headroom, HEADROOM_EMPTY);
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

uint32_t hz_tier_free_follow(uint32_t capacity, uint32_t io_depth,
                             uint32_t knob)
{
	uint32_t free = hz_tier_free_target(
		capacity, 0, hz_min(FOLLOW_FREE, io_depth), knob);

	/* With fewer nothing would ever be read ahead. */
	return knob ? free : hz_max(free, HZ_SPARE_FRAMES + 1);
}
