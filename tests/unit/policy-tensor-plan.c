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

/* A step, a machine, and the plan that comes of them. */
struct planned {
	struct net net;
	struct hz_plan_for machine;
	struct hz_tensor_plan plan;
	void *mem;
};

static void plan_step(struct planned *p, const struct hz_step *step)
{
	p->mem = malloc(hz_tensor_plan_bytes(step));
	hz_tensor_plan_make(&p->plan, p->mem, step, &p->machine);
}

/* The layered net, 100 ms a kernel. */
static void plan_net(struct planned *p, uint64_t fast, enum hz_goal goal)
{
	p->machine = machine(fast, goal);
	make_net(&p->net, 100000000);
	plan_step(p, &p->net.step);
}

/* Two kernels with a tensor each, which live on; one of them fits. */
static void plan_two(struct planned *p, uint32_t how, uint32_t other)
{
	static const uint64_t ns[] = {1000000000, 1000000000};
	static const uint64_t bytes[] = {100 * MIB, 100 * MIB};
	static const uint32_t first[] = {0, 1, 2};
	const uint32_t use[] = {hz_use(0, how), hz_use(1, other)};
	const struct hz_step step = {2, 2, ns, first, use, bytes};

	p->machine = machine(100 * MIB, HZ_GOAL_TIME);
	plan_step(p, &step);
}

Test(tensor_plan, what_fits_stays)
{
	struct planned p;

	plan_net(&p, 1000 * MIB, HZ_GOAL_TIME);
	cr_assert_eq(p.plan.in_bytes, 0);
	cr_assert_eq(p.plan.out_bytes, 0);
	cr_assert_eq(p.plan.outs, 0);
	free(p.mem);
}

/* 1000 MiB are alive and 600 fit: 400 leave once and come back once, and they
 * are those that are needed last. */
Test(tensor_plan, the_furthest_leave_and_no_more_than_must)
{
	for (enum hz_goal goal = HZ_GOAL_TIME; goal <= HZ_GOAL_BYTES; goal++) {
		struct planned p;

		plan_net(&p, 600 * MIB, goal);
		cr_assert_eq(p.plan.in_bytes, 400 * MIB);
		cr_assert_eq(p.plan.out_bytes, 400 * MIB);
		cr_assert_eq(p.plan.overflow, 0);
		/* after its last forward use, kernel i + 1 */
		for (uint32_t i = 0; i < 4; i++)
			cr_assert_eq(p.plan.gap[p.net.first[i + 1]].evict,
				     100 * MIB);
		free(p.mem);
	}
}

Test(tensor_plan, tensors_are_split_where_that_saves_bytes)
{
	struct planned p;

	plan_net(&p, 950 * MIB, HZ_GOAL_BYTES);
	cr_assert_eq(p.plan.in_bytes, 50 * MIB);
	free(p.mem);
}

static void gates_are_in_order(const struct hz_tensor_plan *plan,
			       const struct hz_step *step)
{
	for (uint32_t u = 0; u < step->first[step->kernels]; u++) {
		const struct hz_gap *g = &plan->gap[u];

		if (!g->evict)
			continue;
		cr_assert_lt(g->opened, g->by);
		cr_assert_leq(g->by, g->gate);
		cr_assert_lt(g->gate, g->closes);
		cr_assert_leq(g->early, g->gate);
	}
}

Test(tensor_plan, a_gate_leaves_time_for_the_link)
{
	struct planned p;

	plan_net(&p, 600 * MIB, HZ_GOAL_TIME);
	gates_are_in_order(&p.plan, &p.net.step);
	free(p.mem);
}

/* A weight that is only read leaves for free after its first copy, one that
 * is written does not. */
Test(tensor_plan, what_was_not_written_is_not_copied_again)
{
	struct planned p;

	plan_two(&p, R, R | W);
	cr_assert_eq(p.plan.in_bytes, 200 * MIB);
	cr_assert_eq(p.plan.out_bytes, 100 * MIB);
	free(p.mem);
}

Test(tensor_plan, what_is_overwritten_next_is_dead)
{
	struct planned p;

	plan_two(&p, W, W);
	cr_assert_eq(p.plan.in_bytes + p.plan.out_bytes, 0);
	free(p.mem);
}

