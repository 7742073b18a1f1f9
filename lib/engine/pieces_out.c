/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Blocks in pieces: their pages to a frame, and from there to the slot.
 *
 * In hz-engine, but for hz_pieces_drop(). A stay in the frame shows which
 * pages are used; see policy/scatter.h.
 */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif
#include <errno.h>
#include <string.h>

#include "base/log.h"
#include "base/os.h"
#include "base/stats.h"
#include "engine/leftovers.h"
#include "engine/pieces.h"
#include "engine/pieces_look.h"

/* Pages between two runs that are written too, when the frame has them: less
 * than a transfer of its own costs. */
#define GAP_MOST   8u
/* Pages of a block that are mapped again after a stay: the memory that they
 * take until the frame is empty. */
#define KEEP_MOST  256u
/* Blocks looked at in one balance before the others get their turn. */
#define TURNS_MOST 256u
#define STAGE_TRIES 8u

static const struct hz_page_map all_pages = {
	.word = {~0ull, ~0ull, ~0ull, ~0ull, ~0ull, ~0ull, ~0ull, ~0ull}};

/* ---- the end of a stay ---- */

/* Back from UNMAPPING: who touched it meanwhile looks again. */
static void passed(struct hz_engine *e, uint32_t b)
{
	struct hz_block *blk = &e->blk[b];

	hz_block_set(&e->totals, blk, HZ_BLK_PIECES);
	if (blk->flags & HZ_BLKF_WANTED)
		e->fault->wake(e->uffd, hz_block_addr(e, b), HZ_BLOCK_SIZE);
	blk->flags &= (uint8_t)~HZ_BLKF_WANTED;
	pthread_cond_broadcast(&e->changed);
}

/* A frame of single pages gives them back to the kernel. */
static void empty_frame(struct hz_engine *e, uint32_t f, unsigned pages)
{
	hz_unlock(&e->lock);
	hz_os_discard(hz_frame_addr(e, f), HZ_BLOCK_SIZE);
	hz_lock(&e->lock);
	hz_frame_set(e, f, HZ_FRAME_EMPTY);
	e->credit += (int32_t)pages;
}

/* A frame that is no block's any more, and still USED. */
struct leaving {
	uint32_t frame;
	unsigned pages;
	bool huge;
};

static struct leaving take_frame(struct hz_engine *e, uint32_t b)
{
	struct hz_pieces *p = &e->pieces.of[b];
	struct leaving l = {e->blk[b].frame, hz_pmap_count(&p->frame), p->huge};

	e->blk[b].frame = HZ_NONE;
	memset(&p->frame, 0, sizeof(p->frame));
	hz_pieces_phase(&e->pieces, b, HZ_PIECES_MAPPED);
	return l;
}

static void release_frame(struct hz_engine *e, struct leaving l)
{
	if (l.huge)
		hz_frame_set(e, l.frame, HZ_FRAME_FREE);
	else
		empty_frame(e, l.frame, l.pages);
}

void hz_pieces_free_frame(struct hz_engine *e, uint32_t b)
{
	release_frame(e, take_frame(e, b));
}

/* What is still held is in the slot now. Copies are kept of pages that were
 * used one by one; of what came with a whole block, if they cost little. */
static void leave(struct hz_engine *e, uint32_t b)
{
	static uint64_t hash[HZ_BLOCK_PAGES]; /* hz-engine's */
	struct hz_pieces *p = &e->pieces.of[b];
	struct hz_page_map left = p->held;
	unsigned n = p->n_held;
	struct leaving l;

	hz_stat_add(HZ_STAT_move_out_bytes, n * HZ_PAGE_SIZE);
	hz_stat_add(HZ_STAT_move_out_count, n != 0);
	e->departed += n;
	hz_pieces_held(&e->pieces, b, 0, HZ_BLOCK_PAGES, false);
	l = take_frame(e, b);
	if (hz_leftovers_any() && !(l.huge && e->waiting)) {
		memcpy(hash, e->page_hash[b], sizeof(hash));
		hz_leftovers_keep(e, hz_frame_addr(e, l.frame), &left, hash,
				  l.huge);
	}
	release_frame(e, l);
	hz_pieces_settle(e, b);
	pthread_cond_broadcast(&e->changed);
}

