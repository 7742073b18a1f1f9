/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Blocks in pieces: refilled and evicted by the page, for ranges that are used
 * all over (policy/scatter.h says which).
 *
 * Such a block has no huge page. The kernel allocates its pages when they are
 * copied in (UFFDIO_COPY: 2 to 3 us, no flush of other processors' TLBs), and
 * they leave all together: one UFFDIO_MOVE that skips holes takes what is
 * mapped to the addresses of an empty frame. MOVE refuses pinned pages, so no
 * DMA is lost; write protection and MADV_DONTNEED in place would be faster,
 * and lose it. A frame that holds single pages is emptied by MADV_DONTNEED: by
 * then nobody else can have its pages.
 *
 * Content of a page is in exactly one place that counts: mapped (`here`), in
 * the frame (`held`), nowhere since it is all `zero`, or in the block's slot.
 * A page equal to the slot's by its hash is dropped without a write, one of
 * zeros always; so a slot alone is not the block, and one that has no page in
 * RAM is STORED only if none is zero.
 *
 * Budget. Pages in pieces come out of the same number as frames: `lent` huge
 * pages of e->pages are lent to the kernel's small ones,
 *   lent * HZ_BLOCK_PAGES == mapped + in small frames + reads on their way
 *                            + credit + strayed
 * and credit may fall a little below zero rather than let a fault wait whose
 * content is in RAM.
 *
 * All of it under the engine's lock, which stage() and sort_out() drop with
 * the block UNMAPPING. A copy of a few pages is made under the lock: it takes
 * less time than another state would.
 */
#ifndef HZ_ENGINE_PIECES_H
#define HZ_ENGINE_PIECES_H

#include "engine/engine.h"

/* In hz_xfer.tag: of a piece, the rest is the number of its record. */
#define HZ_TAG_PIECE (1u << 31)

enum hz_guess_kind {
	HZ_GUESS_NONE, /* somebody waits for it */
	HZ_GUESS_SEE,  /* read on a guess: its use is to be seen */
	HZ_GUESS_MAP   /* the same, as good as sure */
};

struct hz_piece_io {
	struct hz_xfer xfer;
	uint32_t block;
	uint32_t frame; /* a write's, else HZ_NONE */
	uint32_t next;	/* free list, HZ_NONE ends it */
	uint16_t first, n;
	uint8_t tries;
	bool orphan;	/* its block was freed */
	uint8_t guess;	/* enum hz_guess_kind */
	uint64_t asked; /* ns; when the fault was read */
};

/* ---- pieces.c: records and the budget ---- */
/* 64 bits of XXH3, never 0: two pages that differ look equal with probability
 * 2^-64. */
uint64_t hz_page_hash(const void *page);
bool hz_pieces_make_tables(struct hz_engine *e);
/* After fork, in the child: no transfer is in flight, no frame is there. */
void hz_pieces_adopt_all(struct hz_engine *e);
/* Is block b used in pieces now, or when it comes back? */
bool hz_pieces_in(const struct hz_engine *e, uint32_t b);
bool hz_pieces_wants(struct hz_engine *e, uint32_t b);
/* n pages to spend; false: something must be evicted first. `must`: lend a
 * frame whoever should give. */
bool hz_pieces_credit(struct hz_engine *e, unsigned n, bool must);
/* Credit that is not needed becomes room for frames again. */
void hz_pieces_return(struct hz_engine *e);
/* Is there too little credit for the next faults, when what may be lent is? */
bool hz_pieces_short(struct hz_engine *e);
/* Frames to keep free for whole blocks: fewer where pages are what is wanted.
 */
uint32_t hz_pieces_free_target(const struct hz_engine *e);
enum hz_share_class hz_pieces_giver(const struct hz_engine *e,
				    enum hz_share_class asks);
struct hz_piece_io *hz_piece_io_take(struct hz_engine *e, bool write);
void hz_piece_io_put(struct hz_engine *e, struct hz_piece_io *io);
/* Block b is freed: its transfers end for nobody. */
void hz_piece_io_orphan(struct hz_engine *e, uint32_t b);
/* The block has all its pages, or none, and nothing is on its way: RESIDENT,
 * STORED or ZERO, or it stays as it is, AWAY. */
void hz_pieces_settle(struct hz_engine *e, uint32_t b);
/* Huge pages for blocks that have all their pages. hz-engine; drops the
 * lock. */
void hz_pieces_collapse(struct hz_engine *e);

/* ---- pieces_in.c ---- */
/* A fault at `page` of a block in pieces, or of a STORED or ZERO block that
 * shall be: like hz_fill_fault(). */
void hz_pieces_fault(struct hz_engine *e, struct hz_worker *w, uint32_t b,
		     unsigned page, uint64_t now);
/* A write to a protected page of block b. */
void hz_pieces_guard(struct hz_engine *e, uint32_t b, unsigned page);
/* Serve what waits in block b; false: something still does. */
bool hz_pieces_serve(struct hz_engine *e, struct hz_worker *w, uint32_t b);
/* Read all that is missing of block b, which has a slot. */
bool hz_pieces_read_whole(struct hz_engine *e, struct hz_worker *w, uint32_t b);
/* Map again what is in the frame of block b. */
void hz_pieces_put_back(struct hz_engine *e, uint32_t b);
/* A page of a block in pieces, numbered through the region. */
static inline uint64_t hz_pieces_page(uint32_t b, unsigned page)
{
	return (uint64_t)b * HZ_BLOCK_PAGES + page;
}
/* Is the page in no memory of ours, nor on its way? */
bool hz_pieces_absent(const struct hz_pieces *p, unsigned page);
/* Map a copy of an absent page, which is what the slot has. False: there is no
 * memory. */
bool hz_pieces_map(struct hz_engine *e, uint32_t b, unsigned page, char *src);
/* Begin the read that io describes; false: it is given back. */
bool hz_pieces_submit_read(struct hz_engine *e, struct hz_worker *w,
			   struct hz_piece_io *io);
/* Are the pages at src what was written, as far as that is known? The hashes
 * tell later whether a page has changed. */
bool hz_pieces_take_hashes(struct hz_engine *e, uint32_t b, unsigned first,
			   unsigned n, const char *src);
void hz_pieces_read_done(struct hz_engine *e, struct hz_worker *w,
			 struct hz_piece_io *io, int res);
void hz_pieces_whole_done(struct hz_engine *e, uint32_t b, int res);

/* ---- pieces_out.c ---- */
/* A block in a frame (STAGED) whose range is scattered: stays there in
 * pieces. */
void hz_pieces_adopt(struct hz_engine *e, uint32_t b);
/* Are enough pages in frames, so that some should leave before more come? */
bool hz_pieces_enough(const struct hz_engine *e);
/* One step of eviction; drops the lock. False: nothing to do. hz-engine. */
bool hz_pieces_step(struct hz_engine *e, struct hz_worker *w);
/* Submit what found the queue full; also while a fork is near. True: some.
 * hz-engine. */
bool hz_pieces_write_on(struct hz_engine *e, struct hz_worker *w);
/* Until there is credit again. hz-engine; drops the lock. */
void hz_pieces_balance(struct hz_engine *e, struct hz_worker *w);
/* Out with all of block b, since somebody says so. hz-engine. */
bool hz_pieces_evict(struct hz_engine *e, struct hz_worker *w, uint32_t b);
void hz_pieces_write_done(struct hz_engine *e, struct hz_worker *w,
			  struct hz_piece_io *io, int res);
/* Nothing of it is in RAM any more, or only in its frame, and all is zero:
 * ZERO. */
void hz_pieces_all_zero(struct hz_engine *e, uint32_t b);
/* The block's content is forgotten: ZERO. */
void hz_pieces_drop(struct hz_engine *e, uint32_t b);
/* Its frame, which nothing is held in any more, is free; may drop the lock. */
void hz_pieces_free_frame(struct hz_engine *e, uint32_t b);
/* A transfer ended. */
void hz_pieces_done(struct hz_engine *e, struct hz_worker *w,
		    struct hz_xfer *x);

#endif
