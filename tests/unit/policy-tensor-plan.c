/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The tensor planner on steps that are small enough to know the answer.
 */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>
#include "policy/tensor_plan.h"

#define MIB	 ((uint64_t)1 << 20)
#define GBPS(n_) ((uint64_t)(n_)*1000000000)

enum { R = HZ_USE_READ, W = HZ_USE_WRITE, L = HZ_USE_LAST };

static struct hz_plan_for machine(uint64_t fast, enum hz_goal goal)
{
	return (struct hz_plan_for){.fast = fast,
				    .second = 1024 * 1024 * MIB,
				    .out_bps = GBPS(10),
				    .in_bps = GBPS(10),
				    .piece = MIB,
				    .goal = goal};
}

/* A layered net: forward writes act[i] from act[i-1], backward reads them in
 * the opposite order, and they die. 100 MiB each. */
#define LAYERS 10

struct net {
	uint64_t ns[2 * LAYERS], bytes[LAYERS];
	uint32_t first[2 * LAYERS + 1], use[4 * LAYERS];
	struct hz_step step;
};

static void make_net(struct net *n, uint64_t ns)
{
	uint32_t u = 0;

	for (uint32_t k = 0; k < 2 * LAYERS; k++) {
		uint32_t layer = k < LAYERS ? k : 2 * LAYERS - 1 - k;

		n->ns[k] = ns;
		n->first[k] = u;
		if (k < LAYERS && k)
			n->use[u++] = hz_use(k - 1, R);
		n->use[u++] = hz_use(layer, k < LAYERS ? W : R | L);
		n->bytes[layer] = 100 * MIB;
	}
	n->first[2 * LAYERS] = u;
	n->step = (struct hz_step){.kernels = 2 * LAYERS,
				   .tensors = LAYERS,
				   .ns = n->ns,
				   .first = n->first,
				   .use = n->use,
				   .bytes = n->bytes};
}

static struct hz_tensor_plan plan_of(const struct hz_step *step,
				     const struct hz_plan_for *m, void **mem)
{
	struct hz_tensor_plan plan;

	*mem = malloc(hz_tensor_plan_bytes(step));
	hz_tensor_plan_make(&plan, *mem, step, m);
	return plan;
}

Test(tensor_plan, what_fits_stays)
{
	struct hz_plan_for m = machine(1000 * MIB, HZ_GOAL_TIME);
	struct net n;
	void *mem;
	struct hz_tensor_plan plan;

	make_net(&n, 100000000);
	plan = plan_of(&n.step, &m, &mem);
	cr_assert_eq(plan.in_bytes, 0);
	cr_assert_eq(plan.out_bytes, 0);
	cr_assert_eq(plan.outs, 0);
	free(mem);
}

/* 1000 MiB are alive and 600 fit: 400 leave once and come back once, and they
 * are those that are needed last. */
Test(tensor_plan, the_furthest_leave_and_no_more_than_must)
{
	for (enum hz_goal goal = HZ_GOAL_TIME; goal <= HZ_GOAL_BYTES; goal++) {
		struct hz_plan_for m = machine(600 * MIB, goal);
		struct net n;
		void *mem;
		struct hz_tensor_plan plan;

		make_net(&n, 100000000);
		plan = plan_of(&n.step, &m, &mem);
		cr_assert_eq(plan.in_bytes, 400 * MIB);
		cr_assert_eq(plan.out_bytes, 400 * MIB);
		cr_assert_eq(plan.overflow, 0);
		/* after its last forward use, kernel i + 1 */
		for (uint32_t i = 0; i < 4; i++)
			cr_assert_eq(plan.gap[n.first[i + 1]].evict, 100 * MIB);
		free(mem);
	}
}

Test(tensor_plan, tensors_are_split_where_that_saves_bytes)
{
	struct hz_plan_for m = machine(950 * MIB, HZ_GOAL_BYTES);
	struct net n;
	void *mem;
	struct hz_tensor_plan plan;

	make_net(&n, 100000000);
	plan = plan_of(&n.step, &m, &mem);
	cr_assert_eq(plan.in_bytes, 50 * MIB);
	free(mem);
}

Test(tensor_plan, a_gate_leaves_time_for_the_link)
{
	struct hz_plan_for m = machine(600 * MIB, HZ_GOAL_TIME);
	struct net n;
	void *mem;
	struct hz_tensor_plan plan;

	make_net(&n, 100000000);
	plan = plan_of(&n.step, &m, &mem);
	for (uint32_t u = 0; u < n.first[2 * LAYERS]; u++) {
		const struct hz_gap *g = &plan.gap[u];

		if (!g->evict)
			continue;
		cr_assert_leq(g->opened, g->by);
		cr_assert_leq(g->by, g->gate);
		cr_assert_lt(g->gate, g->closes);
		cr_assert_leq(g->early, g->gate);
	}
	free(mem);
}

