/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Simulated engine around a plan; see plan_sim.h.
 */
#include "plan_sim.h"

#include <stdlib.h>
#include <string.h>
#include "policy/tier.h"

#define SIM_IO_DEPTH 16
/* A visit takes ten times as long as a transfer is said to take. */
#define SIM_VISIT_NS 1000000
#define SIM_BLOCK_NS (SIM_VISIT_NS / 10)

enum sim_state { SIM_ZERO, SIM_MAPPED, SIM_FRAME, SIM_READY, SIM_STORED };

struct sim_block {
	uint8_t state;
	bool dirty;
	bool copy; /* its slot holds the same bytes */
	bool pinned;
};

struct sim {
	struct hz_plan *plan;
	struct sim_block *block;
	uint32_t blocks, capacity, read_ahead;
	uint32_t used; /* frames */
	uint32_t free_target;
	uint64_t now;
	struct sim_count count;
};

struct sim *sim_new(uint32_t blocks, uint32_t capacity, uint32_t read_ahead)
{
	struct sim *s = calloc(1, sizeof(*s));
	size_t bytes = hz_plan_bytes(blocks);
	void *mem = aligned_alloc(HZ_PAGE_SIZE, bytes);

	if (!s || !mem)
		abort();
	memset(mem, 0, bytes);
	s->plan = hz_plan_init(mem, blocks, read_ahead);
	hz_plan_learning(s->plan, false);
	hz_plan_transfer(s->plan, SIM_BLOCK_NS, 0, 0);
	s->block = calloc(blocks, sizeof(*s->block));
	if (!s->block)
		abort();
	s->blocks = blocks;
	s->read_ahead = read_ahead;
	sim_capacity(s, capacity);
	return s;
}

void sim_free(struct sim *s)
{
	free(s->plan); /* starts the memory that it was given */
	free(s->block);
	free(s);
}

void sim_capacity(struct sim *s, uint32_t capacity)
{
	s->capacity = capacity;
	s->free_target = 0; /* divide anew */
	hz_plan_capacity(s->plan, capacity);
}

void sim_pin(struct sim *s, uint32_t block, bool pinned)
{
	s->block[block].pinned = pinned;
}

uint32_t sim_resident(const struct sim *s)
{
	return s->used;
}

bool sim_is_resident(const struct sim *s, uint32_t block)
{
	return s->block[block].state != SIM_ZERO &&
	       s->block[block].state != SIM_STORED;
}

struct hz_plan *sim_plan(struct sim *s)
{
	return s->plan;
}

/* ---- taking blocks ---- */

static void take_out(struct sim *s, struct sim_block *b)
{
	s->used--;
	s->count.evictions++;
	if (b->dirty) {
		s->count.writes++;
		b->copy = true;
	} else if (b->copy) {
		s->count.clean++;
	}
	b->dirty = false;
	b->state = b->copy ? SIM_STORED : SIM_ZERO;
}

static void carry_out(struct sim *s, struct hz_choice c, struct sim_block *b)
{
	if (c.action == HZ_ACT_TRIAL) {
		if (b->state != SIM_MAPPED)
			abort();
		b->state = SIM_FRAME;
		s->count.trials++;
	} else if (c.action == HZ_ACT_DROP) {
		if (b->state != SIM_READY)
			abort();
		b->state = SIM_STORED;
		s->used--;
		s->count.drops++;
	} else {
		if (b->state == SIM_READY) { /* read ahead for nothing */
			b->state = SIM_STORED;
			s->used--;
			s->count.drops++;
			return;
		}
		if (b->state != SIM_MAPPED && b->state != SIM_FRAME)
			abort();
		take_out(s, b);
	}
}

/* One choice; false when there is none. */
static bool reclaim(struct sim *s, bool must)
{
	struct hz_choice c = hz_plan_choose(s->plan, must);
	struct sim_block *b;

	if (c.action == HZ_ACT_NONE)
		return false;
	b = &s->block[c.block];
	if (b->pinned && c.action != HZ_ACT_DROP) {
		s->count.refused++;
		hz_plan_refused(s->plan, c);
		return true;
	}
	carry_out(s, c, b);
	hz_plan_done(s->plan, c);
	return true;
}

