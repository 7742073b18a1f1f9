/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Budget arithmetic.
 */
#include <criterion/criterion.h>

#include "policy/tier.h"

#define MIB ((uint64_t)1 << 20)
#define GIB ((uint64_t)1 << 30)

Test(policy_tier, resident_and_peak)
{
	struct hz_tier t = {.capacity = 10};

	hz_tier_add(&t, 7);
	hz_tier_sub(&t, 3);
	hz_tier_add(&t, 1);
	cr_expect_eq(t.resident, 5);
	cr_expect_eq(t.peak, 7);
	cr_expect_eq(hz_tier_room(&t), 5);
	hz_tier_sub(&t, 100);
	cr_expect_eq(t.resident, 0);
	cr_expect_eq(t.peak, 7);
}

Test(policy_tier, a_lowered_capacity_leaves_no_room)
{
	struct hz_tier t = {.capacity = 10, .resident = 8};

	t.capacity = 5;
	cr_expect_eq(hz_tier_room(&t), 0);
}

Test(policy_tier, copies_leave_some_of_the_headroom_empty)
{
	cr_expect_eq(hz_tier_spare(64 * MIB), 56 * MIB);
	cr_expect_eq(hz_tier_spare(8 * MIB), 0);
	cr_expect_eq(hz_tier_spare(0), 0);
}

Test(policy_tier, packed_copies)
{
	cr_expect_eq(hz_tier_packed(256 * MIB), 32 * MIB);
	cr_expect_eq(hz_tier_packed(UINT64_MAX), GIB);
}

Test(policy_tier, headroom)
{
	cr_expect_eq(hz_tier_headroom(256 * MIB), 64 * MIB);
	cr_expect_eq(hz_tier_headroom(100 * GIB), 3 * GIB);
	cr_expect_eq(hz_tier_headroom(0), 64 * MIB);
	/* No overflow without a limit. */
	cr_expect_gt(hz_tier_headroom(UINT64_MAX), UINT64_MAX / 100);
}

Test(policy_tier, budget_is_the_least_of_what_is_asked_and_what_is_left)
{
	cr_expect_eq(hz_tier_budget(GIB, 8 * GIB, GIB, 64 * MIB), GIB);
	cr_expect_eq(hz_tier_budget(8 * GIB, 4 * GIB, GIB, 512 * MIB),
	             2 * GIB + 512 * MIB);
	cr_expect_eq(hz_tier_budget(8 * GIB, UINT64_MAX, GIB, 512 * MIB),
	             8 * GIB);
}

Test(policy_tier, budget_never_wraps)
{
	cr_expect_eq(hz_tier_budget(GIB, GIB, 2 * GIB, 0), 0);
	cr_expect_eq(hz_tier_budget(GIB, GIB, GIB - MIB, 64 * MIB), 0);
	cr_expect_eq(hz_tier_budget(GIB, 0, 0, 0), 0);
	cr_expect_eq(hz_tier_budget(0, GIB, 0, 0), 0);
}

Test(policy_tier, free_frames_cover_the_traffic)
{
	cr_expect_eq(hz_tier_free_target(1000, 8, 16, 0), 24);
	cr_expect_eq(hz_tier_free_target(1000, 0, 16, 0), 16);
}

Test(policy_tier, free_frames_stay_a_fraction)
{
	cr_expect_eq(hz_tier_free_target(80, 8, 16, 0), 10);
	cr_expect_eq(hz_tier_free_target(8, 8, 16, 0), 2);
	cr_expect_eq(hz_tier_free_target(0, 8, 16, 0), 2);
	cr_expect_eq(hz_tier_free_target(1000, 0, 1, 0), 2);
	cr_expect_eq(hz_tier_free_target(UINT32_MAX, 64, UINT32_MAX, 0),
	             UINT32_MAX / 8);
}

Test(policy_tier, free_frames_by_knob)
{
	cr_expect_eq(hz_tier_free_target(1000, 8, 16, 300), 300);
	cr_expect_eq(hz_tier_free_target(1000, 8, 16, 4096), 500);
	cr_expect_eq(hz_tier_free_target(1000, 8, 16, 1), 2);
}

Test(policy_tier, a_schedule_needs_fewer_free_frames)
{
	cr_expect_eq(hz_tier_free_follow(400, 16, 0), 6);
	cr_expect_eq(hz_tier_free_follow(400, 4, 0), 4);
	/* An eighth of little, but more than what reads ahead leave. */
	cr_expect_eq(hz_tier_free_follow(40, 16, 0), 5);
	cr_expect_eq(hz_tier_free_follow(14, 16, 0), HZ_SPARE_FRAMES + 1);
	cr_expect_eq(hz_tier_free_follow(400, 16, 2), 2);
}
