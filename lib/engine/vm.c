/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The mmap family on captured ranges: each call does what the kernel would
 * do. What can be said in blocks is done here; anything odd (another
 * protection, half a block, MAP_FIXED over us) hands the blocks that it
 * touches back to the kernel, with their content, and passes the call on.
 * Such blocks are NATIVE: resident, outside the budget, until they are freed.
 *
 * Rests on mmap(2), munmap(2), mprotect(2). See also part.c, remap.c and
 * advise.c.
 */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif
#include <errno.h>
#include <sys/mman.h>

#include "base/log.h"
#include "base/os.h"
#include "base/stats.h"
#include "engine/arena.h"
#include "engine/arena_int.h"
#include "engine/engine.h"

/* ---- mmap ---- */

void *hz_arena_map(size_t len, bool populate)
{
	char *p = hz_arena_take(len, HZ_BLOCK_SIZE, HZ_RANGE_MAP, true);

	/* MAP_POPULATE of more than the budget would evict its own
	 * beginning: as much as fits is brought in. */
	if (p && populate) {
		size_t room = (size_t)hz_engine.cap << HZ_BLOCK_SHIFT;

		hz_part_touch(&hz_engine, p, p + hz_min(len, room / 2));
	}
	return p;
}

/* ---- munmap ---- */

/* Half a block goes: the other half is the kernel's from now on. */
static void unmap_piece(struct hz_engine *e, uint32_t b, struct hz_part piece)
{
	if (hz_part_whole(piece))
		return;
	hz_region_uncapture(e, b, 1);
	hz_part_punch(piece);
}

/* Blocks of which nothing but the units [from, to) is in use: what the kernel
 * has of them becomes ours again. Lock held; dropped meanwhile. */
static void retake(struct hz_engine *e, struct hz_span s, uint32_t from,
		   uint32_t to)
{
	for (uint32_t b = s.first; b < s.first + s.n; b++) {
		uint32_t unit = b * HZ_UNITS_PER_BLOCK;
		uint32_t n = hz_min(unit + HZ_UNITS_PER_BLOCK, to) -
			     hz_max(unit, from);

		if (e->blk[b].state != HZ_BLK_NATIVE ||
		    hz_range_block_use(e->ranges, b) != n)
			continue;
		hz_region_recapture(e, b);
	}
}

#define ALL_GONE ((uint16_t)((1u << HZ_UNIT_PAGES) - 1))

void hz_units_forget(struct hz_engine *e, uint32_t first, uint32_t n)
{
	for (uint32_t u = first; e->gone_units && u < first + n; u++) {
		e->gone_units -= e->gone[u] != 0;
		e->gone[u] = 0;
	}
	for (uint32_t u = first; e->odd_ever && u < first + n; u++)
		e->odd[u] = 0;
}

/* The program unmaps in pages, we count in units: a unit leaves its range when
 * the last of its pages does. Lock held. */
static bool page_gone(struct hz_engine *e, char *at)
{
	uint32_t u = hz_unit_at(e, at);
	size_t page = (size_t)(at - e->base) / HZ_PAGE_SIZE % HZ_UNIT_PAGES;

	e->gone_units += e->gone[u] == 0;
	e->gone[u] |= (uint16_t)(1u << page);
	return e->gone[u] == ALL_GONE;
}

/* Widen p to the units at its ends of which nothing is left. Lock held. */
static struct hz_part with_gone(struct hz_engine *e, struct hz_part p)
{
	char *first = (char *)hz_align_up((uintptr_t)p.from, HZ_UNIT_SIZE);
	char *last = (char *)hz_align_down((uintptr_t)p.to, HZ_UNIT_SIZE);
	bool front = false, back = false;

