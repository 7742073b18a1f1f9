/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From the plan to pieces. See follow.h.
 */
#include "config.h"
#include "replay/follow.h"

#include <stdlib.h>
#include <string.h>
#include "replay/mem.h"

/* Tensors are split in these. */
#define SPLIT HZ_BLOCK_SIZE

static const struct move nothing = {HZ_NONE, 0};

void follow_init(struct follow *f, const struct sim *sim)
{
	memset(f, 0, sizeof(*f));
	f->lru = lru_new(sim->run->tensors);
	f->tensor = mem_zeroed(sim->run->tensors, sizeof(*f->tensor));
	for (uint32_t t = 0; t < sim->run->tensors; t++)
		f->tensor[t].gap = HZ_NONE;
}

void follow_free(struct follow *f)
{
	for (unsigned i = 0; i < FOLLOW_QUEUES; i++)
		free(f->queue[i].at);
	lru_free(f->lru);
	free(f->tensor);
	free(f->mem);
}

struct hz_plan_for follow_machine(const struct profile *p, enum hz_goal goal)
{
	return (struct hz_plan_for){
		.fast = p->vram,
		.second = p->ram,
		.out_bps = p->bps_both[CH_OUT],
		.in_bps = p->bps_both[CH_IN],
		.write_bps = p->store ? p->bps[CH_WRITE] : 0,
		.read_bps = p->store ? p->bps[CH_READ] : 0,
		.piece = SPLIT,
		.goal = goal,
	};
}

/* So many uses are planned anew in no time, and a little better. */
#define PLAN_ANEW 200000

static void plan(struct follow *f, const struct hz_plan_for *machine,
		 const struct hz_step *step, const struct hz_step *was)
{
	void *mem = mem_resize(NULL, hz_tensor_plan_bytes(step), 1);
	struct hz_tensor_plan next;

	if (!was || step->first[step->kernels] <= PLAN_ANEW ||
	    !hz_tensor_plan_change(&next, mem, step, machine, &f->plan, was))
		hz_tensor_plan_make(&next, mem, step, machine);
	free(f->mem);
	f->mem = mem;
	f->plan = next;
}

void follow_plan(struct follow *f, const struct sim *sim,
		 const struct hz_step *step, const struct hz_step *was)
{
	struct hz_plan_for machine = follow_machine(sim->profile, sim->goal);

	plan(f, &machine, step, was);
	f->step = step;
	for (unsigned i = 0; i < FOLLOW_QUEUES; i++)
		f->queue[i].n = 0;
	for (uint32_t t = 0; t < sim->run->tensors; t++)
		f->tensor[t].gap = f->tensor[t].wrote = HZ_NONE;
	f->on = true;
}

void follow_retime(struct follow *f, const struct sim *sim)
{
	struct hz_plan_for machine = follow_machine(sim->profile, sim->goal);

	hz_tensor_plan_retime(&f->plan, f->mem, f->step, &machine);
}

void follow_stop(struct follow *f)
{
	for (unsigned i = 0; i < FOLLOW_QUEUES; i++)
		f->queue[i].n = 0;
	f->on = false;
}

void follow_begin(struct sim *sim)
{
	struct follow *f = sim->data;
	const struct run *r = sim->run;

	lru_begin(sim, f->lru);
	for (uint32_t u = r->first_use[sim->pos];
	     u < r->first_use[sim->pos + 1]; u++) {
		struct follow_tensor *ft = &f->tensor[hz_use_tensor(r->use[u])];

		ft->gap = HZ_NONE;
		/* No longer what was to be copied. */
		if (hz_use_how(r->use[u]) & HZ_USE_WRITE)
			ft->wrote = HZ_NONE - 1;
	}
}

/* The bytes stay as they are from this use on until the next write: they can
 * be copied for every gap until then. */
