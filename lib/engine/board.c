/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a process tells those that it forked: which blocks it put into the
 * store.
 *
 * A page that both have stays in RAM until both have let go of it. When the
 * parent evicts a block that has not been written since the fork, its child
 * can drop the page as well, without a read or a write: the slot holds it.
 *
 * A board is a list in memory that both see, made before the fork; the parent
 * appends, the child reads on, each in its hz-engine. A child trusts nothing
 * but its own eyes: an entry only says where a copy may be, and the usual
 * comparison decides (evict.c).
 *
 * The slot is entered into the child's row before the entry is, so it stays
 * what it is until the child gives it back.
 */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif
#include <sys/mman.h>

#include "base/os.h"
#include "base/stats.h"
#include "engine/engine.h"

#define FOLLOW_MOST 64u /* entries in one pass */

struct entry {
	uint32_t block, slot; /* slot: HZ_NONE, or lent to the child */
	uint64_t hash[2];     /* of the slot's content */
};

/* Shared between the two, read without a lock. */
struct hz_board {
	uint32_t count;	   /* entries; atomic, only grows */
	uint32_t dropped;  /* of these the child has no page of ours; atomic */
	uint32_t capacity; /* a block is told of once */
	struct entry entry[];
};

static size_t bytes(uint32_t capacity)
{
	size_t list = capacity * sizeof(struct entry);

	return hz_align_up(sizeof(struct hz_board) + list, HZ_PAGE_SIZE);
}

struct hz_board *hz_board_make(const struct hz_engine *e)
{
	long at = hz_os.mmap(NULL, bytes(e->blocks_used),
			     PROT_READ | PROT_WRITE,
			     MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	struct hz_board *board;

	if (at < 0 && at > -4096)
		return NULL;
	board = (struct hz_board *)at;
	board->capacity = e->blocks_used;
	return board;
}

void hz_board_close(struct hz_board *board)
{
	if (board)
		hz_os.munmap(board, bytes(board->capacity));
}

/* ---- the parent ---- */

/* Was the block as it is now when r was forked? Generations wrap. */
static bool has_it(const struct hz_relative *r, const struct hz_block *blk)
{
	return r->pid && r->board && (int16_t)(r->gen - blk->fork_gen) > 0;
}

static void append(struct hz_engine *e, struct hz_relative *r, uint32_t b,
		   bool stored)
{
	const struct hz_block *blk = &e->blk[b];
	struct hz_board *board = r->board;
	uint32_t n = board->count;
	struct entry *at = &board->entry[n];

	if (n == board->capacity)
		return;
	*at = (struct entry){.block = b, .slot = HZ_NONE};
	if (stored && hz_slots_lend(e->slots, r->row, r->pid, blk->slot)) {
		at->slot = blk->slot;
		at->hash[0] = blk->hash[0];
		at->hash[1] = blk->hash[1];
	}
	r->left -= r->left != 0;
	__atomic_store_n(&board->count, n + 1, __ATOMIC_RELEASE);
}

void hz_board_tell(struct hz_engine *e, uint32_t b, bool stored)
{
	struct hz_block *blk = &e->blk[b];

	if (!blk->guarded)
		return;
	for (unsigned i = 0; i < HZ_RELATIVES; i++)
		if (has_it(&e->relative[i], blk))
			append(e, &e->relative[i], b, stored);
	hz_block_guard(&e->totals, blk, false);
	hz_stat_add(HZ_STAT_fork_told, 1);
}

void hz_board_left(struct hz_engine *e, uint32_t b)
{
	for (unsigned i = 0; i < HZ_RELATIVES; i++)
		if (has_it(&e->relative[i], &e->blk[b]))
			e->relative[i].left++;
}

uint32_t hz_board_held(struct hz_engine *e, bool all)
{
	uint32_t most = 0;

	hz_fork_shared(e); /* forgets who has ended */

	for (unsigned i = 0; i < HZ_RELATIVES; i++) {
		const struct hz_relative *r = &e->relative[i];
		uint32_t held;

		if (!r->pid || !r->board)
			continue;
		held = r->board->count -
		       __atomic_load_n(&r->board->dropped, __ATOMIC_RELAXED);
		if (all)
			held += r->left;
		most = hz_max(most, held);
	}
	return most;
}

/* ---- the child ---- */

void hz_board_abandon(struct hz_engine *e)
{
	uint32_t end;

	if (!e->board)
		return;
	end = __atomic_load_n(&e->board->count, __ATOMIC_ACQUIRE);
	for (; e->board_at < end; e->board_at++)
		if (e->board->entry[e->board_at].slot != HZ_NONE)
			hz_slots_put(e->slots,
				     e->board->entry[e->board_at].slot);
	hz_board_close(e->board);
	e->board = NULL;
}

/* The copy is as good as one that we wrote. */
static void adopt_slot(struct hz_engine *e, const struct entry *at)
{
	struct hz_block *blk = &e->blk[at->block];

	hz_region_drop_slot(e, blk);
	blk->slot = at->slot;
	blk->hash[0] = at->hash[0];
	blk->hash[1] = at->hash[1];
	blk->flags |= HZ_BLKF_SLOT;
	blk->changed = 0; /* it is worth a look */
}

/* It may have been written, or have left, before: the page is not theirs. */
static void count_dropped(struct hz_engine *e, const struct hz_block *blk)
{
	if (!hz_block_is_shared(blk))
		__atomic_fetch_add(&e->board->dropped, 1, __ATOMIC_RELAXED);
}

static void follow(struct hz_engine *e, struct hz_worker *w,
		   const struct entry *at)
{
	struct hz_block *blk = &e->blk[at->block];

	if (!hz_block_is_shared(blk) || blk->flags & HZ_BLKF_STICKY) {
		if (at->slot != HZ_NONE)
			hz_slots_put(e->slots, at->slot);
		count_dropped(e, blk);
		return;
	}
	if (at->slot != HZ_NONE)
		adopt_slot(e, at);
	/* A page that a sibling shares is copied to be looked at. */
	if (!hz_free_frames(e))
		hz_frames_grow(e, 1, true);
	if (hz_evict_block(e, w, at->block))
		hz_stat_add(HZ_STAT_fork_dropped, 1);
	count_dropped(e, blk);
}

/* There may be nobody left who tells anything. */
static void end_board(struct hz_engine *e)
{
	if (hz_fork_shared(e))
		return;
	hz_board_abandon(e);
}

static bool may_follow(const struct hz_engine *e)
{
	return e->board && !e->frozen && !e->no_evict;
}

void hz_board_follow(struct hz_engine *e, struct hz_worker *w)
{
	uint32_t end;

	if (!may_follow(e))
		return;
	end = __atomic_load_n(&e->board->count, __ATOMIC_ACQUIRE);
	end = hz_min(end, e->board_at + FOLLOW_MOST);
	if (e->board_at == end) {
		end_board(e);
		return;
	}
	while (e->board_at < end && w->inflight < e->depth)
		follow(e, w, &e->board->entry[e->board_at++]);
	/* Theirs, not ours to keep. */
	if (!e->waiting && hz_free_frames(e) > HZ_GUARD_RESERVE)
		hz_frames_shrink(e, hz_free_frames(e) - HZ_GUARD_RESERVE);
}

bool hz_board_more(const struct hz_engine *e)
{
	return may_follow(e) && e->writer.inflight < e->depth &&
	       e->board_at < __atomic_load_n(&e->board->count,
					     __ATOMIC_ACQUIRE);
}
