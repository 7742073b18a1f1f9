/* SPDX-License-Identifier: Apache-2.0 */
/*
 * mremap(2) on captured ranges. A whole range grows and shrinks as realloc
 * does; any other part is handed to the kernel and leaves the region.
 *
 * The kernel puts the next mapping of any thread into the highest hole that
 * it finds, so the region must never have one, not even for a moment: what
 * leaves, leaves by MREMAP_DONTUNMAP, and what is cut off is covered.
 *
 * What the program mapped at once it may remap at once, but to the kernel it
 * may be several mappings (blocks that were handed over at other times have
 * other reverse maps), which mremap(2) refuses. Then its bytes move.
 *
 * Rests on mremap(2): MREMAP_DONTUNMAP of Linux 5.7, private anonymous memory
 * only.
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
#include "checksum.h"
#include "engine/arena.h"
#include "engine/arena_int.h"
#include "engine/engine.h"
#include "engine/file_map.h"

#ifndef MREMAP_DONTUNMAP
#define MREMAP_DONTUNMAP 4
#endif

/* What the program asks for; lengths in whole pages. */
struct wish {
	char *old;
	size_t old_len, new_len;
	int flags;
	char *to; /* with MREMAP_FIXED, else NULL */
};

/* Leaves errno alone: the shim sets it. */
static long raw_mremap(const struct wish *w)
{
	int saved = errno;
	long at = syscall(SYS_mremap, w->old, w->old_len, w->new_len, w->flags,
			  w->to);

	if (at == -1)
		at = -errno;
	errno = saved;
	return at;
}

static bool inside(struct hz_engine *e, const struct wish *w)
{
	return w->old >= e->base &&
	       w->old + w->old_len <= e->base + hz_arena_len;
}

/* Bytes but zeros: `to` is fresh, and memory that was never touched takes no
 * memory there either. */
static void copy_pages(char *to, const char *from, size_t len)
{
	for (size_t off = 0; off < len; off += HZ_PAGE_SIZE)
		if (!hz_is_zero(from + off, HZ_PAGE_SIZE))
			memcpy(to + off, from + off, HZ_PAGE_SIZE);
}

/* [old, old + len) to a place of the kernel's choice; the old one is empty
 * then, and still mapped. */
