/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Budgets of a tier, as arithmetic: how much it may hold, how much of that is
 * kept free. Pure; who calls owns the numbers and their lock.
 */
#ifndef HZ_TIER_H
#define HZ_TIER_H

#include <stdint.h>
#include "base/util.h"

/* Frames that reads ahead leave to faults; with fewer something must go,
 * whatever the plan says. One number: when eviction wanted more than reads
 * left, each read ahead threw out another (three times the bytes with 60
 * blocks). */
#define HZ_SPARE_FRAMES 2u

struct hz_tier {
	uint64_t capacity; /* bytes that it may hold; may change any time */
	uint64_t resident; /* bytes that it holds */
	uint64_t peak;     /* the most it ever held */
};

/* Account for bytes that came or went. */
void hz_tier_add(struct hz_tier *tier, uint64_t bytes);
void hz_tier_sub(struct hz_tier *tier, uint64_t bytes);

/* Bytes that still fit: 0 when the tier is full or the capacity was lowered
 * below what it holds. */
uint64_t hz_tier_room(const struct hz_tier *tier);

/* What is left free below a memory cgroup's limit unless a knob says
 * otherwise: crossing the limit kills, there is no error to handle. */
uint64_t hz_tier_headroom(uint64_t limit);

/* How much memory packed copies of pages may take in such a group; the budget
 * is smaller by it. */
uint64_t hz_tier_packed(uint64_t limit);

/* How much of a headroom may hold what the kernel can take at once. */
uint64_t hz_tier_spare(uint64_t headroom);

/* The budget in bytes: what was asked for, but no more than the limit leaves
 * when `others` (memory in the group that is not ours) and the headroom are
 * taken off. No limit is UINT64_MAX or any other huge number. */
uint64_t hz_tier_budget(uint64_t ram, uint64_t limit, uint64_t others,
                        uint64_t headroom);

/* Free frames that eviction keeps ready in a budget of `capacity` blocks:
 * enough for one window of read-ahead and the writes in flight, at most an
 * eighth of the budget and at least 2. A `knob` other than 0 is taken as it
 * stands, up to half of the budget. */
uint32_t hz_tier_free_target(uint32_t capacity, uint32_t read_ahead,
                             uint32_t io_depth, uint32_t knob);

/* The same while a schedule is followed: fewer, but so that something can be
 * read ahead. */
uint32_t hz_tier_free_follow(uint32_t capacity, uint32_t io_depth,
                             uint32_t knob);

#endif
