/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The default plan, call by call, and under any order of calls.
 */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "policy/plan.h"

/* ---- call by call ---- */

static struct hz_plan *new_plan(uint32_t blocks, uint32_t capacity)
{
	size_t bytes = hz_plan_bytes(blocks);
	void *mem = aligned_alloc(HZ_PAGE_SIZE, bytes);
	struct hz_plan *plan;

	cr_assert_not_null(mem);
	memset(mem, 0, bytes);
	plan = hz_plan_init(mem, blocks, 8);
	hz_plan_capacity(plan, capacity);
	return plan;
}

static void touch(struct hz_plan *plan, uint32_t first, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++)
		hz_plan_access(plan, first + i, HZ_ACCESS_ZERO, i);
}

/* Carry out every choice until there is none; how many blocks left. */
static uint32_t drain(struct hz_plan *plan)
{
	uint32_t n = 0;

	for (;;) {
		struct hz_choice c = hz_plan_choose(plan, true);

		if (c.action == HZ_ACT_NONE)
			return n;
		n += c.action != HZ_ACT_TRIAL;
		hz_plan_done(plan, c);
	}
}

Test(policy_plan, memory_is_for_pages_that_are_used)
{
	/* 16 TiB: the records must fit one reservation of modest size. */
	cr_expect_lt(hz_plan_bytes(8u << 20), (size_t)256 << 20);
	cr_expect_eq(hz_plan_bytes(1000) % HZ_PAGE_SIZE, 0);
}

Test(policy_plan, init_writes_the_header_only)
{
	size_t bytes = hz_plan_bytes(1u << 16);
	char *mem = aligned_alloc(HZ_PAGE_SIZE, bytes);
	size_t last = 0;

	cr_assert_not_null(mem);
	memset(mem, 0, bytes);
	hz_plan_init(mem, 1u << 16, 8);
	for (size_t i = 0; i < bytes; i++)
		last = mem[i] ? i : last;
	cr_expect_lt(last, hz_plan_bytes(0));
	free(mem);
}

Test(policy_plan, an_empty_plan_has_no_choice)
{
	struct hz_plan *plan = new_plan(64, 64);

	cr_expect_eq(hz_plan_choose(plan, true).action, HZ_ACT_NONE);
	hz_plan_check(plan);
	free(plan);
}

Test(policy_plan, every_block_is_offered_in_the_end)
{
	struct hz_plan *plan = new_plan(256, 128);

	touch(plan, 0, 200);
	cr_expect_eq(drain(plan), 200);
	hz_plan_check(plan);
	free(plan);
}

Test(policy_plan, blocks_out_of_range_are_ignored)
{
	struct hz_plan *plan = new_plan(16, 16);
	uint32_t out[8];

	hz_plan_access(plan, 16, HZ_ACCESS_ZERO, 0);
	hz_plan_access(plan, HZ_NONE, HZ_ACCESS_ZERO, 0);
	hz_plan_prefetched(plan, 99);
	hz_plan_forget(plan, 99);
	hz_plan_rename(plan, 1, 99);
	hz_plan_done(plan, (struct hz_choice){HZ_ACT_EVICT, 99});
	hz_plan_refused(plan, (struct hz_choice){HZ_ACT_EVICT, 99});
	cr_expect_eq(hz_plan_ahead(plan, out, 8), 0);
	cr_expect_eq(hz_plan_choose(plan, true).action, HZ_ACT_NONE);
	hz_plan_check(plan);
	free(plan);
}

Test(policy_plan, forget_is_valid_in_any_state)
{
	struct hz_plan *plan = new_plan(64, 32);
	struct hz_choice c;

	hz_plan_forget(plan, 3);
	touch(plan, 0, 40);
	c = hz_plan_choose(plan, true);
	hz_plan_forget(plan, c.block);
	hz_plan_forget(plan, c.block);
	hz_plan_done(plan, c);
	c = hz_plan_choose(plan, true);
	hz_plan_forget(plan, c.block);
	hz_plan_refused(plan, c);
	c = hz_plan_choose(plan, true);
	hz_plan_refused(plan, c);
	hz_plan_forget(plan, c.block);
	hz_plan_check(plan);
	cr_expect_eq(drain(plan), 37);
	free(plan);
}

