/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The parts of the learned plan: sets with next and previous, periods in
 * streams, schedules; each against a plain computation of the same thing.
 */
#include <criterion/criterion.h>
#include <stdlib.h>

#include "policy/bits.h"
#include "policy/period.h"
#include "policy/sched.h"

static uint32_t rnd(uint64_t *state)
{
	*state = *state * 6364136223846793005ull + 1442695040888963407ull;
	return (uint32_t)(*state >> 33);
}

/* ---- bits ---- */

static void expect_like(const struct hz_bits *b, const bool *plain, uint32_t n,
			uint32_t i)
{
	uint32_t next = i, prev = i;

	while (next < n && !plain[next])
		next++;
	while (prev != HZ_NONE && !plain[prev])
		prev--;
	cr_assert_eq(hz_bits_next(b, i), next < n ? next : HZ_NONE);
	cr_assert_eq(hz_bits_prev(b, i), prev);
	cr_assert_eq(hz_bits_has(b, i), plain[i]);
}

Test(policy_bits, next_and_previous_are_those_of_a_plain_array)
{
	static const uint32_t sizes[] = {1, 63, 64, 65, 4096, 4097, 20000};

	for (unsigned k = 0; k < hz_array_len(sizes); k++) {
		uint32_t n = sizes[k];
		void *mem = calloc(1, hz_bits_bytes(n));
		bool *plain = calloc(n, sizeof(*plain));
		uint64_t seed = n;
		struct hz_bits b;

		hz_bits_init(&b, mem, n);
		for (unsigned i = 0; i < 3000; i++) {
			uint32_t at = rnd(&seed) % n;

			plain[at] = rnd(&seed) % 64 == 0;
			if (plain[at])
				hz_bits_add(&b, at);
			else
				hz_bits_remove(&b, at);
			expect_like(&b, plain, n, rnd(&seed) % n);
		}
		hz_bits_clear(&b, n);
		cr_assert_eq(hz_bits_next(&b, 0), HZ_NONE);
		free(mem);
		free(plain);
	}
}

/* ---- period ---- */

#define IDS    4096u
#define EVENTS 16384u

static struct hz_period period;
static void *period_mem;

static void begin_period(void)
{
	period_mem = calloc(1, hz_period_bytes(IDS, EVENTS));
	hz_period_init(&period, period_mem, IDS, EVENTS);
}

static void end_period(void)
{
	free(period_mem);
}

TestSuite(policy_period, .init = begin_period, .fini = end_period);

static bool look(struct hz_period_found *f)
{
	bool found = hz_period_find(&period, f);

	if (found)
		cr_assert_eq(hz_period_at(&period, f->first + f->length - 1),
			     hz_period_at(&period, f->first - 1));
	return found;
}

/* A step touches parameters forward, backward and once more. */
static void step(uint32_t n, uint32_t extra)
{
	for (uint32_t i = 0; i < n; i++)
		hz_period_add(&period, i);
	for (uint32_t i = n; i-- > 0;)
		hz_period_add(&period, i);
	for (uint32_t i = 0; i < n; i++)
		hz_period_add(&period, i);
	for (uint32_t i = 0; i < extra; i++)
		hz_period_add(&period, 2000 + i);
}

Test(policy_period, a_step_is_found_and_not_its_parts)
{
	struct hz_period_found f;

	for (unsigned i = 0; i < 8; i++)
		step(100, 50);
	cr_assert(look(&f));
	cr_expect_eq(f.length, 350);
	cr_expect_eq(f.score, 1024);
}

Test(policy_period, micro_batches_inside_a_step)
{
	struct hz_period_found f;

	/* Four micro batches and an optimizer that half as much again. */
	for (unsigned i = 0; i < 6; i++) {
		for (unsigned m = 0; m < 4; m++)
			step(50, 0);
		for (uint32_t k = 0; k < 300; k++)
			hz_period_add(&period, 1000 + k);
	}
	cr_assert(look(&f));
	cr_expect_eq(f.length, 900);
}

Test(policy_period, a_warm_up_does_not_hide_it)
{
	struct hz_period_found f;
	uint64_t seed = 3;

	for (unsigned i = 0; i < 300; i++)
		hz_period_add(&period, rnd(&seed) % IDS);
	for (unsigned i = 0; i < 6; i++)
		step(100, 0);
	cr_assert(look(&f));
	cr_expect_eq(f.length, 300);
}

/* Two threads of one loop, and one use in twenty is of something new. */
Test(policy_period, noise_and_reordering)
{
	struct hz_period_found f;
	uint64_t seed = 5;
	uint32_t jitter = 0;

	for (unsigned s = 0; s < 10; s++)
		for (uint32_t i = 0; i < 400; i++) {
			jitter = rnd(&seed) % 5;
			hz_period_add(&period, (i + jitter) % 400);
			if (rnd(&seed) % 20 == 0)
				hz_period_add(&period,
					      1000 + rnd(&seed) % 3000);
		}
	/* Jitter alone repeats and omits ids: it is no clean period, but what
	 * is found has to be the true one. */
	if (look(&f)) {
		cr_expect_geq(f.length, 400 * 97 / 100);
		cr_expect_leq(f.length, 440 * 103 / 100);
	}
}

