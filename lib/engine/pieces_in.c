/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Blocks in pieces: faults, reads, and what is put back from a frame.
 */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif
#include <errno.h>
#include <string.h>

#include "base/log.h"
#include "base/os.h"
#include "base/stats.h"
#include "checksum.h"
#include "engine/guess.h"
#include "engine/leftovers.h"
#include "engine/pieces.h"

/* Pages above the credit that a page in a frame may take at once. */
#define OVERDRAFT  256
#define READ_TRIES 3u
/* Pages of a read: its buffer's. */
#define PIECE_MOST 16u

/* What a page of zeros is copied from. The kernel's own zero page would cost no
 * memory until it is written, which nobody would tell us. */
static _Alignas(HZ_PAGE_SIZE) char zero_pages[PIECE_MOST * HZ_PAGE_SIZE];

static char *page_addr(const struct hz_engine *e, uint32_t b, unsigned page)
{
	return hz_block_addr(e, b) + page * HZ_PAGE_SIZE;
}

/* ---- mapping ---- */

/* The content is lost, of these pages alone. They count as mapped: an access
 * raises SIGBUS. */
static void poison(struct hz_engine *e, uint32_t b, unsigned first, unsigned n,
		   int rc)
{
	char *addr = page_addr(e, b, first);

	hz_stat_add(HZ_STAT_poisoned, 1);
	hz_log(HZ_ERROR, "store",
	       "read of %u pages at %p, slot %u, failed (%m): their content "
	       "is lost; access raises SIGBUS",
	       n, addr, e->blk[b].slot, rc);
	hz_fill_poison(e, addr, n * HZ_PAGE_SIZE);
	hz_pieces_here(&e->pieces, b, first, n, true);
	e->credit -= (int32_t)n;
}

/* Map copies of the pages at src; what is mapped already stays as it is. False:
 * the kernel has no memory; all is as it was, or some of it is mapped and not
 * counted: that is found out when it is tried again. */
static bool copy_run(struct hz_engine *e, uint32_t b, unsigned first,
		     unsigned n, char *src)
{
	struct hz_pieces *p = &e->pieces.of[b];
	int rc = e->fault->copy(e->uffd, page_addr(e, b, first), src,
				n * HZ_PAGE_SIZE);

	if (rc == -ENOMEM)
		return false;
	hz_pmap_fill(&p->wanted, first, n, false);
	if (rc < 0) {
		for (unsigned i = first; i < first + n; i++)
			poison(e, b, i, 1, rc);
		return true;
	}
	hz_pieces_here(&e->pieces, b, first, n, true);
	e->credit -= (int32_t)n;
	return true;
}

bool hz_pieces_map(struct hz_engine *e, uint32_t b, unsigned page, char *src)
{
	hz_pieces_used(&e->pieces, b, page, 1);
	return copy_run(e, b, page, 1, src);
}

/* ---- out of the frame ---- */

static bool map_held(struct hz_engine *e, uint32_t b, unsigned first,
		     unsigned n)
{
	char *src = hz_frame_addr(e, e->blk[b].frame) + first * HZ_PAGE_SIZE;

	if (!copy_run(e, b, first, n, src))
		return false;
	hz_pieces_held(&e->pieces, b, first, n, false);
	return true;
}

/* The kind of credit is of no matter: the frame gives its pages back later. */
static bool put_back(struct hz_engine *e, uint32_t b, unsigned first,
		     unsigned n)
{
	if (!hz_pieces_credit(e, n, false)) {
		n = 1;
		if (e->credit <= -OVERDRAFT && !hz_pieces_credit(e, 1, false))
			return false;
	}
	hz_stat_add(HZ_STAT_piece_soft, 1);
	hz_stat_add(HZ_STAT_fault_prefetched, 1);
	hz_pieces_used(&e->pieces, b, first, n);
	return map_held(e, b, first, n);
}

void hz_pieces_put_back(struct hz_engine *e, uint32_t b)
{
	struct hz_pieces *p = &e->pieces.of[b];
	unsigned n, first = hz_pmap_run(&p->held, 0, &n);

	while (n && map_held(e, b, first, n))
		first = hz_pmap_run(&p->held, first, &n);
	hz_pieces_settle(e, b);
}

