/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the default plan is worth in the simulation of plan_sim.h, against
 * FIFO, LRU and the ideal. All numbers are counts; nothing is timed.
 */
#include <criterion/criterion.h>

#include "plan_sim.h"

static uint32_t rnd(uint64_t *state)
{
	*state = *state * 6364136223846793005ull + 1442695040888963407ull;
	return (uint32_t)(*state >> 33);
}

#define CAPACITY 256u

Test(policy_plan_worth, a_loop_twice_the_budget_hits_near_half)
{
	static const uint32_t ahead[] = {0, 4, 8};

	for (unsigned i = 0; i < hz_array_len(ahead); i++) {
		struct sim_trace t = {0};
		struct sim *s = sim_new(2 * CAPACITY, CAPACITY, ahead[i]);
		struct sim_count c;

		for (unsigned p = 0; p < 4; p++)
			sim_sweep(&t, 0, 2 * CAPACITY, true);
		c = sim_passes(s, &t, 4);
		/* LRU and FIFO read all 512. */
		cr_expect_leq(c.reads, 2 * CAPACITY * 62 / 100, "%lu reads",
		              (unsigned long)c.reads);
		cr_expect_leq(c.writes, 2 * CAPACITY * 62 / 100);
		cr_expect_leq(c.soft, CAPACITY / 2);
		cr_expect_leq(sim_resident(s), CAPACITY);
		sim_free(s);
		sim_trace_free(&t);
	}
}

Test(policy_plan_worth, four_interleaved_arrays_hit_near_half)
{
	struct sim_trace t = {0};
	struct sim *s = sim_new(512, CAPACITY, 8);
	struct sim_count c;

	for (unsigned p = 0; p < 6; p++) {
		for (uint32_t i = 0; i < 128; i++) {
			for (uint32_t a = 0; a < 4; a++)
				sim_visit(&t, a * 128 + i, true);
		}
	}
	c = sim_passes(s, &t, 6);
	cr_expect_leq(c.reads, 512 * 66 / 100);
	cr_expect_leq(c.demand, 64); /* the rest was read ahead */
	sim_free(s);
	sim_trace_free(&t);
}

Test(policy_plan_worth, what_fits_is_read_once)
{
	struct sim_trace t = {0};
	struct sim *s = sim_new(512, CAPACITY, 8);
	struct sim_count c;

	for (unsigned p = 0; p < 4; p++)
		sim_sweep(&t, 0, 200, true);
	c = sim_passes(s, &t, 4);
	cr_expect_eq(c.reads + c.writes + c.soft + c.trials, 0);
	sim_free(s);
	sim_trace_free(&t);
}

static uint32_t resident(struct sim *s, uint32_t first, uint32_t n)
{
	uint32_t count = 0;

	for (uint32_t i = 0; i < n; i++)
		count += sim_is_resident(s, first + i);
	return count;
}

/* A loop over A, then for ever one over B, which fits: two passes of B after
 * its first, most of A is gone; a few more, and B is read no more. */
Test(policy_plan_worth, a_stale_set_leaves)
{
	struct sim_trace t = {0};
	struct sim *s = sim_new(1024, CAPACITY, 8);
	struct sim_count c;

	for (unsigned p = 0; p < 6; p++)
		sim_sweep(&t, 0, 200, true);
	for (unsigned p = 0; p < 8; p++)
		sim_sweep(&t, 500, 200, true);
	sim_run(s, &t, 0, 6 * 200);
	cr_expect_eq(resident(s, 0, 200), 200);
	sim_run(s, &t, 6 * 200, 9 * 200);
	cr_expect_leq(resident(s, 0, 200), 100);
	cr_expect_geq(resident(s, 500, 200), 130);
	sim_run(s, &t, 9 * 200, 13 * 200);
	c = sim_run(s, &t, 13 * 200, 14 * 200);
	cr_expect_leq(c.reads, 20);
	sim_free(s);
	sim_trace_free(&t);
}

