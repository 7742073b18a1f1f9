/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Into the region: faults and read-ahead; transfers end in fill_done.c.
 *
 * Runs in hz-fault; hz-engine calls it for faults that found no frame, and
 * hz-aux when it stands in. All of it under the engine's lock, which is
 * dropped around moves, clears and checks; a block that is worked on outside
 * the lock is in a passing state.
 */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif
#include <errno.h>
#include <sched.h>
#include <string.h>
#include <time.h>

#include "base/log.h"
#include "base/os.h"
#include "base/stats.h"
#include "engine/engine.h"
#include "engine/file_map.h"
#include "engine/pieces.h"
#include "policy/tier.h"

/* Places in the queue that read-ahead leaves to demand faults. */
#define PLACES_KEPT 2u
/* Blocks that the plan is asked for at once. */
#define AHEAD_MOST 64

/* ---- mapping ---- */

static void pause_us(unsigned us)
{
	struct timespec ts = {.tv_nsec = us * 1000L};

	nanosleep(&ts, NULL);
}

/* EAGAIN means a page lock or a changing address space, EBUSY a transfer whose
 * pages are unpinned a moment after its completion: neither for long. */
static int move_in(struct hz_engine *e, char *dst, char *src)
{
	int rc = -EAGAIN;

	for (unsigned i = 0; i < 1000; i++) {
		rc = e->fault->move(e->uffd, dst, src, HZ_BLOCK_SIZE);
		if (rc != -EAGAIN && rc != -EBUSY)
			break;
		if (i < 16)
			sched_yield();
		else
			pause_us(100);
	}
	return rc;
}

/* For a mapping that the program split with a raw system call, and for a
 * kernel that is out of memory for a moment. */
static int copy_in(struct hz_engine *e, char *dst, char *src)
{
	int rc = -ENOMEM;

	for (unsigned i = 0; rc == -ENOMEM && i < 1000; i++) {
		rc = e->fault->copy(e->uffd, dst, src, HZ_BLOCK_SIZE);
		if (rc == -ENOMEM)
			pause_us(1000);
	}
	return rc;
}

void hz_fill_stalled(struct hz_engine *e, enum hz_share_class of,
		     uint64_t since)
{
	uint64_t now = hz_os.now();

	hz_stat_add(HZ_STAT_fault_stall, now - since);
	if (of < HZ_SHARE_CLASSES)
		hz_share_stall(&e->share, of, now - since, now);
}

void hz_fill_moved_in(size_t bytes)
{
	hz_stat_add(HZ_STAT_move_in_count, 1);
	hz_stat_add(HZ_STAT_move_in_bytes, bytes);
}

/* Would more memory have kept the block? Not if all that fits in RAM left
 * twice since: a stream (a save, an evaluation) is no reason to take memory
 * from blocks in pieces. */
static bool would_be_here(const struct hz_engine *e, const struct hz_block *blk)
{
	uint32_t since = (uint32_t)(e->departed / HZ_BLOCK_PAGES);

	since -= blk->departed_at;
	return blk->state == HZ_BLK_FILLING || since <= 2 * e->cap;
}

static void mapped(struct hz_engine *e, uint32_t b)
{
	struct hz_block *blk = &e->blk[b];

	if (blk->flags & HZ_BLKF_WANTED)
		hz_fill_stalled(e,
				would_be_here(e, blk) ? HZ_SHARE_BLOCKS :
							HZ_SHARE_NONE,
				blk->wanted_ns);
	blk->frame = HZ_NONE;
	blk->fork_gen = e->fork_gen;
	hz_block_set(&e->totals, blk, HZ_BLK_RESIDENT);
	blk->flags &= (uint8_t) ~(HZ_BLKF_WANTED | HZ_BLKF_DEMAND);
	pthread_cond_broadcast(&e->changed);
}

/* The page moved with the frame, or its bytes were copied and it stays. */
static void release_source(struct hz_engine *e, uint32_t f, bool copied)
{
	hz_frame_set(e, f, copied ? HZ_FRAME_FREE : HZ_FRAME_EMPTY);
	if (copied)
		e->pages++;
}

