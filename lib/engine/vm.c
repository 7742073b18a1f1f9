/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The mmap family on captured ranges: each call does what the kernel would
 * do. What can be said in blocks is done here; anything odd (another
 * protection, half a block, MAP_FIXED over us) hands the blocks that it
 * touches back to the kernel, with their content, and passes the call on.
 * Such blocks are NATIVE: resident, outside the budget, until they are freed.
 *
 * Rests on mmap(2), mremap(2), madvise(2), mprotect(2), mlock(2).
 */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif
#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/log.h"
#include "base/os.h"
#include "base/stats.h"
#include "engine/arena.h"
#include "engine/arena_int.h"
#include "engine/engine.h"

/* The part of [addr, addr + len) that lies in the region. */
struct part {
	char *from, *to;
};

static struct part inside(struct hz_engine *e, void *addr, size_t len)
{
	char *end = e->base + hz_arena_len;
	struct part p = { addr, (char *)addr + len };

	p.from = hz_max(p.from, e->base);
	p.to = hz_min(p.to, end);
	return p;
}

static uint32_t block_at(struct hz_engine *e, const char *addr)
{
	return (uint32_t)((size_t)(addr - e->base) >> HZ_BLOCK_SHIFT);
}

/* Blocks that p touches, and blocks that it covers. */
static struct hz_span touched(struct hz_engine *e, struct part p)
{
	struct hz_span s = { .first = block_at(e, p.from) };

	s.n = p.to > p.from ? block_at(e, p.to - 1) - s.first + 1 : 0;
	return s;
}

static struct hz_span covered(struct hz_engine *e, struct part p)
{
	size_t from = hz_align_up((size_t)(p.from - e->base), HZ_BLOCK_SIZE);
	size_t to = hz_align_down((size_t)(p.to - e->base), HZ_BLOCK_SIZE);
	struct hz_span s = { .first = (uint32_t)(from >> HZ_BLOCK_SHIFT) };

	s.n = to > from ? (uint32_t)((to - from) >> HZ_BLOCK_SHIFT) : 0;
	return s;
}

/* Call fn for what p covers of each block that it touches. */
static void each_piece(struct hz_engine *e, struct part p,
		       void (*fn)(struct hz_engine *e, uint32_t b,
				  struct part piece))
{
	for (char *at = p.from; at < p.to;) {
		uint32_t b = block_at(e, at);
		char *next = hz_block_addr(e, b) + HZ_BLOCK_SIZE;
		struct part piece = { at, hz_min(next, p.to) };

		fn(e, b, piece);
		at = piece.to;
	}
}

static bool whole(struct part piece)
{
	return (size_t)(piece.to - piece.from) == HZ_BLOCK_SIZE;
}

static enum hz_block_state state_of(struct hz_engine *e, uint32_t b)
{
	HZ_SCOPED_LOCK(&e->lock);
	return (enum hz_block_state)e->blk[b].state;
}

/* ---- mmap ---- */

static void touch_pages(struct hz_engine *e, char *from, char *to)
{
	for (char *p = from; p < to; p += HZ_BLOCK_SIZE)
		(void)*(volatile char *)p;
}

void *hz_arena_map(size_t len, bool populate)
{
	char *p = hz_arena_take(len, HZ_BLOCK_SIZE, HZ_RANGE_MAP, true);

	/* MAP_POPULATE of more than the budget would evict its own
	 * beginning: as much as fits is brought in. */
	if (p && populate) {
		size_t room = (size_t)hz_engine.cap << HZ_BLOCK_SHIFT;

		touch_pages(&hz_engine, p, p + hz_min(len, room / 2));
	}
	return p;
}

/* ---- zeros ---- */

static void clear_piece(struct hz_engine *e, uint32_t b, struct part piece)
{
	if (state_of(e, b) != HZ_BLK_ZERO)
		memset(piece.from, 0, (size_t)(piece.to - piece.from));
}