static void plan_copies(struct follow *f, uint32_t use, uint32_t t)
{
	const struct hz_gap *gap = f->plan.gap;
	uint64_t base = f->base;
	uint32_t u = use;

	do {
		const struct hz_gap *g = &gap[u];

		if (g->next == HZ_NONE)
			return;
		if (g->write)
			queue_push(&f->queue[FOLLOW_OUT],
				   (struct queue_entry){base + g->by, t, u});
		if (g->closes >= f->step->kernels)
			base += f->step->kernels;
		u = g->next;
	} while (u != use && !(hz_use_how(f->step->use[u]) & HZ_USE_WRITE));
}

static bool copy_pays(const struct follow *f, uint32_t use)
{
	const struct hz_gap *g = &f->plan.gap[use];

	return g->next != HZ_NONE && g->evict > g->write;
}

static void open_gap(struct follow *f, uint32_t use)
{
	uint32_t t = hz_use_tensor(f->step->use[use]);
	struct follow_tensor *ft = &f->tensor[t];
	const struct hz_gap *g = &f->plan.gap[use];
	struct queue_entry e = {0, t, use};

	ft->gap = HZ_NONE;
	if (g->next == HZ_NONE)
		return;
	*ft = (struct follow_tensor){.gap = use,
				     .base = f->base,
				     .copy = copy_pays(f, g->next),
				     .wrote = g->wrote};
	if (g->wrote == use || g->wrote == HZ_NONE)
		plan_copies(f, use, t);
	if (!g->evict)
		return;
	e.key = f->base + g->early;
	queue_push(&f->queue[FOLLOW_GATE], e);
	e.key = UINT64_MAX - f->base - g->closes;
	queue_push(&f->queue[FOLLOW_DROP], e);
	if (!g->store)
		return;
	queue_push(&f->queue[FOLLOW_WRITE], e);
	e.key = f->base + g->read;
	queue_push(&f->queue[FOLLOW_READ], e);
}

static void open_gaps(struct follow *f, uint32_t kernel)
{
	for (uint32_t u = f->step->first[kernel];
	     u < f->step->first[kernel + 1]; u++)
		open_gap(f, u);
}

void follow_end(struct sim *sim)
{
	struct follow *f = sim->data;
	const struct run *r = sim->run;

	if (f->on)
		open_gaps(f, f->at);
	/* What died has no gap, whatever the plan knows. */
	for (uint32_t u = r->first_use[sim->pos];
	     u < r->first_use[sim->pos + 1]; u++)
		if (hz_use_how(r->use[u]) & HZ_USE_LAST)
			f->tensor[hz_use_tensor(r->use[u])].gap = HZ_NONE;
}

void follow_prime(struct follow *f)
{
	const struct hz_step *s = f->step;

	for (uint32_t k = 0; k < s->kernels; k++) {
		for (uint32_t u = s->first[k]; u < s->first[k + 1]; u++)
			f->tensor[hz_use_tensor(s->use[u])].gap = HZ_NONE;
		open_gaps(f, k);
	}
	f->base += s->kernels;
}

static bool open_still(const struct follow *f, const struct queue_entry *e)
{
	return f->tensor[e->tensor].gap == e->gap;
}

static uint64_t here_and_now(const struct follow *f)
{
	return f->base + f->at;
}

/* Bytes that left, or could at once: planned less these is left to do. */
static uint64_t left_to_write(const struct tensor *t, const struct hz_gap *g)
{
	uint64_t gone = t->size - t->vram + t->clean + t->flying[CH_OUT];

	return g->evict > gone ? hz_min(g->evict - gone, sim_dirty(t)) : 0;
}

/* Has it not been written since, nor come back? */
static bool to_copy(const struct follow *f, const struct queue_entry *e)
{
	const struct follow_tensor *ft = &f->tensor[e->tensor];

	if (ft->wrote != f->plan.gap[e->gap].wrote)
		return false;
	return ft->gap != e->gap || !ft->back;
}

