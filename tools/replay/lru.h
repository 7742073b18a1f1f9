/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tensors in the order of their last use, and what to take by it: also for
 * policies that have nothing better at times.
 */
#ifndef HZ_REPLAY_LRU_H
#define HZ_REPLAY_LRU_H

#include "replay/sim.h"

struct lru {
	uint32_t *next, *prev; /* a ring through `head`; oldest first */
	uint32_t head;
	uint32_t warm; /* nothing older has bytes in VRAM; uvm only */
};

struct lru *lru_new(uint32_t tensors);
void lru_free(struct lru *l);
void lru_use(struct lru *l, uint32_t tensor);

/* The tensors of the kernel that begins. */
void lru_begin(const struct sim *sim, struct lru *l);
/* A kernel waits for more VRAM than there is. */
bool lru_pressed(const struct sim *sim);
/* Who leaves while a kernel waits for memory. */
struct move lru_out(struct sim *sim, struct lru *l, uint64_t piece);
struct move lru_write(struct sim *sim, struct lru *l, uint64_t piece);
void lru_room(struct sim *sim, struct lru *l, uint64_t bytes);

#endif
