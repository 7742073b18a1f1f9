/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Least recently used, on demand: uvm-nofree, uvm and lru.
 *
 * A list of tensors in the order of their last use. uvm moves 2 MiB blocks by
 * faults and knows nothing of what is dead or clean: a block that leaves is
 * written, one that comes takes its only copy along. lru is a careful copy
 * engine: dead bytes are dropped and what has a copy in RAM is not written
 * again; but nothing is fetched ahead.
 */
#include "config.h"
#include "replay/sim.h"

#include <stdlib.h>
#include "replay/lru.h"
#include "replay/mem.h"

struct lru *lru_new(uint32_t tensors)
{
	struct lru *l = mem_zeroed(1, sizeof(*l));

	l->next = mem_resize(NULL, tensors + 1, sizeof(*l->next));
	l->prev = mem_resize(NULL, tensors + 1, sizeof(*l->prev));
	for (uint32_t i = 0; i <= tensors; i++)
		l->next[i] = l->prev[i] = i;
	l->head = l->warm = tensors;
	return l;
}

void lru_free(struct lru *l)
{
	free(l->next);
	free(l->prev);
	free(l);
}

void lru_use(struct lru *l, uint32_t t)
{
	uint32_t tail;

	if (l->warm == t)
		l->warm = l->next[t];
	l->next[l->prev[t]] = l->next[t];
	l->prev[l->next[t]] = l->prev[t];
	tail = l->prev[l->head];
	l->prev[t] = tail;
	l->next[t] = l->head;
	l->next[tail] = l->prev[l->head] = t;
	if (l->warm == l->head)
		l->warm = t;
}

/* Where to begin to look for bytes in VRAM. Where nothing comes in but for
 * the kernel that waits, what is empty stays so until it is used. */
static uint32_t oldest(const struct sim *sim, struct lru *l)
{
	if (!sim->policy->serial_faults)
		return l->next[l->head];
	while (l->warm != l->head && !sim->tensor[l->warm].vram &&
	       !sim_active(sim, l->warm))
		l->warm = l->next[l->warm];
	return l->warm;
}

static void init(struct sim *sim)
{
	sim->data = lru_new(sim->run->tensors);
}

static void fini(struct sim *sim)
{
	lru_free(sim->data);
}

void lru_begin(const struct sim *sim, struct lru *l)
{
	const struct run *r = sim->run;

	for (uint32_t u = r->first_use[sim->pos];
	     u < r->first_use[sim->pos + 1]; u++)
		lru_use(l, hz_use_tensor(r->use[u]));
}

static void begin(struct sim *sim)
{
	lru_begin(sim, sim->data);
}

bool lru_pressed(const struct sim *sim)
{
	return sim->arrived && !sim->running && sim->need > sim_free_vram(sim);
}

struct move lru_out(struct sim *sim, struct lru *l, uint64_t piece)
{
	if (!lru_pressed(sim))
		return (struct move){HZ_NONE, 0};
	for (uint32_t t = oldest(sim, l); t != l->head; t = l->next[t]) {
		uint64_t dirty = sim_dirty(&sim->tensor[t]);

		if (dirty && !sim_active(sim, t))
			return (struct move){t, hz_min(dirty, piece)};
	}
	return (struct move){HZ_NONE, 0};
}

/* RAM is short: what came last goes on to the store. */
struct move lru_write(struct sim *sim, struct lru *l, uint64_t piece)
{
	uint64_t soon = sim->op[CH_IN].busy ? sim->op[CH_IN].bytes : 0;

	if (!lru_pressed(sim) || sim_free_ram(sim) + soon >= piece)
		return (struct move){HZ_NONE, 0};
	for (uint32_t t = l->prev[l->head]; t != l->head; t = l->prev[t])
		if (sim->tensor[t].ram && !sim_active(sim, t))
			return (struct move){t,
					     hz_min(sim->tensor[t].ram, piece)};
	return (struct move){HZ_NONE, 0};
}

static struct move pick_piece(struct sim *sim, enum channel ch, uint64_t piece)
{
	if (ch == CH_OUT)
		return lru_out(sim, sim->data, piece);
	if (ch == CH_WRITE)
		return lru_write(sim, sim->data, piece);
	return (struct move){HZ_NONE, 0};
}

static struct move pick_uvm(struct sim *sim, enum channel ch)
{
	return pick_piece(sim, ch, FAULT_BATCH);
}

static struct move pick(struct sim *sim, enum channel ch)
{
	return pick_piece(sim, ch, PIECE);
}

void lru_room(struct sim *sim, struct lru *l, uint64_t bytes)
{
	for (uint32_t t = oldest(sim, l);
	     t != l->head && sim_free_vram(sim) < bytes; t = l->next[t])
		if (sim->tensor[t].clean && !sim_active(sim, t))
			sim_drop(sim, t, bytes - sim_free_vram(sim));
}

static void room(struct sim *sim, uint64_t bytes, uint32_t tensor)
{
	lru_room(sim, sim->data, bytes);
}

/* RAM that is not wanted otherwise may keep the copy. */
static bool keep_copy(struct sim *sim, uint32_t tensor)
{
	return sim_free_ram(sim) > sim->profile->ram / 8;
}

/* Both kinds of unified memory. */
#define SERVED_BY_FAULTS                                                      \
	.serial_faults = true, .no_free = true, .direct = true, .init = init, \
	.fini = fini, .begin = begin, .pick = pick_uvm, .room = room

const struct policy policy_uvm_nofree = {
	.name = "uvm-nofree",
	.help = "faults; every tensor has its own addresses, none is freed",
	SERVED_BY_FAULTS,
};

const struct policy policy_uvm = {
	.name = "uvm",
	.help = "faults; an allocator that uses addresses again",
	.addresses = true,
	SERVED_BY_FAULTS,
};

const struct policy policy_lru = {
	.name = "lru",
	.help = "on demand, least recently used leaves; the dead are dropped",
	.init = init,
	.fini = fini,
	.begin = begin,
	.pick = pick,
	.room = room,
	.keep_copy = keep_copy,
};