/* ---- out of nowhere ---- */

bool hz_pieces_absent(const struct hz_pieces *p, unsigned page)
{
	return !hz_pmap_has(&p->here, page) && !hz_pmap_has(&p->held, page) &&
	       !hz_pmap_has(&p->reading, page);
}

/* How many pages from `page` on, n at most, are in no memory, and all zero or
 * all in the slot. */
static unsigned absent_run(const struct hz_pieces *p, unsigned page, unsigned n,
			   bool zero)
{
	unsigned i = 0;

	while (i < n && hz_pieces_absent(p, page + i) &&
	       hz_pmap_has(&p->zero, page + i) == zero)
		i++;
	return i;
}

/* How many of n pages there is credit for: all, or one, or none. */
static unsigned afford(struct hz_engine *e, unsigned n)
{
	if (hz_pieces_credit(e, n, false))
		return n;
	return hz_pieces_credit(e, 1, false);
}

static bool map_zeros(struct hz_engine *e, uint32_t b, unsigned first,
		      unsigned n)
{
	n = afford(e, n);
	if (!n)
		return false;
	hz_pieces_used(&e->pieces, b, first, n);
	return copy_run(e, b, first, n, zero_pages);
}

/* ---- out of what is left over ---- */

/* Of n pages from `page` on, which are nowhere but in the slot, map those that
 * there are copies of. False: there is none of the first, or no credit. */
static bool map_copies(struct hz_engine *e, uint32_t b, unsigned page,
		       unsigned n)
{
	static _Alignas(HZ_PAGE_SIZE) char copy[HZ_PAGE_SIZE]; /* the lock's */
	const uint64_t *hash = e->page_hash[b];
	bool guessed;
	unsigned i = page;

	for (; i < page + n; i++) {
		if (!hz_leftovers_has(hash[i]) ||
		    !hz_pieces_credit(e, 1, false) ||
		    !hz_leftovers_get(hash[i], copy, &guessed))
			break;
		if (guessed)
			hz_guess_right(&e->guess);
		if (!hz_pieces_map(e, b, i, copy))
			break;
		hz_stat_add(HZ_STAT_piece_left, 1);
		hz_stat_add(HZ_STAT_fault_prefetched, 1);
	}
	return i > page;
}

/* ---- out of the slot ---- */

bool hz_pieces_submit_read(struct hz_engine *e, struct hz_worker *w,
			   struct hz_piece_io *io)
{
	struct hz_pieces *p = &e->pieces.of[io->block];

	io->xfer.slot = e->blk[io->block].slot;
	io->xfer.from = (uint32_t)(io->first * HZ_PAGE_SIZE);
	io->xfer.len = (uint32_t)(io->n * HZ_PAGE_SIZE);
	io->xfer.write = false;
	if (e->io->submit(w->queue, &io->xfer) < 0) {
		hz_piece_io_put(e, io);
		return false;
	}
	w->inflight++;
	hz_pmap_fill(&p->reading, io->first, io->n, true);
	if (io->guess)
		return true;
	e->credit -= io->n; /* spent when it ends */
	hz_pmap_fill(&p->wanted, io->first, io->n, false);
	return true;
}

static bool read_some(struct hz_engine *e, struct hz_worker *w, uint32_t b,
		      unsigned page, unsigned n, uint64_t asked)
{
	struct hz_piece_io *io;

	if (!w || w->inflight >= 2 * e->depth - 1)
		return false;
	n = afford(e, n);
	if (!n)
		return false;
	io = hz_piece_io_take(e, false);
	if (!io)
		return false;
	io->block = b;
	io->frame = HZ_NONE;
	io->first = (uint16_t)page;
	io->n = (uint16_t)n;
	io->asked = asked;
	hz_pieces_used(&e->pieces, b, page, n);
	return hz_pieces_submit_read(e, w, io);
}

