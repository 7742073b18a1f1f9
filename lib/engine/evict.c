/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Out of the region: one step of the plan at a time, in hz-engine.
 *
 * A block is first moved to an empty frame slot: from then on a touch is a
 * fault, and the content stands still. Then it is compared: all zeros need
 * no slot, a hash equal to the slot's, or to that of what was read of a mapped
 * file, needs no write. Only what changed is
 * written; what has always changed so far is compared now and then only, for
 * a hash takes as long as half of the write. A touch at any point before the
 * write turns the eviction back at the price of one move; during the write it
 * waits for its end.
 */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif
#include <errno.h>
#include <sys/mman.h>

#include "backend/uffd_abi.h"
#include "base/knobs.h"
#include "base/log.h"
#include "base/os.h"
#include "base/stats.h"
#include "checksum.h"
#include "engine/engine.h"
#include "engine/file_map.h"
#include "engine/pieces.h"
#include "policy/tier.h"

#define FULL_NS	     1000000000ull
#define FAILED_MOST  8u /* writes that fail in a row */
/* What was freed last is often allocated next, as temporaries are: to take its
 * page costs clearing another one. */
#define DEAD_KEPT    4u
#define HELD_MOST    32u /* blocks that a relative was told of: 64 MiB */
#define PROBES_MOST  32u /* in one pass: about two milliseconds */
#define NO_SPACE     "no space left on the store's file system"

/* ---- unmapping ---- */

static int move_out(struct hz_engine *e, uint32_t b, uint32_t f)
{
	int rc;

	hz_unlock(&e->lock);
	rc = e->fault->move(e->uffd, hz_frame_addr(e, f), hz_block_addr(e, b),
			    HZ_BLOCK_SIZE);
	hz_lock(&e->lock);
	return rc;
}

/* It was mapped before the last fork. What is shared is best not moved: that
 * stops half way. Pages that the kernel had to split are made one again. */
static int unmap_forked(struct hz_engine *e, uint32_t b, uint32_t *f)
{
	uint32_t other;
	int rc;

	/* A relative that does not follow (it is stopped, or has no engine)
	 * keeps all pages: to store more of them would free nothing. */
	if (hz_board_held(e, false) > HELD_MOST)
		return -EBUSY;
	rc = hz_shared_take(e, b, &other);
	if (rc == 0) {
		hz_frame_set(e, *f, HZ_FRAME_EMPTY);
		*f = other;
		return 0;
	}
	if (rc != -ENOMEM)
		rc = hz_fork_reclaim(e, b, NULL) ? move_out(e, b, *f) : -EBUSY;
	if (rc < 0)
		return rc;
	hz_unlock(&e->lock);
	hz_os.madvise(hz_frame_addr(e, *f), HZ_BLOCK_SIZE, MADV_COLLAPSE);
	hz_lock(&e->lock);
	return 0;
}

/* RESIDENT -> STAGED. False: it stays, or the program took it back. */
static bool unmap(struct hz_engine *e, uint32_t b)
{
	struct hz_block *blk = &e->blk[b];
	uint32_t f = hz_frame_take_empty(e);
	int rc;

	if (f == HZ_NONE)
		return false;
	hz_block_set(&e->totals, blk, HZ_BLK_UNMAPPING);
	rc = blk->fork_gen == e->fork_gen ? move_out(e, b, f)
					  : unmap_forked(e, b, &f);
	if (rc < 0) {
		hz_frame_set(e, f, HZ_FRAME_EMPTY);
		hz_block_set(&e->totals, blk, HZ_BLK_RESIDENT);
		hz_stat_add(HZ_STAT_evict_busy, 1);
		blk->flags |= HZ_BLKF_PINNED;
		if (blk->flags & HZ_BLKF_WANTED)
			e->fault->wake(e->uffd, hz_block_addr(e, b),
				       HZ_BLOCK_SIZE);
		blk->flags &= (uint8_t)~HZ_BLKF_WANTED;
		pthread_cond_broadcast(&e->changed);
		return false;
	}
	blk->flags &= (uint8_t)~HZ_BLKF_PINNED;
	blk->frame = f;
	e->frame[f].block = b;
	hz_block_set(&e->totals, blk, HZ_BLK_STAGED);
	pthread_cond_broadcast(&e->changed);
	if (!(blk->flags & HZ_BLKF_WANTED))
		return true;
	hz_stat_add(HZ_STAT_evict_cancelled, 1);
	hz_fill_map(e, b, false);
	hz_engine_used(e, b, HZ_ACCESS_SOFT, hz_os.now());
	return false;
}

