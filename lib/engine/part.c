/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Parts of the region as the mmap family names them: any pages, cut at block
 * borders where it matters.
 */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif
#include <string.h>
#include <sys/mman.h>

#include "base/os.h"
#include "engine/arena.h"
#include "engine/arena_int.h"
#include "engine/engine.h"
#include "engine/pieces.h"

struct hz_part hz_part_inside(struct hz_engine *e, void *addr, size_t len)
{
	char *end = e->base + hz_arena_len;
	struct hz_part p = {addr, (char *)addr + len};

	p.from = hz_max(p.from, e->base);
	p.to = hz_min(p.to, end);
	return p;
}

static uint32_t block_at(struct hz_engine *e, const char *addr)
{
	return (uint32_t)((size_t)(addr - e->base) >> HZ_BLOCK_SHIFT);
}

struct hz_span hz_part_touched(struct hz_engine *e, struct hz_part p)
{
	struct hz_span s = {.first = block_at(e, p.from)};

	s.n = p.to > p.from ? block_at(e, p.to - 1) - s.first + 1 : 0;
	return s;
}

struct hz_span hz_part_covered(struct hz_engine *e, struct hz_part p)
{
	size_t from = hz_align_up((size_t)(p.from - e->base), HZ_BLOCK_SIZE);
	size_t to = hz_align_down((size_t)(p.to - e->base), HZ_BLOCK_SIZE);
	struct hz_span s = {.first = (uint32_t)(from >> HZ_BLOCK_SHIFT)};

	s.n = to > from ? (uint32_t)((to - from) >> HZ_BLOCK_SHIFT) : 0;
	return s;
}

void hz_part_each(struct hz_engine *e, struct hz_part p,
		  void (*fn)(struct hz_engine *e, uint32_t b,
			     struct hz_part piece))
{
	for (char *at = p.from; at < p.to;) {
		uint32_t b = block_at(e, at);
		char *next = hz_block_addr(e, b) + HZ_BLOCK_SIZE;
		struct hz_part piece = {at, hz_min(next, p.to)};

		fn(e, b, piece);
		at = piece.to;
	}
}

bool hz_part_whole(struct hz_part piece)
{
	return (size_t)(piece.to - piece.from) == HZ_BLOCK_SIZE;
}

enum hz_block_state hz_part_state(struct hz_engine *e, uint32_t b)
{
	HZ_SCOPED_LOCK(&e->lock);
	return (enum hz_block_state)e->blk[b].state;
}

void hz_part_touch(struct hz_engine *e, char *from, char *to)
{
	for (char *p = from; p < to;
	     p += hz_pieces_in(e, block_at(e, p)) ? HZ_PAGE_SIZE
						  : HZ_BLOCK_SIZE)
		(void)*(volatile char *)p;
}

void hz_part_clear(struct hz_engine *e, uint32_t b, struct hz_part piece)
{
	if (hz_part_state(e, b) != HZ_BLK_ZERO)
		memset(piece.from, 0, (size_t)(piece.to - piece.from));
}

void hz_arena_clear(struct hz_engine *e, char *from, char *to)
{
	hz_part_each(e, (struct hz_part){from, to}, hz_part_clear);
}


bool hz_part_native(struct hz_engine *e, struct hz_part p)
{
	struct hz_span s = hz_part_touched(e, p);
	HZ_SCOPED_LOCK(&e->lock);

	for (uint32_t b = s.first; b < s.first + s.n; b++)
		if (e->blk[b].state == HZ_BLK_NATIVE)
			return true;
	return false;
}

/* ---- pages ---- */

/* The pages of unit u that p touches, as bits. */
static uint16_t pages_of(struct hz_engine *e, uint32_t u, struct hz_part p)
{
	char *start = e->base + ((size_t)u << HZ_UNIT_SHIFT);
	size_t from = p.from > start ? (size_t)(p.from - start) : 0;
	size_t to = hz_min((size_t)(p.to - start), (size_t)HZ_UNIT_SIZE);
	unsigned first = (unsigned)(from / HZ_PAGE_SIZE);
	unsigned end = (unsigned)((to + HZ_PAGE_SIZE - 1) / HZ_PAGE_SIZE);

	return (uint16_t)((1u << end) - (1u << first));
}

_Static_assert(HZ_UNIT_PAGES == 16, "a page of a unit is a bit of 16");

bool hz_part_hole(struct hz_engine *e, struct hz_part p)
{
	HZ_SCOPED_LOCK(&e->lock);

	if (p.from >= p.to)
		return false;
	for (uint32_t u = hz_unit_at(e, p.from); u <= hz_unit_at(e, p.to - 1);
	     u++) {
		if (!hz_range_at(e->ranges, u))
			return true;
		if (e->gone_units && e->gone[u] & pages_of(e, u, p))
			return true;
	}
	return false;
}

bool hz_part_odd(struct hz_engine *e, struct hz_part p)
{
	HZ_SCOPED_LOCK(&e->lock);

	if (!e->odd_ever || p.from >= p.to)
		return false;
	for (uint32_t u = hz_unit_at(e, p.from); u <= hz_unit_at(e, p.to - 1);
	     u++)
		if (e->odd[u] & pages_of(e, u, p))
			return true;
	return false;
}

void hz_part_set_odd(struct hz_engine *e, struct hz_part p, bool odd)
{
	HZ_SCOPED_LOCK(&e->lock);

	e->odd_ever |= odd;
	if (!e->odd_ever || p.from >= p.to)
		return;
	for (uint32_t u = hz_unit_at(e, p.from); u <= hz_unit_at(e, p.to - 1);
	     u++) {
		uint16_t pages = pages_of(e, u, p);

		if (odd)
			e->odd[u] |= pages;
		else
			e->odd[u] &= (uint16_t)~pages;
	}
}

void hz_part_punch(struct hz_part p)
{
	size_t len = (size_t)(p.to - p.from);

	hz_os.mmap(p.from, len, PROT_NONE,
		   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1,
		   0);
	/* Like its neighbours, or it could never be one mapping with them. */
	hz_os.madvise(p.from, len, MADV_HUGEPAGE);
}
