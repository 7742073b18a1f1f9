/* SPDX-License-Identifier: Apache-2.0 */
/*
 * After a fork: memory that a relative shares may be read, not written.
 *
 * A write to a shared page makes the kernel copy it, which nobody is asked
 * about: within a tenth of a second a program can take as much memory again as
 * it has, and its cgroup kills it. So what is shared is write-protected
 * through the userfaultfd, and the write waits for a frame as every other
 * fault does. The copy is then ours to make: 2 MiB at once, and the page stays
 * huge (the kernel's would be 512 small ones, 2.5 ms a block).
 *
 * Where there is room, that is all. Where there is none, the relative's copy
 * would stay in RAM for as long as it lives. The content goes to the store
 * first, the relative is told so (board.c) and drops its page. What it reads
 * again is its own from then on.
 *
 * A protected block is `guarded`: its content is what it was at the fork. It
 * still is while it is out of the region, until it is mapped again. When the
 * last relative has ended, or called exec, all are opened at once.
 *
 * Rests on: UFFDIO_WRITEPROTECT (Linux 5.7); a region is registered for it
 * when its process forks for the first time. Where that is refused, writes are
 * the kernel's business as before.
 */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif
#include "base/os.h"
#include "base/stats.h"
#include "engine/engine.h"
#include "engine/pieces.h"

/* Blocks that a fork has just shared. */
static bool newly_shared(const struct hz_engine *e, const struct hz_block *blk)
{
	return (blk->state == HZ_BLK_RESIDENT || blk->state == HZ_BLK_DEAD) &&
	       blk->fork_gen != e->fork_gen && !blk->guarded &&
	       !(blk->flags & HZ_BLKF_STICKY);
}

static int protect(struct hz_engine *e, uint32_t first, uint32_t end, bool on)
{
	return e->fault->protect(e->uffd, hz_block_addr(e, first),
				 (size_t)(end - first) << HZ_BLOCK_SHIFT, on);
}

/* One block, of which a part may not be ours any more: the program has put
 * another mapping there by a system call that we did not see. */
static void open_block(struct hz_engine *e, uint32_t b)
{
	char *addr = hz_block_addr(e, b);

	if (protect(e, b, b + 1, false) == 0)
		return;
	for (size_t off = 0; off < HZ_BLOCK_SIZE; off += HZ_PAGE_SIZE)
		e->fault->protect(e->uffd, addr + off, HZ_PAGE_SIZE, false);
	e->fault->wake(e->uffd, addr, HZ_BLOCK_SIZE);
}

/* Protect or open [first, end), of which each is in the other state. Where that
 * stops half way, block by block; what cannot be protected is open. */
static void turn(struct hz_engine *e, uint32_t first, uint32_t end, bool on)
{
	bool whole = first < end && protect(e, first, end, on) == 0;

	for (uint32_t b = first; b < end; b++) {
		bool done = whole || (on && protect(e, b, b + 1, true) == 0);

		if (!done)
			open_block(e, b);
		hz_block_guard(&e->totals, &e->blk[b], on && done);
	}
}

/* A generation that is too old to be told from a later one. */
static void keep_young(const struct hz_engine *e, struct hz_block *blk)
{
	uint16_t age = (uint16_t)(e->fork_gen - blk->fork_gen);

	if (age > HZ_FORK_AGES)
		blk->fork_gen = (uint16_t)(e->fork_gen - HZ_FORK_AGES);
}

void hz_guard_all(struct hz_engine *e)
{
	uint32_t first = 0, b;

	if (!e->guards && hz_census_guards(e) < 0)
		return;
	for (b = 0; b < e->blocks_used; b++) {
		keep_young(e, &e->blk[b]);
		if (newly_shared(e, &e->blk[b]))
			continue;
		turn(e, first, b, true);
		first = b + 1;
		if (e->blk[b].state == HZ_BLK_PIECES &&
		    protect(e, b, b + 1, true) == 0)
			e->pieces.of[b].guarded = true;
	}
	turn(e, first, b, true);
}