void hz_fill_poison(struct hz_engine *e, char *addr, size_t len)
{
	if (e->fault->poison(e->uffd, addr, len) < 0)
		hz_log(HZ_ERROR, "store",
		       "this kernel cannot poison memory (Linux 6.6 can): "
		       "threads that touch the block stop for ever");
}

void hz_fill_lost(struct hz_engine *e, uint32_t b, int rc, const char *what)
{
	struct hz_block *blk = &e->blk[b];
	char *addr = hz_block_addr(e, b);

	hz_block_set(&e->totals, blk, HZ_BLK_POISONED);
	blk->frame = HZ_NONE;
	hz_stat_add(HZ_STAT_poisoned, 1);
	if (blk->slot == HZ_NONE)
		hz_log(HZ_ERROR, "store",
		       "%s of block at %p failed (%m): access raises SIGBUS",
		       what, addr, rc);
	else
		hz_log(HZ_ERROR, "store",
		       "%s of block at %p, slot %u, failed (%m): its content "
		       "is lost; access raises SIGBUS",
		       what, addr, blk->slot, rc);
	hz_fill_poison(e, addr, HZ_BLOCK_SIZE);
	pthread_cond_broadcast(&e->changed);
}

void hz_fill_map(struct hz_engine *e, uint32_t b, bool clear_first)
{
	struct hz_block *blk = &e->blk[b];
	char *dst = hz_block_addr(e, b);
	uint32_t f = blk->frame;
	bool copied = false;
	int rc;

	if (blk->state != HZ_BLK_FILLING)
		hz_block_set(&e->totals, blk, HZ_BLK_MAPPING);
	hz_unlock(&e->lock);
	if (clear_first)
		memset(hz_frame_addr(e, f), 0, HZ_BLOCK_SIZE);
	rc = move_in(e, dst, hz_frame_addr(e, f));
	if (rc < 0) {
		copied = true;
		rc = copy_in(e, dst, hz_frame_addr(e, f));
		e->fault->wake(e->uffd, dst, HZ_BLOCK_SIZE);
	}
	hz_lock(&e->lock);
	release_source(e, f, copied);
	if (rc < 0)
		hz_fill_lost(e, b, rc, "mapping");
	else
		mapped(e, b);
}

static void fill_zero(struct hz_engine *e, uint32_t b, uint32_t f, bool zeros)
{
	struct hz_block *blk = &e->blk[b];

	blk->frame = f;
	e->frame[f].block = b;
	hz_block_set(&e->totals, blk, HZ_BLK_FILLING);
	hz_fill_map(e, b, !zeros);
}

/* ---- reading ---- */

void hz_fill_began(struct hz_engine *e, struct hz_worker *w, uint32_t f)
{
	struct hz_frame *fr = &e->frame[f];

	w->inflight++;
	fr->io = true;
	fr->began = hz_os.now();
}

bool hz_fill_read(struct hz_engine *e, struct hz_worker *w, uint32_t b,
		  uint32_t f)
{
	struct hz_frame *fr = &e->frame[f];

	fr->xfer = (struct hz_xfer){.buf = hz_frame_addr(e, f),
				    .slot = e->blk[b].slot,
				    .tag = f};
	if (e->blk[b].state == HZ_BLK_FILED)
		hz_file_xfer(e, b, &fr->xfer);
	if (e->io->submit(w->queue, &fr->xfer) < 0) {
		hz_file_xfer_done(e, &fr->xfer);
		hz_frame_set(e, f, HZ_FRAME_FREE);
		return false;
	}
	hz_fill_began(e, w, f);
	fr->tries = 0;
	fr->block = b;
	return true;
}

bool hz_fill_start(struct hz_engine *e, struct hz_worker *w, uint32_t b,
		   uint32_t f)
{
	if (!hz_fill_read(e, w, b, f))
		return false;
	e->blk[b].frame = f;
	hz_block_set(&e->totals, &e->blk[b], HZ_BLK_READING);
	return true;
}

/* tick() looks at it without the lock. */
static void count_waiting(struct hz_engine *e, int by)
{
	__atomic_store_n(&e->waiting, e->waiting + (uint32_t)by,
			 __ATOMIC_RELAXED);
}

