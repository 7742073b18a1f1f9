/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the arena does to blocks: forget, keep, move, hand back, take back.
 *
 * Everything here runs in a thread of the program, inside the gate, except
 * hz_region_move() (hz-aux).
 */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif
#include <errno.h>
#include <string.h>
#include <sys/mman.h>

#include "backend/uffd_abi.h"
#include "base/log.h"
#include "base/os.h"
#include "base/stats.h"
#include "engine/engine.h"
#include "engine/file_map.h"
#include "engine/pieces.h"

/* Blocks moved in one hold of the lock: about a millisecond. */
#define MOVE_BATCH 16u
/* Of the region: the largest alignment that a range can be asked for. */
#define BASE_ALIGN ((uint64_t)1 << 30)

bool hz_region_reserve(struct hz_engine *e, uint64_t bytes)
{
	/* Address space may be limited (RLIMIT_AS, overcommit): halve until
	 * it fits. */
	while (bytes >= 64 * HZ_BLOCK_SIZE) {
		bytes = hz_align_down(bytes, HZ_BLOCK_SIZE);
		e->base = hz_os_reserve_aligned(
			bytes, bytes >= BASE_ALIGN ? BASE_ALIGN :
						     HZ_BLOCK_SIZE);
		if (e->base)
			break;
		bytes /= 2;
	}
	if (!e->base)
		return false;
	e->blocks = (uint32_t)(bytes >> HZ_BLOCK_SHIFT);
	hz_os.madvise(e->base, bytes, MADV_HUGEPAGE);
	return true;
}

void hz_region_use(struct hz_engine *e, uint32_t end)
{
	while (e->blocks_used < end)
		hz_block_init(&e->blk[e->blocks_used++]);
}

bool hz_region_passing(const struct hz_block *blk)
{
	return blk->state == HZ_BLK_FILLING || blk->state == HZ_BLK_UNMAPPING ||
	       blk->state == HZ_BLK_HASHING || blk->state == HZ_BLK_MAPPING;
}

void hz_region_settle(struct hz_engine *e, uint32_t b)
{
	while (hz_region_passing(&e->blk[b]))
		pthread_cond_wait(&e->changed, &e->lock.mtx);
}

int hz_region_arm(const struct hz_engine *e, void *addr, size_t len)
{
	return e->guards ? e->fault->arm_writes(e->uffd, addr, len) :
			   e->fault->arm(e->uffd, addr, len);
}

int hz_region_each(const struct hz_engine *e, hz_region_fn *fn)
{
	uint32_t first = 0, b;
	int rc = 0;

	for (b = 0; rc == 0 && b <= e->blocks; b++) {
		bool skip =
			b == e->blocks || (b < e->blocks_used &&
					   e->blk[b].state == HZ_BLK_NATIVE);

		if (!skip && b >= e->blocks_used)
			b = e->blocks - 1; /* the rest was never used */
		if (!skip)
			continue;
		if (b > first)
			rc = fn(e, hz_block_addr(e, first),
				(size_t)(b - first) << HZ_BLOCK_SHIFT);
		first = b + 1;
	}
	return rc;
}

/* ---- forgetting ---- */

void hz_region_drop_slot(struct hz_engine *e, struct hz_block *blk)
{
	blk->flags &= (uint8_t)~HZ_BLKF_SLOT;
	e->pieces.of[blk - e->blk].known = false;
	if (blk->slot == HZ_NONE)
		return;
	hz_slots_put(e->slots, blk->slot);
	blk->slot = HZ_NONE;
	e->store_is_full = false;
}

/* The frame's transfer ends later: it is freed then. */
static void orphan(struct hz_engine *e, struct hz_block *blk)
{
	struct hz_frame *fr = &e->frame[blk->frame];

	fr->orphan = true;
	if (fr->xfer.write) {
		/* The slot goes back when the write has ended. */
		blk->slot = HZ_NONE;
		blk->flags &= (uint8_t)~HZ_BLKF_SLOT;
	}
	blk->frame = HZ_NONE;
}

void hz_region_dead(struct hz_engine *e, uint32_t b)
{
	e->blk[b].freed_again = e->blk[b].flags & HZ_BLKF_ON_DEAD;
	if (e->blk[b].freed_again)
		return;
	e->blk[b].flags |= HZ_BLKF_ON_DEAD;
	e->dead[(e->dead_first + e->dead_count++) % e->blocks] = b;
}

static void drop_framed(struct hz_engine *e, struct hz_block *blk)
{
	hz_frame_set(e, blk->frame, HZ_FRAME_FREE);
	blk->frame = HZ_NONE;
	hz_block_set(&e->totals, blk, HZ_BLK_ZERO);
}