static struct move pick_out(struct sim *sim, struct follow *f)
{
	while (f->queue[FOLLOW_OUT].n) {
		struct queue_entry *e = &f->queue[FOLLOW_OUT].at[0];
		uint64_t left = 0;

		if (to_copy(f, e))
			left = left_to_write(&sim->tensor[e->tensor],
					     &f->plan.gap[e->gap]);
		if (left)
			return (struct move){e->tensor, hz_min(left, PIECE)};
		queue_pop(&f->queue[FOLLOW_OUT]);
	}
	/* Not as planned: who waits needs room now. */
	return lru_out(sim, f->lru, PIECE);
}

/* Gaps that are put aside while what they need is still in the store. */
#define ASIDE 64

/* Bytes of a gap that may have come back by now. */
static uint64_t may_be_here(const struct follow *f, const struct sim *sim,
			    const struct queue_entry *e)
{
	const struct hz_gap *g = &f->plan.gap[e->gap];
	uint64_t base = f->tensor[e->tensor].base, now = here_and_now(f);
	uint64_t size = sim->tensor[e->tensor].size;

	if (now >= base + g->gate)
		return size;
	return size - g->evict + (now >= base + g->early ? g->some : 0);
}

static void open_gates(struct follow *f)
{
	struct queue *q = &f->queue[FOLLOW_GATE];

	while (q->n && q->at[0].key <= here_and_now(f)) {
		struct queue_entry e = q->at[0];

		queue_pop(q);
		if (!open_still(f, &e))
			continue;
		e.key = f->tensor[e.tensor].base + f->plan.gap[e.gap].closes;
		queue_push(&f->queue[FOLLOW_IN], e);
	}
}

/* What is of it in the store unplanned must be read as well. */
static void ask_store(struct follow *f, const struct queue_entry *e)
{
	struct follow_tensor *ft = &f->tensor[e->tensor];

	if (ft->asked)
		return;
	ft->asked = true;
	queue_push(&f->queue[FOLLOW_READ],
		   (struct queue_entry){here_and_now(f), e->tensor, e->gap});
}

/* Bytes of it that can come now; done: it is all on its way. */
static uint64_t can_come(struct follow *f, const struct sim *sim,
			 const struct queue_entry *e, bool *done)
{
	const struct tensor *t = &sim->tensor[e->tensor];
	uint64_t here = t->vram + t->flying[CH_IN], may;

	*done = !open_still(f, e);
	if (*done)
		return 0;
	f->tensor[e->tensor].back = true;
	*done = here == t->size;
	may = may_be_here(f, sim, e);
	if (may <= here)
		return 0;
	if (!t->ram && t->store)
		ask_store(f, e);
	return hz_min(t->ram, may - here);
}

/* The next to come back of those whose time has come. */
static struct move pick_in(struct sim *sim, struct follow *f)
{
	struct queue *q = &f->queue[FOLLOW_IN];
	struct queue_entry aside[ASIDE];
	struct move m = nothing;
	unsigned n = 0;
	bool done;

	/* Who waits comes first. */
	if (lru_pressed(sim))
		return nothing;
	open_gates(f);
	while (q->n && n < ASIDE && !m.bytes) {
		struct queue_entry e = q->at[0];
		uint64_t bytes = can_come(f, sim, &e, &done);

		if (bytes)
			m = (struct move){e.tensor, hz_min(bytes, PIECE)};
		queue_pop(q);
		if (!done)
			aside[n++] = e;
	}
	while (n)
		queue_push(q, aside[--n]);
	return m;
}

/* Bytes of it that can go to the store now, and (left) at all. */
static uint64_t to_store(const struct follow *f, const struct tensor *t,
			 const struct queue_entry *e, uint64_t *left)
{
	uint64_t done = t->store + t->flying[CH_WRITE];
	uint64_t want = f->plan.gap[e->gap].store;

	*left = 0;
	if (!open_still(f, e) || f->tensor[e->tensor].back || done >= want)
		return 0;
	*left = want - done;
	return hz_min(*left, t->ram + t->clean);
}