/* ---- to the frame ---- */

/* A page that was mapped and did not come along: the program discarded it by
 * a system call that we did not see. Zeros are what it must read. */
static void replace_lost(struct hz_engine *e, uint32_t b,
			 const struct hz_page_map *lost)
{
	char *addr = hz_block_addr(e, b);

	for (unsigned i = hz_pmap_next(lost, 0, true); i < HZ_BLOCK_PAGES;
	     i = hz_pmap_next(lost, i + 1, true))
		e->fault->zero_page(e->uffd, addr + i * HZ_PAGE_SIZE);
}

static int move_pages(struct hz_engine *e, uint32_t b, uint32_t f)
{
	struct hz_page_map here = e->pieces.of[b].here;
	int rc;

	if (e->blk[b].fork_gen != e->fork_gen &&
	    !hz_fork_reclaim(e, b, &here))
		return -EBUSY;
	hz_unlock(&e->lock);
	rc = e->fault->move_holes(e->uffd, hz_frame_addr(e, f),
				  hz_block_addr(e, b), HZ_BLOCK_SIZE);
	hz_lock(&e->lock);
	return rc;
}

static bool may_stage(struct hz_engine *e, uint32_t b)
{
	const struct hz_pieces *p = &e->pieces.of[b];
	const struct hz_block *blk = &e->blk[b];

	return blk->state == HZ_BLK_PIECES && p->phase == HZ_PIECES_MAPPED &&
	       p->n_here && p->whole == HZ_NONE && hz_pmap_empty(&p->reading) &&
	       !(blk->flags & (HZ_BLKF_STICKY | HZ_BLKF_WAITING));
}

static bool others_use_slot(struct hz_engine *e, uint32_t b)
{
	uint32_t slot = e->blk[b].slot;

	return slot != HZ_NONE && hz_slots_shared(e->slots, slot);
}

/* A forked process refers to the slot too: it must not be written in place,
 * and a new one has to be written whole. The block leaves as one. */
static bool slot_is_shared(struct hz_engine *e, struct hz_worker *w, uint32_t b)
{
	if (!others_use_slot(e, b))
		return false;
	hz_pieces_read_whole(e, w, b);
	return true;
}

/* MAPPED -> STAGED. False: pinned, shared, or wanted. */
static bool stage(struct hz_engine *e, struct hz_worker *w, uint32_t b)
{
	struct hz_pieces *p = &e->pieces.of[b];
	struct hz_page_map before, lost;
	uint32_t f;
	int rc;

	if (!may_stage(e, b) || slot_is_shared(e, w, b))
		return false;
	f = hz_frame_take_empty(e);
	if (f == HZ_NONE)
		return false;
	hz_block_set(&e->totals, &e->blk[b], HZ_BLK_UNMAPPING);
	before = p->here;
	rc = move_pages(e, b, f);
	if (rc < 0) {
		hz_frame_set(e, f, HZ_FRAME_EMPTY);
		hz_stat_add(HZ_STAT_evict_busy, 1);
		passed(e, b);
		return false;
	}
	if (!hz_pages_map(e, hz_frame_addr(e, f), &p->frame))
		p->frame = before;
	p->huge = false;
	e->frame[f].block = b;
	e->blk[b].frame = f;
	lost = hz_pmap_without(&before, &p->frame);
	replace_lost(e, b, &lost);
	hz_pieces_unmapped(&e->pieces, b);
	hz_pieces_here(&e->pieces, b, 0, HZ_BLOCK_PAGES, false);
	hz_pieces_phase(&e->pieces, b, HZ_PIECES_STAGED);
	for (unsigned i = 0; i < HZ_BLOCK_PAGES; i++) {
		if (hz_pmap_has(&p->frame, i))
			hz_pieces_held(&e->pieces, b, i, 1, true);
		else if (hz_pmap_has(&lost, i))
			hz_pieces_here(&e->pieces, b, i, 1, true);
	}
	passed(e, b);
	return true;
}

