/* SPDX-License-Identifier: Apache-2.0 */
/*
 * When what left comes back. See tensor_plan.h.
 */
#include "policy/tensor_plan_int.h"

#include <string.h>

/* Links are planned at this part of what was measured: what the plan does not
 * know (other traffic, a kernel that is faster today) has to fit as well. */
#define PLANNED_PART(bps_) ((bps_) / 16 * 15)

/* A tensor comes in this many parts, or of this size: its memory is taken as
 * it comes. */
#define PARTS	  64
#define PART_SIZE ((uint64_t)64 << 20)

static void late_start(const struct hz_tp *tp, struct hz_tp_late *late,
		       uint32_t kernel, uint64_t bps)
{
	late->kernel = kernel;
	late->at = tp->start[kernel];
	late->bps = PLANNED_PART(bps);
	late->bytes = late->ns = 0;
}

/* The kernel in which a transfer must start that has to be over before
 * `before`, and not before `first`. */
static uint32_t late_take(const struct hz_tp *tp, struct hz_tp_late *late,
			  uint64_t bytes, uint32_t before, uint32_t first)
{
	uint64_t end = hz_min(late->at, tp->start[before]), ns;

	/* Many are of one size, and dividing takes its time. */
	if (bytes != late->bytes) {
		late->bytes = bytes;
		late->ns = hz_tp_ns(bytes, late->bps);
	}
	ns = hz_min(late->ns, end);
	late->at = hz_max(end - ns, tp->start[first]);
	late->kernel = hz_min(late->kernel, before);
	while (late->kernel > first && tp->start[late->kernel] > late->at)
		late->kernel--;
	return hz_max(late->kernel, first);
}

void hz_tp_fly(struct hz_tp *tp, uint32_t a, uint32_t b, int64_t bytes)
{
	uint32_t n = tp->step->kernels;

	if (a >= b)
		return;
	a = hz_tp_in_step(tp, a);
	b = hz_tp_in_step(tp, b - 1);
	tp->flight[a] += bytes;
	tp->flight[b + 1] -= bytes;
	if (a > b) {
		tp->flight[0] += bytes;
		tp->flight[n] -= bytes;
	}
}

static void one_back(struct hz_tp *tp, struct hz_tp_late *late,
		     struct hz_gap *g, uint32_t base, bool record)
{
	uint64_t part = hz_max(PART_SIZE, g->evict / PARTS), n;
	uint32_t kernel = base + g->closes;

	for (uint64_t left = g->evict; left; left -= n) {
		n = hz_min(part, left);
		kernel = late_take(tp, late, n, base + g->closes,
				   base + hz_min(g->by, g->closes));
		if (record)
			hz_tp_fly(tp, kernel, base + g->closes, (int64_t)n);
	}
	if (record)
		g->gate = kernel - base;
}

/* The gaps that uses end lie anywhere. */
HZ_TP_HINT look_back(const struct hz_tp *tp, uint32_t use)
{
	if (use >= HZ_TP_AHEAD && hz_tp_comes_back(tp, use - HZ_TP_AHEAD))
		__builtin_prefetch(&tp->gap[tp->prev[use - HZ_TP_AHEAD]], 1);
}

HZ_TP_HINT look_ahead(const struct hz_tp *tp, uint32_t use)
{
	uint32_t u = use + HZ_TP_AHEAD;

	if (u < tp->step->first[tp->step->kernels] && hz_tp_comes_back(tp, u))
		__builtin_prefetch(&tp->gap[tp->prev[u]], 1);
}

/* Kernels after the step that a walk back begins with, to find the link as it
 * is at the end of a step: all, or a part of a very long one. */
static uint32_t warm_up(const struct hz_tp *tp)
{
	uint32_t n = tp->step->kernels;

	return tp->step->first[n] > HZ_TP_LARGE ? n / 8 : n;
}

void hz_tp_just_in_time(struct hz_tp *tp)
{
	const struct hz_step *s = tp->step;
	uint32_t n = s->kernels, from = 3 * n + warm_up(tp);
	struct hz_tp_late late;

	late_start(tp, &late, from, tp->m->in_bps);
	memset(tp->flight, 0, (n + 1) * sizeof(*tp->flight));
	for (uint32_t k = from; k-- > 2 * n;) {
		uint32_t in = hz_tp_in_step(tp, k);

		for (uint32_t u = s->first[in]; u < s->first[in + 1]; u++) {
			struct hz_gap *g;

			look_back(tp, u);
			if (!hz_tp_comes_back(tp, u))
				continue;
			g = &tp->gap[tp->prev[u]];
			one_back(tp, &late, g, k - g->closes, k < 3 * n);
		}
	}
	for (uint32_t k = 0; k < n; k++)
		tp->flight[k + 1] += tp->flight[k];
}

/* Kernels that all gates may be moved in total: some of the time of a plan. */
#define EARLIER (1u << 26)

/* From kernel `at` down to `least`, as long as `bytes` fit beside the rest. */
static uint32_t earlier(const struct hz_tp *tp, int64_t *used, uint32_t at,
			uint32_t least, uint64_t bytes, uint64_t room)
{
	uint32_t n = tp->step->kernels;
	uint32_t most = EARLIER / tp->step->first[n];

	for (uint32_t i = 0; i < most && at > least; i++, at--) {
		uint32_t k = (at - 1) % n;

		if (used[k] + (int64_t)bytes > (int64_t)room)
			break;
		used[k] += (int64_t)bytes;
	}
	return at;
}