/* Small allocations share a block, which is used between all others: more often
 * in a step than a chain of its uses is long. */
Test(policy_period, a_block_in_constant_use_does_not_hide_it)
{
	struct hz_period_found f;

	for (unsigned s = 0; s < 8; s++)
		for (uint32_t i = 0; i < 900; i++)
			hz_period_add(&period, i % 3 ? i : 2000);
	cr_assert(look(&f));
	cr_expect_eq(f.length, 900);
	cr_expect_eq(f.score, 1024);
}

/* Three uses of four are of such blocks. */
Test(policy_period, most_uses_may_be_of_such_blocks)
{
	struct hz_period_found f;

	for (unsigned s = 0; s < 8; s++)
		for (uint32_t i = 0; i < 900; i++)
			hz_period_add(&period, i % 4 ? 2000 + i % 2 : i);
	cr_assert(look(&f));
	cr_expect_eq(f.length, 900);
}

Test(policy_period, a_block_in_constant_use_is_none)
{
	struct hz_period_found f;
	uint64_t seed = 11;

	for (unsigned i = 0; i < 6000; i++) {
		hz_period_add(&period, 2000);
		hz_period_add(&period, i % 2 ? 2000 : rnd(&seed) % 1000);
		cr_assert_not(hz_period_due(&period) && look(&f), "%u", i);
	}
}

Test(policy_period, random_uses_have_none)
{
	struct hz_period_found f;
	uint64_t seed = 9;

	for (unsigned i = 0; i < EVENTS + 100; i++)
		hz_period_add(&period, rnd(&seed) % 1000);
	cr_expect_not(look(&f));
}

Test(policy_period, a_reset_forgets)
{
	struct hz_period_found f;

	for (unsigned i = 0; i < 8; i++)
		step(100, 0);
	hz_period_reset(&period);
	cr_expect_eq(hz_period_count(&period), 0);
	for (uint32_t i = 0; i < 200; i++)
		hz_period_add(&period, i);
	cr_expect_not(look(&f));
}

/* ---- sched ---- */

struct follower {
	struct hz_sched s;
	void *mem;
};

static void load(struct follower *f, uint32_t n)
{
	struct hz_period_found found;

	begin_period();
	for (unsigned i = 0; i < 6; i++)
		step(n, n / 2);
	cr_assert(hz_period_find(&period, &found));
	f->mem = calloc(1, hz_sched_bytes(IDS, EVENTS / 2));
	hz_sched_init(&f->s, f->mem, IDS, EVENTS / 2);
	cr_assert(hz_sched_load(&f->s, &period, &found));
	cr_assert_eq(f->s.length, 3 * n + n / 2);
}

static void unload(struct follower *f)
{
	free(f->mem);
	end_period();
}

/* The events of a step, as step() makes them. */
static uint32_t event(uint32_t n, uint32_t i)
{
	if (i < n)
		return i;
	if (i < 2 * n)
		return 2 * n - 1 - i;
	return i < 3 * n ? i - 2 * n : 2000 + i - 3 * n;
}

Test(policy_sched, all_of_a_repeated_step_is_expected)
{
	const uint32_t n = 60, length = 3 * n + n / 2;
	struct follower f;

	load(&f, n);
	for (uint32_t i = 0; i < 5 * length; i++)
		cr_assert(hz_sched_event(&f.s, event(n, i % length), HZ_NONE, 0),
			  "%u", i);
	cr_expect_eq(f.s.misses, 0);
	cr_expect_eq(f.s.strain, 0);
	unload(&f);
}

/* The uses of block b after use i of the step; at least `slack`. */
static uint32_t uses_to(uint32_t n, uint32_t i, uint32_t b)
{
	const uint32_t length = 3 * n + n / 2;
	uint32_t d = 1;

	while (event(n, (i + d) % length) != b)
		d++;
	return d;
}

Test(policy_sched, victims_and_reads_are_those_of_a_plain_search)
{
	const uint32_t n = 60, length = 3 * n + n / 2;
	struct follower f;

	load(&f, n);
	for (uint32_t b = 0; b < n; b++)
		hz_sched_set(&f.s, b, b % 2 ? HZ_SCHED_HELD : HZ_SCHED_MISSING);
	for (uint32_t i = 0; i < 3 * length; i++) {
		uint32_t far = length, near = 0, last, first;

		hz_sched_event(&f.s, event(n, i % length), HZ_NONE, 0);
		last = hz_sched_held_before(&f.s, &far);
		first = hz_sched_missing_from(&f.s, &near);
		cr_assert_eq(last % 2, 1);
		cr_assert_eq(first % 2, 0);
		/* Up to the slack, in which uses may come late. */
		for (uint32_t b = 0; b < n; b++) {
			uint32_t d = uses_to(n, i % length, b);

			if (b % 2)
				cr_assert_leq(d, far + 1);
			else
				cr_assert_geq(d + f.s.slack, near);
		}
	}
	unload(&f);
}