void hz_pieces_adopt(struct hz_engine *e, uint32_t b)
{
	struct hz_block *blk = &e->blk[b];
	struct hz_pieces *p = &e->pieces.of[b];

	if (p->known && !others_use_slot(e, b)) {
		hz_pieces_enter_again(&e->pieces, b);
		blk->hash[0] = HZ_HASH_ANY;
	} else {
		hz_pieces_enter(&e->pieces, b);
		memset(e->page_hash[b], 0, sizeof(e->page_hash[b]));
	}
	p->frame = all_pages;
	p->huge = true;
	blk->fork_gen = e->fork_gen; /* ours alone */
	hz_pieces_phase(&e->pieces, b, HZ_PIECES_STAGED);
	hz_pieces_held(&e->pieces, b, 0, HZ_BLOCK_PAGES, true);
	/* Its copy in the slot is good only if it is equal as a whole. */
	if (blk->flags & HZ_BLKF_SLOT && !(blk->hash[0] || blk->hash[1]))
		blk->flags &= (uint8_t)~HZ_BLKF_SLOT;
	hz_block_set(&e->totals, blk, HZ_BLK_PIECES);
	pthread_cond_broadcast(&e->changed);
}

/* ---- what stays, and what has changed ---- */

/* Map again what the policy keeps; the frame has room for it until it is
 * emptied. */
static int map_kept(struct hz_engine *e, uint32_t b, char *mem,
		    const struct hz_page_map *keep)
{
	char *addr = hz_block_addr(e, b);
	unsigned n, first = hz_pmap_run(keep, 0, &n);
	int rc = 0;

	for (; n && rc == 0; first = hz_pmap_run(keep, first + n, &n))
		rc = e->fault->copy(e->uffd, addr + first * HZ_PAGE_SIZE,
				    mem + first * HZ_PAGE_SIZE,
				    n * HZ_PAGE_SIZE);
	return rc;
}

static void note_kept(struct hz_engine *e, uint32_t b,
		      const struct hz_page_map *keep)
{
	unsigned n, first = hz_pmap_run(keep, 0, &n);

	for (; n; first = hz_pmap_run(keep, first + n, &n)) {
		hz_pieces_held(&e->pieces, b, first, n, false);
		hz_pieces_here(&e->pieces, b, first, n, true);
		e->credit -= (int32_t)n;
	}
}

/* What leaves, and whether it has changed. Touches wait meanwhile: about
 * 0.2 ms. False: the kernel had no memory for what stays. */
static bool sort_out(struct hz_engine *e, uint32_t b,
		     const struct hz_page_map *keep,
		     struct hz_pieces_look *l)
{
	struct hz_block *blk = &e->blk[b];
	struct hz_pieces *p = &e->pieces.of[b];
	struct hz_page_map held = hz_pmap_without(&p->held, keep);
	char *mem = hz_frame_addr(e, blk->frame);
	bool has = blk->flags & HZ_BLKF_SLOT; /* others set other flags */
	uint64_t stored[2] = {has ? blk->hash[0] : 0, has ? blk->hash[1] : 0};
	int rc;

	memset(l, 0, sizeof(*l));
	hz_block_set(&e->totals, blk, HZ_BLK_UNMAPPING);
	hz_unlock(&e->lock);
	rc = map_kept(e, b, mem, keep);
	if (p->huge && !p->known)
		hz_pieces_look_whole(mem, stored, l);
	else
		hz_pieces_look(mem, &held, e->page_hash[b], l);
	hz_lock(&e->lock);
	if (rc == 0)
		note_kept(e, b, keep);
	passed(e, b);
	return rc == 0;
}

/* ---- to the slot ---- */

/* The next run to write, with small gaps that the frame can fill. */
static unsigned next_run(const struct hz_pieces *p, unsigned *n)
{
	unsigned first = hz_pmap_run(&p->dirty, 0, n);
	unsigned end = first + *n, gap, more;

	while (end < HZ_BLOCK_PAGES) {
		gap = hz_pmap_run(&p->dirty, end, &more);
		if (!more || gap - end > GAP_MOST ||
		    hz_pmap_next(&p->frame, end, false) < gap)
			break;
		end = gap + more;
	}
	*n = end - first;
	return first;
}