void hz_arena_clear(struct hz_engine *e, char *from, char *to)
{
	each_piece(e, (struct part){ from, to }, clear_piece);
}

/* ---- munmap ---- */

/* Half a block goes: the other half is the kernel's from now on. The address
 * space stays reserved, so that no other mapping lands in the region. */
static void punch(char *from, char *to)
{
	hz_os.mmap(from, (size_t)(to - from), PROT_NONE,
		   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1,
		   0);
}

static void unmap_piece(struct hz_engine *e, uint32_t b, struct part piece)
{
	if (whole(piece))
		return;
	hz_region_uncapture(e, b, 1, true);
	punch(piece.from, piece.to);
}

/* The middle of a range: cut its whole blocks out. Lock held. */
static int cut_blocks(struct hz_engine *e, struct hz_range *r,
		      struct hz_span s)
{
	struct hz_range *behind = NULL;
	uint64_t before = hz_range_total(e->ranges);
	int rc;

	if (!s.n)
		return 0;
	rc = hz_range_cut(e->ranges, r, s.first * HZ_UNITS_PER_BLOCK,
			  s.n * HZ_UNITS_PER_BLOCK, &behind);
	if (rc < 0)
		return rc;
	hz_stat_sub(HZ_STAT_range_bytes,
		    before - hz_range_total(e->ranges));
	if (behind) {
		hz_stat_sub(HZ_STAT_range_bytes, behind->bytes);
		hz_rows_add(e, behind);
	}
	hz_span_drop(e, s, true);
	return 0;
}

/* What p takes of range r. Lock held; dropped. */
static int unmap_range(struct hz_engine *e, struct hz_range *r, struct part p)
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
	each_piece(e, p, unmap_piece);
	hz_lock(&e->lock);
	return cut_blocks(e, r, covered(e, p));
}

static int munmap_inside(struct hz_engine *e, struct part p)
{
	int rc = 0;
	HZ_SCOPED_LOCK(&e->lock);

	for (char *at = p.from; rc == 0 && at < p.to;) {
		struct hz_range *r = hz_arena_range(e, at);
		char *end = hz_block_addr(e, block_at(e, at)) + HZ_BLOCK_SIZE;

		if (r)
			end = hz_range_addr(e, r) +
			      ((size_t)r->units << HZ_UNIT_SHIFT);
		if (r)
			rc = unmap_range(e, r, (struct part){ at, p.to });
		at = end;
	}
	return rc;
}

int hz_arena_munmap(void *addr, size_t len)
{
	struct hz_engine *e = &hz_engine;
	struct part p = inside(e, addr, len);
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
		rc = munmap_inside(e, p);
	hz_gate_leave(&g);
	return rc;
}

/* ---- handing over ---- */

static void hand_over(struct hz_engine *e, struct part p, bool keep)
{
	struct hz_span all = touched(e, p), full = covered(e, p);

	hz_lock(&e->lock);
	hz_region_use(e, all.first + all.n);
	hz_unlock(&e->lock);
	for (uint32_t b = all.first; b < all.first + all.n; b++) {
		bool is_full = b - full.first < full.n;

		hz_region_uncapture(e, b, 1, keep || !is_full);
	}
}

int hz_arena_yield(void *addr, size_t len)
{
	struct hz_engine *e = &hz_engine;
	struct hz_gate g;

	hz_gate_enter(&g);
	hand_over(e, inside(e, addr, len), false);
	hz_gate_leave(&g);
	return 0;
}

static bool any_native(struct hz_engine *e, struct part p)
{
	struct hz_span s = touched(e, p);
	HZ_SCOPED_LOCK(&e->lock);

	for (uint32_t b = s.first; b < s.first + s.n; b++)
		if (e->blk[b].state == HZ_BLK_NATIVE)
			return true;
	return false;
}

/* ---- mprotect ---- */

