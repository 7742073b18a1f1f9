/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The order of planning: gaps, who leaves, when it is back, and again with the
 * memory that is taken by what is on its way. See tensor_plan.h.
 */
#include "policy/tensor_plan_int.h"

#include <string.h>

/* Memory in flight changes who leaves, which changes what is in flight. */
#define PASSES	     4
#define PASSES_LARGE 0

static void *take(char **at, size_t *total, size_t bytes)
{
	void *mem = *at;

	bytes = hz_align_up(bytes, (size_t)HZ_TP_LINE);
	*total += bytes;
	if (*at)
		*at += bytes;
	return mem;
}

size_t hz_tp_lay_out(struct hz_tp *tp, void *mem, const struct hz_step *step)
{
	size_t n = step->kernels, uses = step->first[n], words;
	size_t total = HZ_TP_LINE - 1; /* the caller's may lie anywhere */
	char *at = (char *)hz_align_up((uintptr_t)mem, HZ_TP_LINE);

	memset(tp, 0, sizeof(*tp));
	tp->step = step;
	tp->gap = take(&at, &total, uses * sizeof(*tp->gap));
	tp->spill = take(&at, &total, uses * sizeof(*tp->spill));
	tp->order = take(&at, &total, uses * sizeof(*tp->order));
	tp->prev = take(&at, &total, uses * sizeof(*tp->prev));
	tp->leaves = take(&at, &total, (uses / 64 + 1) * sizeof(*tp->leaves));
	tp->count = take(&at, &total, (2 * n + 2) * sizeof(*tp->count));
	tp->state = take(&at, &total, step->tensors * sizeof(*tp->state));
	tp->far.keys = (uint32_t)((HZ_TP_ROUNDS + 1) * n + 1);
	tp->far.head = take(&at, &total, tp->far.keys * sizeof(uint32_t));
	tp->far.next = take(&at, &total, uses * sizeof(uint32_t));
	words = tp->far.keys;
	for (unsigned l = 0; l < HZ_TP_LEVELS; l++) {
		words = words / 64 + 1;
		tp->far.bits[l] = take(&at, &total, words * sizeof(uint64_t));
	}
	tp->start =
		take(&at, &total, (HZ_TP_TIMES * n + 1) * sizeof(*tp->start));
	tp->room = take(&at, &total, n * sizeof(*tp->room));
	tp->used = take(&at, &total, n * sizeof(*tp->used));
	tp->link =
		take(&at, &total, (HZ_TP_ROUNDS * n + 1) * sizeof(*tp->link));
	tp->flight = take(&at, &total, (n + 1) * sizeof(*tp->flight));
	return total;
}

size_t hz_tensor_plan_bytes(const struct hz_step *step)
{
	struct hz_tp tp;

	return hz_tp_lay_out(&tp, NULL, step);
}

/* What is only written next needs nothing of what it was. */
static void link_use(struct hz_tp *tp, const struct hz_tp_seen *next,
		     uint32_t use, uint32_t kernel)
{
	struct hz_gap *g = &tp->gap[use];
	uint32_t closes = next->how / 2;
	bool last = hz_use_how(tp->step->use[use]) & HZ_USE_LAST;

	*g = (struct hz_gap){
		.next = HZ_NONE, .wrote = HZ_NONE, .opened = kernel};
	tp->order[use] = HZ_NONE;
	if (last || !(next->how & 1))
		return;
	g->next = next->use;
	g->closes = closes + (closes <= kernel ? tp->step->kernels : 0);
	g->by = g->closes;
	tp->order[use] = g->closes;
	tp->prev[g->next] = use;
}

static struct hz_tp_seen see(uint32_t use, uint32_t kernel, uint32_t u)
{
	return (struct hz_tp_seen){
		use, 2 * kernel + !!(hz_use_how(u) & HZ_USE_READ)};
}