/* ---- comparing and writing ---- */

struct look {
	bool zero, clean, filed; /* filed: as it was read from its file */
	uint64_t hash[2];
};

/* Two evictions in CHANGED_EVERY: one to have a hash, one to compare it. */
#define CHANGED_SURE  4u
#define CHANGED_EVERY 16u

static bool worth_a_hash(const struct hz_block *blk)
{
	return blk->changed < CHANGED_SURE ||
	       blk->changed % CHANGED_EVERY < 2 || hz_knobs.verify;
}

static bool has_hash(const struct hz_block *blk)
{
	return (blk->flags & HZ_BLKF_SLOT) && (blk->hash[0] || blk->hash[1]);
}

static struct look look_at(struct hz_engine *e, uint32_t b)
{
	struct hz_block *blk = &e->blk[b];
	const void *mem = hz_frame_addr(e, blk->frame);
	bool hash = worth_a_hash(blk) || blk->guarded;
	struct look l = {0};

	hz_block_set(&e->totals, blk, HZ_BLK_HASHING);
	hz_unlock(&e->lock);
	l.zero = hz_is_zero(mem, HZ_BLOCK_SIZE);
	if (!l.zero && hash)
		hz_checksum(mem, HZ_BLOCK_SIZE, l.hash);
	hz_lock(&e->lock);
	l.clean = has_hash(blk) && blk->hash[0] == l.hash[0] &&
		  blk->hash[1] == l.hash[1];
	l.filed = hz_file_same(e, b, l.hash);
	return l;
}

static void moved_out(void)
{
	hz_stat_add(HZ_STAT_move_out_count, 1);
	hz_stat_add(HZ_STAT_move_out_bytes, HZ_BLOCK_SIZE);
}

/* The frame is free again; the block's content is elsewhere. */
static void leave_frame(struct hz_engine *e, uint32_t b, enum hz_block_state to,
			enum hz_frame_state frame)
{
	struct hz_block *blk = &e->blk[b];

	hz_frame_set(e, blk->frame, frame);
	blk->frame = HZ_NONE;
	e->departed += HZ_BLOCK_PAGES;
	blk->departed_at = (uint32_t)(e->departed / HZ_BLOCK_PAGES);
	hz_board_tell(e, b, to == HZ_BLK_STORED);
	hz_block_set(&e->totals, blk, to);
	pthread_cond_broadcast(&e->changed);
	moved_out();
}

/* The store is full, but mapped blocks may hold slots with copies that only
 * save a later write: RAM and store together are the capacity. The hand moves
 * on from call to call, so a pass over the region is paid once. */
static uint32_t steal_slot(struct hz_engine *e)
{
	uint32_t tries = hz_min(e->blocks_used, 4096u);

	while (tries--) {
		struct hz_block *blk = &e->blk[e->steal_hand];

		if (++e->steal_hand >= e->blocks_used)
			e->steal_hand = 0;
		if (blk->state == HZ_BLK_RESIDENT && blk->slot != HZ_NONE) {
			hz_region_drop_slot(e, blk);
			return hz_slots_get(e->slots);
		}
	}
	return HZ_NONE;
}

static bool capped(const struct hz_engine *e)
{
	uint64_t cap = hz_knobs.write_cap.bytes;

	return cap && e->written + (e->writing + 1ull) * HZ_BLOCK_SIZE > cap;
}

/* A slot that may be overwritten: the block's own unless a forked process
 * still refers to it. Where a write found no space, a new slot is tried again
 * a second later only. */
static bool own_slot(struct hz_engine *e, struct hz_block *blk)
{
	uint32_t slot = blk->slot;

	if (slot != HZ_NONE && !hz_slots_shared(e->slots, slot))
		return true;
	slot = hz_os.now() < e->full_until ? HZ_NONE : hz_slots_get(e->slots);
	if (slot == HZ_NONE)
		slot = steal_slot(e);
	if (slot == HZ_NONE)
		return false;
	hz_region_drop_slot(e, blk);
	blk->slot = slot;
	return true;
}

static void say_full(struct hz_engine *e, const char *why)
{
	hz_stat_add(HZ_STAT_store_full, 1);
	hz_log_once(HZ_INFO, "store", "full: changed blocks stay in RAM (%s)",
		    why);
	e->full_why = why;
	e->store_is_full = true;
}