	for (char *at = p.from; at < hz_min(first, p.to); at += HZ_PAGE_SIZE)
		front = page_gone(e, at);
	for (char *at = hz_max(last, first); at < p.to; at += HZ_PAGE_SIZE)
		back = page_gone(e, at);
	if (front)
		p.from = first - HZ_UNIT_SIZE;
	if (back)
		p.to = last + HZ_UNIT_SIZE;
	if (front && p.to < first)
		p.to = first; /* all of p lies in that one unit */
	return p;
}

/* The middle of a range: cut its units out. Lock held; dropped, so the range
 * is looked up again: the program may unmap other parts of it meanwhile. */
static int cut_units(struct hz_engine *e, struct hz_part p)
{
	uint32_t from = hz_unit_at(e, p.from + HZ_UNIT_SIZE - 1);
	uint32_t to = hz_unit_at(e, p.to);
	struct hz_range *r, *behind = NULL, *front;
	int rc;

	if (from >= to)
		return 0;
	retake(e, hz_part_touched(e, p), from, to);
	hz_span_settle(e, hz_part_touched(e, p));
	r = hz_range_at(e->ranges, from);
	if (!r)
		return 0;
	front = r->first < from ? r : NULL;
	hz_units_forget(e, from, to - from);
	hz_rows_drop(e, r);
	rc = hz_range_cut(e->ranges, r, from, to - from, &behind);
	if (rc < 0 || front)
		hz_rows_add(e, r);
	if (behind)
		hz_rows_add(e, behind);
	if (rc == 0)
		hz_span_drop(e, hz_part_touched(e, p), true);
	return rc;
}

/* What p takes of range r. Lock held; dropped. */
static int unmap_range(struct hz_engine *e, struct hz_range *r,
		       struct hz_part p)
{
	char *start = hz_range_addr(e, r);
	char *end = start + hz_align_up(r->bytes, HZ_PAGE_SIZE);
	char *border = start + ((size_t)r->units << HZ_UNIT_SHIFT);

	if (r->kind != HZ_RANGE_MAP)
		return 0; /* malloc's: not the program's to unmap */
	if (p.from <= start && p.to >= end) {
		hz_arena_give(e, r, true);
		return 0;
	}
	p.from = hz_max(p.from, start);
	p.to = p.to >= end ? border : p.to;
	hz_unlock(&e->lock);
	hz_part_each(e, p, unmap_piece);
	hz_lock(&e->lock);
	return cut_units(e, with_gone(e, p));
}

int hz_arena_unmap_part(struct hz_engine *e, struct hz_part p)
{
	int rc = 0;
	HZ_SCOPED_LOCK(&e->lock);

	for (char *at = p.from; rc == 0 && at < p.to;) {
		struct hz_range *r = hz_arena_range(e, at);
		size_t off = (size_t)(at - e->base), step = HZ_UNIT_SIZE;
		char *end;

		if (!hz_range_block_use(e->ranges,
					(uint32_t)(off >> HZ_BLOCK_SHIFT)))
			step = HZ_BLOCK_SIZE;
		end = e->base + hz_align_up(off + 1, step);
		if (r)
			end = hz_range_addr(e, r) +
			      ((size_t)r->units << HZ_UNIT_SHIFT);
		if (r)
			rc = unmap_range(e, r, (struct hz_part){at, p.to});
		at = end;
	}
	return rc;
}

int hz_arena_munmap(void *addr, size_t len)
{
	struct hz_engine *e = &hz_engine;
	struct hz_part p = hz_part_inside(e, addr, len);
	char *end = (char *)addr + len;
	struct hz_gate g;
	int rc = 0;

	if ((uintptr_t)addr % HZ_PAGE_SIZE || !len)
		return -EINVAL;
	p.to = (char *)hz_align_up((uintptr_t)p.to, HZ_PAGE_SIZE);
	hz_gate_enter(&g);
	if ((char *)addr < p.from)
		rc = hz_os.munmap(addr, (size_t)(p.from - (char *)addr));
	if (end > e->base + hz_arena_len)
		rc = hz_os.munmap(p.to, (size_t)(end - p.to));
	if (rc == 0)
		rc = hz_arena_unmap_part(e, p);
	hz_gate_leave(&g);
	return rc;
}

