/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tiered allocations: the malloc family above min_size. The mmap family is in
 * vm.c.
 *
 * A freed block keeps its page (DEAD) until the page is wanted elsewhere, so
 * that a program that frees and allocates in a loop pays no fault. What must
 * read as zeros and is not ZERO is cleared by the caller, outside the lock.
 */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif
#include <errno.h>
#include <string.h>
#include <sys/mman.h>

#include "base/knobs.h"
#include "base/log.h"
#include "base/os.h"
#include "base/stats.h"
#include "engine/arena.h"
#include "engine/arena_int.h"
#include "engine/budget.h"
#include "engine/engine.h"
#include "engine/file_map.h"

/* ---- blocks of a range ---- */

struct hz_span hz_span_of(const struct hz_range *r)
{
	uint32_t last = (r->first + r->units - 1) / HZ_UNITS_PER_BLOCK;
	struct hz_span s = {.first = r->first / HZ_UNITS_PER_BLOCK};

	s.n = last - s.first + 1;
	return s;
}

char *hz_range_addr(struct hz_engine *e, const struct hz_range *r)
{
	return e->base + ((size_t)r->first << HZ_UNIT_SHIFT);
}

/* Ready for use again; true when its old content may still be there. */
static bool revive(struct hz_engine *e, uint32_t b)
{
	struct hz_block *blk = &e->blk[b];

	hz_region_settle(e, b);
	if (blk->flags & HZ_BLKF_NO_ACCESS) {
		hz_os.mprotect(hz_block_addr(e, b), HZ_BLOCK_SIZE,
			       PROT_READ | PROT_WRITE);
		blk->flags &= (uint8_t)~HZ_BLKF_NO_ACCESS;
	}
	if (blk->state == HZ_BLK_POISONED ||
	    (blk->state == HZ_BLK_DEAD && blk->guarded))
		hz_region_purge(e, b);
	if (blk->state == HZ_BLK_DEAD) {
		hz_block_set(&e->totals, blk, HZ_BLK_RESIDENT);
		hz_engine_used(e, b, HZ_ACCESS_ZERO, hz_os.now());
	}
	if (blk->state != HZ_BLK_ZERO)
		return true;
	if (!e->armed) /* the kernel fills it; see census.c */
		hz_block_set(&e->totals, blk, HZ_BLK_RESIDENT);
	return false;
}

static void clear_part(struct hz_engine *e, uint32_t b, char *from, char *to)
{
	char *start = hz_block_addr(e, b);

	from = hz_max(from, start);
	to = hz_min(to, start + HZ_BLOCK_SIZE);
	memset(from, 0, (size_t)(to - from));
}

/* The kernel has it: ours again when all that is in use of it is new, else
 * what is new may be read and written, whatever its last owner did. Lock
 * held; may be dropped. */
static void revive_native(struct hz_engine *e, uint32_t b, char *from, char *to)
{
	char *start = hz_block_addr(e, b);
	size_t units;

	from = hz_max((char *)hz_align_up((uintptr_t)from, HZ_UNIT_SIZE),
		      start);
	to = hz_min((char *)hz_align_up((uintptr_t)to, HZ_UNIT_SIZE),
		    start + HZ_BLOCK_SIZE);
	if (from >= to)
		return;
	units = (size_t)(to - from) >> HZ_UNIT_SHIFT;
	if (hz_range_block_use(e->ranges, b) > units) {
		hz_os.mprotect(from, (size_t)(to - from),
			       PROT_READ | PROT_WRITE);
		return;
	}
	hz_region_recapture(e, b);
}

/* Prepare the blocks [s.first, s.first + s.n) for a range of which [from, to)
 * is new. The lock is held, and dropped around each clearing. */
void hz_span_revive(struct hz_engine *e, struct hz_span s, char *from, char *to,
		    bool zero)
{
	hz_region_use(e, s.first + s.n);
	for (uint32_t b = s.first; b < s.first + s.n; b++) {
		bool dirty;

		if (e->blk[b].state == HZ_BLK_NATIVE)
			revive_native(e, b, from, to);
		dirty = revive(e, b);
		if (!zero || !dirty)
			continue;
		hz_unlock(&e->lock);
		clear_part(e, b, from, to);
		hz_lock(&e->lock);
	}
}