bool hz_evict_may_write(struct hz_engine *e, struct hz_block *blk)
{
	const char *why = "the store is full: raise --store-size";

	if (capped(e))
		why = "write_cap is reached";
	else if (own_slot(e, blk))
		return true;
	else if (hz_os.now() < e->full_until)
		why = e->full_why;
	say_full(e, why);
	return false;
}

/* Back to STAGED: the content could not be stored. */
static void cannot_store(struct hz_engine *e, uint32_t b)
{
	hz_block_set(&e->totals, &e->blk[b], HZ_BLK_STAGED);
	pthread_cond_broadcast(&e->changed);
	hz_fill_map(e, b, false);
}

static bool start_write(struct hz_engine *e, struct hz_worker *w, uint32_t b,
			const struct look *l)
{
	struct hz_block *blk = &e->blk[b];
	struct hz_frame *fr = &e->frame[blk->frame];

	if (!hz_evict_may_write(e, blk)) {
		cannot_store(e, b);
		return false;
	}
	blk->flags &= (uint8_t)~HZ_BLKF_SLOT; /* until it is written */
	e->pieces.of[b].known = false;
	fr->hash[0] = l->hash[0];
	fr->hash[1] = l->hash[1];
	fr->xfer = (struct hz_xfer){.buf = hz_frame_addr(e, blk->frame),
				    .slot = blk->slot,
				    .write = true,
				    .tag = blk->frame};
	if (e->io->submit(w->queue, &fr->xfer) < 0) {
		hz_block_set(&e->totals, blk, HZ_BLK_STAGED);
		hz_fill_map(e, b, false);
		return false;
	}
	hz_fill_began(e, w, blk->frame);
	e->writing++;
	hz_block_set(&e->totals, blk, HZ_BLK_WRITING);
	return true;
}

/* STAGED -> out, or back when it was touched. */
static bool put_away(struct hz_engine *e, struct hz_worker *w, uint32_t b)
{
	struct hz_block *blk = &e->blk[b];
	struct look l = look_at(e, b);

	if (blk->flags & HZ_BLKF_WANTED) {
		hz_stat_add(HZ_STAT_evict_cancelled, 1);
		hz_block_set(&e->totals, blk, HZ_BLK_STAGED);
		hz_fill_map(e, b, false);
		hz_engine_used(e, b, HZ_ACCESS_SOFT, hz_os.now());
		return false;
	}
	if (l.zero) {
		hz_region_drop_slot(e, blk);
		hz_stat_add(HZ_STAT_zero_drops, 1);
		leave_frame(e, b, HZ_BLK_ZERO, HZ_FRAME_ZERO);
		return true;
	}
	blk->changed = l.clean || l.filed ? 0 : blk->changed + 1;
	if (l.filed) {
		hz_region_drop_slot(e, blk);
		hz_stat_add(HZ_STAT_clean_drops, 1);
		leave_frame(e, b, HZ_BLK_FILED, HZ_FRAME_FREE);
		return true;
	}
	if (l.clean) {
		hz_stat_add(HZ_STAT_clean_drops, 1);
		leave_frame(e, b, HZ_BLK_STORED, HZ_FRAME_FREE);
		return true;
	}
	return start_write(e, w, b, &l);
}

void hz_evict_through(struct hz_engine *e, struct hz_worker *w, uint32_t b)
{
	struct hz_block *blk = &e->blk[b];
	struct look l = look_at(e, b);

	if (!l.zero && !l.clean && !l.filed) {
		start_write(e, w, b, &l);
		return;
	}
	hz_board_tell(e, b, l.clean && !l.zero);
	hz_block_set(&e->totals, blk, HZ_BLK_STAGED);
	hz_fill_map(e, b, false);
}

static bool no_space(int res)
{
	return res == -ENOSPC || res == -EDQUOT || res == -EFBIG;
}

/* After no space, or several errors in a row, the store takes no new slot for
 * a while; after one error another slot may do. */
void hz_evict_judge(struct hz_engine *e, int res)
{
	if (no_space(res)) {
		say_full(e, NO_SPACE);
	} else {
		hz_log_once(HZ_ERROR, "store",
			    "a write failed (%m): the block stays in RAM", res);
		if (++e->failed_writes < FAILED_MOST)
			return;
		e->full_why = "writes fail";
		e->store_is_full = true;
	}
	e->full_until = hz_os.now() + FULL_NS;
}

