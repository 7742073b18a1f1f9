/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Arming the region, and the census that goes with it: which blocks have all
 * their pages, which none.
 *
 * A block with some of its pages is completed first: UFFDIO_MOVE takes no
 * holes.
 * Threads of the program go on touching memory all the while; what they touch
 * between the look and the arming is seen by the second look.
 */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif
#include <sys/mman.h>

#include "backend/uffd_abi.h"
#include "base/os.h"
#include "engine/engine.h"

static bool counts(const struct hz_engine *e, uint32_t b)
{
	return e->blk[b].state == HZ_BLK_RESIDENT ||
	       e->blk[b].state == HZ_BLK_DEAD || e->blk[b].state == HZ_BLK_ZERO;
}

/* Before arming: the kernel fills the holes. */
static void complete(struct hz_engine *e)
{
	for (uint32_t b = 0; b < e->blocks_used; b++)
		if (counts(e, b) &&
		    hz_pages_at(e, hz_block_addr(e, b), false) == HZ_PAGES_SOME)
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
	enum hz_pages pages = hz_pages_at(e, hz_block_addr(e, b), false);

	if (pages == HZ_PAGES_SOME)
		complete_armed(e, b);
	if (pages == HZ_PAGES_NONE) {
		if (blk->state != HZ_BLK_ZERO)
			hz_block_set(&e->totals, blk, HZ_BLK_ZERO);
		return;
	}
	e->pages++;
	if (blk->state == HZ_BLK_ZERO)
		hz_block_set(&e->totals, blk, HZ_BLK_RESIDENT);
	if (blk->state == HZ_BLK_RESIDENT)
		hz_engine_used(e, b, HZ_ACCESS_ZERO, now);
}

int hz_census_guards(struct hz_engine *e)
{
	int rc;

	e->guards = true;
	rc = hz_region_each(e, hz_region_arm);
	e->guards = rc == 0;
	return rc;
}

int hz_census_arm(struct hz_engine *e, bool known)
{
	uint64_t now = hz_os.now();
	int rc;
	HZ_SCOPED_LOCK(&e->lock);

	if (!known)
		complete(e);
	rc = hz_region_each(e, hz_region_arm);
	if (rc < 0) {
		e->fault->disarm(e->uffd, e->base,
				 (size_t)e->blocks << HZ_BLOCK_SHIFT);
		return rc;
	}
	__atomic_store_n(&e->armed, true, __ATOMIC_RELAXED);
	if (known) {
		hz_guard_all(e);
		hz_fork_holes_seen(e);
		return 0;
	}
	e->pages = 0;
	for (uint32_t b = 0; b < e->blocks_used; b++)
		if (counts(e, b))
			count_block(e, b, now);
	if (hz_fork_shared(e))
		hz_guard_all(e);
	return 0;
}