Test(policy_plan, rename_keeps_the_place)
{
	struct hz_plan *plan = new_plan(64, 32);
	struct hz_choice c;

	touch(plan, 0, 20);
	c = hz_plan_choose(plan, true);
	hz_plan_rename(plan, c.block, 50);
	hz_plan_check(plan);
	cr_expect_eq(hz_plan_choose(plan, true).block, 50);
	/* Over a block that is held, to itself, and from one that is not. */
	hz_plan_rename(plan, 50, 10);
	hz_plan_rename(plan, 11, 11);
	hz_plan_rename(plan, 60, 12);
	hz_plan_check(plan);
	cr_expect_eq(drain(plan), 18);
	free(plan);
}

/* NONE only after each held block was refused; then all over again. */
Test(policy_plan, refused_blocks_are_each_offered_once_a_round)
{
	struct hz_plan *plan = new_plan(64, 32);

	touch(plan, 0, 40);
	for (unsigned round = 0; round < 3; round++) {
		bool offered[64] = {false};

		for (unsigned i = 0; i < 40; i++) {
			struct hz_choice c = hz_plan_choose(plan, true);

			cr_assert_neq(c.action, HZ_ACT_NONE);
			cr_assert(!offered[c.block]);
			offered[c.block] = true;
			hz_plan_refused(plan, c);
			hz_plan_check(plan);
		}
		cr_assert_eq(hz_plan_choose(plan, true).action, HZ_ACT_NONE);
	}
	cr_expect_eq(drain(plan), 40);
	free(plan);
}

Test(policy_plan, progress_gives_refused_blocks_another_chance)
{
	struct hz_plan *plan = new_plan(64, 32);
	struct hz_choice c, last;

	touch(plan, 0, 10);
	c = hz_plan_choose(plan, true);
	hz_plan_refused(plan, c);
	for (unsigned left = 9; left;) {
		last = hz_plan_choose(plan, true);
		cr_assert_neq(last.block, c.block);
		left -= last.action != HZ_ACT_TRIAL;
		hz_plan_done(plan, last);
	}
	cr_expect_eq(hz_plan_choose(plan, true).block, c.block);
	free(plan);
}

Test(policy_plan, prefetched_blocks_are_dropped_last)
{
	struct hz_plan *plan = new_plan(64, 32);
	unsigned others = 0;

	touch(plan, 0, 10);
	for (uint32_t b = 20; b < 24; b++)
		hz_plan_prefetched(plan, b);
	for (;;) {
		struct hz_choice c = hz_plan_choose(plan, true);

		if (c.action == HZ_ACT_DROP)
			break;
		others += c.action == HZ_ACT_EVICT;
		hz_plan_done(plan, c);
	}
	cr_expect_eq(others, 10);
	cr_expect_eq(drain(plan), 4);
	free(plan);
}

Test(policy_plan, stale_prefetched_blocks_are_dropped_first)
{
	struct hz_plan *plan = new_plan(512, 256);
	struct hz_choice c;

	touch(plan, 0, 10);
	hz_plan_prefetched(plan, 20);
	touch(plan, 30, 200);
	c = hz_plan_choose(plan, true);
	cr_expect_eq(c.action, HZ_ACT_DROP);
	cr_expect_eq(c.block, 20);
	free(plan);
}

/* Blocks that were used and evicted, so that they may be read ahead. */
static void store_all(struct hz_plan *plan, uint32_t n)
{
	touch(plan, 0, n);
	drain(plan);
}

Test(policy_plan, reads_ahead_of_a_run)
{
	struct hz_plan *plan = new_plan(512, 256);
	uint32_t out[64];

	store_all(plan, 400);
	for (uint32_t b = 99; b < 103; b++)
		hz_plan_access(plan, b, HZ_ACCESS_DEMAND, b);
	cr_assert_eq(hz_plan_ahead(plan, out, 64), 2);
	cr_expect_eq(out[0], 103);
	cr_expect_eq(out[1], 104);
	hz_plan_prefetched(plan, 103);
	hz_plan_prefetched(plan, 104);
	hz_plan_access(plan, 103, HZ_ACCESS_AHEAD, 103);
	cr_assert_eq(hz_plan_ahead(plan, out, 64), 3);
	cr_expect_eq(out[0], 105);
	free(plan);
}

