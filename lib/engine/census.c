/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Arming the region, and the census that goes with it: which blocks have all
 * their pages, which none.
 *
 * A block with some of its pages is completed first: UFFDIO_MOVE takes no
 * holes. Pages are looked up with PAGEMAP_SCAN (Linux 6.7) or mincore(2).
 * Threads of the program go on touching memory all the while; what they touch
 * between the look and the arming is seen by the second look.
 */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif
#include <errno.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "backend/uffd_abi.h"
#include "base/os.h"
#include "engine/engine.h"

#define PAGES (HZ_BLOCK_SIZE / HZ_PAGE_SIZE)
#define THERE (PAGE_IS_PRESENT | PAGE_IS_SWAPPED)

enum pages { NO_PAGES, SOME_PAGES, ALL_PAGES };

static enum pages by_mincore(char *addr)
{
	unsigned char there[PAGES];
	unsigned n = 0;

	if (syscall(SYS_mincore, addr, HZ_BLOCK_SIZE, there) < 0)
		return SOME_PAGES;
	for (unsigned i = 0; i < PAGES; i++)
		n += there[i] & 1;
	return n == PAGES ? ALL_PAGES : n ? SOME_PAGES : NO_PAGES;
}

static enum pages pages_of(struct hz_engine *e, uint32_t b)
{
	char *addr = hz_block_addr(e, b);
	struct page_region r;
	struct pm_scan_arg a = {
		.size = sizeof(a),
		.start = (uintptr_t)addr,
		.end = (uintptr_t)addr + HZ_BLOCK_SIZE,
		.vec = (uintptr_t)&r,
		.vec_len = 1,
		.category_anyof_mask = THERE,
		/* not the kind of presence: one region for the block */
		.return_mask = 0,
	};
	int n = -ENOENT;

	if (e->pagemap >= 0)
		n = hz_os.ioctl(e->pagemap, PAGEMAP_SCAN, &a);
	if (n < 0)
		return by_mincore(addr);
	if (n == 0)
		return NO_PAGES;
	return r.end - r.start == HZ_BLOCK_SIZE ? ALL_PAGES : SOME_PAGES;
}

static bool counts(const struct hz_engine *e, uint32_t b)
{
	return e->blk[b].state == HZ_BLK_RESIDENT ||
	       e->blk[b].state == HZ_BLK_DEAD || e->blk[b].state == HZ_BLK_ZERO;
}

/* Before arming: the kernel fills the holes. */
static void complete(struct hz_engine *e)
{
	for (uint32_t b = 0; b < e->blocks_used; b++)
		if (counts(e, b) && pages_of(e, b) == SOME_PAGES)
			hz_os.madvise(hz_block_addr(e, b), HZ_BLOCK_SIZE,
				      MADV_POPULATE_WRITE);
}

/* After arming: a first touch came in between. */
static void complete_armed(struct hz_engine *e, uint32_t b)
{
	char *addr = hz_block_addr(e, b);

	for (size_t off = 0; off < HZ_BLOCK_SIZE; off += HZ_PAGE_SIZE)
		e->fault->zero_page(e->uffd, addr + off);
}

static void count_block(struct hz_engine *e, uint32_t b, uint64_t now)
{
	struct hz_block *blk = &e->blk[b];
	enum pages pages = pages_of(e, b);

	if (pages == SOME_PAGES)
		complete_armed(e, b);
	if (pages == NO_PAGES) {
		if (blk->state != HZ_BLK_ZERO)
			hz_block_set(&e->totals, blk, HZ_BLK_ZERO);
		return;
	}
	e->pages++;
	if (blk->state == HZ_BLK_ZERO)
		hz_block_set(&e->totals, blk, HZ_BLK_RESIDENT);
	if (blk->state == HZ_BLK_RESIDENT)
		hz_plan_access(e->plan, b, HZ_ACCESS_ZERO, now);
}

/* All but what was handed back to the kernel. */
static int arm(struct hz_engine *e)
{
	uint32_t first = 0, b;
	int rc = 0;

	for (b = 0; rc == 0 && b <= e->blocks; b++) {
		bool skip = b == e->blocks ||
			    (b < e->blocks_used &&
			     e->blk[b].state == HZ_BLK_NATIVE);

		if (!skip && b >= e->blocks_used)
			b = e->blocks - 1; /* the rest was never used */
		if (!skip)
			continue;
		if (b > first)
			rc = e->fault->arm(e->uffd, hz_block_addr(e, first),
					   (size_t)(b - first)
						   << HZ_BLOCK_SHIFT);
		first = b + 1;
	}
	return rc;
}

int hz_census_arm(struct hz_engine *e, bool known)
{
	uint64_t now = hz_os.now();
	int rc;
	HZ_SCOPED_LOCK(&e->lock);

	if (!known)
		complete(e);
	rc = arm(e);
	if (rc < 0) {
		e->fault->disarm(e->uffd, e->base,
				 (size_t)e->blocks << HZ_BLOCK_SHIFT);
		return rc;
	}
	e->armed = true;
	if (known)
		return 0;
	e->pages = 0;
	for (uint32_t b = 0; b < e->blocks_used; b++)
		if (counts(e, b))
			count_block(e, b, now);
	return 0;
}
