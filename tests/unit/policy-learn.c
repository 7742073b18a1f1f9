/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Runs in the fault stream, what is predicted from them, and the trace.
 */
#include <criterion/criterion.h>

#include "policy/learn.h"
#include "policy/predict.h"
#include "policy/trace.h"

static bool everything(void *arg, uint32_t block)
{
	return true;
}

static bool only_even(void *arg, uint32_t block)
{
	return block % 2 == 0;
}

static const struct hz_predict_where all = {100000, everything, NULL};

static struct hz_run *feed(struct hz_learn *l, const uint32_t *block,
                           unsigned n)
{
	struct hz_run *run = NULL;

	for (unsigned i = 0; i < n; i++)
		run = hz_learn_event(l, block[i]);
	return run;
}

#define FEED(l_, ...)                             \
	feed(l_, (const uint32_t[]){__VA_ARGS__}, \
	     sizeof((const uint32_t[]){__VA_ARGS__}) / sizeof(uint32_t))

/* Ask as the plan does, and request all that is offered. */
static unsigned ask(struct hz_run *run, unsigned limit, uint32_t *out)
{
	unsigned n = hz_predict_run(run, limit, &all, out, 64);

	for (unsigned i = 0; i < n; i++)
		hz_predict_requested(run, out[i]);
	return n;
}

Test(policy_learn, three_steps_make_a_run)
{
	struct hz_learn l = {0};

	cr_expect(!hz_run_confirmed(FEED(&l, 10, 11)));
	cr_expect(!hz_run_confirmed(FEED(&l, 12)));
	cr_expect(hz_run_confirmed(FEED(&l, 13)));
	cr_expect_eq(FEED(&l, 14)->dir, 1);
}

Test(policy_learn, a_run_goes_down_too)
{
	struct hz_learn l = {0};
	struct hz_run *run = FEED(&l, 101, 100, 99, 98);
	uint32_t out[64];

	cr_assert(hz_run_confirmed(run));
	cr_expect_eq(run->dir, -1);
	cr_assert_eq(hz_predict_run(run, 8, &all, out, 64), 2);
	cr_expect_eq(out[0], 97);
	cr_expect_eq(out[1], 96);
}

Test(policy_learn, small_gaps_do_not_break_a_run)
{
	struct hz_learn l = {0};
	struct hz_run *run = FEED(&l, 10, 12, 15, 16, 19);

	cr_expect(hz_run_confirmed(run));
	cr_expect_eq(run->steps, 4);
	cr_expect_neq(FEED(&l, 40), run);
}

Test(policy_learn, jumps_are_no_run)
{
	struct hz_learn l = {0};

	for (uint32_t i = 0; i < 1000; i++)
		cr_assert(!hz_run_confirmed(
		        hz_learn_event(&l, i * 7919 % 65536 * 8)));
}

Test(policy_learn, a_block_again_and_again_is_no_run)
{
	struct hz_learn l = {0};
	struct hz_run *run = FEED(&l, 5, 5, 5, 5);

	cr_expect(!hz_run_confirmed(run));
	cr_expect(!hz_run_confirmed(FEED(&l, 6, 5, 6, 5)));
}

Test(policy_learn, threads_that_overtake_each_other_share_a_run)
{
	struct hz_learn l = {0};
	struct hz_run *run = FEED(&l, 9, 10, 11, 12);

	cr_expect_eq(FEED(&l, 14), run);
	cr_expect_eq(FEED(&l, 13), run);
	cr_expect_eq(FEED(&l, 16), run);
	cr_expect_eq(FEED(&l, 15), run);
	cr_expect_eq(run->last, 16);
	cr_expect_eq(run->dir, 1);
}

Test(policy_learn, interleaved_runs_are_told_apart)
{
	struct hz_learn l = {0};
	const uint32_t base[] = {0, 1000, 2000, 3000};
	struct hz_run *run[4];

	for (uint32_t i = 0; i < 50; i++) {
		for (unsigned s = 0; s < 4; s++) {
			uint32_t at = s == 3 ? base[s] - i : base[s] + i;
			struct hz_run *r = hz_learn_event(&l, at);

			cr_assert(i < 3 || hz_run_confirmed(r));
			cr_assert(i == 0 || r == run[s]);
			run[s] = r;
		}
	}
	cr_expect_eq(run[0]->dir, 1);
	cr_expect_eq(run[3]->dir, -1);
}

Test(policy_learn, as_many_runs_as_entries)
{
	struct hz_learn l = {0};

	for (uint32_t i = 0; i < 10; i++) {
		for (uint32_t s = 0; s < HZ_RUNS; s++) {
			struct hz_run *r = hz_learn_event(&l, s * 1000 + i);

			cr_assert(i < 3 || hz_run_confirmed(r));
		}
	}
}