void hz_region_drop(struct hz_engine *e, uint32_t b)
{
	struct hz_block *blk = &e->blk[b];

	hz_region_settle(e, b);
	hz_engine_unused(e, b);
	blk->flags &=
		(uint8_t) ~(HZ_BLKF_STICKY | HZ_BLKF_PINNED | HZ_BLKF_WANTED);
	switch ((enum hz_block_state)blk->state) {
	case HZ_BLK_RESIDENT:
		hz_block_set(&e->totals, blk, HZ_BLK_DEAD);
		hz_region_dead(e, b);
		break;
	case HZ_BLK_STAGED:
	case HZ_BLK_READY:
		drop_framed(e, blk);
		break;
	case HZ_BLK_WRITING:
	case HZ_BLK_READING:
		orphan(e, blk);
		hz_block_set(&e->totals, blk, HZ_BLK_ZERO);
		break;
	case HZ_BLK_STORED:
	case HZ_BLK_FILED:
		hz_block_set(&e->totals, blk, HZ_BLK_ZERO);
		break;
	case HZ_BLK_PIECES:
		hz_pieces_drop(e, b);
		break;
	default: /* ZERO, DEAD, NATIVE, POISONED */
		break;
	}
	hz_region_drop_slot(e, blk);
}

void hz_region_purge(struct hz_engine *e, uint32_t b)
{
	struct hz_block *blk = &e->blk[b];

	hz_region_drop(e, b);
	/* A poisoned page table entry goes with the pages. */
	if (blk->state != HZ_BLK_DEAD && blk->state != HZ_BLK_POISONED)
		return;
	hz_os_discard(hz_block_addr(e, b), HZ_BLOCK_SIZE);
	if (blk->guarded)
		hz_budget_lost(e); /* a relative keeps it */
	if (blk->state == HZ_BLK_DEAD)
		e->pages -= e->armed;
	else
		hz_region_drop_slot(e, blk);
	hz_block_set(&e->totals, blk, HZ_BLK_ZERO);
}

/* ---- keeping ---- */

/* By touching it: bytes from one to the next touch, 0 for none. Not what the
 * kernel has already: the program may have no access to it. */
static size_t touch_step(struct hz_engine *e, uint32_t b)
{
	HZ_SCOPED_LOCK(&e->lock);

	switch ((enum hz_block_state)e->blk[b].state) {
	case HZ_BLK_NATIVE:
	case HZ_BLK_POISONED:
		return 0;
	case HZ_BLK_PIECES:
		return HZ_PAGE_SIZE;
	default:
		return hz_pieces_in(e, b) ? HZ_PAGE_SIZE : HZ_BLOCK_SIZE;
	}
}

static void bring_in(struct hz_engine *e, uint32_t b)
{
	size_t step = touch_step(e, b);
	char got;

	for (size_t off = 0; step && off < HZ_BLOCK_SIZE; off += step) {
		char *p = hz_block_addr(e, b) + off;

		/* The file may have been cut. */
		if (hz_filed(e, b))
			hz_file_peek(p, &got, 1);
		else
			(void)*(volatile char *)p;
	}
}

void hz_region_pin(struct hz_engine *e, uint32_t first, uint32_t n, bool now)
{
	hz_lock(&e->lock);
	for (uint32_t b = first; b < first + n; b++)
		e->blk[b].flags |= HZ_BLKF_STICKY;
	hz_unlock(&e->lock);
	for (uint32_t b = first; now && b < first + n; b++)
		bring_in(e, b);
}

/* ---- moving ---- */

static void move_record(struct hz_engine *e, uint32_t from, uint32_t to)
{
	struct hz_block *src = &e->blk[from], *dst = &e->blk[to];

	dst->slot = src->slot;
	dst->hash[0] = src->hash[0];
	dst->hash[1] = src->hash[1];
	dst->flags |= src->flags & (HZ_BLKF_SLOT | HZ_BLKF_STICKY);
	src->slot = HZ_NONE;
	src->flags &= (uint8_t) ~(HZ_BLKF_SLOT | HZ_BLKF_STICKY);
	e->pieces.of[from].known = e->pieces.of[to].known = false;
	hz_plan_rename(e->plan, from, to);
}

/* One block; false when it must first be brought in, or cannot be moved. */
static bool move_one(struct hz_engine *e, uint32_t from, uint32_t to)
{
	struct hz_block *src = &e->blk[from], *dst = &e->blk[to];
	int rc;

	hz_region_settle(e, from);
	switch ((enum hz_block_state)src->state) {
	case HZ_BLK_ZERO:
		return true;
	case HZ_BLK_STORED:
		move_record(e, from, to);
		hz_block_set(&e->totals, dst, HZ_BLK_STORED);
		hz_block_set(&e->totals, src, HZ_BLK_ZERO);
		return true;
	case HZ_BLK_RESIDENT:
		/* Under the lock: a move faults nobody, and both blocks are
		 * the caller's alone, so that no passing state is needed. */
		rc = src->fork_gen != e->fork_gen ?
			     -EBUSY :
			     e->fault->move(e->uffd, hz_block_addr(e, to),
					    hz_block_addr(e, from),
					    HZ_BLOCK_SIZE);
		if (rc < 0)
			return false;
		move_record(e, from, to);
		dst->fork_gen = e->fork_gen;
		hz_block_set(&e->totals, dst, HZ_BLK_RESIDENT);
		hz_block_set(&e->totals, src, HZ_BLK_ZERO);
		return true;
	default:
		return false;
	}
}

