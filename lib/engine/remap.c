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
 * only; on madvise(2): MADV_POPULATE_WRITE of Linux 5.14.
 */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif
#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/os.h"
#include "engine/arena.h"
#include "engine/arena_int.h"
#include "engine/engine.h"

#ifndef MREMAP_DONTUNMAP
#define MREMAP_DONTUNMAP 4
#endif
#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23
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

/* The kernel moves its pages; the old place stays mapped, and empty. */
static long move_pages_out(const struct wish *w)
{
	size_t len = hz_min(w->old_len, w->new_len);
	struct wish out = {w->old, len, len, w->flags | MREMAP_DONTUNMAP,
			   w->to};
	struct wish grow = {NULL, len, w->new_len, MREMAP_MAYMOVE, NULL};
	long at, grown;

	if (w->to && w->new_len > len)
		return -EFAULT; /* it could not grow there at once */
	at = raw_mremap(&out);
	if (at < 0 || w->new_len == len)
		return at;
	grow.old = (char *)at;
	grown = raw_mremap(&grow);
	if (grown < 0) {
		struct wish back = {(char *)at, len, len,
				    MREMAP_MAYMOVE | MREMAP_FIXED, w->old};

		raw_mremap(&back);
	}
	return grown;
}

/* Its bytes move, into one new mapping. Only what may be written throughout:
 * of pages with several protections the program knows that they are several
 * mappings. */
static long copy_out(const struct wish *w)
{
	size_t len = hz_min(w->old_len, w->new_len);
	long at;

	if (hz_os.madvise(w->old, len, MADV_POPULATE_WRITE) < 0)
		return -EFAULT;
	at = hz_os.mmap(w->to, w->new_len, PROT_READ | PROT_WRITE,
			MAP_PRIVATE | MAP_ANONYMOUS | (w->to ? MAP_FIXED : 0),
			-1, 0);
	for (size_t off = 0; at >= 0 && off < len; off += HZ_BLOCK_SIZE) {
		size_t n = hz_min(len - off, (size_t)HZ_BLOCK_SIZE);

		memcpy((char *)at + off, w->old + off, n);
		hz_os_discard(w->old + off, n);
	}
	return at;
}

static bool meet(const struct wish *w)
{
	return w->to < w->old + w->old_len && w->old < w->to + w->new_len;
}

static bool inside(struct hz_engine *e, const struct wish *w)
{
	return w->old >= e->base &&
	       w->old + w->old_len <= e->base + hz_arena_len;
}

static long leave(struct hz_engine *e, const struct wish *w)
{
	long at;

	if (w->to && (meet(w) || (uintptr_t)w->to % HZ_PAGE_SIZE))
		return -EINVAL;
	if (!inside(e, w) || !(w->flags & MREMAP_MAYMOVE))
		return raw_mremap(w);
	at = move_pages_out(w);
	if (at == -EFAULT)
		at = copy_out(w);
	return at == -EFAULT || at == -EINVAL ? raw_mremap(w) : at;
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
		hz_arena_make_way(e, hz_part_inside(e, w->to, w->new_len));
	at = leave(e, w);
	if (at < 0 || w->flags & MREMAP_DONTUNMAP)
		return at;
	if ((char *)at == w->old) /* it did not move */
		part.from = hz_max(part.from, w->old + w->new_len);
	left_behind(e, part);
	return at;
}

/* All of one range, and all of it ours. */
static bool is_whole_range(struct hz_engine *e, const struct wish *w)
{
	struct hz_range *r;
	bool whole;

	hz_lock(&e->lock);
	r = hz_arena_range(e, w->old);
	whole = r && r->kind == HZ_RANGE_MAP &&
		hz_range_addr(e, r) == w->old &&
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
	if (w->flags & ~MREMAP_MAYMOVE || !hz_arena_owns(w->old) ||
	    !is_whole_range(e, w))
		return remap_native(e, w);
	p = hz_arena_resize(w->old, w->new_len, w->flags & MREMAP_MAYMOVE);
	return p ? (long)p : -ENOMEM;
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

	if (!new_len || !old_len || (uintptr_t)old % HZ_PAGE_SIZE ||
	    (flags && !(flags & MREMAP_MAYMOVE)) ||
	    flags & ~(MREMAP_MAYMOVE | MREMAP_FIXED | MREMAP_DONTUNMAP))
		return -EINVAL;
	hz_gate_enter(&g);
	at = remap(&hz_engine, &w);
	hz_gate_leave(&g);
	return at;
}
