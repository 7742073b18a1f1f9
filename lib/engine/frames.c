/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Frames: the huge pages outside the region, and where a block's page goes
 * when it leaves.
 *
 * A frame slot is populated before it is armed: touching a missing page of an
 * armed range from our own threads would be a fault that nobody answers.
 * Pages are made huge once and never freed while they are useful: they travel
 * between the region and the frames (MADV_HUGEPAGE, MADV_POPULATE_WRITE of
 * Linux 5.14, MADV_COLLAPSE of 6.1, PAGEMAP_SCAN of 6.7; see madvise(2)).
 */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif
#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>

#include "backend/uffd_abi.h"
#include "base/knobs.h"
#include "base/log.h"
#include "base/numa.h"
#include "base/os.h"
#include "base/stats.h"
#include "engine/engine.h"

#define THP_ENABLED "/sys/kernel/mm/transparent_hugepage/enabled"

/* In hz-aux, before it makes the other threads: they take its policy and its
 * processors over. */
void hz_frames_init(struct hz_engine *e)
{
	hz_numa_start((int)hz_knobs.numa);
	for (unsigned s = 0; s < HZ_FRAME_STATES; s++) {
		e->stack[s] = HZ_NONE;
		e->count[s] = 0;
	}
	e->frame_next = 0;
}

static void pop(struct hz_engine *e, uint32_t f, enum hz_frame_state s)
{
	/* Only the head is ever taken from a stack. */
	e->stack[s] = e->frame[f].next;
	e->count[s]--;
}

void hz_frame_set(struct hz_engine *e, uint32_t f, enum hz_frame_state to)
{
	struct hz_frame *fr = &e->frame[f];

	if (fr->state == HZ_FRAME_USED)
		e->count[HZ_FRAME_USED]--;
	fr->state = to;
	fr->block = HZ_NONE;
	fr->orphan = false;
	e->count[to]++;
	if (to != HZ_FRAME_USED) {
		fr->next = e->stack[to];
		e->stack[to] = f;
	}
}

static uint32_t take(struct hz_engine *e, enum hz_frame_state s)
{
	uint32_t f = e->stack[s];

	if (f == HZ_NONE)
		return HZ_NONE;
	pop(e, f, s);
	hz_frame_set(e, f, HZ_FRAME_USED);
	return f;
}

uint32_t hz_frame_take(struct hz_engine *e, bool prefer_zero, bool *zeros)
{
	enum hz_frame_state first = prefer_zero ? HZ_FRAME_ZERO : HZ_FRAME_FREE;
	enum hz_frame_state second =
		prefer_zero ? HZ_FRAME_FREE : HZ_FRAME_ZERO;
	uint32_t f = take(e, first);

	*zeros = first == HZ_FRAME_ZERO;
	if (f == HZ_NONE) {
		f = take(e, second);
		*zeros = second == HZ_FRAME_ZERO;
	}
	if (hz_free_frames(e) < e->free_target)
		hz_engine_kick(&e->writer);
	return f;
}

uint32_t hz_frame_take_empty(struct hz_engine *e)
{
	uint32_t f = take(e, HZ_FRAME_EMPTY);

	/* A slot that never had a page is as good. */
	if (f == HZ_NONE && e->frame_next < e->frames) {
		f = e->frame_next;
		if (e->fault->arm(e->uffd, hz_frame_addr(e, f), HZ_BLOCK_SIZE) <
		    0)
			return HZ_NONE;
		e->frame_next++;
		hz_frame_set(e, f, HZ_FRAME_USED);
	}
	return f;
}

/* ---- pages from the kernel and back ---- */

/* Where a seccomp filter does not know the advice, touching does the same, but
 * for the error when there is no memory. */
static int touch(char *addr, size_t len)
{
	int rc = hz_os.madvise(addr, len, MADV_POPULATE_WRITE);

	if (rc != -EPERM && rc != -EACCES && rc != -ENOSYS && rc != -EINVAL)
		return rc;
	for (size_t off = 0; off < len; off += HZ_PAGE_SIZE)
		*(volatile char *)(addr + off) = 0;
	return 0;
}

/* For the machine, or for this process and those that it starts. */
static bool thp_is_off(void)
{
	char text[64];

	return prctl(PR_GET_THP_DISABLE, 0, 0, 0, 0) == 1 ||
	       hz_os_slurp(THP_ENABLED, text, sizeof(text)) < 0 ||
	       strstr(text, "[never]");
}