static bool write_run(struct hz_engine *e, struct hz_worker *w, uint32_t b,
		      unsigned first, unsigned n)
{
	struct hz_piece_io *io = hz_piece_io_take(e, true);
	uint32_t f = e->blk[b].frame;

	if (!io)
		return false;
	io->block = b;
	io->frame = f;
	io->first = (uint16_t)first;
	io->n = (uint16_t)n;
	io->xfer.buf = hz_frame_addr(e, f) + first * HZ_PAGE_SIZE;
	io->xfer.slot = e->blk[b].slot;
	io->xfer.from = (uint32_t)(first * HZ_PAGE_SIZE);
	io->xfer.len = (uint32_t)(n * HZ_PAGE_SIZE);
	io->xfer.write = true;
	if (e->io->submit(w->queue, &io->xfer) < 0) {
		hz_piece_io_put(e, io);
		return false;
	}
	w->inflight++;
	e->frame[f].writes++;
	return true;
}

/* Of [first, first + n) the slot gets what the frame has. What was written only
 * to fill a gap may have come back to the program meanwhile: the hash that is
 * known is that of the content before. */
static void note_run(struct hz_engine *e, uint32_t b, unsigned first,
		     unsigned n)
{
	struct hz_page_map *dirty = &e->pieces.of[b].dirty;

	for (unsigned i = first; i < first + n; i++)
		if (!hz_pmap_has(dirty, i))
			e->page_hash[b][i] = 0;
	hz_pmap_fill(dirty, first, n, false);
}

/* As many writes of block b as the queue takes. */
static bool write_some(struct hz_engine *e, struct hz_worker *w, uint32_t b)
{
	struct hz_pieces *p = &e->pieces.of[b];
	bool any = false;

	while (w->inflight < 2 * e->depth - 1 && !hz_pmap_empty(&p->dirty)) {
		unsigned n, first = next_run(p, &n);

		if (!write_run(e, w, b, first, n))
			break;
		note_run(e, b, first, n);
		any = true;
	}
	return any;
}

/* The store takes nothing: what changed is mapped again. */
static void stay(struct hz_engine *e, uint32_t b)
{
	hz_pieces_put_back(e, b);
	pthread_cond_broadcast(&e->changed);
}

/* Of what was looked at: what the slot has, or soon will have. */
static void set_hashes(struct hz_engine *e, uint32_t b,
		       const struct hz_pieces_look *l)
{
	struct hz_pieces *p = &e->pieces.of[b];
	const struct hz_page_map *which =
		p->huge && !p->known ? &p->frame : &p->held;

	for (unsigned i = hz_pmap_next(which, 0, true); i < HZ_BLOCK_PAGES;
	     i = hz_pmap_next(which, i + 1, true))
		e->page_hash[b][i] = l->hash[i];
	p->zero = hz_pmap_without(&p->zero, which);
	p->zero = hz_pmap_either(&p->zero, &l->zero);
}

void hz_pieces_all_zero(struct hz_engine *e, uint32_t b)
{
	struct hz_block *blk = &e->blk[b];
	uint32_t f = blk->frame;

	hz_region_drop_slot(e, blk);
	hz_stat_add(HZ_STAT_zero_drops, 1);
	hz_pieces_leave(&e->pieces, b);
	blk->frame = HZ_NONE;
	if (f != HZ_NONE)
		hz_frame_set(e, f, HZ_FRAME_ZERO);
	hz_block_set(&e->totals, blk, HZ_BLK_ZERO);
	pthread_cond_broadcast(&e->changed);
}

/* STAGED -> WRITING, or at once out, but for what the policy keeps. */
static void flush(struct hz_engine *e, struct hz_worker *w, uint32_t b,
		  const struct hz_page_map *keep)
{
	static struct hz_pieces_look l; /* hz-engine's; too large for a stack */
	struct hz_pieces *p = &e->pieces.of[b];
	struct hz_block *blk = &e->blk[b];

	hz_pieces_stayed(&e->pieces, b);
	if (!sort_out(e, b, keep, &l)) {
		stay(e, b);
		return;
	}
	if (!p->n_held) { /* all of it stays */
		hz_pieces_settle(e, b);
		return;
	}
	if (p->n_held == HZ_BLOCK_PAGES &&
	    hz_pmap_count(&l.zero) == HZ_BLOCK_PAGES) {
		hz_pieces_all_zero(e, b);
		return;
	}
	if (!hz_pmap_empty(&l.dirty) && !hz_evict_may_write(e, blk)) {
		stay(e, b);
		return;
	}
	set_hashes(e, b, &l);
	blk->hash[0] = HZ_HASH_ANY;
	blk->hash[1] = 0;
	p->dirty = l.dirty;
	p->failed = false;
	if (hz_pmap_empty(&p->dirty)) {
		hz_stat_add(HZ_STAT_clean_drops, 1);
		leave(e, b);
		return;
	}
	hz_pieces_phase(&e->pieces, b, HZ_PIECES_WRITING);
	write_some(e, w, b);
}