/* The held blocks one after the other, from the last: each once, and in order
 * of their uses, wherever in the period we are. */
Test(policy_sched, held_blocks_can_be_walked_from_the_last)
{
	const uint32_t n = 60, length = 3 * n + n / 2;
	struct follower f;

	load(&f, n);
	for (uint32_t b = 0; b < n; b += 3)
		hz_sched_set(&f.s, b, HZ_SCHED_HELD);
	for (uint32_t i = 0; i < 2 * length; i++) {
		uint32_t uses = length, seen = 0, before = length;

		hz_sched_event(&f.s, event(n, i % length), HZ_NONE, 0);
		while (hz_sched_held_before(&f.s, &uses) != HZ_NONE) {
			cr_assert_lt(uses, before);
			before = uses;
			seen++;
		}
		cr_assert_eq(seen, n / 3, "%u at %u", seen, i);
		cr_assert_eq(uses, before);
	}
	unload(&f);
}

/* A block is used all the time, and is seen more often than it was sampled:
 * that moves nothing. */
Test(policy_sched, a_block_in_constant_use_does_not_move_the_place)
{
	const uint32_t n = 120, length = 2 * n;
	struct hz_period_found found;
	struct follower f;
	uint32_t done;

	begin_period();
	for (uint32_t i = 0; i < 8 * length; i++)
		hz_period_add(&period, i % 8 ? i % length : 3000);
	cr_assert(hz_period_find(&period, &found));
	cr_assert_eq(found.length, length);
	f.mem = calloc(1, hz_sched_bytes(IDS, EVENTS / 2));
	hz_sched_init(&f.s, f.mem, IDS, EVENTS / 2);
	cr_assert(hz_sched_load(&f.s, &period, &found));
	for (uint32_t i = 0; i < 50; i++)
		hz_sched_event(&f.s, i % 8 ? i : 3000, i % 8 ? HZ_NONE : 8, 0);
	done = (uint32_t)f.s.done;
	for (unsigned i = 0; i < 100; i++)
		cr_expect(hz_sched_event(&f.s, 3000, 1, 0));
	cr_expect_leq(f.s.done, done + 1);
	for (uint32_t i = 50; i < length; i++)
		cr_expect(hz_sched_event(&f.s, i % 8 ? i : 3000,
					 i % 8 ? HZ_NONE : 8, 0));
	cr_expect_eq(f.s.misses, 0);
	unload(&f);
}

/* We are in the wrong place, and between the events that say so come repeated
 * ones: they do not speak for it. */
Test(policy_sched, repeated_uses_do_not_keep_us_in_the_wrong_place)
{
	const uint32_t n = 400;
	struct follower f;
	uint32_t strange = 0;

	load(&f, n);
	for (uint32_t i = 0; i < 100; i++)
		hz_sched_event(&f.s, event(n, i), HZ_NONE, 0);
	for (uint32_t i = 3 * n; i < 3 * n + 50; i++) {
		strange += !hz_sched_event(&f.s, event(n, i), HZ_NONE, 0);
		hz_sched_event(&f.s, event(n, i), 1, 0);
	}
	cr_expect_leq(strange, 8);
	unload(&f);
}

Test(policy_sched, a_jump_is_followed_after_some_strange_events)
{
	const uint32_t n = 400, length = 3 * n + n / 2;
	struct follower f;
	uint32_t strange = 0;

	load(&f, n);
	for (uint32_t i = 0; i < 100; i++)
		hz_sched_event(&f.s, event(n, i), HZ_NONE, 0);
	for (uint32_t i = 3 * n; i < length; i++)
		strange += !hz_sched_event(&f.s, event(n, i), HZ_NONE, 0);
	cr_expect_leq(strange, 8);
	for (uint32_t i = 0; i < length; i++)
		strange += !hz_sched_event(&f.s, event(n, i), HZ_NONE, 0);
	cr_expect_leq(strange, 16);
	unload(&f);
}

/* Each event may be a repeated use, but they do not end. */
Test(policy_sched, a_place_that_stands_still_is_noticed)
{
	struct follower f;

	load(&f, 60);
	for (uint32_t i = 0; i < 60; i++)
		hz_sched_event(&f.s, i, HZ_NONE, 0);
	for (uint32_t i = 0; i < 1000; i++)
		hz_sched_event(&f.s, i % 5, 5, 0);
	cr_expect(hz_sched_fits(&f.s));
	for (uint32_t i = 0; i < 1000; i++)
		hz_sched_event(&f.s, i % 5, 5, 0);
	cr_expect_not(hz_sched_fits(&f.s));
	unload(&f);
}

Test(policy_sched, what_it_does_not_know_is_a_miss)
{
	struct follower f;

	load(&f, 60);
	for (uint32_t i = 0; i < 800; i++)
		cr_expect_not(hz_sched_event(&f.s, 3000 + i, HZ_NONE, 0));
	cr_expect_not(hz_sched_fits(&f.s));
	hz_sched_drop(&f.s);
	cr_expect_not(hz_sched_knows(&f.s, 1));
	unload(&f);
}