/* Furthest first; some wait for the link. */
static struct move pick_write(struct sim *sim, struct follow *f)
{
	uint64_t left, n;

	while (f->queue[FOLLOW_WRITE].n &&
	       !to_store(f, &sim->tensor[f->queue[FOLLOW_WRITE].at[0].tensor],
			 &f->queue[FOLLOW_WRITE].at[0], &left) &&
	       !left)
		queue_pop(&f->queue[FOLLOW_WRITE]);
	for (uint32_t i = 0; i < f->queue[FOLLOW_WRITE].n; i++) {
		uint32_t id = f->queue[FOLLOW_WRITE].at[i].tensor;
		struct tensor *t = &sim->tensor[id];

		n = to_store(f, t, &f->queue[FOLLOW_WRITE].at[i], &left);
		n = hz_min(n, PIECE);
		if (n > t->ram)
			sim_drop(sim, id, n - t->ram);
		if (n)
			return (struct move){id, n};
	}
	return lru_write(sim, f->lru, PIECE);
}

static struct move pick_read(struct sim *sim, struct follow *f)
{
	while (f->queue[FOLLOW_READ].n) {
		struct queue_entry *e = &f->queue[FOLLOW_READ].at[0];
		struct tensor *t = &sim->tensor[e->tensor];

		if (open_still(f, e)) {
			if (here_and_now(f) < e->key)
				return nothing;
			f->tensor[e->tensor].back = true;
			if (t->store)
				return (struct move){e->tensor,
						     hz_min(t->store, PIECE)};
		}
		queue_pop(&f->queue[FOLLOW_READ]);
	}
	return nothing;
}

struct move follow_pick(struct sim *sim, enum channel ch)
{
	struct follow *f = sim->data;

	switch (ch) {
	case CH_OUT:
		return pick_out(sim, f);
	case CH_IN:
		return pick_in(sim, f);
	case CH_WRITE:
		return pick_write(sim, f);
	default:
		return pick_read(sim, f);
	}
}

/* How far a drop may go: what is planned to leave, all for who waits. */
static uint64_t may_drop(const struct tensor *t, const struct hz_gap *g)
{
	uint64_t gone = t->size - t->vram;

	return g->evict > gone ? hz_min(t->clean, g->evict - gone) : 0;
}

void follow_room(struct sim *sim, uint64_t bytes, uint32_t tensor)
{
	struct follow *f = sim->data;
	struct queue_entry *e;
	uint64_t n;

	/* Furthest first; what is not clean yet is looked at again later. */
	for (uint32_t i = 0;
	     i < f->queue[FOLLOW_DROP].n && sim_free_vram(sim) < bytes; i++) {
		e = &f->queue[FOLLOW_DROP].at[i];
		if (!sim->tensor[e->tensor].clean || e->tensor == tensor ||
		    !open_still(f, e) || f->tensor[e->tensor].back)
			continue;
		n = may_drop(&sim->tensor[e->tensor], &f->plan.gap[e->gap]);
		if (n)
			sim_drop(sim, e->tensor,
				 hz_min(n, bytes - sim_free_vram(sim)));
	}
	while (f->queue[FOLLOW_DROP].n &&
	       !open_still(f, &f->queue[FOLLOW_DROP].at[0]))
		queue_pop(&f->queue[FOLLOW_DROP]);
	if (tensor == HZ_NONE && sim_free_vram(sim) < bytes)
		lru_room(sim, f->lru, bytes);
}

bool follow_keep_copy(struct sim *sim, uint32_t tensor)
{
	const struct follow *f = sim->data;
	uint64_t spare = sim_free_ram(sim);

	if (!f->on)
		return spare > sim->profile->ram / 8;
	return f->tensor[tensor].copy && spare > sim->profile->ram / 16;
}