static long carry_out(struct hz_engine *e, char *old, size_t len)
{
	struct wish out = {old, len, len, MREMAP_MAYMOVE | MREMAP_DONTUNMAP,
			   NULL};
	long at = raw_mremap(&out);

	/* Of memory with several protections or advices the program knows
	 * that it is several mappings. */
	if (at != -EFAULT || hz_part_odd(e, hz_part_inside(e, old, len)))
		return at;
	at = hz_os.mmap(NULL, len, PROT_READ | PROT_WRITE,
			MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	for (size_t off = 0; at >= 0 && off < len; off += HZ_BLOCK_SIZE) {
		size_t n = hz_min(len - off, (size_t)HZ_BLOCK_SIZE);

		copy_pages((char *)at + off, old + off, n);
		hz_os_discard(old + off, n);
	}
	return at;
}

static void carry_back(struct hz_engine *e, char *old, size_t len, long at)
{
	struct wish back = {(char *)at, len, len, MREMAP_MAYMOVE | MREMAP_FIXED,
			    old};

	if (raw_mremap(&back) >= 0)
		return;
	/* Too many mappings, perhaps. */
	if (hz_part_odd(e, hz_part_inside(e, old, len))) {
		hz_log(HZ_ERROR, "arena",
		       "mremap: the kernel took %zu bytes at %p to %lx and "
		       "does not give them back",
		       len, old, at);
		return;
	}
	copy_pages(old, (char *)at, len);
	hz_os.munmap((char *)at, len);
}

static long leave(struct hz_engine *e, const struct wish *w)
{
	size_t len = hz_min(w->old_len, w->new_len);
	struct wish on = {NULL, len, w->new_len,
			  w->flags & (MREMAP_MAYMOVE | MREMAP_FIXED), w->to};
	long at, moved;

	/* In place, or not ours alone: the kernel knows best. */
	if (!inside(e, w) || !(w->flags & MREMAP_MAYMOVE))
		return raw_mremap(w);
	at = carry_out(e, w->old, len);
	if (at < 0 || (w->new_len == len && !w->to))
		return at;
	on.old = (char *)at;
	moved = raw_mremap(&on);
	if (moved < 0)
		carry_back(e, w->old, len, at);
	return moved;
}

/* What is not there any more is covered, and its ranges end. */
static void left_behind(struct hz_engine *e, struct hz_part p)
{
	if (p.from >= p.to)
		return;
	hz_part_punch(p);
	hz_arena_unmap_part(e, p);
}

static long remap_native(struct hz_engine *e, const struct wish *w)
{
	struct hz_part part = hz_part_inside(e, w->old, w->old_len);
	long at;

	if (part.to > part.from)
		hz_arena_hand_over(e, part);
	if (!(w->flags & ~MREMAP_MAYMOVE) && w->new_len <= w->old_len &&
	    inside(e, w)) {
		part.from += w->new_len;
		left_behind(e, part);
		return (long)w->old;
	}
	if (w->to && hz_arena_meets(w->to, w->new_len))
		hz_arena_make_way(e, hz_part_inside(e, w->to, w->new_len),
				  false);
	at = leave(e, w);
	if (at < 0 || w->flags & MREMAP_DONTUNMAP)
		return at;
	if ((char *)at == w->old) /* it did not move */
		part.from = hz_max(part.from, w->old + w->new_len);
	left_behind(e, part);
	return at;
}

/* Part of a map of a file, which shall show the file where it grows: the
 * kernel maps it anew, and what was changed follows. */
static bool is_file(struct hz_engine *e, const struct wish *w)
{
	struct hz_part p = hz_part_inside(e, w->old, w->old_len);

	return inside(e, w) && w->flags & MREMAP_MAYMOVE &&
	       !(w->flags & MREMAP_DONTUNMAP) &&
	       hz_file_covers(e, w->old, w->old_len) && !hz_part_odd(e, p);
}

static long remap_file(struct hz_engine *e, const struct wish *w)
{
	size_t len = hz_min(w->old_len, w->new_len);
	struct wish on = {NULL, w->new_len, w->new_len,
			  MREMAP_MAYMOVE | MREMAP_FIXED, w->to};
	long at = hz_file_remap(e, w->old, len, w->new_len);

	if (at >= 0 && w->to) {
		if (hz_arena_meets(w->to, w->new_len))
			hz_arena_make_way(
				e, hz_part_inside(e, w->to, w->new_len), false);
		on.old = (char *)at;
		at = raw_mremap(&on);
		if (at < 0)
			hz_os.munmap(on.old, w->new_len);
	}
	if (at >= 0)
		hz_arena_unmap_part(e, hz_part_inside(e, w->old, w->old_len));
	return at;
}

/* All of one range, and all of it ours. */
static bool is_whole_range(struct hz_engine *e, const struct wish *w)
{
	struct hz_range *r;
	bool whole;

	hz_lock(&e->lock);
	r = hz_arena_range(e, w->old);
	whole = r && r->kind == HZ_RANGE_MAP && hz_range_addr(e, r) == w->old &&
		hz_align_up(r->bytes, HZ_PAGE_SIZE) == w->old_len;
	hz_unlock(&e->lock);
	return whole &&
	       !hz_part_native(e, hz_part_inside(e, w->old, w->old_len));
}

static long remap(struct hz_engine *e, const struct wish *w)
{
	void *p;

	if (hz_part_hole(e, hz_part_inside(e, w->old, w->old_len)))
		return -EFAULT;
	if (is_file(e, w) && (w->to || w->new_len > w->old_len))
		return remap_file(e, w);
	if (w->flags & ~MREMAP_MAYMOVE || !hz_arena_owns(w->old) ||
	    !is_whole_range(e, w))
		return remap_native(e, w);
	if (hz_file_covers(e, w->old, w->old_len) && w->new_len > w->old_len)
		return -ENOMEM; /* in place it cannot grow */
	p = hz_arena_resize(w->old, w->new_len, w->flags & MREMAP_MAYMOVE);
	return p ? (long)p : -ENOMEM;
}

static bool meet(const struct wish *w)
{
	return w->to < w->old + w->old_len && w->old < w->to + w->new_len;
}

/* What mremap(2) refuses with EINVAL; before anything was touched. */
static bool is_valid(const struct wish *w)
{
	const int known = MREMAP_MAYMOVE | MREMAP_FIXED | MREMAP_DONTUNMAP;

	if (!w->new_len || !w->old_len || (uintptr_t)w->old % HZ_PAGE_SIZE ||
	    w->flags & ~known || (w->flags && !(w->flags & MREMAP_MAYMOVE)))
		return false;
	if (w->flags & MREMAP_DONTUNMAP && w->old_len != w->new_len)
		return false;
	if (!(w->flags & MREMAP_FIXED))
		return true;
	return w->to && !((uintptr_t)w->to % HZ_PAGE_SIZE) && !meet(w);
}

long hz_arena_mremap(void *old, size_t old_len, size_t new_len, int flags,
		     void *new_addr)
{
	struct wish w = {
		.old = old,
		.old_len = hz_align_up(old_len, HZ_PAGE_SIZE),
		.new_len = hz_align_up(new_len, HZ_PAGE_SIZE),
		.flags = flags,
		.to = flags & MREMAP_FIXED ? new_addr : NULL,
	};
	struct hz_gate g;
	long at;

	/* A length may wrap around when it is rounded. */
	if (old_len > PTRDIFF_MAX || new_len > PTRDIFF_MAX || !is_valid(&w))
		return -EINVAL;
	hz_gate_enter(&g);
	at = remap(&hz_engine, &w);
	hz_gate_leave(&g);
	return at;
}