/* Blocks that leave at once: pages and access. */
#define CLOSE_MOST 64u

/* May this block, which no range uses, be closed? */
static bool closable(const struct hz_block *blk)
{
	return blk->state == HZ_BLK_DEAD || blk->state == HZ_BLK_POISONED ||
	       (blk->state == HZ_BLK_ZERO && !(blk->flags & HZ_BLKF_NO_ACCESS));
}

/* Access faults from now on, as it does after munmap. One system call for the
 * run, without the lock; the blocks are passing meanwhile. */
static void close_run(struct hz_engine *e, struct hz_span s)
{
	char *addr = hz_block_addr(e, s.first);
	size_t len = (size_t)s.n << HZ_BLOCK_SHIFT;
	bool closed;

	hz_unlock(&e->lock);
	hz_os_discard(addr, len);
	closed = hz_os.mprotect(addr, len, PROT_NONE) == 0;
	hz_lock(&e->lock);
	for (uint32_t b = s.first; b < s.first + s.n; b++) {
		struct hz_block *blk = &e->blk[b];

		hz_block_set(&e->totals, blk, HZ_BLK_ZERO);
		if (closed)
			blk->flags |= HZ_BLKF_NO_ACCESS;
		if (blk->flags & HZ_BLKF_WANTED)
			hz_fill_later(e, b);
	}
	pthread_cond_broadcast(&e->changed);
}

/* Drop unused blocks from s.first on that can be closed together. */
static uint32_t close_some(struct hz_engine *e, struct hz_span s)
{
	struct hz_span run = {s.first, 0};

	while (run.n < hz_min(s.n, CLOSE_MOST)) {
		uint32_t b = s.first + run.n;
		struct hz_block *blk = &e->blk[b];

		/* The caller has looked at the first. */
		if (run.n && (hz_region_passing(blk) ||
			      hz_range_block_use(e->ranges, b)))
			break;
		hz_file_forget(e, b);
		hz_region_drop(e, b);
		if (!closable(blk))
			break;
		e->pages -= e->armed && blk->state == HZ_BLK_DEAD;
		hz_block_set(&e->totals, blk, HZ_BLK_UNMAPPING);
		run.n++;
	}
	if (run.n)
		close_run(e, run);
	return run.n ? run.n : 1;
}

/* Wait until no block of s is worked on outside the lock. Before any of them
 * is freed: hz_span_drop() must not wait, or somebody else would own them
 * already. Lock held; dropped meanwhile. */
void hz_span_settle(struct hz_engine *e, struct hz_span s)
{
	for (uint32_t b = s.first; b < s.first + s.n;) {
		if (!hz_region_passing(&e->blk[b])) {
			b++;
			continue;
		}
		hz_region_settle(e, b);
		b = s.first;
	}
}

/* Drop each block that no range uses any more. All are settled. Lock held. */
void hz_span_drop(struct hz_engine *e, struct hz_span s, bool purge)
{
	for (uint32_t b = s.first; b < s.first + s.n;) {
		/* Settling drops the lock: look at the use after it. */
		hz_region_settle(e, b);
		if (hz_range_block_use(e->ranges, b)) {
			b++;
		} else if (purge) {
			b += close_some(e,
					(struct hz_span){b, s.first + s.n - b});
		} else {
			hz_file_forget(e, b);
			hz_region_drop(e, b++);
		}
	}
}

struct hz_range *hz_arena_range(struct hz_engine *e, const void *p)
{
	size_t off = (uintptr_t)p - (uintptr_t)e->base;

	return hz_range_at(e->ranges, (uint32_t)(off >> HZ_UNIT_SHIFT));
}

/* ---- allocation ---- */

static void *alloc_locked(struct hz_engine *e, size_t size, size_t align,
			  enum hz_range_kind kind, bool zero)
{
	uint32_t units = (uint32_t)hz_max(align >> HZ_UNIT_SHIFT, (size_t)1);
	unsigned flags = kind == HZ_RANGE_MAP ? HZ_RANGE_WHOLE : 0;
	struct hz_range *r;
	char *p;