static void queue(struct hz_engine *e, uint32_t b)
{
	struct hz_block *blk = &e->blk[b];

	blk->flags |= HZ_BLKF_WAITING;
	blk->wait_next = HZ_NONE;
	if (e->wait_tail == HZ_NONE)
		e->wait_head = b;
	else
		e->blk[e->wait_tail].wait_next = b;
	e->wait_tail = b;
	count_waiting(e, 1);
	blk->waits_in_pieces = hz_pieces_in(e, b);
	e->waiting_pieces += blk->waits_in_pieces;
}

static void wait_for_frame(struct hz_engine *e, uint32_t b)
{
	if (e->blk[b].flags & HZ_BLKF_WAITING)
		return;
	queue(e, b);
	hz_stat_add(HZ_STAT_fault_no_frame, 1);
	hz_engine_kick(&e->writer);
}

void hz_fill_later(struct hz_engine *e, uint32_t b)
{
	e->blk[b].flags &= (uint8_t)~HZ_BLKF_WANTED;
	wait_for_frame(e, b);
}

static void want(struct hz_block *blk, uint64_t now)
{
	if (!(blk->flags & HZ_BLKF_WANTED))
		blk->wanted_ns = now;
	blk->flags |= HZ_BLKF_WANTED;
}

/* Is there something to read? */
static bool is_away(const struct hz_block *blk)
{
	return blk->state == HZ_BLK_STORED || blk->state == HZ_BLK_FILED;
}

/* Begin to serve block b (ZERO, STORED or FILED); false: there is no frame. */
static bool serve(struct hz_engine *e, struct hz_worker *w, uint32_t b)
{
	bool zero = e->blk[b].state == HZ_BLK_ZERO, zeros;
	uint32_t f;

	if (!hz_usable_frames(e))
		return false;
	f = hz_frame_take(e, zero, &zeros);
	if (f == HZ_NONE)
		return false;
	if (!zero && !w) { /* no queue here: hz-engine reads it */
		hz_frame_set(e, f, HZ_FRAME_FREE);
		return false;
	}
	if (zero) {
		fill_zero(e, b, f, zeros);
		return true;
	}
	e->blk[b].flags |= HZ_BLKF_DEMAND;
	return hz_fill_start(e, w, b, f);
}

static uint32_t first_waiting(struct hz_engine *e)
{
	uint32_t b = e->wait_head;
	struct hz_block *blk = &e->blk[b];

	e->wait_head = blk->wait_next;
	if (e->wait_head == HZ_NONE)
		e->wait_tail = HZ_NONE;
	count_waiting(e, -1);
	e->waiting_pieces -= blk->waits_in_pieces;
	blk->flags &= (uint8_t)~HZ_BLKF_WAITING;
	return b;
}

static bool is_mapped(const struct hz_block *blk)
{
	return blk->state == HZ_BLK_RESIDENT || blk->state == HZ_BLK_DEAD ||
	       blk->state == HZ_BLK_PIECES || blk->state == HZ_BLK_NATIVE;
}

/* Is there memory, and a place in the queue, for who waits longest? */
static bool can_serve(struct hz_engine *e, const struct hz_worker *w)
{
	const struct hz_block *blk;

	if (e->wait_head == HZ_NONE)
		return false;
	blk = &e->blk[e->wait_head];
	if (blk->state == HZ_BLK_PIECES && blk->waits_in_pieces)
		return e->credit > 0 || hz_free_frames(e) ||
		       e->pages < e->cap;
	if (hz_block_is_shared(blk)) /* it waits to be written */
		return hz_guard_ready(e, w);
	if (is_mapped(blk))
		return true; /* only to be woken */
	return hz_usable_frames(e) &&
	       (!is_away(blk) || w->inflight < e->depth);
}