/* Two tensors that live on: a weight that is only read leaves for free after
 * its first copy, one that is written does not. */
Test(tensor_plan, what_was_not_written_is_not_copied_again)
{
	const uint64_t ns[] = {1000000000, 1000000000};
	const uint64_t bytes[] = {100 * MIB, 100 * MIB};
	const uint32_t first[] = {0, 1, 2};
	const uint32_t use[] = {hz_use(0, R), hz_use(1, R | W)};
	const struct hz_step step = {2, 2, ns, first, use, bytes};
	struct hz_plan_for m = machine(100 * MIB, HZ_GOAL_TIME);
	void *mem;
	struct hz_tensor_plan plan = plan_of(&step, &m, &mem);

	cr_assert_eq(plan.in_bytes, 200 * MIB);
	cr_assert_eq(plan.out_bytes, 100 * MIB);
	free(mem);
}

Test(tensor_plan, what_is_overwritten_next_is_dead)
{
	const uint64_t ns[] = {1000000000, 1000000000};
	const uint64_t bytes[] = {100 * MIB, 100 * MIB};
	const uint32_t first[] = {0, 1, 2};
	const uint32_t use[] = {hz_use(0, W), hz_use(1, W)};
	const struct hz_step step = {2, 2, ns, first, use, bytes};
	struct hz_plan_for m = machine(100 * MIB, HZ_GOAL_TIME);
	void *mem;
	struct hz_tensor_plan plan = plan_of(&step, &m, &mem);

	cr_assert_eq(plan.in_bytes + plan.out_bytes, 0);
	free(mem);
}

Test(tensor_plan, what_does_not_fit_the_second_tier_goes_on)
{
	struct hz_plan_for m = machine(600 * MIB, HZ_GOAL_TIME);
	struct net n;
	void *mem;
	struct hz_tensor_plan plan;

	m.second = 200 * MIB;
	m.write_bps = m.read_bps = GBPS(10);
	make_net(&n, 100000000);
	plan = plan_of(&n.step, &m, &mem);
	cr_assert_geq(plan.store_bytes, 200 * MIB);
	cr_assert_leq(plan.store_bytes, 400 * MIB);
	free(mem);
}

Test(tensor_plan, the_bound_is_ideal_where_links_are_fast)
{
	struct hz_plan_for m = machine(600 * MIB, HZ_GOAL_TIME);
	struct hz_step_bound b;
	struct net n;
	void *mem;

	make_net(&n, 100000000);
	mem = malloc(hz_tensor_plan_bytes(&n.step));
	hz_step_bound(&b, mem, &n.step, &m);
	cr_assert_eq(b.live_peak, 1000 * MIB);
	cr_assert_eq(b.ideal_ns, 2000000000);
	cr_assert_eq(b.bound_ns, b.ideal_ns);
	/* 400 MiB in a tenth of the time they take */
	m.out_bps = m.in_bps = 419430400 / 10;
	hz_step_bound(&b, mem, &n.step, &m);
	cr_assert_gt(b.bound_ns, 19000000000);
	free(mem);
}

/* Random steps: more memory never moves more, and nothing exceeds. */
Test(tensor_plan, more_memory_moves_less)
{
	enum { K = 200, T = 50 };
	uint64_t ns[K], bytes[T], state = 7, before = UINT64_MAX;
	uint32_t first[K + 1], use[2 * K];
	struct hz_step step = {K, T, ns, first, use, bytes};

	for (uint32_t t = 0; t < T; t++)
		bytes[t] = (1 + t % 7) * MIB;
	for (uint32_t k = 0; k < K; k++) {
		state = state * 6364136223846793005ull + 1442695040888963407ull;
		ns[k] = 1000000;
		first[k] = 2 * k;
		use[2 * k] = hz_use((state >> 33) % (T / 2), R | W);
		use[2 * k + 1] = hz_use(T / 2 + (state >> 40) % (T / 2), R);
	}
	first[K] = 2 * K;
	for (uint64_t fast = 20; fast <= 200; fast += 20) {
		struct hz_plan_for m = machine(fast * MIB, HZ_GOAL_BYTES);
		void *mem;
		struct hz_tensor_plan plan = plan_of(&step, &m, &mem);

		cr_assert_eq(plan.overflow, 0);
		cr_assert_leq(plan.in_bytes, before);
		before = plan.in_bytes;
		free(mem);
	}
	cr_assert_eq(before, 0);
}
