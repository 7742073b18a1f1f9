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

/* Some bytes of the region. */
struct hz_part {
	char *from, *to;
};

#define HZ_UNIT_PAGES (HZ_UNIT_SIZE / HZ_PAGE_SIZE)

static inline uint32_t hz_unit_at(const struct hz_engine *e, const char *addr)
{
	return (uint32_t)((size_t)(addr - e->base) >> HZ_UNIT_SHIFT);
}

struct hz_span hz_span_of(const struct hz_range *r);
char *hz_range_addr(struct hz_engine *e, const struct hz_range *r);
void hz_span_revive(struct hz_engine *e, struct hz_span s, char *from,
		    char *to, bool zero);
void hz_span_settle(struct hz_engine *e, struct hz_span s);
void hz_span_drop(struct hz_engine *e, struct hz_span s, bool purge);
/* The range that p lies in, or NULL. Lock held. */
struct hz_range *hz_arena_range(struct hz_engine *e, const void *p);
/* A new range of either kind; enters the gate and takes the lock. */
void *hz_arena_take(size_t size, size_t align, enum hz_range_kind kind,
		    bool zero);
/* Is memory of this size worth an engine, and does that run? No lock held. */
bool hz_arena_worth(struct hz_engine *e, size_t size);
/* End a range; purge: its pages go back to the kernel and its addresses
 * fault, as after munmap. Lock held, may be dropped. */
void hz_arena_give(struct hz_engine *e, struct hz_range *r, bool purge);
/* Units leave their range: nothing is said of their pages any more. Lock
 * held. */
void hz_units_forget(struct hz_engine *e, uint32_t first, uint32_t n);
/* Another size, in place or (may_move) elsewhere; NULL: not possible. */
void *hz_arena_resize(void *p, size_t size, bool may_move);
/* Zeros into [from, to): untouched blocks are left alone. No lock held. */
void hz_arena_clear(struct hz_engine *e, char *from, char *to);
/* Hand all blocks that p touches to the kernel. No lock held. */
void hz_arena_hand_over(struct hz_engine *e, struct hz_part p);
/* The same, for a mapping that the program puts there; `plain`: one like what
 * was there. No lock held. */
void hz_arena_make_way(struct hz_engine *e, struct hz_part p, bool plain);
/* munmap(2) of p, which lies in the region: 0 or -errno. No lock held. */
int hz_arena_unmap_part(struct hz_engine *e, struct hz_part p);

/* ---- part.c; none is called with the lock held ---- */
/* What of [addr, addr + len) lies in the region. */
struct hz_part hz_part_inside(struct hz_engine *e, void *addr, size_t len);
/* Blocks that p touches, and blocks that it covers. */
struct hz_span hz_part_touched(struct hz_engine *e, struct hz_part p);
struct hz_span hz_part_covered(struct hz_engine *e, struct hz_part p);
/* Call fn for what p has of each block that it touches. */
void hz_part_each(struct hz_engine *e, struct hz_part p,
		  void (*fn)(struct hz_engine *e, uint32_t b,
			     struct hz_part piece));
/* For fn: is the piece all of its block; what state has the block. */
bool hz_part_whole(struct hz_part piece);
enum hz_block_state hz_part_state(struct hz_engine *e, uint32_t b);
void hz_part_clear(struct hz_engine *e, uint32_t b, struct hz_part piece);
/* Bring the blocks of [from, to) in. */
void hz_part_touch(struct hz_engine *e, char *from, char *to);
/* Does p touch a page that belongs to no mapping; a block that is the kernel's?
 */
bool hz_part_hole(struct hz_engine *e, struct hz_part p);
bool hz_part_native(struct hz_engine *e, struct hz_part p);
/* Odd pages have another protection or advice than plain memory: the program
 * knows that they are a mapping of their own. */
bool hz_part_odd(struct hz_engine *e, struct hz_part p);
void hz_part_set_odd(struct hz_engine *e, struct hz_part p, bool odd);
/* No page and no access there any more. The address space stays reserved, so
 * that no other mapping lands in the region. */
void hz_part_punch(struct hz_part p);

#endif
