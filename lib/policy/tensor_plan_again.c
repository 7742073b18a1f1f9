/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A few kernels of the step have changed: the plan is changed, not made. See
 * tensor_plan.h.
 *
 * What was planned for gaps that are still there is carried over; where that
 * does not fit, one sweep over the kernels that lack memory makes room.
 */
#include "policy/tensor_plan_same.h"

#include <string.h>

/* What was planned for the gap, if it is still between the same uses. */
static void carry_gap(struct hz_tp *tp, const struct hz_tp_same *s,
		      uint32_t was, uint32_t use)
{
	const struct hz_gap *old = &s->gap[was];
	struct hz_gap *g = &tp->gap[use];
	uint32_t end = old->closes, by;

	if (old->next == HZ_NONE || !old->evict)
		return;
	end = end >= s->was->kernels ? end - s->was->kernels : end;
	if (hz_tp_is_other(s, hz_use_tensor(tp->step->use[use])) &&
	    hz_tp_use_now(s, old->next, end) != g->next)
		return;
	g->evict = old->evict;
	g->write = old->write;
	hz_tp_leaves_some(tp, use);
	by = hz_max(hz_tp_kernel_now(s, old->by), g->opened + 1);
	g->by = hz_min(by, g->closes);
}

/* What a use and the gap after it change of the memory that is used: as long
 * as one gap of a tensor follows the other, nothing. */
static void weigh(struct hz_tp *tp, uint32_t use, uint32_t t)
{
	const struct hz_gap *g = &tp->gap[use];

	if (tp->prev[use] == HZ_NONE)
		tp->flight[g->opened] += (int64_t)tp->step->bytes[t];
	if (g->next == HZ_NONE)
		tp->flight[g->opened + 1] -= (int64_t)tp->step->bytes[t];
	else if (g->closes >= tp->step->kernels)
		tp->flight[0] += (int64_t)tp->step->bytes[t];
	if (!hz_tp_leaves(tp, use))
		return;
	hz_tp_fly(tp, g->by, g->closes, -(int64_t)g->evict);
	tp->in_bytes += g->evict;
	tp->out_bytes += g->write;
}

/* Is this use the one that wrote what is there after it? What is born has been
 * written by someone. */
static bool writes(const struct hz_tp *tp, uint32_t use)
{
	return hz_use_how(tp->step->use[use]) & HZ_USE_WRITE ||
	       tp->prev[use] == HZ_NONE;
}

/* A use of a tensor that some other kernel has, too: it has been linked. */
static void carry_other(struct hz_tp *tp, const struct hz_tp_same *s,
			uint32_t use, uint32_t was, uint32_t *wrote)
{
	struct hz_gap *g = &tp->gap[use];

	if (writes(tp, use))
		*wrote = use;
	if (g->next == HZ_NONE)
		return;
	g->wrote = *wrote;
	if (was != HZ_NONE)
		carry_gap(tp, s, was, use);
}

/* A use of a tensor whose uses are all still there, somewhere else. */
static void carry_same(struct hz_tp *tp, const struct hz_tp_same *s,
		       uint32_t use, uint32_t was, uint32_t kernel)
{
	const struct hz_gap *old = &s->gap[was];
	uint32_t n = s->now->kernels, m = s->was->kernels;
	struct hz_gap *g = &tp->gap[use];
	const struct hz_tp_stretch *r;

	*g = (struct hz_gap){
		.next = HZ_NONE, .wrote = HZ_NONE, .opened = kernel};
	tp->order[use] = HZ_NONE;
	if (s->prev[was] != HZ_NONE)
		tp->prev[use] =
			s->prev[was] + hz_tp_stretch_of(s, s->prev[was])->uses;
	if (old->next == HZ_NONE)
		return;
	r = hz_tp_stretch_of(s, old->next);
	g->next = old->next + r->uses;
	g->closes = old->closes + r->kernels + (old->closes >= m ? n - m : 0);
	g->by = tp->order[use] = g->closes;
	if (old->wrote != HZ_NONE)
		g->wrote = old->wrote + hz_tp_stretch_of(s, old->wrote)->uses;
	carry_gap(tp, s, was, use);
}

/* Sums up the changes in flight. */
static void add_up(struct hz_tp *tp)
{
	for (uint32_t k = 0; k < tp->step->kernels; k++) {
		tp->flight[k + 1] += tp->flight[k];
		tp->used[k] += tp->flight[k];
	}
}

/* What a later use will touch is on its way until then. */
HZ_TP_HINT look_ahead(const struct hz_tp *tp, const struct hz_tp_same *s,
		      uint32_t was)
{
	uint32_t n = s->now->kernels, m = s->was->kernels;
	uint32_t u = was + HZ_TP_AHEAD, by, closes;

	if (u >= s->was->first[m])
		return;
	by = s->gap[u].by;
	closes = s->gap[u].closes;
	if (!s->gap[u].evict)
		return;
	by = by >= m ? by - m : by;
	closes = closes >= m ? closes - m : closes;
	__builtin_prefetch(&s->kernel[by]);
	__builtin_prefetch(&tp->flight[hz_min(by, n)], 1);
	__builtin_prefetch(&tp->flight[hz_min(closes, n)], 1);
}

static void carry_kernel(struct hz_tp *tp, const struct hz_tp_same *s,
			 uint32_t k, uint32_t was)
{
	const struct hz_step *now = tp->step;
	uint32_t *wrote = (uint32_t *)tp->state;

	for (uint32_t u = now->first[k]; u < now->first[k + 1]; u++) {
		uint32_t t = hz_use_tensor(now->use[u]);

		look_ahead(tp, s, was);
		if (hz_tp_is_other(s, t))
			carry_other(tp, s, u, was, &wrote[t]);
		else
			carry_same(tp, s, u, was, k);
		weigh(tp, u, t);
		was += was != HZ_NONE;
	}
}