/* All that is missing of the block: by one read of its slot into a frame. */
bool hz_pieces_read_whole(struct hz_engine *e, struct hz_worker *w, uint32_t b)
{
	struct hz_pieces *p = &e->pieces.of[b];
	bool zeros;
	uint32_t f;

	if (p->whole != HZ_NONE)
		return true;
	if (!w || w->inflight >= e->depth || p->phase == HZ_PIECES_WRITING)
		return false;
	f = hz_frame_take(e, false, &zeros);
	if (f == HZ_NONE || !hz_fill_read(e, w, b, f))
		return false;
	p->whole = f;
	return true;
}

/* ---- faults ---- */

/* A stream of first touches: what is missing is all zero. From `page` on, as
 * far as memory lasts. */
static bool serve_zeros(struct hz_engine *e, uint32_t b, unsigned page)
{
	struct hz_pieces *p = &e->pieces.of[b];
	unsigned n, i = page;

	if (p->n_held || !hz_pmap_empty(&p->reading))
		return false;
	for (; i < HZ_BLOCK_PAGES; i = hz_pmap_next(&p->here, i, false)) {
		n = hz_min(PIECE_MOST, HZ_BLOCK_PAGES - i);
		n = absent_run(p, i, n, true);
		if (!n || !hz_pieces_credit(e, n, false) ||
		    !map_zeros(e, b, i, n))
			return false;
	}
	hz_pieces_settle(e, b);
	return true;
}

/* A stream, or a range that is not scattered any more: nothing but the whole
 * block will do. What the frame holds comes at once. */
static bool serve_whole(struct hz_engine *e, struct hz_worker *w, uint32_t b,
			unsigned page)
{
	struct hz_pieces *p = &e->pieces.of[b];

	if (p->n_held && hz_pieces_credit(e, p->n_held, false) &&
	    p->phase == HZ_PIECES_STAGED)
		hz_pieces_put_back(e, b);
	if (e->blk[b].state != HZ_BLK_PIECES || p->n_here == HZ_BLOCK_PAGES)
		return true;
	if (!(e->blk[b].flags & HZ_BLKF_SLOT))
		return serve_zeros(e, b, page);
	return hz_pieces_read_whole(e, w, b);
}

/* Something else happened to the block meanwhile: who waits for it is told. */
static void look_again(struct hz_engine *e, uint32_t b)
{
	memset(&e->pieces.of[b].wanted, 0, sizeof(e->pieces.of[b].wanted));
	e->fault->wake(e->uffd, hz_block_addr(e, b), HZ_BLOCK_SIZE);
}

static bool coming(const struct hz_pieces *p, unsigned page)
{
	return hz_pmap_has(&p->reading, page) ||
	       (p->whole != HZ_NONE && !hz_pmap_has(&p->held, page));
}

static bool serve_stored(struct hz_engine *e, struct hz_worker *w, uint32_t b,
			 unsigned page, unsigned n, uint64_t asked)
{
	bool copied = map_copies(e, b, page, n);

	if (!copied && !read_some(e, w, b, page, n, asked))
		return false;
	if (n == 1) /* not a stream */
		hz_guess_from(e, w, b, page);
	return true;
}

/* Of n pages those that are where `page` is. */
static bool serve_run(struct hz_engine *e, struct hz_worker *w, uint32_t b,
		      unsigned page, unsigned n, uint64_t asked)
{
	struct hz_pieces *p = &e->pieces.of[b];

	if (hz_pmap_has(&p->held, page)) {
		n = hz_min(n, hz_pmap_next(&p->held, page, false) - page);
		if (!put_back(e, b, page, n))
			return false;
		hz_fill_stalled(e, HZ_SHARE_PIECES, asked);
		return true;
	}
	if (hz_pmap_has(&p->zero, page))
		return map_zeros(e, b, page, absent_run(p, page, n, true));
	return serve_stored(e, w, b, page, absent_run(p, page, n, false),
			    asked);
}