static void written(struct hz_engine *e, struct hz_worker *w, uint32_t b)
{
	struct hz_pieces *p = &e->pieces.of[b];

	if (e->frame[e->blk[b].frame].writes || !hz_pmap_empty(&p->dirty))
		return;
	if (p->failed) {
		hz_pieces_phase(&e->pieces, b, HZ_PIECES_STAGED);
		stay(e, b);
		return;
	}
	e->blk[b].flags |= HZ_BLKF_SLOT;
	leave(e, b);
}

static void write_failed(struct hz_engine *e, struct hz_piece_io *io, int res)
{
	struct hz_pieces *p = &e->pieces.of[io->block];

	hz_stat_add(HZ_STAT_store_errors, 1);
	p->failed = true;
	memset(&p->dirty, 0, sizeof(p->dirty));
	memset(e->page_hash[io->block], 0, sizeof(e->page_hash[0]));
	hz_evict_judge(e, res);
}

static void orphan_done(struct hz_engine *e, uint32_t f)
{
	struct hz_frame *fr = &e->frame[f];
	uint32_t pages = fr->pages;

	if (fr->writes)
		return;
	hz_slots_put(e->slots, fr->xfer.slot);
	e->fault->wake(e->uffd, hz_block_addr(e, fr->block), HZ_BLOCK_SIZE);
	if (!pages)
		hz_frame_set(e, f, HZ_FRAME_FREE);
	else
		empty_frame(e, f, pages);
	pthread_cond_broadcast(&e->changed);
}

void hz_pieces_write_done(struct hz_engine *e, struct hz_worker *w,
			  struct hz_piece_io *io, int res)
{
	uint32_t b = io->block, f = io->frame;

	e->frame[f].writes--;
	if (res == 0) {
		hz_stat_add(HZ_STAT_store_write, io->n * HZ_PAGE_SIZE);
		hz_stat_add(HZ_STAT_piece_written, io->n * HZ_PAGE_SIZE);
		e->written += io->n * HZ_PAGE_SIZE;
		e->failed_writes = 0;
	}
	if (!io->orphan && res < 0)
		write_failed(e, io, res);
	hz_piece_io_put(e, io);
	if (e->frame[f].orphan) {
		orphan_done(e, f);
		return;
	}
	write_some(e, w, b);
	written(e, w, b);
}

/* ---- steps ---- */

bool hz_pieces_write_on(struct hz_engine *e, struct hz_worker *w)
{
	uint32_t b = hz_pieces_first(&e->pieces, HZ_PIECES_WRITING);
	bool any = false;

	for (; b != HZ_NONE; b = e->pieces.of[b].next - 1)
		any |= write_some(e, w, b);
	return any;
}

static bool may_flush(const struct hz_engine *e, uint32_t b)
{
	return b != HZ_NONE && e->pieces.of[b].whole == HZ_NONE &&
	       !(e->blk[b].flags & HZ_BLKF_STICKY);
}

bool hz_pieces_enough(const struct hz_engine *e)
{
	uint64_t all = (uint64_t)e->pages * HZ_BLOCK_PAGES;

	return e->pieces.list[HZ_PIECES_STAGED].count &&
	       !hz_pieces_sampling(&e->pieces, all, e->waiting);
}

/* The first that does not refuse: it is pinned, or a thread waits for it. */
static bool stage_one(struct hz_engine *e, struct hz_worker *w)
{
	for (unsigned i = 0; i < STAGE_TRIES; i++) {
		uint32_t b = hz_pieces_pick(&e->pieces);

		if (b == HZ_NONE)
			break;
		if (stage(e, w, b))
			return true;
	}
	return false;
}

