/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the learned plan is worth in the simulation of plan_sim.h, against the
 * ideal. All numbers are counts; nothing is timed.
 */
#include <criterion/criterion.h>

#include "plan_sim.h"

#define CAPACITY 256u

static uint32_t rnd(uint64_t *state)
{
	*state = *state * 6364136223846793005ull + 1442695040888963407ull;
	return (uint32_t)(*state >> 33);
}

static struct sim *learner(uint32_t blocks, uint32_t capacity)
{
	struct sim *s = sim_new(blocks, capacity, 8);

	hz_plan_learning(sim_plan(s), true);
	return s;
}

/* So many steps of a model; the visits in one. */
static size_t train(struct sim_trace *t, const struct sim_model *m,
		    unsigned steps)
{
	for (unsigned i = 0; i < steps; i++)
		sim_train_step(t, m);
	return t->n / steps;
}

/* What a loop must read at least, with the frames that are kept free. */
static uint32_t must_read(uint32_t loop, uint32_t capacity)
{
	return loop - (capacity - 40);
}

Test(policy_plan_learned, a_loop_is_followed)
{
	struct sim_trace t = {0};
	struct sim *s = learner(512, CAPACITY);
	struct sim_count c;

	for (unsigned p = 0; p < 12; p++)
		sim_sweep(&t, 0, 512, true);
	c = sim_passes(s, &t, 12);
	cr_expect(hz_plan_learned(sim_plan(s)).locked);
	cr_expect_eq(hz_plan_learned(sim_plan(s)).period, 512);
	cr_expect_leq(c.reads, must_read(512, CAPACITY));
	cr_expect_leq(c.writes, must_read(512, CAPACITY));
	/* Nearly all of it before it was asked for. */
	cr_expect_leq(c.demand, 512 * 2 / 100);
	cr_expect_leq(sim_resident(s), CAPACITY);
	sim_free(s);
	sim_trace_free(&t);
}

/* A training step: close to what the ideal reads, from a quarter of the
 * memory to most of it. */
Test(policy_plan_learned, a_training_step_is_near_the_ideal)
{
	static const struct sim_model model = {8, 512, 256, 4, 128, 8};
	static const unsigned percent[] = {25, 50, 75, 90};
	struct sim_trace t = {0};
	size_t step = train(&t, &model, 14);

	for (unsigned i = 0; i < hz_array_len(percent); i++) {
		uint32_t capacity = t.blocks * percent[i] / 100;
		struct sim *s = learner(t.blocks, capacity);
		struct sim_count c, best, def;

		c = sim_passes(s, &t, 14);
		cr_expect(hz_plan_learned(sim_plan(s)).locked, "%u %%",
			  percent[i]);
		sim_free(s);
		s = sim_new(t.blocks, capacity, 8);
		def = sim_passes(s, &t, 14);
		sim_free(s);
		best = sim_reference(&t, capacity - capacity / 8, t.n - step,
				     SIM_BELADY);
		cr_log_info(
			"%u %%: %lu reads, %lu writes, %lu demand; ideal "
			"%lu, %lu; default %lu, %lu",
			percent[i], (unsigned long)c.reads,
			(unsigned long)c.writes, (unsigned long)c.demand,
			(unsigned long)best.reads, (unsigned long)best.writes,
			(unsigned long)def.reads, (unsigned long)def.writes);
		cr_expect_leq(c.reads, best.reads * 110 / 100 + 16);
		cr_expect_leq(c.demand, c.reads * 2 / 100 + 4);
	}
	sim_trace_free(&t);
}

/* Most of it stays, and of a whole step only some dozen uses are seen: the
 * place in the schedule is known all the same, and what is missing comes in
 * time. */
Test(policy_plan_learned, a_step_that_nearly_fits_is_followed)
{
	static const struct sim_model model = {6, 384, 256, 4, 128, 6};
	static const unsigned percent[] = {75, 90, 95, 98, 100};
	struct sim_trace t = {0};
	size_t step = train(&t, &model, 24);

	for (unsigned i = 0; i < hz_array_len(percent); i++) {
		uint32_t capacity = t.blocks * percent[i] / 100;
		struct sim *s = learner(t.blocks, capacity);
		struct sim_count c, best;

		sim_run(s, &t, 0, t.n - 10 * step);
		c = sim_run(s, &t, t.n - 10 * step, t.n);
		best = sim_reference(&t, capacity - 6, t.n - 10 * step,
				     SIM_BELADY);
		cr_expect(hz_plan_learned(sim_plan(s)).locked, "%u %%",
			  percent[i]);
		cr_expect_leq(c.reads, best.reads * 135 / 100 + 16);
		cr_expect_leq(c.demand, c.reads * 2 / 100 + 4, "%u %%: %lu",
			      percent[i], (unsigned long)c.demand);
		sim_free(s);
	}
	sim_trace_free(&t);
}

/* Threads overtake each other: neighbours in the trace change places. */
Test(policy_plan_learned, reordered_uses_are_followed)
{
	struct sim_trace t = {0};
	struct sim *s = learner(512, CAPACITY);
	struct sim_count c;
	uint64_t seed = 7;

	for (unsigned p = 0; p < 12; p++)
		sim_sweep(&t, 0, 512, true);
	for (size_t i = 0; i + 8 < t.n; i += 8)
		for (size_t k = 0; k < 8; k++) {
			size_t j = i + rnd(&seed) % 8;
			struct sim_visit v = t.visit[i + k];

			t.visit[i + k] = t.visit[j];
			t.visit[j] = v;
		}
	c = sim_passes(s, &t, 12);
	cr_expect(hz_plan_learned(sim_plan(s)).locked);
	cr_expect_leq(c.reads, must_read(512, CAPACITY) * 105 / 100);
	cr_expect_leq(c.demand, 512 * 4 / 100);
	sim_free(s);
	sim_trace_free(&t);
}