void hz_guard_lift(struct hz_engine *e, uint32_t b)
{
	hz_block_guard(&e->totals, &e->blk[b], false);
	open_block(e, b);
}

void hz_guard_open(struct hz_engine *e, uint32_t b)
{
	if (!e->guards)
		return;
	e->pieces.of[b].guarded = false;
	hz_guard_lift(e, b);
}

static void lift_all(struct hz_engine *e)
{
	uint32_t b = 0, first;

	for (; b < e->blocks_used; b++) {
		for (first = b; b < e->blocks_used && e->blk[b].guarded; b++)
			;
		turn(e, first, b, false);
	}
}

void hz_guard_poll(struct hz_engine *e)
{
	if (e->totals.guarded && !hz_fork_shared(e))
		lift_all(e);
}

void hz_guard_fault(struct hz_engine *e, uint32_t b)
{
	/* What is freed is nobody's content: it may as well be opened. */
	if (hz_block_is_shared(&e->blk[b]) && hz_fork_shared(e)) {
		hz_stat_add(HZ_STAT_fault_guard, 1);
		hz_fill_later(e, b);
		return;
	}
	hz_guard_poll(e);
	/* Also where it is open: the kernel may have kept the bit when the
	 * block was moved away and back. */
	hz_guard_lift(e, b);
}

/* The kernel copies single pages; each takes one of our credit, for as long as
 * relatives keep the old one. */
static void stray(struct hz_engine *e)
{
	e->credit--;
	if (++e->strayed < HZ_BLOCK_PAGES)
		return;
	e->strayed = 0;
	e->lent--;
	e->pages--;
	hz_budget_lost(e);
}

bool hz_guard_page(struct hz_engine *e, uint32_t b, unsigned page)
{
	struct hz_pieces *p = &e->pieces.of[b];
	char *addr = hz_block_addr(e, b) + page * HZ_PAGE_SIZE;

	if (!p->guarded || !hz_fork_shared(e)) {
		p->guarded = false;
		hz_guard_lift(e, b);
		return true;
	}
	if (!hz_pieces_credit(e, 1, false))
		return false;
	stray(e);
	if (e->fault->protect(e->uffd, addr, HZ_PAGE_SIZE, false) < 0)
		e->fault->wake(e->uffd, addr, HZ_PAGE_SIZE);
	return true;
}

/* ---- a copy of our own ---- */

bool hz_guard_ready(struct hz_engine *e, const struct hz_worker *w)
{
	return !hz_fork_shared(e) ||
	       (hz_usable_frames(e) && w->inflight < e->depth);
}

/* Does the program leave memory unused, for its relatives to keep? */
static bool roomy(const struct hz_engine *e)
{
	uint32_t spare = hz_free_frames(e);

	spare += e->cap > e->pages ? e->cap - e->pages : 0;
	return spare > 2 * (e->free_target + HZ_GUARD_RESERVE);
}

static void open_again(struct hz_engine *e, uint32_t b)
{
	e->blk[b].flags &= (uint8_t)~HZ_BLKF_WANTED;
	hz_block_set(&e->totals, &e->blk[b], HZ_BLK_RESIDENT);
	hz_guard_lift(e, b);
	pthread_cond_broadcast(&e->changed);
}

void hz_guard_serve(struct hz_engine *e, struct hz_worker *w, uint32_t b)
{
	struct hz_block *blk = &e->blk[b];
	uint32_t f;

	if (!hz_fork_shared(e)) {
		hz_guard_poll(e);
		hz_guard_lift(e, b);
		return;
	}
	hz_block_set(&e->totals, blk, HZ_BLK_UNMAPPING);
	/* Some of it is ours alone, written just after the fork or pinned: the
	 * kernel knows which. */
	if (hz_shared_take(e, b, &f) < 0) {
		open_again(e, b);
		return;
	}
	blk->flags |= HZ_BLKF_WANTED;
	blk->wanted_ns = hz_os.now();
	blk->frame = f;
	e->frame[f].block = b;
	hz_block_set(&e->totals, blk, HZ_BLK_STAGED);
	if (roomy(e))
		hz_fill_map(e, b, false);
	else
		hz_evict_through(e, w, b);
}