bool hz_pieces_step(struct hz_engine *e, struct hz_worker *w)
{
	struct hz_page_map keep;
	uint32_t b;

	if (e->frozen || e->no_evict)
		return false;
	if (hz_pieces_write_on(e, w))
		return true;
	if (w->inflight >= 2 * e->depth - 1)
		return false;
	if (!hz_pieces_enough(e) && stage_one(e, w))
		return true;
	b = hz_pieces_first(&e->pieces, HZ_PIECES_STAGED);
	if (!may_flush(e, b))
		return false;
	keep = hz_pieces_keep(&e->pieces, b, KEEP_MOST);
	flush(e, w, b, &keep);
	return true;
}

static void take_step(struct hz_engine *e, struct hz_worker *w, bool *going)
{
	bool blocks = !hz_pieces_enough(e) && hz_pieces_giver(
			e, HZ_SHARE_PIECES) == HZ_SHARE_BLOCKS;

	*going = (blocks && hz_evict_step(e, w)) || hz_pieces_step(e, w) ||
		 (!blocks && hz_evict_step(e, w));
	hz_engine_finish(e, w);
}

void hz_pieces_balance(struct hz_engine *e, struct hz_worker *w)
{
	bool going = true;

	for (unsigned i = 0; going && i < TURNS_MOST && hz_pieces_short(e);
	     i++) {
		take_step(e, w, &going);
		hz_fill_waiting(e, w);
	}
	hz_pieces_return(e);
	hz_pieces_collapse(e);
}

bool hz_pieces_evict(struct hz_engine *e, struct hz_worker *w, uint32_t b)
{
	enum hz_pieces_phase phase = e->pieces.of[b].phase;
	static const struct hz_page_map none;

	if (phase == HZ_PIECES_MAPPED && !stage(e, w, b))
		return false;
	if (e->pieces.of[b].phase == HZ_PIECES_STAGED && may_flush(e, b))
		flush(e, w, b, &none);
	return true;
}

/* ---- freed ---- */

static void orphan_writes(struct hz_engine *e, uint32_t b)
{
	struct hz_block *blk = &e->blk[b];
	struct hz_pieces *p = &e->pieces.of[b];
	struct hz_frame *fr = &e->frame[blk->frame];

	fr->orphan = true;
	fr->block = b;
	fr->pages = p->huge ? 0 : (uint16_t)hz_pmap_count(&p->frame);
	fr->xfer.slot = blk->slot;
	/* The slot goes back when the writes have ended. */
	blk->slot = HZ_NONE;
	blk->frame = HZ_NONE;
}

static void drop_frame(struct hz_engine *e, uint32_t b)
{
	struct hz_pieces *p = &e->pieces.of[b];

	if (e->blk[b].frame == HZ_NONE)
		return;
	if (e->frame[e->blk[b].frame].writes) {
		orphan_writes(e, b);
		return;
	}
	hz_pieces_held(&e->pieces, b, 0, HZ_BLOCK_PAGES, false);
	if (p->huge) {
		hz_frame_set(e, e->blk[b].frame, HZ_FRAME_FREE);
	} else {
		hz_os_discard(hz_frame_addr(e, e->blk[b].frame), HZ_BLOCK_SIZE);
		hz_frame_set(e, e->blk[b].frame, HZ_FRAME_EMPTY);
		e->credit += (int32_t)hz_pmap_count(&p->frame);
	}
	e->blk[b].frame = HZ_NONE;
}

void hz_pieces_drop(struct hz_engine *e, uint32_t b)
{
	struct hz_pieces *p = &e->pieces.of[b];
	struct hz_block *blk = &e->blk[b];

	hz_piece_io_orphan(e, b);
	if (p->whole != HZ_NONE)
		e->frame[p->whole].orphan = true;
	p->whole = HZ_NONE;
	drop_frame(e, b);
	if (p->n_here)
		hz_os_discard(hz_block_addr(e, b), HZ_BLOCK_SIZE);
	e->credit += p->n_here;
	hz_pieces_leave(&e->pieces, b);
	hz_block_set(&e->totals, blk, HZ_BLK_ZERO);
}