long hz_region_move(struct hz_engine *e, uint32_t from, uint32_t to, uint32_t n)
{
	uint32_t i;

	for (i = 0; i < n; i++)
		if (!move_one(e, from + i, to + i))
			break;
	return i;
}

int hz_region_transfer(struct hz_engine *e, uint32_t from, uint32_t to,
		       uint32_t n)
{
	struct hz_request req = {.op = HZ_REQ_MOVE};
	unsigned stuck = 0;

	for (uint32_t i = 0; i < n;) {
		req.a = from + i;
		req.b = to + i;
		req.n = hz_min(n - i, MOVE_BATCH);
		hz_engine_call(&req);
		i += (uint32_t)req.result;
		stuck = req.result ? 0 : stuck + 1;
		if (req.result == req.n)
			continue;
		if (stuck < 4) {
			/* In a frame, or in pieces: touches map it. */
			bring_in(e, from + i);
			continue;
		}
		/* Pinned or shared with a child: its bytes, not its page. */
		memcpy(hz_block_addr(e, to + i), hz_block_addr(e, from + i),
		       HZ_BLOCK_SIZE);
		i++;
		stuck = 0;
	}
	return 0;
}

/* ---- handing back and taking back ---- */

static bool make_native(struct hz_engine *e, uint32_t b)
{
	struct hz_block *blk = &e->blk[b];

	hz_region_settle(e, b);
	switch ((enum hz_block_state)blk->state) {
	case HZ_BLK_NATIVE:
		return true;
	case HZ_BLK_RESIDENT:
	case HZ_BLK_DEAD:
		e->pages -= e->armed;
		break;
	case HZ_BLK_ZERO:
	case HZ_BLK_POISONED:
		break;
	default:
		return false;
	}
	hz_engine_unused(e, b);
	hz_region_drop_slot(e, blk);
	blk->flags &= (uint8_t) ~(HZ_BLKF_STICKY | HZ_BLKF_NO_ACCESS);
	hz_block_set(&e->totals, blk, HZ_BLK_NATIVE);
	hz_stat_add(HZ_STAT_native_bytes, HZ_BLOCK_SIZE);
	return true;
}

static int uncapture(struct hz_engine *e, uint32_t b)
{
	struct hz_request req = {.op = HZ_REQ_DISARM, .a = b, .n = 1};
	bool done = false;

	while (!done) {
		hz_region_pin(e, b, 1, false);
		if (hz_file_give(e, b))
			return 0;
		hz_region_pin(e, b, 1, e->blk[b].state != HZ_BLK_ZERO);
		hz_lock(&e->lock);
		done = make_native(e, b);
		hz_unlock(&e->lock);
	}
	return e->armed ? (int)hz_engine_call(&req) : 0;
}

int hz_region_uncapture(struct hz_engine *e, uint32_t first, uint32_t n)
{
	int rc = 0;

	for (uint32_t b = first; b < first + n && rc == 0; b++)
		rc = uncapture(e, b);
	return rc;
}

bool hz_region_recapture(struct hz_engine *e, uint32_t b)
{
	char *addr = hz_block_addr(e, b);
	struct hz_request req = {.op = HZ_REQ_ARM, .a = b, .n = 1};
	bool armed = e->armed, ok;

	hz_file_forget(e, b);
	/* A passing state: an allocation that wants other parts of the block
	 * waits. */
	hz_block_set(&e->totals, &e->blk[b], HZ_BLK_UNMAPPING);
	hz_unlock(&e->lock);
	ok = hz_os.mmap(addr, HZ_BLOCK_SIZE, PROT_READ | PROT_WRITE,
			MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED,
			-1, 0) >= 0;
	hz_os.madvise(addr, HZ_BLOCK_SIZE, MADV_HUGEPAGE);
	if (ok && armed)
		ok = hz_engine_call(&req) >= 0;
	hz_lock(&e->lock);
	if (ok && e->armed && !armed) { /* the engine started meanwhile */
		hz_unlock(&e->lock);
		ok = hz_engine_call(&req) >= 0;
		hz_lock(&e->lock);
	}
	hz_block_set(&e->totals, &e->blk[b], ok ? HZ_BLK_ZERO : HZ_BLK_NATIVE);
	pthread_cond_broadcast(&e->changed);
	if (ok)
		hz_stat_sub(HZ_STAT_native_bytes, HZ_BLOCK_SIZE);
	return ok;
}