/* The first use of each tensor: it comes after the last one. */
static void see_first(const struct hz_step *s, struct hz_tp_seen *seen)
{
	uint32_t left = s->tensors;

	memset(seen, 0xff, s->tensors * sizeof(*seen));
	for (uint32_t k = 0; left && k < s->kernels; k++) {
		for (uint32_t u = s->first[k]; u < s->first[k + 1]; u++) {
			uint32_t t = hz_use_tensor(s->use[u]);

			if (seen[t].use != HZ_NONE)
				continue;
			seen[t] = see(u, k, s->use[u]);
			left--;
		}
	}
}

HZ_TP_HINT look_ahead(const struct hz_tp *tp, const struct hz_tp_seen *seen,
		      uint32_t use)
{
	uint32_t near = use - hz_min(use, HZ_TP_AHEAD / 2);
	uint32_t far = use - hz_min(use, HZ_TP_AHEAD);

	__builtin_prefetch(&seen[hz_use_tensor(tp->step->use[far])], 1);
	near = seen[hz_use_tensor(tp->step->use[near])].use;
	__builtin_prefetch(&tp->prev[near], 1);
}

/* Links each use to the next one of its tensor, once around. */
static void link_uses(struct hz_tp *tp, const uint64_t *only)
{
	const struct hz_step *s = tp->step;
	struct hz_tp_seen *seen = (struct hz_tp_seen *)tp->state;

	memset(tp->prev, 0xff, s->first[s->kernels] * sizeof(*tp->prev));
	see_first(s, seen);
	for (uint32_t k = s->kernels; k-- > 0;) {
		for (uint32_t u = s->first[k + 1]; u-- > s->first[k];) {
			uint32_t t = hz_use_tensor(s->use[u]);

			if (only && !(only[t / 64] >> (t % 64) & 1))
				continue;
			look_ahead(tp, seen, u);
			link_use(tp, &seen[t], u, k);
			seen[t] = see(u, k, s->use[u]);
		}
	}
}

void hz_tp_times(struct hz_tp *tp)
{
	const struct hz_step *s = tp->step;
	uint64_t at = 0;

	for (uint32_t k = 0; k < HZ_TP_TIMES * s->kernels; k++) {
		tp->start[k] = at;
		at += s->ns[hz_tp_in_step(tp, k)];
	}
	tp->start[HZ_TP_TIMES * s->kernels] = at;
}

void hz_tp_gaps(struct hz_tp *tp, const uint64_t *only)
{
	uint32_t uses = tp->step->first[tp->step->kernels];

	hz_tp_times(tp);
	memset(tp->leaves, 0, (uses / 64 + 1) * sizeof(*tp->leaves));
	link_uses(tp, only);
}

void hz_tp_timing(struct hz_tp *tp, struct hz_tensor_plan *plan)
{
	uint64_t fast = tp->m->fast;

	hz_tp_just_in_time(tp);
	hz_tp_spill(tp);
	hz_tp_earlier(tp);
	if (tp->m->read_bps)
		hz_tp_read_earlier(tp);
	plan->gap = tp->gap;
	plan->overflow = 0;
	for (uint32_t k = 0; k < tp->step->kernels; k++)
		if (tp->used[k] > (int64_t)fast)
			plan->overflow = hz_max(plan->overflow,
						(uint64_t)tp->used[k] - fast);
}

HZ_TP_HINT come_soon(const struct hz_tp *tp, uint32_t word)
{
	for (uint64_t b = tp->leaves[word]; b; b &= b - 1)
		__builtin_prefetch(
			&tp->gap[word * 64 + (uint32_t)__builtin_ctzll(b)]);
}

/* The next use from `use` on in whose gap some leaves; those of a later word
 * are told to come. */