	r = hz_range_alloc(e->ranges, size, units, kind, flags);
	if (!r)
		return NULL;
	e->churn++;
	p = hz_range_addr(e, r);
	hz_rows_add(e, r);
	hz_span_revive(e, hz_span_of(r), p, p + size, zero);
	return p;
}

/* Ranges are aligned within the region: no better than its base is. */
static bool can_align(const struct hz_engine *e, size_t align)
{
	return align <= hz_arena_len && (uintptr_t)e->base % align == 0;
}

/* More than the tiers can hold is refused here and becomes ENOMEM or the next
 * allocator's matter, as it would be without us. */
static bool fits(const struct hz_engine *e, size_t size, size_t align)
{
	uint64_t capacity =
		((uint64_t)e->cap << HZ_BLOCK_SHIFT) + e->store.size;

	if (!e->armed)
		return can_align(e, align); /* below the threshold */
	return size <= capacity && can_align(e, align) &&
	       hz_range_total(e->ranges) + size <= (uint64_t)e->blocks
							   << HZ_BLOCK_SHIFT;
}

/* Still too little to start the engine for? */
static bool below_threshold(struct hz_engine *e, size_t size)
{
	uint64_t limit;

	if (__atomic_load_n(&e->phase, __ATOMIC_ACQUIRE) != HZ_OFF)
		return false;
	limit = hz_engine_threshold();
	HZ_SCOPED_LOCK(&e->lock);
	return size <= limit && hz_range_total(e->ranges) + size <= limit;
}

bool hz_arena_worth(struct hz_engine *e, size_t size)
{
	return !below_threshold(e, size) && hz_engine_start();
}

void *hz_arena_take(size_t size, size_t align, enum hz_range_kind kind,
		    bool zero)
{
	struct hz_engine *e = &hz_engine;
	struct hz_gate g;
	void *p = NULL;

	hz_gate_enter(&g);
	if (below_threshold(e, size) || hz_engine_start()) {
		hz_lock(&e->lock);
		if (fits(e, size, align))
			p = alloc_locked(e, size, align, kind, zero);
		hz_unlock(&e->lock);
	}
	hz_gate_leave(&g);
	return p;
}

void *hz_arena_alloc(size_t size, size_t align, bool zero)
{
	return hz_arena_take(size, align, HZ_RANGE_MALLOC, zero);
}

/* Blocks that were handed back to the kernel for this range alone become ours
 * again. Lock held; dropped meanwhile, while the range still owns them. */
static void take_back(struct hz_engine *e, struct hz_range *r)
{
	struct hz_span s = hz_span_of(r);

	for (uint32_t b = s.first; b < s.first + s.n; b++) {
		uint32_t unit = b * HZ_UNITS_PER_BLOCK;
		uint32_t from = hz_max(unit, r->first);
		uint32_t to =
			hz_min(unit + HZ_UNITS_PER_BLOCK, r->first + r->units);

		if (e->blk[b].state != HZ_BLK_NATIVE ||
		    hz_range_block_use(e->ranges, b) != to - from)
			continue;
		hz_region_recapture(e, b);
	}
}

void hz_arena_give(struct hz_engine *e, struct hz_range *r, bool purge)
{
	struct hz_span s = hz_span_of(r);

	take_back(e, r);
	hz_span_settle(e, s);
	hz_rows_drop(e, r);
	hz_units_forget(e, r->first, r->units);
	hz_range_free(e->ranges, r);
	e->churn++;
	hz_span_drop(e, s, purge);
}

void hz_arena_free(void *p)
{
	struct hz_engine *e = &hz_engine;
	struct hz_range *r;
	struct hz_gate g;
	bool valid;

	hz_gate_enter(&g);
	hz_lock(&e->lock);
	r = hz_arena_range(e, p);
	valid = r && r->kind == HZ_RANGE_MALLOC && hz_range_addr(e, r) == p;
	if (valid)
		hz_arena_give(e, r, false);
	hz_unlock(&e->lock);
	if (!valid)
		hz_log(HZ_ERROR, "arena", "free(%p): not allocated", p);
	hz_gate_leave(&g);
}