/* All uses in their order, with the kernel that each was in before. */
static void carry(struct hz_tp *tp, const struct hz_tp_same *s)
{
	const struct hz_step *now = tp->step;
	uint32_t *wrote = (uint32_t *)tp->state, was = 0, m = s->was->kernels;

	for (uint32_t t = 0; t < now->tensors; t++)
		wrote[t] = HZ_NONE;
	for (uint32_t u = 0; u < now->first[now->kernels]; u++)
		if (hz_tp_is_other(s, hz_use_tensor(now->use[u])) &&
		    writes(tp, u))
			wrote[hz_use_tensor(now->use[u])] = u;
	memset(tp->flight, 0, (now->kernels + 1) * sizeof(*tp->flight));
	memset(tp->used, 0, now->kernels * sizeof(*tp->used));
	for (uint32_t k = 0; k < now->kernels; k++) {
		while (was < m &&
		       (s->kernel[was] & HZ_TP_GONE || s->kernel[was] < k))
			was++;
		carry_kernel(tp, s, k,
			     was < m && s->kernel[was] == k ? s->was->first[was]
							    : HZ_NONE);
	}
	add_up(tp);
}

/* A gap that is open, and closes at `key` counted from this step. */
static void offer(struct hz_tp *tp, uint32_t use, uint32_t key)
{
	uint64_t bytes = tp->step->bytes[hz_use_tensor(tp->step->use[use])];

	if (hz_tp_leaves(tp, use) && tp->gap[use].evict == bytes)
		return;
	if (bytes > tp->m->fast >> 22)
		hz_tp_far_push(tp, (struct hz_tp_far){key, use});
}

/* A use that is offered later. */
HZ_TP_HINT come_soon(const struct hz_tp *tp, uint32_t use, uint32_t from)
{
	uint32_t u = use + HZ_TP_AHEAD, closes;

	if (u >= tp->step->first[tp->step->kernels])
		return;
	__builtin_prefetch(&tp->step->bytes[hz_use_tensor(tp->step->use[u])]);
	closes = tp->order[u];
	if (closes != HZ_NONE && closes >= from)
		__builtin_prefetch(&tp->far.head[closes - from], 1);
}

/* All that are open before kernel k, of this step and the one before. */
static void offer_open(struct hz_tp *tp, uint32_t k)
{
	const struct hz_step *s = tp->step;
	uint32_t n = s->kernels;

	for (uint32_t at = 0; at < n; at++) {
		uint32_t from = at < k ? 0 : n;

		for (uint32_t u = s->first[at]; u < s->first[at + 1]; u++) {
			come_soon(tp, u, from);
			if (tp->order[u] != HZ_NONE && tp->order[u] > k + from)
				offer(tp, u, tp->order[u] - from);
		}
	}
}

/* Up to `excess` bytes leave in kernel k; they count as written: what has a
 * copy is found when it is due. */
static uint64_t leave(struct hz_tp *tp, const struct hz_tp_far *far, uint32_t k,
		      uint64_t excess)
{
	struct hz_gap *g = &tp->gap[far->use];
	uint64_t all = tp->step->bytes[hz_use_tensor(tp->step->use[far->use])];
	uint64_t n = hz_align_up(excess, tp->m->piece);
	uint32_t at = k + (g->closes - far->key);

	n = hz_min(n, all - g->evict);
	g->by = g->evict ? hz_min(g->by, at) : at;
	hz_tp_leaves_some(tp, far->use);
	g->evict += n;
	g->write += n;
	tp->in_bytes += n;
	tp->out_bytes += n;
	hz_tp_fly(tp, k, far->key, -(int64_t)n);
	return n;
}

/* From the first kernel that lacks memory to the last one that does. */
static void repair(struct hz_tp *tp)
{
	const struct hz_step *s = tp->step;
	int64_t fast = (int64_t)tp->m->fast, sum = 0;
	struct hz_tp_far far;
	uint32_t k = 0, end = s->kernels;

	while (k < end && tp->used[k] <= fast)
		k++;
	if (k == end)
		return;
	while (tp->used[end - 1] <= fast)
		end--;
	hz_tp_far_reset(tp);
	tp->now = k;
	offer_open(tp, k);
	memset(tp->flight, 0, (s->kernels + 1) * sizeof(*tp->flight));
	for (; k < end; k++) {
		tp->now = k;
		sum += tp->flight[k];
		while (tp->used[k] + sum > fast && hz_tp_far_pop(tp, &far))
			sum -= (int64_t)leave(
				tp, &far, k,
				(uint64_t)(tp->used[k] + sum - fast));
		for (uint32_t u = s->first[k]; u < s->first[k + 1]; u++) {
			come_soon(tp, u, 0);
			if (tp->order[u] != HZ_NONE)
				offer(tp, u, tp->order[u]);
		}
	}
	add_up(tp);
}

bool hz_tensor_plan_change(struct hz_tensor_plan *plan, void *mem,
			   const struct hz_step *step,
			   const struct hz_plan_for *machine,
			   const struct hz_tensor_plan *was,
			   const struct hz_step *was_step)
{
	struct hz_tp_same s = {.was = was_step, .now = step, .gap = was->gap};
	struct hz_tp tp;

	hz_tp_begin(&tp, mem, step, machine);
	if (!hz_tp_compare(&tp, &s, was))
		return false;
	memset(plan, 0, sizeof(*plan));
	hz_tp_gaps(&tp, s.other);
	carry(&tp, &s);
	repair(&tp);
	hz_tp_timing(&tp, plan);
	hz_tp_list_outs(&tp, plan);
	return true;
}