static uint32_t next_leaves(const struct hz_tp *tp, uint32_t use)
{
	uint32_t uses = tp->step->first[tp->step->kernels], word = use / 64;
	uint64_t bits = 0;

	if (use >= uses)
		return uses;
	if (use % 64)
		bits = tp->leaves[word++] >> (use % 64) << (use % 64);
	for (; !bits && word <= uses / 64; word++) {
		bits = tp->leaves[word];
		if (word < uses / 64)
			come_soon(tp, word + 1);
	}
	if (!bits)
		return uses;
	return (word - 1) * 64 + (uint32_t)__builtin_ctzll(bits);
}

/* Those that write, by deadline: a counting sort over two steps. The plan has
 * been walked to its end, so `order` is free. */
void hz_tp_list_outs(struct hz_tp *tp, struct hz_tensor_plan *plan)
{
	uint32_t n = tp->step->kernels, uses = tp->step->first[n], u;
	uint32_t *at = tp->count;

	memset(at, 0, (2 * (size_t)n + 2) * sizeof(*at));
	for (u = next_leaves(tp, 0); u < uses; u = next_leaves(tp, u + 1)) {
		plan->store_bytes += tp->gap[u].store;
		at[tp->gap[u].by + 1] += tp->gap[u].write != 0;
	}
	for (uint32_t i = 0; i < 2 * n + 1; i++)
		at[i + 1] += at[i];
	for (u = next_leaves(tp, 0); u < uses; u = next_leaves(tp, u + 1))
		if (tp->gap[u].write)
			tp->order[at[tp->gap[u].by]++] = u;
	plan->in_bytes = tp->in_bytes;
	plan->out_bytes = tp->out_bytes;
	plan->out = tp->order;
	plan->outs = at[2 * n];
}

/* Room for what is on its way: its part of each kernel's memory. */
static void give_room(struct hz_tp *tp, bool flight)
{
	int64_t fast = (int64_t)tp->m->fast, was;

	for (uint32_t k = 0; k < tp->step->kernels; k++) {
		was = tp->room[k];
		tp->room[k] = flight ? fast - tp->flight[k] : fast;
		/* Halfway, so that it settles. */
		if (flight && was < fast)
			tp->room[k] = (tp->room[k] + was) / 2;
	}
}

void hz_tp_begin(struct hz_tp *tp, void *mem, const struct hz_step *step,
		 const struct hz_plan_for *machine)
{
	uint32_t uses = step->first[step->kernels];

	hz_tp_lay_out(tp, mem, step);
	tp->m = machine;
	tp->rounds = uses > HZ_TP_LARGE ? HZ_TP_ROUNDS - 1 : HZ_TP_ROUNDS;
}

void hz_tensor_plan_make(struct hz_tensor_plan *plan, void *mem,
			 const struct hz_step *step,
			 const struct hz_plan_for *machine)
{
	struct hz_tp tp;
	uint32_t uses = step->first[step->kernels];
	unsigned passes = uses > HZ_TP_LARGE ? PASSES_LARGE : PASSES;

	memset(plan, 0, sizeof(*plan));
	hz_tp_begin(&tp, mem, step, machine);
	hz_tp_gaps(&tp, NULL);
	give_room(&tp, false);
	hz_tp_choose(&tp);
	for (unsigned i = 0; machine->goal == HZ_GOAL_TIME && i < passes; i++) {
		hz_tp_just_in_time(&tp);
		give_room(&tp, true);
		hz_tp_choose(&tp);
	}
	hz_tp_timing(&tp, plan);
	hz_tp_list_outs(&tp, plan);
}

void hz_tensor_plan_retime(struct hz_tensor_plan *plan, void *mem,
			   const struct hz_step *step,
			   const struct hz_plan_for *machine)
{
	struct hz_tp tp;
	uint32_t uses = step->first[step->kernels];

	hz_tp_begin(&tp, mem, step, machine);
	hz_tp_times(&tp);
	hz_tp_timing(&tp, plan);
	plan->store_bytes = 0;
	for (uint32_t u = 0; machine->read_bps && u < uses; u++)
		plan->store_bytes += tp.gap[u].store;
}