size_t hz_arena_usable(const void *p)
{
	struct hz_engine *e = &hz_engine;
	struct hz_range *r;
	struct hz_gate g;
	size_t n = 0;

	hz_gate_enter(&g);
	hz_lock(&e->lock);
	r = hz_arena_range(e, p);
	if (r && hz_range_addr(e, r) == p)
		n = r->bytes;
	hz_unlock(&e->lock);
	hz_gate_leave(&g);
	return n;
}

/* ---- changing the size ---- */

/* In place. Lock held; true when it is done. */
static bool resize(struct hz_engine *e, struct hz_range *r, size_t size,
		   bool zero)
{
	struct hz_span old = hz_span_of(r), now;
	char *p = hz_range_addr(e, r);
	uint64_t bytes = r->bytes;

	if (size < bytes)
		hz_span_settle(e, old);
	if (!hz_range_resize(e->ranges, r, size))
		return false;
	now = hz_span_of(r);
	hz_stat_add(HZ_STAT_range_bytes, size - bytes);
	e->churn++;
	if (now.n < old.n)
		hz_span_drop(e,
			     (struct hz_span){now.first + now.n, old.n - now.n},
			     r->kind == HZ_RANGE_MAP);
	else if (size > bytes)
		hz_span_revive(e,
			       (struct hz_span){old.first + old.n - 1,
						now.n - old.n + 1},
			       p + bytes, p + size, zero);
	return true;
}

/* To another place, block by block. The old range owns whole blocks. */
static void *relocate(struct hz_engine *e, void *p, struct hz_span old,
		      size_t bytes, size_t size, enum hz_range_kind kind)
{
	char *q = hz_arena_take(size, HZ_BLOCK_SIZE, kind, false);
	uint32_t to;

	if (!q)
		return NULL;
	if (!hz_engine_start()) {
		hz_lock(&e->lock);
		hz_arena_give(e, hz_arena_range(e, q), false);
		hz_unlock(&e->lock);
		return NULL; /* the caller copies */
	}
	to = (uint32_t)((size_t)(q - e->base) >> HZ_BLOCK_SHIFT);
	hz_lock(&e->lock);
	for (uint32_t b = to; b < to + old.n; b++)
		hz_region_purge(e, b);
	hz_unlock(&e->lock);
	hz_region_transfer(e, old.first, to, old.n);
	if (kind == HZ_RANGE_MAP && size > bytes)
		hz_arena_clear(e, q + bytes, q + size);
	hz_lock(&e->lock);
	hz_arena_give(e, hz_arena_range(e, p), kind == HZ_RANGE_MAP);
	hz_unlock(&e->lock);
	return q;
}

/* Memory that grows counts as new memory does. */
static void start_to_grow(struct hz_engine *e, size_t bytes, size_t size)
{
	if (size > bytes && !below_threshold(e, size - bytes))
		hz_engine_start();
}

void *hz_arena_resize(void *p, size_t size, bool may_move)
{
	struct hz_engine *e = &hz_engine;
	struct hz_gate g;
	struct hz_range *r;
	struct hz_span old = {0};
	enum hz_range_kind kind = HZ_RANGE_FREE;
	size_t bytes = hz_arena_usable(p);
	void *q = NULL;

	hz_gate_enter(&g);
	start_to_grow(e, bytes, size);
	hz_lock(&e->lock);
	r = hz_arena_range(e, p);
	if (r && hz_range_addr(e, r) == p) {
		kind = r->kind;
		bytes = r->bytes;
		old = hz_span_of(r);
		may_move = may_move && r->first % HZ_UNITS_PER_BLOCK == 0 &&
			   (kind == HZ_RANGE_MAP || bytes >= HZ_RANGE_PACK_MAX);
		if (fits(e, size, 1) &&
		    resize(e, r, size, kind == HZ_RANGE_MAP))
			q = p;
	}
	hz_unlock(&e->lock);
	if (kind != HZ_RANGE_FREE && !q && may_move && size > bytes)
		q = relocate(e, p, old, bytes, size, kind);
	hz_gate_leave(&g);
	return q;
}

void *hz_arena_realloc(void *p, size_t size)
{
	return hz_arena_resize(p, size, true);
}