/* The others of a longer piece, as long as that goes. */
static void serve_rest(struct hz_engine *e, struct hz_worker *w, uint32_t b,
		       unsigned first, unsigned n)
{
	struct hz_pieces *p = &e->pieces.of[b];
	uint64_t now = n ? hz_os.now() : 0;

	for (unsigned i = first; i < first + n; i++)
		if (!hz_pmap_has(&p->here, i) && !coming(p, i) &&
		    !serve_run(e, w, b, i, first + n - i, now))
			break;
}

static unsigned span(struct hz_range *r, struct hz_pieces *p, unsigned page)
{
	unsigned n = hz_pieces_span(p, page);

	if (n == 1 && r)
		hz_scatter_single(&r->scatter, r->units / HZ_UNITS_PER_BLOCK);
	return n;
}

/* Bring in `page`, which nobody is bringing in. */
static bool serve_page(struct hz_engine *e, struct hz_worker *w, uint32_t b,
		       unsigned page, uint64_t asked)
{
	struct hz_pieces *p = &e->pieces.of[b];
	struct hz_range *r = hz_fill_range(e, b, page);
	unsigned n = span(r, p, page);
	bool whole = n == HZ_BLOCK_PAGES || (r && !r->scatter.scattered);

	if (whole && !p->single && serve_whole(e, w, b, page)) {
		/* The lock may have been dropped. */
		r = hz_fill_range(e, b, page);
		if (r)
			hz_scatter_streamed(&r->scatter);
		if (e->blk[b].state != HZ_BLK_PIECES) {
			look_again(e, b);
			return true;
		}
		if (!hz_pmap_has(&p->held, page)) {
			hz_pmap_remove(&p->wanted, page);
			return true;
		}
	}
	/* It came out of the frame before the read of the rest was refused. A
	 * piece of no pages would be a transfer of a whole block. */
	if (hz_pmap_has(&p->here, page) || coming(p, page)) {
		hz_pmap_remove(&p->wanted, page);
		return true;
	}
	n = hz_min(n, HZ_BLOCK_PAGES - page);
	n = hz_min(n, PIECE_MOST);
	if (!serve_run(e, w, b, page, n, asked))
		return false;
	serve_rest(e, w, b, page + 1, n - 1);
	hz_pieces_settle(e, b);
	return true;
}

bool hz_pieces_serve(struct hz_engine *e, struct hz_worker *w, uint32_t b)
{
	struct hz_pieces *p = &e->pieces.of[b];
	struct hz_block *blk = &e->blk[b];
	unsigned page = hz_pmap_next(&p->wanted, 0, true);

	for (; page < HZ_BLOCK_PAGES;
	     page = hz_pmap_next(&p->wanted, page + 1, true)) {
		if (blk->state != HZ_BLK_PIECES)
			break;
		if (hz_pmap_has(&p->here, page) && p->guarded &&
		    !hz_guard_page(e, b, page))
			return false;
		if (hz_pmap_has(&p->here, page) || coming(p, page))
			hz_pmap_remove(&p->wanted, page);
		else if (!serve_page(e, w, b, page, blk->wanted_ns))
			return false;
	}
	if (blk->state != HZ_BLK_PIECES)
		look_again(e, b);
	return true;
}

/* For horizon-stat --tensors. */
static void note(struct hz_engine *e, struct hz_range *r, uint64_t now)
{
	if (!r)
		return;
	r->faults++;
	r->last_fault = now;
}

/* STORED or ZERO. */
static void enter(struct hz_engine *e, uint32_t b)
{
	struct hz_block *blk = &e->blk[b];
	bool zero = blk->state == HZ_BLK_ZERO;

	hz_pieces_enter(&e->pieces, b);
	hz_pmap_fill(&e->pieces.of[b].zero, 0, HZ_BLOCK_PAGES, zero);
	memset(e->page_hash[b], 0, sizeof(e->page_hash[b]));
	blk->hash[0] = HZ_HASH_ANY;
	blk->hash[1] = 0;
	blk->fork_gen = e->fork_gen;
	hz_plan_forget(e->plan, b);
	hz_block_set(&e->totals, blk, HZ_BLK_PIECES);
}