/* The same with both loops larger than the budget: A must be gone at all. */
Test(policy_plan_worth, a_stale_set_leaves_for_a_large_loop)
{
	struct sim_trace t = {0};
	struct sim *s = sim_new(1024, CAPACITY, 8);
	struct sim_count c;

	for (unsigned p = 0; p < 6; p++)
		sim_sweep(&t, 0, 400, true);
	for (unsigned p = 0; p < 6; p++)
		sim_sweep(&t, 500, 400, true);
	sim_run(s, &t, 0, 10 * 400);
	cr_expect_leq(resident(s, 0, 400), 20);
	sim_run(s, &t, 10 * 400, 11 * 400);
	c = sim_run(s, &t, 11 * 400, 12 * 400);
	cr_expect_leq(c.reads, 400 * 60 / 100);
	sim_free(s);
	sim_trace_free(&t);
}

static void hot_and_scan(struct sim_trace *t, uint32_t hot, uint32_t scan)
{
	uint32_t h = 0;

	for (uint32_t i = 0; i < scan; i++) {
		sim_visit(t, 200 + i, true);
		sim_visit(t, h++ % hot, true);
		sim_visit(t, h++ % hot, true);
	}
}

Test(policy_plan_worth, a_hot_set_survives_a_scan)
{
	struct sim_trace t = {0};
	struct sim *s = sim_new(3000, CAPACITY, 8);
	struct sim_count c;
	size_t start;

	for (unsigned p = 0; p < 3; p++)
		sim_sweep(&t, 0, 100, true);
	start = t.n;
	hot_and_scan(&t, 100, 2000);
	sim_run(s, &t, 0, start);
	c = sim_run(s, &t, start, t.n);
	cr_expect_geq(resident(s, 0, 100), 90);
	/* 4000 visits to the hot set; each of its blocks twice at most. */
	cr_expect_leq(c.demand + c.ahead, 200);
	sim_free(s);
	sim_trace_free(&t);
}

Test(policy_plan_worth, a_hot_set_that_comes_late_gets_in)
{
	struct sim_trace t = {0};
	struct sim *s = sim_new(3000, CAPACITY, 8);
	struct sim_count c;
	size_t start;

	sim_sweep(&t, 0, 2200, true);
	start = t.n;
	hot_and_scan(&t, 100, 2000);
	sim_run(s, &t, 0, start + 3000);
	c = sim_run(s, &t, start + 3000, start + 6000);
	cr_expect_geq(resident(s, 0, 100), 85);
	/* 1000 of the scan itself. */
	cr_expect_leq(c.reads, 1250);
	sim_free(s);
	sim_trace_free(&t);
}

Test(policy_plan_worth, random_visits_cost_little_more_than_lru)
{
	struct sim_trace t = {0};
	struct sim *s = sim_new(2 * CAPACITY, CAPACITY, 8);
	struct sim_count c, lru;
	uint64_t seed = 1;

	for (unsigned i = 0; i < 20000; i++) {
		uint32_t b = rnd(&seed) % (2 * CAPACITY);

		sim_visit(&t, b, rnd(&seed) % 2);
	}
	c = sim_passes(s, &t, 2);
	lru = sim_reference(&t, CAPACITY, t.n / 2, SIM_LRU);
	/* Wrong guesses of read-ahead and the frames kept free. */
	cr_expect_leq(c.reads, lru.reads * 125 / 100);
	cr_expect_leq(c.demand, lru.reads * 115 / 100);
	cr_expect_leq(c.soft, c.demand);
	sim_free(s);
	sim_trace_free(&t);
}

Test(policy_plan_worth, the_budget_may_shrink_and_grow)
{
	struct sim_trace t = {0};
	struct sim *s = sim_new(512, CAPACITY, 8);
	struct sim_count c;

	for (unsigned p = 0; p < 12; p++)
		sim_sweep(&t, 0, 400, true);
	sim_run(s, &t, 0, 3 * 400);
	sim_capacity(s, CAPACITY / 2);
	sim_run(s, &t, 3 * 400, 3 * 400 + 200);
	cr_expect_leq(sim_resident(s), CAPACITY / 2);
	sim_run(s, &t, 3 * 400 + 200, 6 * 400);
	c = sim_run(s, &t, 6 * 400, 7 * 400);
	cr_expect_leq(c.reads, 400 * 85 / 100);
	sim_capacity(s, CAPACITY);
	sim_run(s, &t, 7 * 400, 8 * 400);
	c = sim_run(s, &t, 8 * 400, 9 * 400);
	cr_expect_leq(c.reads, 400 * 52 / 100);
	sim_capacity(s, 480);
	sim_run(s, &t, 9 * 400, 11 * 400);
	c = sim_run(s, &t, 11 * 400, 12 * 400);
	cr_expect_leq(c.reads, 10);
	hz_plan_check(sim_plan(s));
	sim_free(s);
	sim_trace_free(&t);
}