/* True: it waits for nothing any more. */
static bool serve_waiting(struct hz_engine *e, struct hz_worker *w, uint32_t b)
{
	struct hz_block *blk = &e->blk[b];

	if (blk->state == HZ_BLK_PIECES && blk->waits_in_pieces)
		return hz_pieces_serve(e, w, b);
	if (hz_block_is_shared(blk)) {
		hz_guard_serve(e, w, b);
		return true;
	}
	if ((blk->state == HZ_BLK_ZERO || is_away(blk)) &&
	    !(blk->flags & HZ_BLKF_NO_ACCESS) &&
	    (blk->state == HZ_BLK_FILED || !hz_pieces_wants(e, b))) {
		/* Evicted while it waited to be written. */
		want(blk, hz_os.now());
		return serve(e, w, b);
	}
	/* Whatever it is now, who touches it again is told. */
	e->fault->wake(e->uffd, hz_block_addr(e, b), HZ_BLOCK_SIZE);
	return true;
}

void hz_fill_waiting(struct hz_engine *e, struct hz_worker *w)
{
	while (can_serve(e, w)) {
		uint32_t b = first_waiting(e);

		if (serve_waiting(e, w, b))
			continue;
		/* As it was: something has to happen first, and who did it
		 * kicks. */
		if (!(e->blk[b].flags & HZ_BLKF_WAITING))
			queue(e, b);
		if (e->blk[b].waits_in_pieces)
			break; /* no credit, or no place in the queue */
	}
}

static bool may_read_ahead(const struct hz_engine *e, const struct hz_worker *w)
{
	return hz_usable_frames(e) > HZ_SPARE_FRAMES &&
	       w->inflight + PLACES_KEPT < e->depth;
}

void hz_fill_ahead(struct hz_engine *e, struct hz_worker *w)
{
	uint32_t next[AHEAD_MOST];
	unsigned n;

	if (e->frozen || e->order.open || e->waiting || !may_read_ahead(e, w))
		return;
	n = hz_plan_ahead(e->plan, next, hz_array_len(next));
	for (unsigned i = 0; i < n; i++) {
		bool zeros;
		uint32_t f;

		if (next[i] >= e->blocks ||
		    !is_away(&e->blk[next[i]]) || hz_pieces_wants(e, next[i])) {
			hz_plan_absent(e->plan, next[i]);
			continue;
		}
		if (!may_read_ahead(e, w))
			break;
		f = hz_frame_take(e, false, &zeros);
		if (f == HZ_NONE || !hz_fill_start(e, w, next[i], f))
			break;
		hz_plan_prefetched(e->plan, next[i]);
	}
}

/* ---- faults ---- */

static void note(struct hz_engine *e, uint32_t b, enum hz_access how,
		 uint64_t now)
{
	struct hz_range *r = hz_range_at(e->ranges, b * HZ_UNITS_PER_BLOCK);

	hz_engine_used(e, b, how, now);
	if (hz_plan_probes(e->plan))
		hz_engine_kick(&e->writer);
	if (r) {
		r->faults++;
		r->last_fault = now;
	}
}

struct hz_range *hz_fill_range(struct hz_engine *e, uint32_t b, unsigned page)
{
	const unsigned unit_pages = HZ_UNIT_SIZE / HZ_PAGE_SIZE;

	return hz_range_at(e->ranges,
			   b * HZ_UNITS_PER_BLOCK + page / unit_pages);
}

/* A fault on a stored block tells how its range is used; so does a first touch
 * that takes memory from others. True: in pieces. */
static bool scattered(struct hz_engine *e, uint32_t b, unsigned page)
{
	struct hz_range *r = hz_fill_range(e, b, page);

	if (r && !r->scatter.scattered)
		hz_scatter_fault(&r->scatter, page);
	return hz_pieces_wants(e, b);
}

static void fault_missing(struct hz_engine *e, struct hz_worker *w, uint32_t b,
			  unsigned page, uint64_t now)
{
	struct hz_block *blk = &e->blk[b];
	bool zero = blk->state == HZ_BLK_ZERO;

	/* A file is read in whole blocks: pieces are a slot's. */
	if ((!zero || e->pages >= e->cap) && scattered(e, b, page) &&
	    blk->state != HZ_BLK_FILED) {
		hz_pieces_fault(e, w, b, page, now);
		return;
	}
	if (blk->flags & HZ_BLKF_WAITING)
		return;
	want(blk, now);
	note(e, b, zero ? HZ_ACCESS_ZERO : HZ_ACCESS_DEMAND, now);
	hz_stat_add(zero ? HZ_STAT_fault_zero : HZ_STAT_fault_demand, 1);
	e->zero_wanted += zero;
	/* First come, first served: do not overtake who waits already. */
	if (e->waiting || !serve(e, w, b))
		wait_for_frame(e, b);
	if (w)
		hz_fill_ahead(e, w);
}