static enum hz_access how_used(const struct hz_engine *e, uint32_t b,
			       unsigned page)
{
	const struct hz_pieces *p = &e->pieces.of[b];

	if (hz_pmap_has(&p->held, page))
		return HZ_ACCESS_SOFT;
	if (hz_pmap_has(&p->zero, page))
		return HZ_ACCESS_ZERO;
	return hz_leftovers_has(e->page_hash[b][page]) ? HZ_ACCESS_SOFT
						       : HZ_ACCESS_DEMAND;
}

void hz_pieces_fault(struct hz_engine *e, struct hz_worker *w, uint32_t b,
		     unsigned page, uint64_t now)
{
	struct hz_pieces *p = &e->pieces.of[b];
	struct hz_block *blk = &e->blk[b];
	enum hz_access how;

	if (blk->state != HZ_BLK_PIECES && blk->flags & HZ_BLKF_WAITING)
		return; /* it is woken, and looks again */
	if (blk->state != HZ_BLK_PIECES)
		enter(e, b);
	if (hz_pmap_has(&p->here, page)) {
		hz_fill_present(e, (uintptr_t)page_addr(e, b, page));
		return;
	}
	note(e, hz_fill_range(e, b, page), now);
	how = how_used(e, b, page);
	hz_engine_seen(b, how, now);
	hz_guess_follow(&e->guess, hz_pieces_page(b, page));
	if (how == HZ_ACCESS_ZERO)
		hz_stat_add(HZ_STAT_fault_zero, 1);
	if (how == HZ_ACCESS_DEMAND) {
		hz_stat_add(HZ_STAT_fault_demand, 1);
		hz_stat_add(HZ_STAT_piece_faults, 1);
	}
	if (coming(p, page))
		return;
	hz_pmap_add(&p->wanted, page);
	if (blk->flags & HZ_BLKF_WAITING)
		return;
	if (!serve_page(e, w, b, page, now)) {
		blk->wanted_ns = now;
		hz_fill_later(e, b);
	}
}

void hz_pieces_guard(struct hz_engine *e, uint32_t b, unsigned page)
{
	struct hz_pieces *p = &e->pieces.of[b];

	if (hz_guard_page(e, b, page))
		return;
	hz_pmap_add(&p->wanted, page);
	hz_fill_later(e, b);
}

/* ---- the end of a read ---- */

bool hz_pieces_take_hashes(struct hz_engine *e, uint32_t b, unsigned first,
			   unsigned n, const char *src)
{
	uint64_t *known = e->page_hash[b];
	bool good = true;

	for (unsigned i = first; i < first + n; i++) {
		uint64_t h = hz_page_hash(src + (i - first) * HZ_PAGE_SIZE);

		if (!known[i])
			known[i] = h;
		good = good && known[i] == h;
	}
	return good;
}

/* The content of a page that was read from its slot to src, in *n pages of the
 * same kind; their hashes, unless `checked` says that they have been taken.
 * NULL: it is not what was written. */
static char *content(struct hz_engine *e, uint32_t b, unsigned page,
		     unsigned *n, char *src, bool checked)
{
	struct hz_pieces *p = &e->pieces.of[b];

	if (hz_pmap_has(&p->zero, page)) {
		*n = absent_run(p, page, hz_min(*n, PIECE_MOST), true);
		return zero_pages;
	}
	*n = absent_run(p, page, *n, false);
	if (!checked && !hz_pieces_take_hashes(e, b, page, *n, src))
		return NULL;
	return src;
}

/* Those of [first, first + n) that came in by another way stay so. `checked`:
 * their hashes have been taken. False: not all could be mapped; who waits for
 * one tries again. */
static bool map_read(struct hz_engine *e, uint32_t b, unsigned first,
		     unsigned n, char *src, bool checked)
{
	struct hz_pieces *p = &e->pieces.of[b];
	bool all = true;

	for (unsigned i = first; i < first + n;) {
		unsigned run = hz_pieces_absent(p, i) ? first + n - i : 0;
		char *from = src + (i - first) * HZ_PAGE_SIZE;

		if (run)
			from = content(e, b, i, &run, from, checked);
		if (run && !(from && copy_run(e, b, i, run, from)))
			all = false;
		i += run ? run : 1;
	}
	return all;
}