/* Every fourth step is followed by a short pass over something else. */
Test(policy_plan_learned, an_evaluation_pass_is_survived)
{
	struct sim_trace t = {0};
	struct sim *s = learner(600, CAPACITY);
	struct sim_count c;
	size_t steady = 0;

	for (unsigned p = 0; p < 24; p++) {
		sim_sweep(&t, 0, 512, true);
		if (p % 4 == 3)
			sim_sweep(&t, 520, 60, false);
		if (p == 11)
			steady = t.n;
	}
	sim_run(s, &t, 0, steady);
	c = sim_run(s, &t, steady, t.n);
	hz_plan_check(sim_plan(s));
	cr_expect_leq(c.reads, 12 * must_read(512, CAPACITY) * 130 / 100);
	sim_free(s);
	sim_trace_free(&t);
}

/* Another loop begins: the old schedule is given up, the new one learned. */
Test(policy_plan_learned, a_changed_program_is_learned_again)
{
	struct sim_trace t = {0};
	struct sim *s = learner(1200, CAPACITY);
	struct sim_count c;

	for (unsigned p = 0; p < 10; p++)
		sim_sweep(&t, 0, 500, true);
	for (unsigned p = 0; p < 30; p++)
		sim_sweep(&t, 600, 500, true);
	c = sim_passes(s, &t, 40);
	cr_expect(hz_plan_learned(sim_plan(s)).locked);
	cr_expect_leq(c.reads, must_read(500, CAPACITY) * 115 / 100,
		      "%lu reads", (unsigned long)c.reads);
	sim_free(s);
	sim_trace_free(&t);
}

/* No period: no worse than the default by more than what sampling costs. */
Test(policy_plan_learned, what_does_not_repeat_is_not_followed)
{
	struct sim_trace t = {0};
	struct sim *s = learner(2 * CAPACITY, CAPACITY);
	struct sim_count c, lru;
	uint64_t seed = 1;

	for (unsigned i = 0; i < 60000; i++) {
		uint32_t b = rnd(&seed) % (2 * CAPACITY);

		sim_visit(&t, b, rnd(&seed) % 2);
	}
	sim_run(s, &t, 0, 30000);
	c = sim_run(s, &t, 30000, 60000);
	lru = sim_reference(&t, CAPACITY, 30000, SIM_LRU);
	cr_expect_not(hz_plan_learned(sim_plan(s)).locked);
	cr_expect_leq(c.reads, lru.reads * 125 / 100);
	cr_expect_leq(sim_resident(s), CAPACITY);
	sim_free(s);
	sim_trace_free(&t);
}

/* Blocks that the engine cannot take are worked around. */
Test(policy_plan_learned, pinned_blocks_do_not_stop_the_rest)
{
	struct sim_trace t = {0};
	struct sim *s = learner(512, CAPACITY);
	struct sim_count c;

	for (uint32_t b = 0; b < 100; b++)
		sim_pin(s, b, true);
	for (unsigned p = 0; p < 12; p++)
		sim_sweep(&t, 0, 512, true);
	c = sim_passes(s, &t, 12);
	cr_expect_leq(sim_resident(s), CAPACITY);
	cr_expect_leq(c.reads, must_read(512, CAPACITY) * 115 / 100);
	cr_expect_leq(c.refused, 512);
	sim_free(s);
	sim_trace_free(&t);
}

Test(policy_plan_learned, freed_and_renamed_blocks_leave_the_schedule)
{
	struct sim_trace t = {0};
	struct sim *s = learner(1024, CAPACITY);

	for (unsigned p = 0; p < 12; p++)
		sim_sweep(&t, 0, 512, true);
	sim_passes(s, &t, 12);
	cr_assert(hz_plan_learned(sim_plan(s)).locked);
	for (uint32_t b = 0; b < 512; b++) {
		uint32_t out[8];
		unsigned n;

		if (b % 3 == 0)
			hz_plan_forget(sim_plan(s), b);
		else if (b % 3 == 1)
			hz_plan_rename(sim_plan(s), b, 512 + b);
		n = hz_plan_ahead(sim_plan(s), out, 8);
		for (unsigned i = 0; i < n; i++)
			cr_expect(out[i] % 3 == 2 || out[i] > b);
	}
	hz_plan_check(sim_plan(s));
	sim_free(s);
	sim_trace_free(&t);
}

/* For a complete trace each use is reported, also with room for everything,
 * and nothing is learned. */
Test(policy_plan_learned, a_dense_plan_sees_every_use)
{
	const unsigned passes = 6;
	struct sim_trace t = {0};
	struct sim *s = sim_new(256, 512, 8);
	struct sim_count c;

	hz_plan_dense(sim_plan(s));
	for (unsigned p = 0; p < passes; p++)
		sim_sweep(&t, 0, 256, true);
	c = sim_run(s, &t, 0, t.n);
	cr_expect_eq(c.zero, 256);
	cr_expect_eq(c.soft, 256 * (passes - 1));
	cr_expect_eq(c.reads, 0);
	cr_expect_not(hz_plan_learned(sim_plan(s)).locked);
	sim_free(s);
	sim_trace_free(&t);
}
