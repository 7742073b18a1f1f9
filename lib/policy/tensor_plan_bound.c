/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How fast a step can be at best. See tensor_plan.h.
 *
 * What is alive at a kernel and does not fit must have left before it and must
 * come back after it. Tensors that live across steps are left out: their
 * copies may have been made, and may be needed, elsewhere.
 */
#include "policy/tensor_plan_int.h"

#include <string.h>

/* Changes of what is alive, in tp->flight. Returns what lives across steps. */
static uint64_t live_changes(struct hz_tp *tp)
{
	const struct hz_step *s = tp->step;
	uint8_t *dies = (uint8_t *)tp->state;
	uint64_t kept = 0;

	memset(dies, 0, s->tensors);
	for (uint32_t u = 0; u < s->first[s->kernels]; u++)
		if (tp->gap[u].next == HZ_NONE)
			dies[hz_use_tensor(s->use[u])] = 1;
	for (uint32_t t = 0; t < s->tensors; t++)
		if (!dies[t])
			kept += s->bytes[t];
	memset(tp->flight, 0, (s->kernels + 1) * sizeof(*tp->flight));
	for (uint32_t u = 0; u < s->first[s->kernels]; u++) {
		const struct hz_gap *g = &tp->gap[u];
		uint32_t t = hz_use_tensor(s->use[u]);
		int64_t bytes = (int64_t)s->bytes[t];

		if (!dies[t])
			continue;
		if (tp->prev[u] == HZ_NONE)
			tp->flight[g->opened] += bytes;
		if (g->next == HZ_NONE)
			tp->flight[g->opened + 1] -= bytes;
		else if (g->closes >= s->kernels)
			tp->flight[0] += bytes;
	}
	return kept;
}

static uint64_t side(uint64_t ns, uint64_t excess, uint64_t bps)
{
	return hz_max(ns, hz_tp_ns(excess, bps));
}

static uint64_t over(uint64_t live, uint64_t fits)
{
	return live > fits ? live - fits : 0;
}

static void at_kernel(struct hz_tp *tp, struct hz_step_bound *b, uint32_t k,
		      uint64_t live, uint64_t kept)
{
	const struct hz_plan_for *m = tp->m;
	uint64_t before = tp->start[k], all = tp->start[tp->step->kernels];
	uint64_t link = over(live, m->fast + kept);
	uint64_t store = over(live, m->fast + m->second + kept);
	uint64_t after = all - before, run = tp->step->ns[k], least;

	least = side(before, link, m->out_bps) + run +
		side(after - run, link, m->in_bps);
	b->bound_ns = hz_max(b->bound_ns, least);
	if (!m->read_bps)
		return;
	least = side(before, store, m->write_bps) + run +
		side(after - run, store, m->read_bps);
	b->bound_ns = hz_max(b->bound_ns, least);
}

void hz_step_bound(struct hz_step_bound *bound, void *mem,
		   const struct hz_step *step,
		   const struct hz_plan_for *machine)
{
	struct hz_tp tp;
	uint64_t kept, live;

	memset(bound, 0, sizeof(*bound));
	hz_tp_lay_out(&tp, mem, step);
	tp.m = machine;
	hz_tp_gaps(&tp, NULL);
	kept = live_changes(&tp);
	live = kept;
	bound->ideal_ns = bound->bound_ns = tp.start[step->kernels];
	for (uint32_t k = 0; k < step->kernels; k++) {
		live += (uint64_t)tp.flight[k];
		if (live > bound->live_peak) {
			bound->live_peak = live;
			bound->peak_kernel = k;
		}
		at_kernel(&tp, bound, k, live, kept);
	}
}
