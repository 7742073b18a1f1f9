/* SPDX-License-Identifier: Apache-2.0 */
/*
 * See guess.h.
 */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif
#include "base/stats.h"
#include "engine/guess.h"
#include "engine/leftovers.h"

/* Pages ahead of the program, at most. */
#define AHEAD 8u
/* Credit that is left to who waits. */
#define CREDIT_LEFT 32

static bool may_read(const struct hz_engine *e, uint32_t b)
{
	return e->blk[b].state == HZ_BLK_PIECES &&
	       e->blk[b].flags & HZ_BLKF_SLOT &&
	       e->pieces.of[b].whole == HZ_NONE &&
	       e->pieces.of[b].phase != HZ_PIECES_WRITING;
}

/* Is it nowhere but in the slot, and not on its way? */
static bool is_far(const struct hz_engine *e, uint32_t b, unsigned page)
{
	const struct hz_pieces *p = &e->pieces.of[b];

	return may_read(e, b) && hz_pieces_absent(p, page) &&
	       !hz_pmap_has(&p->zero, page) &&
	       !hz_leftovers_has(e->page_hash[b][page]);
}

/* Half of the queue stays for who waits. */
static bool begin(struct hz_engine *e, struct hz_worker *w, uint32_t b,
		  unsigned page, bool map)
{
	struct hz_piece_io *io =
		w->inflight < e->depth ? hz_piece_io_take(e, false) : NULL;

	if (!io)
		return false;
	io->block = b;
	io->frame = HZ_NONE;
	io->first = (uint16_t)page;
	io->n = 1;
	io->guess = map ? HZ_GUESS_MAP : HZ_GUESS_SEE;
	if (!hz_pieces_submit_read(e, w, io))
		return false;
	hz_stat_add(HZ_STAT_piece_guessed, 1);
	return true;
}

void hz_guess_from(struct hz_engine *e, struct hz_worker *w, uint32_t b,
		   unsigned page)
{
	uint64_t from = hz_pieces_page(b, page);
	uint32_t at = hz_guess_next(&e->guess, from);

	if (!w || e->frozen || e->order.open || e->waiting)
		return;
	if (at == HZ_NONE || !hz_leftovers_any() || !hz_guess_worth(&e->guess))
		return;
	for (unsigned i = 0; i < AHEAD && at != HZ_NONE && at != from; i++) {
		uint32_t to = at / HZ_BLOCK_PAGES;
		bool map;

		if (is_far(e, to, at % HZ_BLOCK_PAGES)) {
			map = hz_guess_map(&e->guess);
			if (!begin(e, w, to, at % HZ_BLOCK_PAGES, map))
				return;
			/* It will be used without a word. */
			if (map)
				hz_guess_follow(&e->guess, at);
		}
		at = hz_guess_next(&e->guess, at);
	}
}

/* The page is as it was written, and still nowhere else. */
static void keep(struct hz_engine *e, const struct hz_piece_io *io)
{
	const uint64_t *hash = &e->page_hash[io->block][io->first];

	if (io->guess == HZ_GUESS_MAP && e->credit > CREDIT_LEFT &&
	    hz_pieces_map(e, io->block, io->first, io->xfer.buf))
		return;
	hz_leftovers_add(*hash, io->xfer.buf, io->guess == HZ_GUESS_SEE);
}

void hz_guess_done(struct hz_engine *e, struct hz_piece_io *io, int res)
{
	const struct hz_pieces *p = &e->pieces.of[io->block];
	uint32_t b = io->block;
	unsigned page = io->first;

	if (!io->orphan) {
		hz_pmap_remove(&e->pieces.of[b].reading, page);
		if (res == 0 && hz_pieces_absent(p, page) &&
		    hz_pieces_take_hashes(e, b, page, 1, io->xfer.buf))
			keep(e, io);
	}
	/* Who came to wait for it looks again. */
	e->fault->wake(e->uffd, hz_block_addr(e, b) + page * HZ_PAGE_SIZE,
		       HZ_PAGE_SIZE);
	if (!io->orphan)
		hz_pieces_settle(e, b);
	hz_piece_io_put(e, io);
}
