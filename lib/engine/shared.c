/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Blocks that a forked process shares, while it lives.
 *
 * UFFDIO_MOVE refuses them, and a program with forked workers (loaders of
 * data) would have nothing to evict. mremap(2) takes pages away whether they
 * are shared or not. It would take pinned ones too, and lose their DMA, so it
 * is used only where all pages of a block are mapped by others as well: a
 * shared page is never pinned for writing, since the kernel copies pinned
 * pages at fork and makes others exclusive before it pins them. Their bytes
 * are copied to a frame; the relative keeps the page, until its own engine
 * evicts it.
 *
 * A block that was written since the fork has both kinds of pages: the shared
 * ones are made exclusive, which copies them (4 KiB each, by the kernel; 2.5 ms
 * a block), and then it moves.
 *
 * Rests on: MREMAP_DONTUNMAP (Linux 5.7; the userfaultfd stays with the old
 * addresses), MAP_FIXED_NOREPLACE (4.17), bit 56 of /proc/PID/pagemap,
 * "exclusively mapped" (4.2; no privilege).
 */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif
#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#include "base/log.h"
#include "base/os.h"
#include "engine/engine.h"

#define UNDO_TRIES 10000 /* a millisecond each */

/* mremap(2) unmaps what is at its destination before it can fail, for want of
 * memory: what is there then would be anybody's. False: it still is mapped, or
 * somebody has got it already. */
static bool cover(char *addr)
{
	return hz_os.mmap(addr, HZ_BLOCK_SIZE, PROT_READ | PROT_WRITE,
			  MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE |
				  MAP_FIXED_NOREPLACE,
			  -1, 0) == (long)addr;
}

#define MARK 0x65646973ull /* "side" */

static void leave_mark(const struct hz_engine *e)
{
	*(uint64_t *)e->side = (uintptr_t)e->side ^ MARK;
}

/* Perhaps it is another mapping, and cannot be read. */
static bool has_mark(const struct hz_engine *e)
{
	uint64_t mark = 0;
	struct iovec here = {&mark, sizeof(mark)};
	struct iovec there = {e->side, sizeof(mark)};

	return process_vm_readv(getpid(), &here, 1, &there, 1, 0) ==
		       sizeof(mark) &&
	       mark == ((uintptr_t)e->side ^ MARK);
}

/* An address of ours for a block, or false. */
static bool have_side(struct hz_engine *e)
{
	if (!e->side)
		e->side = hz_os_reserve_aligned(HZ_BLOCK_SIZE, HZ_BLOCK_SIZE);
	if (e->side)
		leave_mark(e);
	return e->side;
}

/* Near vm.max_map_count nothing was unmapped. */
static void renew_side(struct hz_engine *e)
{
	if (!has_mark(e) && !cover(e->side))
		e->side = NULL;
}

/* Somebody wrote to it, or the relative ended, just before. The userfaultfd
 * did not come along; nothing is missing until it is armed again. Who touches
 * the block before it is back waits, as for one that is on its way. */
static void undo(struct hz_engine *e, char *addr)
{
	int rc = -EAGAIN;

	for (unsigned i = 0; rc < 0 && i < UNDO_TRIES; i++) {
		rc = e->fault->take(addr, e->side, HZ_BLOCK_SIZE);
		if (rc == 0)
			break;
		if (cover(addr))
			hz_region_arm(e, addr, HZ_BLOCK_SIZE);
		nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
	}
	if (rc == 0)
		rc = hz_region_arm(e, addr, HZ_BLOCK_SIZE);
	else /* a pinned page loses its device, no page its content */
		rc = e->fault->copy(e->uffd, addr, e->side, HZ_BLOCK_SIZE);
	if (rc < 0)
		hz_log(HZ_ERROR, "fork",
		       "block at %p could not be put back (%m): raise "
		       "vm.max_map_count",
		       addr, rc);
}

static int take_to(struct hz_engine *e, char *addr, char *frame)
{
	int rc;

	if (!hz_pages_shared(e, addr) || !have_side(e))
		return -EBUSY;
	rc = e->fault->take(e->side, addr, HZ_BLOCK_SIZE);
	if (rc < 0) {
		renew_side(e);
		return rc;
	}
	if (!hz_pages_shared(e, e->side)) {
		undo(e, addr);
		return -EBUSY;
	}
	memcpy(frame, e->side, HZ_BLOCK_SIZE);
	hz_os_discard(e->side, HZ_BLOCK_SIZE);
	return 0;
}

int hz_shared_take(struct hz_engine *e, uint32_t b, uint32_t *frame)
{
	bool zeros;
	uint32_t f = hz_frame_take(e, false, &zeros);
	int rc;

	if (f == HZ_NONE)
		return -ENOMEM;
	hz_unlock(&e->lock);
	rc = take_to(e, hz_block_addr(e, b), hz_frame_addr(e, f));
	hz_lock(&e->lock);
	if (rc < 0) {
		hz_frame_set(e, f, HZ_FRAME_FREE);
		/* Perhaps it was away and is back, unprotected. */
		hz_block_guard(&e->totals, &e->blk[b], false);
		return rc;
	}
	/* The page that was shared is not ours any more, nor is there room for
	 * another in its place. */
	e->pages--;
	hz_board_left(e, b);
	hz_budget_lost(e);
	*frame = f;
	return 0;
}