Test(policy_learn, the_stalest_run_makes_room)
{
	struct hz_learn l = {0};
	struct hz_run *kept = FEED(&l, 999999, 1000000, 1000001, 1000002);

	for (uint32_t i = 0; i < 10 * HZ_RUNS; i++) {
		hz_learn_event(&l, i * 100);
		if (i % 16 == 0)
			cr_assert_eq(FEED(&l, kept->last + 1), kept);
	}
	for (uint32_t i = 0; i < HZ_RUNS; i++)
		hz_learn_event(&l, 5000000 + i * 100);
	cr_expect(!hz_run_confirmed(FEED(&l, 1000023)));
}

/* Blocks that are resident do not fault: a run jumps over them as far as it
 * was asked for. */
Test(policy_learn, a_run_reaches_what_it_requested)
{
	struct hz_learn l = {0};
	struct hz_run *run = FEED(&l, 9, 10, 11, 12);

	hz_predict_requested(run, 60);
	cr_expect_eq(FEED(&l, 60), run);
	cr_expect_eq(run->last, 60);
	cr_expect_eq(run->steps, 4);
}

Test(policy_predict, nothing_before_it_is_confirmed)
{
	struct hz_learn l = {0};
	uint32_t out[64];

	cr_expect_eq(ask(FEED(&l, 10, 11), 8, out), 0);
	cr_expect_eq(ask(FEED(&l, 12), 0, out), 0);
}

Test(policy_predict, the_window_doubles_then_keeps_its_distance)
{
	static const unsigned outstanding[] = {2, 4, 8, 8, 8, 8};
	struct hz_learn l = {0};
	uint32_t out[64], asked = 12;
	struct hz_run *run = FEED(&l, 9, 10, 11, 12);

	for (uint32_t i = 0; i < hz_array_len(outstanding); i++) {
		unsigned n = ask(run, 8, out);

		for (unsigned k = 0; k < n; k++)
			cr_assert_eq(out[k], ++asked, "never twice");
		cr_assert_eq(asked - run->last, outstanding[i]);
		run = hz_learn_event(&l, run->last + 1);
		hz_predict_used(run);
	}
}

Test(policy_predict, steps_over_what_is_not_missing)
{
	const struct hz_predict_where even = {100000, only_even, NULL};
	struct hz_learn l = {0};
	struct hz_run *run = FEED(&l, 10, 11, 12, 13, 14);
	uint32_t out[64];

	cr_assert_eq(hz_predict_run(run, 8, &even, out, 3), 3);
	cr_expect_eq(out[0], 16);
	cr_expect_eq(out[1], 18);
	cr_expect_eq(out[2], 20);
}

Test(policy_predict, stops_at_both_ends_of_the_region)
{
	const struct hz_predict_where small = {20, everything, NULL};
	struct hz_learn l = {0};
	uint32_t out[64];

	cr_expect_eq(
	        hz_predict_run(FEED(&l, 15, 16, 17, 18), 8, &small, out, 64),
	        1);
	cr_expect_eq(hz_predict_run(FEED(&l, 4, 3, 2, 1), 8, &small, out, 64),
	             1);
	cr_expect_eq(out[0], 0);
}

Test(policy_predict, a_request_for_another_run_is_ignored)
{
	struct hz_learn l = {0};
	struct hz_run *run = FEED(&l, 9, 10, 11, 12);

	hz_predict_requested(run, 90000);
	hz_predict_requested(run, 3);
	cr_expect_eq(run->high, 12);
	cr_expect_eq(run->ahead, 0);
}

Test(policy_trace, keeps_the_last_events)
{
	struct hz_event ring[8];
	struct hz_trace t;

	hz_trace_init(&t, ring, 8);
	cr_expect_eq(hz_trace_count(&t), 0);
	cr_expect_null(hz_trace_at(&t, 0));
	for (uint32_t i = 0; i < 20; i++)
		hz_trace_add(&t, i, i % 4, 1000 + i);
	cr_expect_eq(hz_trace_count(&t), 8);
	cr_expect_eq(hz_trace_at(&t, 0)->block, 19);
	cr_expect_eq(hz_trace_at(&t, 0)->now, 1019);
	cr_expect_eq(hz_trace_at(&t, 0)->how, HZ_ACCESS_AHEAD);
	cr_expect_eq(hz_trace_at(&t, 7)->block, 12);
	cr_expect_null(hz_trace_at(&t, 8));
}