static void fault_in_frame(struct hz_engine *e, struct hz_worker *w, uint32_t b,
			   uint64_t now)
{
	struct hz_block *blk = &e->blk[b];
	bool ahead = blk->state == HZ_BLK_READY;

	want(blk, now);
	hz_stat_add(HZ_STAT_fault_prefetched, 1);
	if (ahead)
		hz_fill_moved_in(HZ_BLOCK_SIZE);
	hz_fill_map(e, b, false);
	note(e, b, ahead ? HZ_ACCESS_AHEAD : HZ_ACCESS_SOFT, now);
	if (w)
		hz_fill_ahead(e, w);
}

/* The page should be there. If it is not, the program discarded it with a
 * system call that we did not see: zeros are what it must read. */
void hz_fill_present(struct hz_engine *e, uintptr_t addr)
{
	void *page = (void *)hz_align_down(addr, HZ_PAGE_SIZE);

	if (e->fault->zero_page(e->uffd, page) < 0)
		e->fault->wake(e->uffd, page, HZ_PAGE_SIZE);
}

static void fault_passing(struct hz_engine *e, uint32_t b, uint64_t now)
{
	struct hz_block *blk = &e->blk[b];

	if (!(blk->flags & HZ_BLKF_WANTED)) {
		if (blk->state == HZ_BLK_READING) {
			note(e, b, HZ_ACCESS_DEMAND, now);
			hz_stat_add(HZ_STAT_fault_demand, 1);
			hz_stat_add(HZ_STAT_fault_late, 1);
		} else if (blk->state == HZ_BLK_WRITING) {
			note(e, b, HZ_ACCESS_SOFT, now);
		}
	}
	want(blk, now);
}

void hz_fill_fault(struct hz_engine *e, struct hz_worker *w,
		   const struct hz_fault *fault, uint64_t now)
{
	uintptr_t addr = fault->addr;
	uint32_t b = (uint32_t)((addr - (uintptr_t)e->base) >> HZ_BLOCK_SHIFT);
	unsigned page = addr / HZ_PAGE_SIZE % HZ_BLOCK_PAGES;

	if (b >= e->blocks) {
		/* Our frames are touched only while they are present. */
		hz_log(HZ_ERROR, "fault", "stray fault at %lx",
		       (unsigned long)addr);
		return;
	}
	hz_region_use(e, b + 1); /* a stray touch may lie above */
	if (fault->guard && is_mapped(&e->blk[b])) {
		if (e->blk[b].state == HZ_BLK_PIECES)
			hz_pieces_guard(e, b, page);
		else
			hz_guard_fault(e, b);
		return;
	}
	switch ((enum hz_block_state)e->blk[b].state) {
	case HZ_BLK_ZERO:
	case HZ_BLK_STORED:
	case HZ_BLK_FILED:
		fault_missing(e, w, b, page, now);
		break;
	case HZ_BLK_PIECES:
		hz_pieces_fault(e, w, b, page, now);
		break;
	case HZ_BLK_READY:
	case HZ_BLK_STAGED:
		fault_in_frame(e, w, b, now);
		break;
	case HZ_BLK_POISONED:
		if (e->fault->poison(e->uffd, hz_block_addr(e, b),
				     HZ_BLOCK_SIZE) < 0)
			e->fault->wake(e->uffd, hz_block_addr(e, b),
				       HZ_BLOCK_SIZE);
		break;
	case HZ_BLK_RESIDENT:
	case HZ_BLK_DEAD:
	case HZ_BLK_NATIVE:
		hz_fill_present(e, addr);
		break;
	default:
		fault_passing(e, b, now);
	}
}