/* Sixteen runs at once in a budget of 64 blocks: what is held ahead stays
 * within the window, so that wrong guesses cannot flush memory. */
Test(policy_plan, outstanding_prefetches_are_bounded)
{
	struct hz_plan *plan = new_plan(4096, 64);
	bool held[4096] = {false};
	uint32_t out[64], n_held = 0, most = 0;

	store_all(plan, 4096);
	for (uint32_t i = 0; i < 16 * 32; i++) {
		uint32_t block = i % 16 * 256 + i / 16;
		unsigned n;

		hz_plan_access(plan, block, HZ_ACCESS_DEMAND, i);
		n_held -= held[block];
		held[block] = false;
		n = hz_plan_ahead(plan, out, 64);
		for (unsigned k = 0; k < n; k++) {
			cr_assert(!held[out[k]]);
			held[out[k]] = true;
			hz_plan_prefetched(plan, out[k]);
		}
		n_held += n;
		most = hz_max(most, n_held);
	}
	cr_expect_geq(most, 8);
	cr_expect_leq(most, 16);
	hz_plan_check(plan);
	free(plan);
}

/* ---- any order of calls ---- */

static uint32_t rnd(uint64_t *state)
{
	*state = *state * 6364136223846793005ull + 1442695040888963407ull;
	return (uint32_t)(*state >> 33);
}

enum { FUZZ_BLOCKS = 96 };

static void fuzz_choose(struct hz_plan *plan, bool *held, uint64_t *seed)
{
	struct hz_choice c = hz_plan_choose(plan, true);

	if (c.action == HZ_ACT_NONE)
		return;
	cr_assert_lt(c.block, FUZZ_BLOCKS);
	cr_assert(held[c.block]);
	if (rnd(seed) % 4 == 0) { /* touched meanwhile */
		hz_plan_access(plan, c.block, HZ_ACCESS_SOFT, 0);
		hz_plan_refused(plan, c);
	} else if (rnd(seed) % 3 == 0) {
		hz_plan_refused(plan, c);
	} else {
		hz_plan_done(plan, c);
		held[c.block] = c.action == HZ_ACT_TRIAL;
	}
}

static void fuzz_step(struct hz_plan *plan, bool *held, uint64_t *seed)
{
	uint32_t b = rnd(seed) % FUZZ_BLOCKS, to = rnd(seed) % FUZZ_BLOCKS;
	uint32_t out[16];

	switch (rnd(seed) % 8) {
	case 0:
	case 1:
	case 2:
		hz_plan_access(plan, b, rnd(seed) % 4, 0);
		held[b] = true;
		break;
	case 3:
		hz_plan_ahead(plan, out, 16);
		hz_plan_prefetched(plan, b);
		held[b] = true;
		break;
	case 4:
		if (rnd(seed) % 4 == 0)
			hz_plan_capacity(plan, rnd(seed) % FUZZ_BLOCKS);
		hz_plan_forget(plan, b);
		held[b] = false;
		break;
	case 5:
		hz_plan_rename(plan, b, to);
		if (b != to) {
			held[to] = held[b];
			held[b] = false;
		}
		break;
	default:
		fuzz_choose(plan, held, seed);
		break;
	}
}

Test(policy_plan, any_order_of_calls_keeps_the_lists_whole)
{
	for (uint64_t seed = 1; seed <= 20; seed++) {
		struct hz_plan *plan = new_plan(FUZZ_BLOCKS, 48);
		bool held[FUZZ_BLOCKS] = {false};
		uint64_t state = seed;
		uint32_t n = 0;

		for (unsigned i = 0; i < 3000; i++) {
			fuzz_step(plan, held, &state);
			hz_plan_check(plan);
		}
		for (unsigned b = 0; b < FUZZ_BLOCKS; b++)
			n += held[b];
		cr_assert_eq(drain(plan) + drain(plan), n);
		hz_plan_check(plan);
		free(plan);
	}
}