/* -EINVAL: not for this mapping, now or later. The rest is about memory. */
static bool never_huge(int rc)
{
	bool never = rc == -EINVAL && thp_is_off();

	if (never)
		hz_log_once(
			HZ_WARN, "frames",
			"huge pages are off here: frames are 4 KiB pages, "
			"which works and is slower (echo madvise > " THP_ENABLED
			")");
	else
		hz_log_once(HZ_INFO, "frames",
			    "some frames are not huge pages (memory is "
			    "fragmented): moves are slower");
	return never;
}

static void make_huge(const struct hz_engine *e, char *addr, uint32_t n)
{
	static bool never; /* hz-engine only; the same in a forked child */
	int rc;

	for (char *end = addr + ((size_t)n << HZ_BLOCK_SHIFT);
	     !never && addr < end; addr += HZ_BLOCK_SIZE) {
		if (hz_pages_at(e, addr, true) == HZ_PAGES_ALL)
			continue;
		rc = hz_os.madvise(addr, HZ_BLOCK_SIZE, MADV_COLLAPSE);
		if (rc < 0)
			never = never_huge(rc);
	}
}

/* Pages of n contiguous slots from f on: cleared by the kernel, from the nodes
 * that hz_numa_look() chooses, huge where it can. Not armed while this runs. */
static int populate(struct hz_engine *e, uint32_t f, uint32_t n)
{
	char *addr = hz_frame_addr(e, f);
	size_t len = (size_t)n << HZ_BLOCK_SHIFT;
	int rc, armed;

	hz_numa_look();
	hz_numa_follow();
	rc = touch(addr, len);
	if (rc == 0)
		make_huge(e, addr, n);
	if (rc < 0)
		hz_os_discard(addr, len);
	/* Armed in any case: an EMPTY slot must be able to take a page. */
	armed = e->fault->arm(e->uffd, addr, len);
	return rc < 0 ? rc : armed;
}

/* The next slots to populate: fresh ones in a row, else one EMPTY slot whose
 * page was given back. The lock is held. */
static uint32_t claim_slots(struct hz_engine *e, uint32_t *n)
{
	uint32_t f = e->frame_next;

	*n = hz_min(*n, e->frames - e->frame_next);
	if (*n) {
		e->frame_next += *n;
		return f;
	}
	*n = 1;
	f = take(e, HZ_FRAME_EMPTY);
	if (f == HZ_NONE)
		return HZ_NONE;
	e->count[HZ_FRAME_USED]--; /* set anew by the caller */
	e->fault->disarm(e->uffd, hz_frame_addr(e, f), HZ_BLOCK_SIZE);
	return f;
}

uint32_t hz_frames_grow(struct hz_engine *e, uint32_t n, bool force)
{
	uint32_t f;
	int rc;

	if (!force)
		n = e->pages < e->cap ? hz_min(n, e->cap - e->pages) : 0;
	if (!n)
		return 0;
	f = claim_slots(e, &n);
	if (f == HZ_NONE)
		return 0;
	e->pages += n;
	hz_unlock(&e->lock);
	rc = populate(e, f, n);
	hz_lock(&e->lock);
	for (uint32_t i = 0; i < n; i++) {
		e->frame[f + i].state = HZ_FRAME_EMPTY;
		hz_frame_set(e, f + i, rc < 0 ? HZ_FRAME_EMPTY : HZ_FRAME_ZERO);
	}
	if (rc < 0) {
		e->pages -= n;
		e->cap = e->pages; /* until the budget is looked at again */
		hz_log_once(HZ_WARN, "frames",
			    "the kernel gives no more memory (%m)", rc);
		return 0;
	}
	return n;
}

uint32_t hz_frames_shrink(struct hz_engine *e, uint32_t n)
{
	uint32_t i;

	for (i = 0; i < n; i++) {
		bool zeros;
		uint32_t f = hz_frame_take(e, false, &zeros);

		if (f == HZ_NONE)
			break;
		hz_os_discard(hz_frame_addr(e, f), HZ_BLOCK_SIZE);
		hz_frame_set(e, f, HZ_FRAME_EMPTY);
		e->pages--;
	}
	return i;
}