static void write_failed(struct hz_engine *e, uint32_t b, int res)
{
	struct hz_block *blk = &e->blk[b];

	hz_region_drop_slot(e, blk);
	hz_evict_judge(e, res);
	hz_block_set(&e->totals, blk, HZ_BLK_STAGED);
	hz_fill_map(e, b, false);
	hz_engine_used(e, b, HZ_ACCESS_SOFT, hz_os.now());
}

void hz_evict_done(struct hz_engine *e, uint32_t f, int res)
{
	struct hz_frame *fr = &e->frame[f];
	uint32_t b = fr->block;
	struct hz_block *blk;

	e->writing--;
	if (res == 0) {
		hz_stat_add(HZ_STAT_store_write, HZ_BLOCK_SIZE);
		e->written += HZ_BLOCK_SIZE;
		e->failed_writes = 0;
	} else {
		hz_stat_add(HZ_STAT_store_errors, 1);
	}
	if (fr->orphan) {
		/* Freed while the write ran: only now may the slot serve
		 * another block, or two writes could cross. */
		hz_slots_put(e->slots, fr->xfer.slot);
		hz_fill_orphan(e, f);
		return;
	}
	if (res < 0) {
		write_failed(e, b, res);
		return;
	}
	blk = &e->blk[b];
	blk->flags |= HZ_BLKF_SLOT;
	blk->hash[0] = fr->hash[0];
	blk->hash[1] = fr->hash[1];
	hz_block_set(&e->totals, blk, HZ_BLK_READY);
	if (blk->flags & HZ_BLKF_WANTED) {
		hz_board_tell(e, b, true);
		hz_stat_add(HZ_STAT_evict_cancelled, 1);
		hz_fill_map(e, b, false);
		return;
	}
	leave_frame(e, b, HZ_BLK_STORED, HZ_FRAME_FREE);
}

/* ---- freed blocks ---- */

static bool reclaim_dead(struct hz_engine *e, uint32_t b)
{
	struct hz_block *blk = &e->blk[b];
	uint32_t f = hz_frame_take_empty(e);

	if (f == HZ_NONE)
		return false;
	hz_block_set(&e->totals, blk, HZ_BLK_UNMAPPING);
	if (blk->fork_gen == e->fork_gen && move_out(e, b, f) == 0) {
		hz_frame_set(e, f, HZ_FRAME_FREE);
	} else {
		/* Pinned or shared, but nobody's: let the kernel have it. */
		hz_frame_set(e, f, HZ_FRAME_EMPTY);
		hz_os_discard(hz_block_addr(e, b), HZ_BLOCK_SIZE);
		e->pages--;
		if (blk->guarded)
			hz_budget_lost(e);
	}
	hz_block_set(&e->totals, blk, HZ_BLK_ZERO);
	pthread_cond_broadcast(&e->changed);
	if (blk->flags & HZ_BLKF_WANTED) {
		blk->flags &= (uint8_t)~HZ_BLKF_WANTED;
		e->fault->wake(e->uffd, hz_block_addr(e, b), HZ_BLOCK_SIZE);
	}
	return true;
}

static uint32_t oldest_dead(struct hz_engine *e)
{
	uint32_t b = e->dead[e->dead_first];

	e->dead_first = (e->dead_first + 1) % e->blocks;
	e->dead_count--;
	e->blk[b].flags &= (uint8_t)~HZ_BLKF_ON_DEAD;
	return b;
}

uint32_t hz_evict_dead(struct hz_engine *e, uint32_t n, uint32_t keep)
{
	uint32_t got = 0;

	while (got < n && e->dead_count > keep) {
		uint32_t b = oldest_dead(e);

		if (e->blk[b].state != HZ_BLK_DEAD)
			continue;
		if (e->blk[b].freed_again) { /* later than its place says */
			hz_region_dead(e, b);
			continue;
		}
		if (!reclaim_dead(e, b)) {
			hz_region_dead(e, b);
			break;
		}
		got++;
	}
	return got;
}

/* ---- one step ---- */

static bool carry_out(struct hz_engine *e, struct hz_worker *w,
		      struct hz_choice c)
{
	struct hz_block *blk = &e->blk[c.block];

