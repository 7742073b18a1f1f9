/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The state machine of a block.
 */
#include <criterion/criterion.h>
#include <signal.h>
#include <string.h>

#include "policy/block.h"

static const bool listed[HZ_BLK_STATES][HZ_BLK_STATES] = {
#define HZ_BLOCK_STATE(id_, text_)
#define HZ_BLOCK_EDGE(from_, to_, why_) [HZ_BLK_##from_][HZ_BLK_##to_] = true,
#include "policy/block_states.def"
#undef HZ_BLOCK_EDGE
#undef HZ_BLOCK_STATE
};

Test(policy_block, exactly_the_listed_edges_are_allowed)
{
	for (unsigned from = 0; from < HZ_BLK_STATES; from++) {
		for (unsigned to = 0; to < HZ_BLK_STATES; to++)
			cr_expect_eq(hz_block_may(from, to), listed[from][to],
			             "%s to %s", hz_block_state_name(from),
			             hz_block_state_name(to));
	}
}

/* The rules that data depends on, apart from the table. */
Test(policy_block, content_never_skips_a_place)
{
	cr_expect(!hz_block_may(HZ_BLK_RESIDENT, HZ_BLK_STORED));
	cr_expect(!hz_block_may(HZ_BLK_STAGED, HZ_BLK_STORED));
	cr_expect(!hz_block_may(HZ_BLK_STAGED, HZ_BLK_WRITING));
	cr_expect(!hz_block_may(HZ_BLK_WRITING, HZ_BLK_STORED));
	cr_expect(!hz_block_may(HZ_BLK_STORED, HZ_BLK_RESIDENT));
	cr_expect(!hz_block_may(HZ_BLK_FILED, HZ_BLK_RESIDENT));
	cr_expect(!hz_block_may(HZ_BLK_FILED, HZ_BLK_STORED));
	cr_expect(!hz_block_may(HZ_BLK_READING, HZ_BLK_RESIDENT));
	cr_expect(!hz_block_may(HZ_BLK_POISONED, HZ_BLK_RESIDENT));
}

Test(policy_block, no_state_leads_to_itself_or_out_of_range)
{
	for (unsigned s = 0; s < HZ_BLK_STATES; s++) {
		cr_expect(!hz_block_may(s, s), "%s", hz_block_state_name(s));
		cr_expect(!hz_block_may(s, HZ_BLK_STATES));
		cr_expect(!hz_block_may(HZ_BLK_STATES, s));
	}
}

Test(policy_block, every_state_can_be_reached_and_left)
{
	bool reached[HZ_BLK_STATES] = {[HZ_BLK_ZERO] = true};

	for (unsigned round = 0; round < HZ_BLK_STATES; round++) {
		for (unsigned from = 0; from < HZ_BLK_STATES; from++) {
			for (unsigned to = 0; to < HZ_BLK_STATES; to++)
				reached[to] |=
				        reached[from] && hz_block_may(from, to);
		}
	}
	for (unsigned s = 0; s < HZ_BLK_STATES; s++) {
		bool left = false;

		for (unsigned to = 0; to < HZ_BLK_STATES; to++)
			left |= hz_block_may(s, to);
		cr_expect(reached[s], "%s", hz_block_state_name(s));
		cr_expect(left, "%s", hz_block_state_name(s));
	}
}

Test(policy_block, names)
{
	cr_expect_str_eq(hz_block_state_name(HZ_BLK_ZERO), "ZERO");
	cr_expect_str_eq(hz_block_state_name(HZ_BLK_POISONED), "POISONED");
	cr_expect_str_eq(hz_block_state_name(HZ_BLK_STATES), "?");
	for (unsigned a = 0; a < HZ_BLK_STATES; a++) {
		for (unsigned b = 0; b < a; b++)
			cr_expect_str_neq(hz_block_state_name(a),
			                  hz_block_state_name(b));
	}
}

Test(policy_block, a_new_block_is_zero_and_nowhere)
{
	struct hz_block block;

	memset(&block, 0xff, sizeof(block));
	hz_block_init(&block);
	cr_expect_eq(block.state, HZ_BLK_ZERO);
	cr_expect_eq(block.flags, 0);
	cr_expect_eq(block.frame, HZ_NONE);
	cr_expect_eq(block.slot, HZ_NONE);
	cr_expect_eq(block.wait_next, HZ_NONE);
	cr_expect_eq(block.wanted_ns, 0);
}

Test(policy_block, totals_follow_the_states)
{
	static const enum hz_block_state life[] = {
	        HZ_BLK_FILLING, HZ_BLK_RESIDENT, HZ_BLK_UNMAPPING,
	        HZ_BLK_STAGED,  HZ_BLK_HASHING,  HZ_BLK_WRITING,
	        HZ_BLK_READY,   HZ_BLK_STORED,   HZ_BLK_READING,
	        HZ_BLK_READY,   HZ_BLK_MAPPING,  HZ_BLK_RESIDENT,
	        HZ_BLK_DEAD,    HZ_BLK_NATIVE,   HZ_BLK_ZERO,
	};
	struct hz_block_totals totals = {.count = {[HZ_BLK_ZERO] = 2}};
	struct hz_block a, b;

	hz_block_init(&a);
	hz_block_init(&b);
	for (unsigned i = 0; i < hz_array_len(life); i++) {
		uint64_t sum = 0;

		hz_block_set(&totals, &a, life[i]);
		cr_assert_eq(a.state, life[i]);
		for (unsigned s = 0; s < HZ_BLK_STATES; s++)
			sum += totals.count[s];
		cr_assert_eq(sum, 2);
		cr_assert_eq(totals.count[life[i]],
		             life[i] == HZ_BLK_ZERO ? 2 : 1);
	}
	hz_block_set(&totals, &b, HZ_BLK_FILLING);
	cr_expect_eq(totals.count[HZ_BLK_ZERO], 1);
	cr_expect_eq(totals.count[HZ_BLK_FILLING], 1);
}

#ifdef HZ_DEBUG
Test(policy_block, a_bad_change_aborts, .signal = SIGABRT)
{
	struct hz_block_totals totals = {.count = {[HZ_BLK_ZERO] = 1}};
	struct hz_block block;

	hz_block_init(&block);
	hz_block_set(&totals, &block, HZ_BLK_WRITING);
}
#else
Test(policy_block, a_bad_change_is_logged_and_counted)
{
	struct hz_block_totals totals = {.count = {[HZ_BLK_ZERO] = 1}};
	struct hz_block block;

	hz_block_init(&block);
	hz_block_set(&totals, &block, HZ_BLK_WRITING);
	cr_expect_eq(totals.count[HZ_BLK_ZERO], 0);
	cr_expect_eq(totals.count[HZ_BLK_WRITING], 1);
	cr_expect_eq(block.state, HZ_BLK_WRITING);
}
#endif
