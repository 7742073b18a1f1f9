/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What arena.c and vm.c share.
 */
#ifndef HZ_ARENA_INT_H
#define HZ_ARENA_INT_H

#include "engine/engine.h"

/* A run of blocks. */
struct hz_span {
	uint32_t first, n;
};

struct hz_span hz_span_of(const struct hz_range *r);
char *hz_range_addr(struct hz_engine *e, const struct hz_range *r);
void hz_span_revive(struct hz_engine *e, struct hz_span s, char *from,
		    char *to, bool zero);
void hz_span_drop(struct hz_engine *e, struct hz_span s, bool purge);
/* The range that p lies in, or NULL. Lock held. */
struct hz_range *hz_arena_range(struct hz_engine *e, const void *p);
/* A new range of either kind; enters the gate and takes the lock. */
void *hz_arena_take(size_t size, size_t align, enum hz_range_kind kind,
		    bool zero);
/* End a range; purge: its pages go back to the kernel and its addresses
 * fault, as after munmap. Lock held, may be dropped. */
void hz_arena_give(struct hz_engine *e, struct hz_range *r, bool purge);
/* Another size, in place or (may_move) elsewhere; NULL: not possible. */
void *hz_arena_resize(void *p, size_t size, bool may_move);
/* Zeros into [from, to): untouched blocks are left alone. No lock held. */
void hz_arena_clear(struct hz_engine *e, char *from, char *to);

#endif