/* All of it, and then what fits where all does not. */
static void gate_earlier(struct hz_tp *tp, struct hz_gap *g)
{
	uint64_t fast = tp->m->fast;
	/* Not before it is read from the store, if that is known. */
	uint32_t least = g->store ? hz_max(g->by, g->read) : g->by;
	int64_t room;

	g->gate = earlier(tp, tp->flight, g->gate, least, g->evict, fast);
	g->early = g->gate;
	g->some = 0;
	if (g->gate <= least)
		return;
	room = (int64_t)fast - tp->flight[(g->gate - 1) % tp->step->kernels];
	if (room < (int64_t)(g->evict / 16) || room < (int64_t)tp->m->piece)
		return;
	g->some = hz_min(g->evict, (uint64_t)room);
	g->early = earlier(tp, tp->flight, g->gate, least, g->some, fast);
}

void hz_tp_earlier(struct hz_tp *tp)
{
	const struct hz_step *s = tp->step;

	for (uint32_t k = 0; k < s->kernels; k++)
		tp->flight[k] += tp->used[k];
	for (uint32_t u = 0; u < s->first[s->kernels]; u++) {
		look_ahead(tp, u);
		if (hz_tp_comes_back(tp, u))
			gate_earlier(tp, &tp->gap[tp->prev[u]]);
	}
}

/* When to read from the store: before the gate. */
static void read_in_time(struct hz_tp *tp)
{
	const struct hz_step *s = tp->step;
	uint32_t n = s->kernels;
	struct hz_tp_late late;

	late_start(tp, &late, 4 * n, tp->m->read_bps);
	for (uint32_t k = 4 * n; k-- > 2 * n;) {
		uint32_t in = hz_tp_in_step(tp, k);

		for (uint32_t u = s->first[in]; u < s->first[in + 1]; u++) {
			struct hz_gap *g;
			uint32_t base;

			if (tp->prev[u] == HZ_NONE)
				continue;
			g = &tp->gap[tp->prev[u]];
			base = k - g->closes;
			if (g->store)
				g->read = late_take(tp, &late, g->store,
						    base + g->gate,
						    base + g->opened) -
					  base;
		}
	}
}

/* Part of the second tier that is kept for what passes through it. */
#define PASSING(second_) ((second_) / 8)

/* The same for reads, into the second tier: tp->room is what it holds. */
void hz_tp_read_earlier(struct hz_tp *tp)
{
	const struct hz_step *s = tp->step;
	uint32_t n = s->kernels;
	uint64_t room = tp->m->second - PASSING(tp->m->second) / 4;

	memset(tp->flight, 0, (n + 1) * sizeof(*tp->flight));
	for (uint32_t u = 0; u < s->first[n]; u++)
		if (tp->gap[u].store)
			hz_tp_fly(tp, tp->gap[u].read, tp->gap[u].closes,
				  (int64_t)tp->gap[u].store);
	for (uint32_t k = 0; k < n; k++) {
		tp->flight[k + 1] += tp->flight[k];
		tp->room[k] += tp->flight[k];
	}
	for (uint32_t u = 0; u < s->first[n]; u++) {
		struct hz_gap *g;

		if (tp->prev[u] == HZ_NONE)
			continue;
		g = &tp->gap[tp->prev[u]];
		if (g->store)
			g->read = earlier(tp, tp->room, g->read, g->by,
					  g->store, room);
	}
}

static int64_t spill_some(struct hz_tp *tp, int64_t used, int64_t room)
{
	struct hz_tp_far far;

	while (used > room && hz_tp_far_pop(tp, &far)) {
		uint64_t left = tp->gap[far.use].evict - tp->spill[far.use];
		uint64_t n = hz_align_up((uint64_t)(used - room), tp->m->piece);

		n = hz_min(n, left);
		tp->spill[far.use] += n;
		used -= (int64_t)n;
		if (n < left)
			hz_tp_far_push(tp, far);
	}
	return used;
}

static int64_t spill_round(struct hz_tp *tp, int64_t used, uint32_t round)
{
	const struct hz_step *s = tp->step;
	int64_t room = (int64_t)(tp->m->second - PASSING(tp->m->second));
	uint32_t base = round * s->kernels;

	for (uint32_t k = 0; k < s->kernels; k++) {
		tp->now = base + k;
		for (uint32_t u = s->first[k]; u < s->first[k + 1]; u++) {
			uint32_t p = tp->prev[u];

			if (!hz_tp_comes_back(tp, u) ||
			    base + k < tp->gap[p].closes)
				continue;
			used -= (int64_t)(tp->gap[p].evict - tp->spill[p]);
			tp->gap[p].store = tp->spill[p];
		}
		for (uint32_t u = s->first[k]; u < s->first[k + 1]; u++) {
			if (!hz_tp_leaves(tp, u))
				continue;
			tp->spill[u] = 0;
			used += (int64_t)tp->gap[u].evict;
			hz_tp_far_push(
				tp, (struct hz_tp_far){base + tp->gap[u].closes,
						       u});
		}
		used = spill_some(tp, used, room);
		tp->room[k] = used;
	}
	return used;
}

void hz_tp_spill(struct hz_tp *tp)
{
	int64_t used = 0;

	tp->now = 0;
	hz_tp_far_reset(tp);
	for (uint32_t r = 0; tp->m->read_bps && r < tp->rounds; r++)
		used = spill_round(tp, used, r);
	if (!tp->m->read_bps)
		return;
	read_in_time(tp);
}
