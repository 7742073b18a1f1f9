/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Who leaves: the step is walked a few times around, and where a kernel does
 * not fit, the furthest next use makes room. See tensor_plan.h.
 */
#include "policy/tensor_plan_int.h"

#include <string.h>

/* The first kernel from k on in which the link out is not full. */
static uint32_t idle_from(struct hz_tp *tp, uint32_t k)
{
	uint32_t at = k, next;

	while (tp->link[at].idle != at)
		at = tp->link[at].idle;
	for (; k != at; k = next) {
		next = tp->link[k].idle;
		tp->link[k].idle = at;
	}
	return at;
}

/* Up to `bytes` over the link out from kernel `since` on, before this one.
 * The earliest time is taken: late time suits more tensors. */
static uint64_t carry(struct hz_tp *tp, uint32_t since, uint64_t bytes)
{
	uint64_t left = bytes, n;
	uint32_t k;

	while (left && (k = idle_from(tp, since)) < tp->now) {
		n = hz_min(left, (uint64_t)tp->link[k].left);
		tp->link[k].left -= (int64_t)n;
		left -= n;
		if (!tp->link[k].left)
			tp->link[k].idle = k + 1;
	}
	return bytes - left;
}

static void link_start(struct hz_tp *tp)
{
	uint32_t n = tp->step->kernels, end = tp->rounds * n;
	uint64_t ns = 0;
	double bytes = 0;

	for (uint32_t k = 0; k < n; k++) {
		/* Many take as long, and dividing takes its time. */
		if (tp->step->ns[k] != ns) {
			ns = tp->step->ns[k];
			bytes = (double)ns / 1e9 * (double)tp->m->out_bps;
		}
		for (uint32_t at = k; at < end; at += n)
			tp->link[at] =
				(struct hz_tp_link){(int64_t)bytes + 1, at};
	}
	tp->link[end] = (struct hz_tp_link){0, end};
}

/* What the last round found of a gap that some left in is the plan. */
static void record(struct hz_tp *tp, const struct hz_tp_state *st)
{
	struct hz_gap *g = &tp->gap[st->use];

	g->evict = st->evict;
	g->write = st->write;
	g->by = st->by;
	hz_tp_leaves_some(tp, st->use);
	tp->in_bytes += st->evict;
	tp->out_bytes += st->write;
}

/* Nothing leaves any more. */
static void forget(struct hz_tp *tp)
{
	uint32_t words = tp->step->first[tp->step->kernels] / 64 + 1;

	for (uint32_t w = 0; w < words; w++) {
		for (uint64_t b = tp->leaves[w]; b; b &= b - 1) {
			struct hz_gap *g =
				&tp->gap[w * 64 + (uint32_t)__builtin_ctzll(b)];

			g->evict = g->write = 0;
			g->by = g->closes;
		}
		tp->leaves[w] = 0;
	}
}

/* The open gap ends: what left comes back. Returns the bytes that the kernel
 * needs more than it finds. */
static uint64_t close_gap(struct hz_tp *tp, uint32_t use, bool last)
{
	const struct hz_step *s = tp->step;
	uint32_t t = hz_use_tensor(s->use[use]);
	struct hz_tp_state *st = &tp->state[t];
	uint64_t missing = st->bytes - st->here;
	bool writes = hz_use_how(s->use[use]) & HZ_USE_WRITE;

	if (st->use != HZ_NONE && st->evict && last)
		record(tp, st);
	/* What came back has a copy below, unless it is written now. */
	st->clean += missing;
	/* What is born has been written by someone. */
	if (writes || tp->prev[use] == HZ_NONE)
		st->wrote = use;
	if (writes || st->use == HZ_NONE) {
		st->since = (uint32_t)tp->now + 1;
		st->clean = 0;
	}
	st->here = st->bytes;
	st->evict = st->write = 0;
	st->use = HZ_NONE;
	return missing;
}

/* After the kernel: dead bytes are dropped, the others wait. */
static uint64_t open_gap(struct hz_tp *tp, uint32_t use, uint32_t base,
			 bool last)
{
	uint32_t t = hz_use_tensor(tp->step->use[use]);
	struct hz_tp_state *st = &tp->state[t];
	uint32_t closes = tp->order[use];

	if (closes == HZ_NONE) {
		st->here = st->clean = 0;
		return st->bytes;
	}
	st->use = use;
	if (last)
		tp->gap[use].wrote = st->wrote;
	/* A transfer of almost nothing costs more than it frees. */
	if (st->bytes <= tp->m->fast >> 22)
		return 0;
	hz_tp_far_push(tp, (struct hz_tp_far){base + closes, use});
	/* Soon to leave. */
	if (base + closes >= tp->far.popped)
		__builtin_prefetch(&tp->link[st->since], 1);
	return 0;
}

/* Up to `excess` bytes leave. Those with a copy cost nothing; the others as
 * many as the link could carry by now, or all if they have to. */