/* Of a longer piece only the page that a thread waits for is tried again; who
 * waits for others of it asks for them. */
static bool try_again(struct hz_engine *e, struct hz_worker *w,
		      struct hz_piece_io *io, int res)
{
	struct hz_pieces *p = &e->pieces.of[io->block];
	bool piece = io->n > 1;

	if (!piece && (res == -EBADMSG || ++io->tries >= READ_TRIES))
		return false;
	memset(p->run, 0, sizeof(p->run));
	e->fault->wake(e->uffd, page_addr(e, io->block, io->first + 1u),
		       (io->n - 1u) * HZ_PAGE_SIZE);
	io->n = 1;
	return true;
}

static void read_failed(struct hz_engine *e, struct hz_worker *w,
			struct hz_piece_io *io, int res)
{
	uint32_t b = io->block;
	unsigned page = io->first;

	hz_stat_add(HZ_STAT_store_errors, 1);
	if (try_again(e, w, io, res)) {
		if (hz_pieces_submit_read(e, w, io))
			return;
		e->fault->wake(e->uffd, page_addr(e, b, page), HZ_PAGE_SIZE);
	} else {
		hz_piece_io_put(e, io);
		if (hz_pieces_absent(&e->pieces.of[b], page))
			poison(e, b, page, 1, res);
	}
	hz_pieces_settle(e, b);
}

void hz_pieces_read_done(struct hz_engine *e, struct hz_worker *w,
			 struct hz_piece_io *io, int res)
{
	uint32_t b = io->block;

	hz_stat_add(HZ_STAT_store_read, io->n * HZ_PAGE_SIZE);
	hz_stat_add(HZ_STAT_piece_read, io->n * HZ_PAGE_SIZE);
	if (io->guess) {
		hz_guess_done(e, io, res);
		return;
	}
	e->credit += io->n;
	if (io->orphan) {
		/* A thread that touched it just before looks again. */
		e->fault->wake(e->uffd, page_addr(e, b, io->first),
			       io->n * HZ_PAGE_SIZE);
		hz_piece_io_put(e, io);
		return;
	}
	hz_pmap_fill(&e->pieces.of[b].reading, io->first, io->n, false);
	if (res == 0 && !hz_pieces_take_hashes(e, b, io->first, io->n,
					       io->xfer.buf))
		res = -EBADMSG;
	if (res < 0) {
		read_failed(e, w, io, res);
		return;
	}
	if (!map_read(e, b, io->first, io->n, io->xfer.buf, true)) {
		hz_pmap_add(&e->pieces.of[b].wanted, io->first);
		hz_fill_later(e, b);
	}
	hz_fill_moved_in(io->n * HZ_PAGE_SIZE);
	hz_fill_stalled(e, HZ_SHARE_PIECES, io->asked);
	hz_piece_io_put(e, io);
	hz_pieces_settle(e, b);
}

/* The read of a whole block: what is still missing is mapped from the frame,
 * and the frame's page becomes credit for it. */
void hz_pieces_whole_done(struct hz_engine *e, uint32_t b, int res)
{
	struct hz_pieces *p = &e->pieces.of[b];
	uint32_t f = p->whole;
	unsigned before = p->n_here;

	p->whole = HZ_NONE;
	if (res < 0)
		hz_stat_add(HZ_STAT_store_errors, 1);
	/* What is wrong with it is found out page by page. */
	p->single = res < 0 ||
		    !map_read(e, b, 0, HZ_BLOCK_PAGES, hz_frame_addr(e, f),
			      false);
	/* Who waited for it and still has nothing tries again by itself. */
	e->fault->wake(e->uffd, hz_block_addr(e, b), HZ_BLOCK_SIZE);
	hz_frame_set(e, f, HZ_FRAME_FREE);
	hz_pieces_credit(e, 0, true);
	hz_fill_moved_in((p->n_here - before) * HZ_PAGE_SIZE);
	hz_pieces_settle(e, b);
}
