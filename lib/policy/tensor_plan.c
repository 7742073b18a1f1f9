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
#define LARGE	     1000000u

static void *take(char **at, size_t *total, size_t bytes)
{
	void *mem = *at;

	bytes = hz_align_up(bytes, (size_t)64);
	*total += bytes;
	if (*at)
		*at += bytes;
	return mem;
}

size_t hz_tp_lay_out(struct hz_tp *tp, void *mem, const struct hz_step *step)
{
	size_t n = step->kernels, uses = step->first[n], total = 0, words;
	char *at = mem;

	memset(tp, 0, sizeof(*tp));
	tp->step = step;
	tp->gap = take(&at, &total, uses * sizeof(*tp->gap));
	tp->spill = take(&at, &total, uses * sizeof(*tp->spill));
	tp->order = take(&at, &total, uses * sizeof(*tp->order));
	tp->prev = take(&at, &total, uses * sizeof(*tp->prev));
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
	tp->start = take(&at, &total, (n + 1) * sizeof(*tp->start));
	tp->room = take(&at, &total, n * sizeof(*tp->room));
	tp->used = take(&at, &total, n * sizeof(*tp->used));
	tp->link = take(&at, &total, HZ_TP_ROUNDS * n * sizeof(*tp->link));
	tp->idle =
		take(&at, &total, (HZ_TP_ROUNDS * n + 1) * sizeof(*tp->idle));
	tp->flight = take(&at, &total, (n + 1) * sizeof(*tp->flight));
	return total;
}

size_t hz_tensor_plan_bytes(const struct hz_step *step)
{
	struct hz_tp tp;

	return hz_tp_lay_out(&tp, NULL, step);
}

/* Links each use to the next one of its tensor, once around. What is only
 * written next needs nothing of what it was. */
static void link_uses(struct hz_tp *tp, uint32_t *next_of)
{
	const struct hz_step *s = tp->step;

	for (uint32_t k = s->kernels; k-- > 0;) {
		for (uint32_t u = s->first[k + 1]; u-- > s->first[k];) {
			uint32_t t = hz_use_tensor(s->use[u]);
			struct hz_gap *g = &tp->gap[u];

			g->opened = k;
			g->next = next_of[t];
			next_of[t] = u;
			if (hz_use_how(s->use[u]) & HZ_USE_LAST)
				g->next = HZ_NONE;
			if (g->next != HZ_NONE &&
			    !(hz_use_how(s->use[g->next]) & HZ_USE_READ))
				g->next = HZ_NONE;
		}
	}
}

/* Who wrote last, twice around. What is born has been written by someone. */
static void link_writes(struct hz_tp *tp, uint32_t *wrote)
{
	const struct hz_step *s = tp->step;
	uint32_t uses = s->first[s->kernels];

	memset(wrote, 0xff, s->tensors * sizeof(*wrote));
	for (uint32_t i = 0; i < 2 * uses; i++) {
		uint32_t u = i % uses, t = hz_use_tensor(s->use[u]);

		if (hz_use_how(s->use[u]) & HZ_USE_WRITE ||
		    tp->prev[u] == HZ_NONE)
			wrote[t] = u;
		tp->gap[u].wrote = wrote[t];
	}
}

void hz_tp_gaps(struct hz_tp *tp)
{
	const struct hz_step *s = tp->step;
	uint32_t uses = s->first[s->kernels];
	uint32_t *next_of = (uint32_t *)tp->state;

	memset(tp->gap, 0, uses * sizeof(*tp->gap));
	memset(tp->prev, 0xff, uses * sizeof(*tp->prev));
	memset(next_of, 0xff, s->tensors * sizeof(*next_of));
	link_uses(tp, next_of);
	link_uses(tp, next_of);
	tp->start[0] = 0;
	for (uint32_t k = 0; k < s->kernels; k++) {
		tp->start[k + 1] = tp->start[k] + s->ns[k];
		/* Until below this is the kernel of each use. */
		for (uint32_t u = s->first[k]; u < s->first[k + 1]; u++)
			tp->order[u] = k;
	}
	for (uint32_t u = 0; u < uses; u++) {
		struct hz_gap *g = &tp->gap[u];

		if (g->next == HZ_NONE)
			continue;
		tp->prev[g->next] = u;
		g->closes = tp->order[g->next];
		if (g->closes <= g->opened)
			g->closes += s->kernels;
	}
	link_writes(tp, next_of);
}

/* Those that write, by deadline: a counting sort over two steps. */
static void list_outs(struct hz_tp *tp, struct hz_tensor_plan *plan)
{
	uint32_t n = tp->step->kernels, uses = tp->step->first[n];
	uint32_t *at = tp->count;

	memset(at, 0, (2 * (size_t)n + 2) * sizeof(*at));
	for (uint32_t u = 0; u < uses; u++) {
		const struct hz_gap *g = &tp->gap[u];

		plan->in_bytes += g->evict;
		plan->out_bytes += g->write;
		plan->store_bytes += g->store;
		at[g->by + 1] += g->write != 0;
	}
	for (uint32_t i = 0; i < 2 * n + 1; i++)
		at[i + 1] += at[i];
	for (uint32_t u = 0; u < uses; u++)
		if (tp->gap[u].write)
			tp->order[at[tp->gap[u].by]++] = u;
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

void hz_tensor_plan_make(struct hz_tensor_plan *plan, void *mem,
			 const struct hz_step *step,
			 const struct hz_plan_for *machine)
{
	struct hz_tp tp;
	uint32_t uses = step->first[step->kernels];
	unsigned passes = uses > LARGE ? PASSES_LARGE : PASSES;

	memset(plan, 0, sizeof(*plan));
	hz_tp_lay_out(&tp, mem, step);
	tp.m = machine;
	tp.rounds = uses > LARGE ? HZ_TP_ROUNDS - 1 : HZ_TP_ROUNDS;
	hz_tp_gaps(&tp);
	give_room(&tp, false);
	hz_tp_choose(&tp);
	for (unsigned i = 0; machine->goal == HZ_GOAL_TIME && i < passes; i++) {
		hz_tp_just_in_time(&tp);
		give_room(&tp, true);
		hz_tp_choose(&tp);
	}
	hz_tp_just_in_time(&tp);
	hz_tp_spill(&tp);
	hz_tp_earlier(&tp);
	if (machine->read_bps)
		hz_tp_read_earlier(&tp);
	plan->gap = tp.gap;
	list_outs(&tp, plan);
	for (uint32_t k = 0; k < step->kernels; k++)
		if (tp.used[k] > (int64_t)machine->fast)
			plan->overflow =
				hz_max(plan->overflow,
				       (uint64_t)tp.used[k] - machine->fast);
}