int hz_arena_mprotect(void *addr, size_t len, int prot)
{
	struct hz_engine *e = &hz_engine;
	struct part p = inside(e, addr, len);
	struct hz_gate g;
	int rc = 0;

	hz_gate_enter(&g);
	if (prot != (PROT_READ | PROT_WRITE)) {
		hand_over(e, p, true);
		rc = hz_os.mprotect(addr, len, prot);
	} else if (any_native(e, p)) {
		rc = hz_os.mprotect(addr, len, prot);
	}
	hz_gate_leave(&g);
	return rc;
}

/* ---- mremap ---- */

static bool is_whole_range(struct hz_engine *e, char *addr, size_t len)
{
	struct hz_range *r;
	HZ_SCOPED_LOCK(&e->lock);

	r = hz_arena_range(e, addr);
	return r && r->kind == HZ_RANGE_MAP && hz_range_addr(e, r) == addr &&
	       hz_align_up(r->bytes, HZ_PAGE_SIZE) ==
		       hz_align_up(len, HZ_PAGE_SIZE);
}

/* The kernel moves it; the old place stays reserved. */
static long remap_native(struct hz_engine *e, char *old, size_t old_len,
			 size_t new_len, int flags, void *new_addr)
{
	int saved = errno;
	long at;

	if (hz_arena_meets(old, old_len))
		hand_over(e, inside(e, old, old_len), true);
	if (flags & MREMAP_FIXED && hz_arena_meets(new_addr, new_len))
		hand_over(e, inside(e, new_addr, new_len), false);
	at = syscall(SYS_mremap, old, old_len, new_len, flags, new_addr);
	if (at == -1)
		at = -errno;
	errno = saved;
	if (at >= 0 && (char *)at != old && hz_arena_owns(old))
		punch(old, old + hz_align_up(old_len, HZ_PAGE_SIZE));
	return at;
}

long hz_arena_mremap(void *old, size_t old_len, size_t new_len, int flags,
		     void *new_addr)
{
	struct hz_engine *e = &hz_engine;
	struct hz_gate g;
	long at;

	hz_gate_enter(&g);
	if (new_len && !(flags & ~MREMAP_MAYMOVE) && hz_arena_owns(old) &&
	    is_whole_range(e, old, old_len) &&
	    !any_native(e, inside(e, old, old_len))) {
		void *p = hz_arena_resize(
			old, hz_align_up(new_len, HZ_PAGE_SIZE),
			flags & MREMAP_MAYMOVE);

		at = p ? (long)p : -ENOMEM;
	} else {
		at = remap_native(e, old, old_len, new_len, flags, new_addr);
	}
	hz_gate_leave(&g);
	return at;
}

/* ---- madvise ---- */

enum advice_is {
	IS_KERNELS, /* hand over, then the kernel's */
	IS_NOTHING, /* a hint that has no meaning here */
	IS_DISCARD,
	IS_POPULATE,
	IS_INVALID,
};

/* asm-generic/mman-common.h; what is not listed is the kernel's. */
static const struct {
	int advice;
	enum advice_is is;
} advices[] = {
	{ MADV_NORMAL, IS_NOTHING },	  { MADV_RANDOM, IS_NOTHING },
	{ MADV_SEQUENTIAL, IS_NOTHING },  { MADV_WILLNEED, IS_NOTHING },
	{ MADV_DONTNEED, IS_DISCARD },	  { MADV_FREE, IS_DISCARD },
	{ MADV_REMOVE, IS_INVALID },	  { MADV_MERGEABLE, IS_NOTHING },
	{ MADV_UNMERGEABLE, IS_NOTHING }, { MADV_HUGEPAGE, IS_NOTHING },
	{ MADV_NOHUGEPAGE, IS_NOTHING },  { MADV_DONTDUMP, IS_NOTHING },
	{ MADV_DODUMP, IS_NOTHING },	  { 20 /* COLD */, IS_NOTHING },
	{ 21 /* PAGEOUT */, IS_NOTHING }, { 22 /* POPULATE_READ */,
					    IS_POPULATE },
	{ 23 /* POPULATE_WRITE */, IS_POPULATE },
	{ 24 /* DONTNEED_LOCKED */, IS_DISCARD },
	{ 25 /* COLLAPSE */, IS_NOTHING },
};