static int64_t evict(struct hz_tp *tp, const struct hz_tp_far *far,
		     int64_t excess, bool must)
{
	uint32_t t = hz_use_tensor(tp->step->use[far->use]);
	struct hz_tp_state *st = &tp->state[t];
	uint64_t n = hz_align_up((uint64_t)excess, tp->m->piece);
	uint64_t copied, carried;

	n = hz_min(n, st->here);
	copied = hz_min(n, st->clean);
	carried = n - copied;
	if (tp->m->goal == HZ_GOAL_TIME) {
		carried = carry(tp, st->since, n - copied);
		if (must)
			tp->stall += n - copied - carried;
		else
			n = copied + carried;
		carried = n - copied;
	}
	if (!n)
		return 0;
	st->clean -= copied;
	st->write += carried;
	/* `by` counts as `closes` does, from the step of the use. */
	if (!st->evict)
		st->by = (uint32_t)(tp->now - (far->key - tp->order[far->use]));
	st->evict += n;
	st->here -= n;
	return (int64_t)n;
}

/* Gaps that are put aside for one kernel since the link is full; less in a
 * step of very many kernels, so that all of them stay a small part. */
#define ASIDE	  512
#define ASIDE_MIN 4
#define ASIDE_ALL (1u << 21)

struct aside {
	struct hz_tp_far far[ASIDE];
	uint32_t n, taken, most;
};

/* The furthest next use; if none is left that costs no waiting, the furthest
 * of those that do. False: nobody can leave. */
static bool next_victim(struct hz_tp *tp, struct aside *a,
			struct hz_tp_far *far, bool *must)
{
	*must = false;
	if (a->n < a->most && hz_tp_far_pop(tp, far))
		return true;
	if (a->taken == a->n)
		return false;
	*must = true;
	*far = a->far[a->taken++];
	if (a->taken == a->n)
		a->n = a->taken = 0;
	return true;
}

static struct hz_tp_state *state_of(const struct hz_tp *tp, uint32_t use)
{
	return &tp->state[hz_use_tensor(tp->step->use[use])];
}

static int64_t make_room(struct hz_tp *tp, int64_t used, int64_t room)
{
	uint32_t most = ASIDE_ALL / tp->step->kernels;
	struct aside a;
	struct hz_tp_far far;
	bool must;

	a.n = a.taken = 0;
	most = hz_max(most, (uint32_t)ASIDE_MIN);
	a.most = hz_min(most, (uint32_t)ASIDE);
	while (used > room && next_victim(tp, &a, &far, &must)) {
		struct hz_tp_state *st = state_of(tp, far.use);

		if (st->use != far.use || !st->here)
			continue;
		used -= evict(tp, &far, used - room, must);
		if (st->here && must)
			hz_tp_far_push(tp, far);
		else if (st->here)
			a.far[a.n++] = far;
	}
	while (a.taken < a.n)
		hz_tp_far_push(tp, a.far[a.taken++]);
	return used;
}

/* What a later use will touch is on its way until then. */
HZ_TP_HINT look_ahead(const struct hz_tp *tp, uint32_t use, uint32_t base,
		      bool last)
{
	uint32_t u = use + HZ_TP_AHEAD;
	const struct hz_tp_state *st;

	if (u >= tp->step->first[tp->step->kernels])
		return;
	__builtin_prefetch(&tp->state[hz_use_tensor(tp->step->use[u])], 1);
	if (tp->order[u] != HZ_NONE)
		__builtin_prefetch(&tp->far.head[base + tp->order[u]], 1);
	if (!last)
		return;
	u = use + HZ_TP_AHEAD / 2;
	st = &tp->state[hz_use_tensor(tp->step->use[u])];
	if (st->evict)
		__builtin_prefetch(&tp->gap[st->use], 1);
}

static int64_t walk(struct hz_tp *tp, int64_t used, uint32_t round)
{
	const struct hz_step *s = tp->step;
	uint32_t base = round * s->kernels;
	bool last = round == tp->rounds - 1;

	for (uint32_t k = 0; k < s->kernels; k++) {
		tp->now = base + k;
		for (uint32_t u = s->first[k]; u < s->first[k + 1]; u++) {
			look_ahead(tp, u, base, last);
			used += (int64_t)close_gap(tp, u, last);
		}
		used = make_room(tp, used, tp->room[k]);
		tp->used[k] = used;
		for (uint32_t u = s->first[k]; u < s->first[k + 1]; u++)
			used -= (int64_t)open_gap(tp, u, base, last);
	}
	return used;
}

void hz_tp_choose(struct hz_tp *tp)
{
	const struct hz_step *s = tp->step;
	int64_t used = 0;

	tp->now = 0;
	hz_tp_far_reset(tp);
	forget(tp);
	link_start(tp);
	for (uint32_t t = 0; t < s->tensors; t++)
		tp->state[t] = (struct hz_tp_state){
			.bytes = s->bytes[t], .use = HZ_NONE, .wrote = HZ_NONE};
	tp->in_bytes = tp->out_bytes = 0;
	for (uint32_t r = 0; r < tp->rounds; r++) {
		tp->stall = 0;
		used = walk(tp, used, r);
	}
}