/* ---- handing over ---- */

/* The program maps something where nothing is: no range may be put there.
 * Lock held. */
static void claim(struct hz_engine *e, struct hz_span s)
{
	uint32_t end = s.first + s.n;

	for (uint32_t b = s.first; b < end; b++) {
		uint32_t first = b;
		struct hz_range *r;

		while (b < end && !hz_range_block_use(e->ranges, b))
			b++;
		if (b == first)
			continue;
		r = hz_range_place(e->ranges, first * HZ_UNITS_PER_BLOCK,
				   (b - first) * HZ_UNITS_PER_BLOCK,
				   HZ_RANGE_MAP, HZ_RANGE_WHOLE);
		if (r)
			hz_rows_add(e, r);
	}
}

/* Content is kept also where the program is about to map something over it:
 * the kernel may still refuse. */
void hz_arena_hand_over(struct hz_engine *e, struct hz_part p)
{
	struct hz_span all = hz_part_touched(e, p);

	hz_lock(&e->lock);
	hz_region_use(e, all.first + all.n);
	claim(e, all);
	hz_unlock(&e->lock);
	for (uint32_t b = all.first; b < all.first + all.n; b++)
		hz_region_uncapture(e, b, 1);
}

/* The program mapped these pages; others of the same units may still be gone.
 * Lock held. */
static void pages_back(struct hz_engine *e, struct hz_part p)
{
	for (char *at = p.from; e->gone_units && at < p.to;
	     at += HZ_PAGE_SIZE) {
		uint32_t u = hz_unit_at(e, at);
		size_t page = (size_t)(at - e->base) / HZ_PAGE_SIZE;
		uint16_t was = e->gone[u];

		e->gone[u] &= (uint16_t)~(1u << page % HZ_UNIT_PAGES);
		e->gone_units -= was && !e->gone[u];
	}
}

/* The program maps something there, perhaps where it had unmapped before. */
void hz_arena_make_way(struct hz_engine *e, struct hz_part p, bool plain)
{
	hz_arena_hand_over(e, p);
	hz_part_set_odd(e, p, !plain);
	hz_lock(&e->lock);
	pages_back(e, p);
	hz_unlock(&e->lock);
}

int hz_arena_yield(void *addr, size_t len, bool plain)
{
	struct hz_engine *e = &hz_engine;
	struct hz_gate g;

	hz_gate_enter(&g);
	hz_arena_make_way(e, hz_part_inside(e, addr, len), plain);
	hz_gate_leave(&g);
	return 0;
}

void hz_arena_keep(const void *addr, size_t len)
{
	struct hz_engine *e = &hz_engine;
	struct hz_part p = hz_part_inside(e, (void *)addr, len);
	struct hz_gate g;

	hz_gate_enter(&g);
	if (p.from < p.to && !hz_part_hole(e, p))
		hz_arena_hand_over(e, p);
	hz_gate_leave(&g);
}

/* ---- mprotect ---- */

int hz_arena_mprotect(void *addr, size_t len, int prot)
{
	struct hz_engine *e = &hz_engine;
	struct hz_part p = hz_part_inside(e, addr, len);
	struct hz_gate g;
	int rc = 0;

	if ((uintptr_t)addr % HZ_PAGE_SIZE)
		return -EINVAL;
	hz_gate_enter(&g);
	if (hz_part_hole(e, p)) {
		rc = -ENOMEM;
	} else if (prot != (PROT_READ | PROT_WRITE)) {
		hz_arena_hand_over(e, p);
		hz_part_set_odd(e, p, true);
		rc = hz_os.mprotect(addr, len, prot);
	} else if (hz_part_native(e, p)) {
		rc = hz_os.mprotect(addr, len, prot);
		hz_part_set_odd(e, p, rc < 0);
	}
	hz_gate_leave(&g);
	return rc;
}