static enum advice_is advice_is(int advice)
{
	for (size_t i = 0; i < hz_array_len(advices); i++)
		if (advices[i].advice == advice)
			return advices[i].is;
	return IS_KERNELS;
}

static void discard_piece(struct hz_engine *e, uint32_t b, struct part piece)
{
	if (state_of(e, b) == HZ_BLK_NATIVE) {
		hz_os.madvise(piece.from, (size_t)(piece.to - piece.from),
			      MADV_DONTNEED);
	} else if (whole(piece)) {
		HZ_SCOPED_LOCK(&e->lock);
		hz_region_purge(e, b);
	} else {
		clear_piece(e, b, piece);
	}
}

int hz_arena_madvise(void *addr, size_t len, int advice)
{
	struct hz_engine *e = &hz_engine;
	struct part p = inside(e, addr, len);
	struct hz_gate g;
	int rc = 0;

	if ((uintptr_t)addr % HZ_PAGE_SIZE)
		return -EINVAL;
	if (!len)
		return 0;
	p.to = (char *)hz_align_up((uintptr_t)p.to, HZ_PAGE_SIZE);
	hz_gate_enter(&g);
	switch (advice_is(advice)) {
	case IS_NOTHING:
		break;
	case IS_INVALID:
		rc = -EINVAL;
		break;
	case IS_DISCARD:
		each_piece(e, p, discard_piece);
		break;
	case IS_POPULATE:
		touch_pages(e, p.from, p.to);
		break;
	case IS_KERNELS:
		hand_over(e, p, true);
		rc = hz_os.madvise(addr, len, advice);
		break;
	}
	hz_gate_leave(&g);
	return rc;
}

/* ---- mlock, msync ---- */

static void unlock_blocks(struct hz_engine *e, struct hz_span s)
{
	HZ_SCOPED_LOCK(&e->lock);

	for (uint32_t b = s.first; b < s.first + s.n; b++)
		e->blk[b].flags &= (uint8_t)~HZ_BLKF_STICKY;
}

static void lock_all(struct hz_engine *e, bool on)
{
	HZ_SCOPED_LOCK(&e->lock);

	e->no_evict = on;
	if (on)
		hz_log_once(HZ_WARN, "arena",
			    "the program locked all its memory (mlockall): "
			    "nothing is evicted");
}

int hz_arena_mlock(void *addr, size_t len, bool on)
{
	struct hz_engine *e = &hz_engine;
	struct hz_gate g;
	struct hz_span s;

	if (!len)
		return 0;
	hz_gate_enter(&g);
	s = touched(e, inside(e, addr, len));
	if (len >= hz_arena_len)
		lock_all(e, on);
	else if (on)
		hz_region_pin(e, s.first, s.n, true);
	else
		unlock_blocks(e, s);
	hz_gate_leave(&g);
	return 0;
}

int hz_arena_msync(void *addr, size_t len, int flags)
{
	/* Private anonymous memory has nothing to be synchronised with. */
	return (uintptr_t)addr % HZ_PAGE_SIZE ? -EINVAL : 0;
}

/* ---- on demand ---- */

long hz_arena_evict(void *addr, size_t len)
{
	struct hz_engine *e = &hz_engine;
	struct hz_span s = covered(e, inside(e, addr, len));
	struct hz_request req = { .op = HZ_REQ_EVICT, .a = s.first, .n = s.n };
	struct hz_gate g;
	long out;

	if (!s.n)
		return 0;
	hz_gate_enter(&g);
	out = hz_engine_start() ? hz_engine_call(&req) : 0;
	hz_gate_leave(&g);
	return out;
}