Test(tensor_plan, what_does_not_fit_the_second_tier_goes_on)
{
	struct planned p;

	p.machine = machine(600 * MIB, HZ_GOAL_TIME);
	p.machine.second = 200 * MIB;
	p.machine.write_bps = p.machine.read_bps = GBPS(10);
	make_net(&p.net, 100000000);
	plan_step(&p, &p.net.step);
	cr_assert_geq(p.plan.store_bytes, 200 * MIB);
	cr_assert_leq(p.plan.store_bytes, 400 * MIB);
	free(p.mem);
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

/* Random uses: T tensors, two in a kernel. */
enum { K = 200, T = 50 };

struct random_step {
	uint64_t ns[K + 1], bytes[T];
	uint32_t first[K + 2], use[2 * K + 2];
	struct hz_step step;
};

static void make_random(struct random_step *r)
{
	uint64_t state = 7;

	for (uint32_t t = 0; t < T; t++)
		r->bytes[t] = (1 + t % 7) * MIB;
	for (uint32_t k = 0; k < K; k++) {
		state = state * 6364136223846793005ull + 1442695040888963407ull;
		r->ns[k] = 1000000;
		r->first[k] = 2 * k;
		r->use[2 * k] = hz_use((state >> 33) % (T / 2), R | W);
		r->use[2 * k + 1] = hz_use(T / 2 + (state >> 40) % (T / 2), R);
	}
	r->first[K] = 2 * K;
	r->step = (struct hz_step){K, T, r->ns, r->first, r->use, r->bytes};
}

/* More memory never moves more, and nothing exceeds. */
Test(tensor_plan, more_memory_moves_less)
{
	uint64_t before = UINT64_MAX;
	struct random_step r;

	make_random(&r);
	for (uint64_t fast = 20; fast <= 200; fast += 20) {
		struct planned p = {.machine =
					    machine(fast * MIB, HZ_GOAL_BYTES)};

		plan_step(&p, &r.step);
		cr_assert_eq(p.plan.overflow, 0);
		cr_assert_leq(p.plan.in_bytes, before);
		before = p.plan.in_bytes;
		free(p.mem);
	}
	cr_assert_eq(before, 0);
}

/* Slower kernels: who leaves stays, and it comes back later. */
Test(tensor_plan, other_times_move_gates_only)
{
	struct planned p;
	uint32_t gate, u;
	uint64_t evict;

	p.machine = machine(600 * MIB, HZ_GOAL_TIME);
	/* 100 MiB take 10 kernels */
	make_net(&p.net, 1000000);
	plan_step(&p, &p.net.step);
	for (u = 0; !p.plan.gap[u].evict; u++)
		;
	evict = p.plan.gap[u].evict;
	gate = p.plan.gap[u].gate;
	for (uint32_t k = 0; k < 2 * LAYERS; k++)
		p.net.ns[k] = 100000000;
	hz_tensor_plan_retime(&p.plan, p.mem, &p.net.step, &p.machine);
	cr_assert_eq(p.plan.gap[u].evict, evict);
	cr_assert_gt(p.plan.gap[u].gate, gate);
	gates_are_in_order(&p.plan, &p.net.step);
	free(p.mem);
}

/* Again with the times it had: the same plan. */
Test(tensor_plan, the_same_times_change_nothing)
{
	struct random_step r;
	struct planned p = {.machine = machine(60 * MIB, HZ_GOAL_TIME)};
	struct hz_tensor_plan was;
	struct hz_gap *gaps;
	size_t size;

	make_random(&r);
	p.machine.second = 40 * MIB;
	p.machine.read_bps = p.machine.write_bps = GBPS(3);
	plan_step(&p, &r.step);
	size = 2 * K * sizeof(*gaps);
	gaps = malloc(size);
	memcpy(gaps, p.plan.gap, size);
	was = p.plan;
	hz_tensor_plan_retime(&p.plan, p.mem, &r.step, &p.machine);
	cr_assert_eq(p.plan.store_bytes, was.store_bytes);
	cr_assert(!memcmp(gaps, p.plan.gap, size));
	free(gaps);
	free(p.mem);
}

/* What each kernel has in memory by the plan. */
static uint64_t most_used(const struct hz_step *s, const struct hz_gap *gap)
{
	uint64_t used[K + 1] = {0}, most = 0;

	for (uint32_t u = 0; u < s->first[s->kernels]; u++) {
		const struct hz_gap *g = &gap[u];
		uint32_t end = g->next == HZ_NONE ? g->opened + 1 : g->closes;

		for (uint32_t k = g->opened; k < end; k++)
			used[k % s->kernels] +=
				s->bytes[hz_use_tensor(s->use[u])] -
				(g->evict && k >= g->by ? g->evict : 0);
	}
	for (uint32_t k = 0; k < s->kernels; k++)
		most = hz_max(most, used[k]);
	return most;
}

/* One kernel comes, one goes, one uses another tensor. */
static void change(struct random_step *now, const struct random_step *was)
{
	uint32_t n = 0;

	*now = *was;
	for (uint32_t k = 0; k < K; k++) {
		uint32_t times = k == 50 ? 0 : k == 120 ? 2 : 1;

		for (uint32_t i = 0; i < times; i++, n++) {
			now->first[n] = 2 * n;
			now->use[2 * n] = was->use[2 * k];
			now->use[2 * n + 1] = i || k == 150
						      ? hz_use(T - 1, R)
						      : was->use[2 * k + 1];
		}
	}
	now->first[n] = 2 * n;
	now->step = (struct hz_step){n,		 T,	   now->ns,
				     now->first, now->use, now->bytes};
}

/* What has nothing to do with who leaves is as in a new plan. */
static void links_are_equal(const struct hz_step *s, const struct hz_gap *a,
			    const struct hz_gap *b)
{
	for (uint32_t u = 0; u < s->first[s->kernels]; u++) {
		cr_assert_eq(a[u].next, b[u].next);
		cr_assert_eq(a[u].wrote, b[u].wrote);
		cr_assert_eq(a[u].opened, b[u].opened);
		cr_assert_eq(a[u].closes, b[u].closes);
	}
}

static void copy_step(struct random_step *to, const struct random_step *from)
{
	*to = *from;
	to->step.use = to->use;
	to->step.first = to->first;
}

/* *mem is the caller's to free. */
static bool change_plan(struct hz_tensor_plan *plan, void **mem,
			const struct random_step *now, const struct planned *p,
			const struct random_step *was)
{
	*mem = malloc(hz_tensor_plan_bytes(&now->step));
	return hz_tensor_plan_change(plan, *mem, &now->step, &p->machine,
				     &p->plan, &was->step);
}

Test(tensor_plan, a_few_other_kernels_keep_the_plan)
{
	struct planned p = {.machine = machine(60 * MIB, HZ_GOAL_BYTES)}, full;
	struct random_step was, now;
	struct hz_tensor_plan plan;
	void *mem;

	make_random(&was);
	change(&now, &was);
	plan_step(&p, &was.step);
	cr_assert(change_plan(&plan, &mem, &now, &p, &was));
	full.machine = p.machine;
	plan_step(&full, &now.step);
	cr_assert_eq(plan.overflow, 0);
	cr_assert_leq(most_used(&now.step, plan.gap), 60 * MIB);
	gates_are_in_order(&plan, &now.step);
	cr_assert_leq(plan.in_bytes * 100, full.plan.in_bytes * 105);
	links_are_equal(&now.step, plan.gap, full.plan.gap);
	free(mem);
	free(p.mem);
	free(full.mem);
}

/* A kernel has one use less: all that come later are shifted by it, and no
 * kernel is. */
Test(tensor_plan, a_kernel_may_lose_a_use)
{
	struct planned p = {.machine = machine(60 * MIB, HZ_GOAL_BYTES)}, full;
	struct random_step was, now;
	struct hz_tensor_plan plan;
	void *mem;

	make_random(&was);
	copy_step(&now, &was);
	memmove(now.use + 141, now.use + 142, (2 * K - 142) * sizeof(*now.use));
	for (uint32_t k = 71; k <= K; k++)
		now.first[k]--;
	plan_step(&p, &was.step);
	cr_assert(change_plan(&plan, &mem, &now, &p, &was));
	full.machine = p.machine;
	plan_step(&full, &now.step);
	links_are_equal(&now.step, plan.gap, full.plan.gap);
	cr_assert_leq(most_used(&now.step, plan.gap), 60 * MIB);
	free(mem);
	free(p.mem);
	free(full.mem);
}

Test(tensor_plan, another_step_is_not_a_change)
{
	struct planned p = {.machine = machine(60 * MIB, HZ_GOAL_BYTES)};
	struct random_step was, now;
	struct hz_tensor_plan plan;
	void *mem;

	make_random(&was);
	copy_step(&now, &was);
	for (uint32_t k = 0; k < K; k += 3)
		now.use[2 * k + 1] = hz_use(0, R);
	plan_step(&p, &was.step);
	cr_assert_not(change_plan(&plan, &mem, &now, &p, &was));
	free(mem);
	free(p.mem);
}