static void divide(struct sim *s)
{
	uint32_t want =
		hz_plan_follows(s->plan)
			? hz_tier_free_follow(s->capacity, SIM_IO_DEPTH, 0)
			: hz_tier_free_target(s->capacity, s->read_ahead,
					      SIM_IO_DEPTH, 0);

	if (want == s->free_target)
		return;
	s->free_target = want;
	hz_plan_capacity(s->plan,
			 s->capacity - hz_min(want, s->capacity / 2));
}

static bool spare(const struct sim *s, uint32_t frames)
{
	return s->used + frames <= s->capacity;
}

/* `now`: somebody waits for a frame. */
static void keep_free(struct sim *s, bool now)
{
	divide(s);
	while (!spare(s, s->free_target + now) &&
	       reclaim(s, now || !spare(s, HZ_SPARE_FRAMES)))
		divide(s);
}

/* ---- serving ---- */

static void read_ahead(struct sim *s)
{
	uint32_t next[64];
	unsigned n = hz_plan_ahead(s->plan, next, 64);

	for (unsigned i = 0; i < n; i++) {
		struct sim_block *b = &s->block[next[i]];

		if (b->state != SIM_STORED)
			hz_plan_absent(s->plan, next[i]);
		if (b->state != SIM_STORED || !spare(s, HZ_SPARE_FRAMES + 1))
			continue;
		b->state = SIM_READY;
		s->used++;
		s->count.reads++;
		hz_plan_prefetched(s->plan, next[i]);
	}
}

static void probe(struct sim *s)
{
	struct hz_choice c;

	if (!hz_plan_probes(s->plan))
		return;
	while ((c = hz_plan_probe(s->plan)).action != HZ_ACT_NONE) {
		if (s->block[c.block].pinned) {
			s->count.refused++;
			hz_plan_refused(s->plan, c);
			continue;
		}
		carry_out(s, c, &s->block[c.block]);
		hz_plan_done(s->plan, c);
	}
}

static enum hz_access serve(struct sim *s, struct sim_block *b)
{
	switch ((enum sim_state)b->state) {
	case SIM_FRAME:
		s->count.soft++;
		return HZ_ACCESS_SOFT;
	case SIM_READY:
		s->count.ahead++;
		return HZ_ACCESS_AHEAD;
	case SIM_STORED:
		s->count.demand++;
		s->count.reads++;
		s->used++;
		return HZ_ACCESS_DEMAND;
	default:
		s->count.zero++;
		s->used++;
		return HZ_ACCESS_ZERO;
	}
}

static void visit(struct sim *s, const struct sim_visit *v)
{
	struct sim_block *b = &s->block[v->block];

	s->count.visits++;
	s->now += SIM_VISIT_NS;
	if (b->state != SIM_MAPPED) {
		enum hz_access how;

		if (b->state == SIM_ZERO || b->state == SIM_STORED)
			keep_free(s, !spare(s, 1));
		how = serve(s, b);
		hz_plan_access(s->plan, v->block, how, s->now);
		b->state = SIM_MAPPED;
		keep_free(s, false);
		read_ahead(s);
		probe(s);
	}
	/* It may have been taken again at once; the program still wrote. */
	b->dirty |= v->write && b->state == SIM_MAPPED;
}

struct sim_count sim_run(struct sim *s, const struct sim_trace *t, size_t from,
			 size_t to)
{
	memset(&s->count, 0, sizeof(s->count));
	for (size_t i = from; i < to && i < t->n; i++)
		visit(s, &t->visit[i]);
	return s->count;
}

struct sim_count sim_passes(struct sim *s, const struct sim_trace *t,
			    unsigned passes)
{
	struct sim_count c = {0};
	size_t part = t->n / passes;

	for (unsigned p = 0; p < passes; p++)
		c = sim_run(s, t, p * part, (p + 1) * part);
	hz_plan_check(s->plan);
	return c;
}