	if (blk->state == HZ_BLK_PIECES)
		return hz_pieces_evict(e, w, c.block);
	if (c.action == HZ_ACT_DROP && blk->state != HZ_BLK_READY)
		return false;
	if (blk->state == HZ_BLK_READY) {
		hz_stat_add(HZ_STAT_prefetch_dropped, 1);
		hz_frame_set(e, blk->frame, HZ_FRAME_FREE);
		blk->frame = HZ_NONE;
		hz_block_set(&e->totals, blk, hz_file_home(e, c.block));
		return true;
	}
	if (blk->flags & HZ_BLKF_STICKY)
		return false;
	if (blk->state == HZ_BLK_RESIDENT && !unmap(e, c.block))
		return false;
	if (c.action == HZ_ACT_TRIAL)
		return blk->state == HZ_BLK_STAGED;
	return blk->state == HZ_BLK_STAGED && put_away(e, w, c.block);
}

bool hz_evict_block(struct hz_engine *e, struct hz_worker *w, uint32_t b)
{
	struct hz_choice c = {HZ_ACT_EVICT, b};

	if (!carry_out(e, w, c))
		return false;
	hz_plan_done(e->plan, c);
	return e->blk[b].frame == HZ_NONE;
}

/* In a scattered range a stay in the frame shows what of it is used: no trial
 * of the whole block, and it does not leave as one. */
static bool to_pieces(struct hz_engine *e, struct hz_choice *c)
{
	const struct hz_block *blk = &e->blk[c->block];

	if (c->action == HZ_ACT_DROP || blk->flags & HZ_BLKF_STICKY ||
	    (blk->state != HZ_BLK_RESIDENT && blk->state != HZ_BLK_STAGED) ||
	    !hz_pieces_wants(e, c->block))
		return false;
	c->action = HZ_ACT_EVICT;
	return true;
}

static bool adopt(struct hz_engine *e, uint32_t b)
{
	if (e->blk[b].state == HZ_BLK_RESIDENT && !unmap(e, b))
		return false;
	if (e->blk[b].state == HZ_BLK_STAGED) {
		hz_board_tell(e, b, false);
		hz_pieces_adopt(e, b);
	}
	return e->blk[b].state == HZ_BLK_PIECES;
}

static void settle(struct hz_engine *e, struct hz_worker *w, struct hz_choice c)
{
	if (to_pieces(e, &c) ? adopt(e, c.block) : carry_out(e, w, c))
		hz_plan_done(e->plan, c);
	else
		hz_plan_refused(e->plan, c);
}

/* Somebody waits, the budget shrank, or nothing is left for a first touch. */
static bool must_go(const struct hz_engine *e)
{
	return e->waiting > e->waiting_pieces || e->pages > e->cap ||
	       hz_usable_frames(e) + e->writing < HZ_SPARE_FRAMES;
}

static uint32_t dead_kept(const struct hz_engine *e)
{
	if (e->pages > e->cap || e->store_is_full)
		return 0;
	return hz_min(DEAD_KEPT, e->cap / 32);
}

bool hz_evict_step(struct hz_engine *e, struct hz_worker *w)
{
	struct hz_choice c;

	if (hz_evict_dead(e, 1, dead_kept(e)))
		return true;
	if (e->frozen || e->no_evict)
		return must_go(e) && hz_evict_dead(e, 1, 0);
	if ((hz_pieces_enough(e) ||
	     hz_pieces_giver(e, HZ_SHARE_BLOCKS) == HZ_SHARE_PIECES) &&
	    hz_pieces_step(e, w))
		return true;
	c = hz_plan_choose(e->plan, must_go(e));
	if (c.action == HZ_ACT_NONE)
		return hz_pieces_step(e, w) ||
		       (must_go(e) && hz_evict_dead(e, 1, 0));
	settle(e, w, c);
	return true;
}

void hz_evict_probe(struct hz_engine *e, struct hz_worker *w)
{
	if (e->frozen || e->no_evict || !hz_plan_probes(e->plan))
		return;
	for (unsigned i = 0; i < PROBES_MOST && !e->waiting; i++) {
		struct hz_choice c = hz_plan_probe(e->plan);

		if (c.action == HZ_ACT_NONE)
			break;
		settle(e, w, c);
	}
}

void hz_evict_ordered(struct hz_engine *e, struct hz_worker *w)
{
	while (e->order.next < e->order.end && w->inflight < e->depth) {
		struct hz_choice c = {HZ_ACT_EVICT, e->order.next++};

		if (e->blk[c.block].state == HZ_BLK_READY)
			c.action = HZ_ACT_DROP;
		if (carry_out(e, w, c))
			hz_plan_done(e->plan, c);
	}
	if (e->order.next >= e->order.end)
		pthread_cond_broadcast(&e->changed);
}