Test(policy_plan_worth, pinned_blocks_do_not_stop_the_rest)
{
	struct sim_trace t = {0};
	struct sim *s = sim_new(512, CAPACITY, 8);
	struct sim_count c;

	for (uint32_t b = 0; b < 100; b++)
		sim_pin(s, b, true);
	for (unsigned p = 0; p < 6; p++)
		sim_sweep(&t, 0, 512, true);
	c = sim_passes(s, &t, 6);
	cr_expect_leq(sim_resident(s), CAPACITY);
	cr_expect_eq(resident(s, 0, 100), 100);
	cr_expect_leq(c.reads, 512 * 70 / 100);
	/* Asking again and again would cost a system call each. */
	cr_expect_leq(c.refused, 512);
	sim_free(s);
	sim_trace_free(&t);
}

/* ---- the trainer ---- */

/* Reads of one step, the mean of the last three. */
static double per_step(struct sim_count c)
{
	return (double)c.reads / 3;
}

static void train(unsigned percent, struct sim_count *plan,
                  struct sim_count *ref)
{
	const struct sim_model m = {20, 768, 50257, 4, 64, 12};
	struct sim_trace t = {0};
	uint32_t capacity;
	struct sim *s;
	size_t start = 0;

	for (unsigned i = 0; i < 7; i++) {
		start = i == 4 ? t.n : start;
		sim_train_step(&t, &m);
	}
	capacity = t.blocks * percent / 100;
	s = sim_new(t.blocks, capacity, 8);
	sim_run(s, &t, 0, start);
	*plan = sim_run(s, &t, start, t.n);
	hz_plan_check(sim_plan(s));
	for (unsigned p = SIM_FIFO; p <= SIM_BELADY; p++)
		ref[p] = sim_reference(&t, capacity, start, p);
	cr_log_info("%u %%: plan %.0f fifo %.0f lru %.0f ideal %.0f", percent,
	            per_step(*plan), per_step(ref[SIM_FIFO]),
	            per_step(ref[SIM_LRU]), per_step(ref[SIM_BELADY]));
	sim_free(s);
	sim_trace_free(&t);
}

static void expect_share(uint64_t ours, uint64_t theirs, unsigned percent)
{
	cr_expect_leq(ours * 100, theirs * percent, "%lu of %lu, not %u %%",
	              (unsigned long)ours, (unsigned long)theirs, percent);
}

Test(policy_plan_trainer, at_a_quarter_no_worse_than_fifo)
{
	struct sim_count c, ref[3];

	train(25, &c, ref);
	expect_share(c.reads, ref[SIM_FIFO].reads, 104);
	expect_share(c.writes, ref[SIM_FIFO].writes, 104);
}

Test(policy_plan_trainer, at_half_well_below_lru)
{
	struct sim_count c, ref[3];

	train(50, &c, ref);
	expect_share(c.reads, ref[SIM_LRU].reads, 75);
	expect_share(c.writes, ref[SIM_LRU].writes, 75);
	expect_share(c.reads, ref[SIM_FIFO].reads, 75);
}

Test(policy_plan_trainer, at_three_quarters_near_the_ideal)
{
	struct sim_count c, ref[3];

	train(75, &c, ref);
	expect_share(c.reads, ref[SIM_LRU].reads, 60);
	expect_share(c.reads, ref[SIM_BELADY].reads, 160);
}

Test(policy_plan_trainer, at_nine_tenths_a_third_of_lru)
{
	struct sim_count c, ref[3];

	train(90, &c, ref);
	expect_share(c.reads, ref[SIM_LRU].reads, 45);
	expect_share(c.soft, c.visits, 10);
}
