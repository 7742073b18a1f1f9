/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Blocks in pieces: records, the budget they share with the frames, and the
 * way back to a whole block.
 */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif
#include <string.h>
#include <sys/mman.h>

#include "backend/uffd_abi.h"
#include "base/os.h"
#include "base/stats.h"
#include "checksum.h"
#include "engine/pieces.h"

#define READS	   64u
#define WRITES	   256u
#define READ_BYTES ((size_t)64 << 10)
/* The buffers of the reads, in huge pages. */
#define BUFFERS ((uint32_t)(READS * READ_BYTES >> HZ_BLOCK_SHIFT))
/* Frames that pieces may always have. */
#define LENT_LEAST 2u
#define COLLAPSE   64u

/* Guarded by the engine's lock. */
static struct {
	struct hz_piece_io io[READS + WRITES];
	uint32_t reads, writes; /* heads of the free lists */
	char *buffers;
	uint32_t paid; /* huge pages of the buffers that count in e->pages */
	uint32_t collapse[COLLAPSE]; /* blocks to be made huge */
	unsigned collapses;
} pool;

/* ---- records ---- */

static void free_list(uint32_t first, uint32_t n, uint32_t *head)
{
	*head = first;
	for (uint32_t i = first; i < first + n; i++)
		pool.io[i] = (struct hz_piece_io){
			.next = i + 1 < first + n ? i + 1 : HZ_NONE,
			.block = HZ_NONE,
			.xfer.tag = HZ_TAG_PIECE | i};
}

static void init_pool(void)
{
	free_list(0, READS, &pool.reads);
	free_list(READS, WRITES, &pool.writes);
	pool.collapses = 0;
}

bool hz_pieces_make_tables(struct hz_engine *e)
{
	void *mem = hz_os_reserve(hz_pieces_bytes(e->blocks));
	uint32_t *next;

	e->page_hash = hz_os_reserve((size_t)e->blocks * sizeof(*e->page_hash));
	next = hz_os_reserve((size_t)e->blocks * HZ_BLOCK_PAGES *
			     sizeof(*next));
	pool.buffers = hz_os_reserve(READS * READ_BYTES);
	init_pool();
	if (!mem || !e->page_hash || !next || !pool.buffers)
		return false;
	hz_guess_init(&e->guess, next);
	hz_pieces_init(&e->pieces, mem, e->blocks);
	return true;
}

struct hz_piece_io *hz_piece_io_take(struct hz_engine *e, bool write)
{
	uint32_t *head = write ? &pool.writes : &pool.reads, i = *head;
	struct hz_piece_io *io;

	if (i == HZ_NONE)
		return NULL;
	io = &pool.io[i];
	*head = io->next;
	io->tries = 0;
	io->guess = HZ_GUESS_NONE;
	io->orphan = false;
	if (!write)
		io->xfer.buf = pool.buffers + i * READ_BYTES;
	return io;
}

void hz_piece_io_put(struct hz_engine *e, struct hz_piece_io *io)
{
	uint32_t i = (uint32_t)(io - pool.io);
	uint32_t *head = i < READS ? &pool.reads : &pool.writes;

	io->block = HZ_NONE;
	io->next = *head;
	*head = i;
}

void hz_piece_io_orphan(struct hz_engine *e, uint32_t b)
{
	for (unsigned i = 0; i < READS + WRITES; i++)
		if (pool.io[i].block == b)
			pool.io[i].orphan = true;
}

void hz_pieces_done(struct hz_engine *e, struct hz_worker *w, struct hz_xfer *x)
{
	struct hz_piece_io *io = &pool.io[x->tag & ~HZ_TAG_PIECE];

	if (x->write)
		hz_pieces_write_done(e, w, io, x->res);
	else
		hz_pieces_read_done(e, w, io, x->res);
}

uint64_t hz_page_hash(const void *page)
{
	uint64_t h[2];

	hz_checksum(page, HZ_PAGE_SIZE, h);
	return h[0] ? h[0] : 1;
}

/* ---- which blocks ---- */

bool hz_pieces_in(const struct hz_engine *e, uint32_t b)
{
	return e->pieces.of[b].phase != HZ_PIECES_NONE;
}

/* By what owns most of it: the first range found. */
bool hz_pieces_wants(struct hz_engine *e, uint32_t b)
{
	struct hz_range *r = NULL;

	/* Without it nobody knows what a frame of single pages holds. */
	if (e->pagemap < 0)
		return false;
	for (uint32_t u = 0; !r && u < HZ_UNITS_PER_BLOCK; u++)
		r = hz_range_at(e->ranges, b * HZ_UNITS_PER_BLOCK + u);
	return r && r->scatter.scattered;
}

/* ---- the budget ---- */

static uint64_t lent_pages(const struct hz_engine *e)
{
	return (uint64_t)e->lent * HZ_BLOCK_PAGES;
}

enum hz_share_class hz_pieces_giver(const struct hz_engine *e,
				    enum hz_share_class asks)
{
	uint64_t pieces = lent_pages(e);
	uint64_t all = (uint64_t)e->pages * HZ_BLOCK_PAGES;

	if (e->lent <= LENT_LEAST)
		return HZ_SHARE_BLOCKS;
	return hz_share_gives(&e->share, asks,
			      all > pieces ? all - pieces : 0, pieces);
}

uint32_t hz_pieces_free_target(const struct hz_engine *e)
{
	const uint64_t *stall = e->share.stall;
	uint64_t all = stall[HZ_SHARE_BLOCKS] + stall[HZ_SHARE_PIECES];
	uint32_t least = hz_min(e->free_target, LENT_LEAST);

	if (e->lent <= LENT_LEAST || !all)
		return e->free_target;
	return least + (uint32_t)((e->free_target - least) *
				  stall[HZ_SHARE_BLOCKS] / all);
}

/* The memory of a huge page: one more while the budget has room, else a free
 * frame's. */
static bool take_page(struct hz_engine *e, bool must)
{
	bool zeros;
	uint32_t f;

	if (e->pages < e->cap) {
		e->pages++;
	} else {
		if (!must && hz_free_frames(e) <= hz_pieces_free_target(e) &&
		    e->pages <= e->cap &&
		    hz_pieces_giver(e, HZ_SHARE_PIECES) != HZ_SHARE_BLOCKS)
			return false;
		f = hz_frame_take(e, false, &zeros);
		if (f == HZ_NONE)
			return false;
		hz_os_discard(hz_frame_addr(e, f), HZ_BLOCK_SIZE);
		hz_frame_set(e, f, HZ_FRAME_EMPTY);
	}
	return true;
}

static bool lend(struct hz_engine *e, bool must)
{
	if (!take_page(e, must))
		return false;
	e->lent++;
	e->credit += (int32_t)HZ_BLOCK_PAGES;
	return true;
}

/* Pages ready for faults to come: the more are in use the more come. */
static int32_t credit_target(const struct hz_engine *e)
{
	uint64_t n = hz_max(e->pieces.here / 32, (uint64_t)64);

	return (int32_t)hz_min(n, (uint64_t)1024) +
	       (int32_t)hz_min(e->waiting_pieces, 64u);
}

bool hz_pieces_credit(struct hz_engine *e, unsigned n, bool must)
{
	for (; pool.paid < BUFFERS; pool.paid++)
		if (!take_page(e, must))
			return false;
	while (e->credit < (int32_t)n)
		if (!lend(e, must))
			return false;
	/* hz-engine makes more before it is needed. */
	if (e->credit < credit_target(e))
		hz_engine_kick(&e->writer);
	return true;
}

bool hz_pieces_short(struct hz_engine *e)
{
	const struct hz_pieces_list *l = e->pieces.list;
	int32_t want = credit_target(e);

	if (!l[HZ_PIECES_MAPPED].count && !l[HZ_PIECES_STAGED].count &&
	    !e->waiting_pieces)
		return false;
	if (hz_pieces_credit(e, (unsigned)want, false))
		return false;
	return e->credit + (int64_t)l[HZ_PIECES_WRITING].held < want;
}

void hz_pieces_return(struct hz_engine *e)
{
	int32_t keep = credit_target(e) + (int32_t)HZ_BLOCK_PAGES;

	if (!e->pieces.here)
		keep = (int32_t)HZ_BLOCK_PAGES;
	else if (hz_free_frames(e) >= hz_pieces_free_target(e))
		return;
	while (e->lent && e->credit >= keep) {
		e->credit -= (int32_t)HZ_BLOCK_PAGES;
		e->lent--;
		e->pages--;
	}
}

/* ---- back to a whole block ---- */

static void become_resident(struct hz_engine *e, uint32_t b)
{
	struct hz_block *blk = &e->blk[b];

	hz_pieces_leave(&e->pieces, b);
	e->pieces.of[b].known = true;
	if (!hz_pieces_credit(e, 0, true) || !e->lent) {
		/* An overdraft, and nothing to lend: above the budget. */
		e->lent++;
		e->pages++;
		e->credit += (int32_t)HZ_BLOCK_PAGES;
	}
	e->lent--; /* its pages count as a block's again */
	blk->hash[0] = blk->hash[1] = 0;
	hz_block_set(&e->totals, blk, HZ_BLK_RESIDENT);
	hz_engine_used(e, b, HZ_ACCESS_DEMAND, hz_os.now());
	if (pool.collapses < COLLAPSE)
		pool.collapse[pool.collapses++] = b;
}

static void nothing_here(struct hz_engine *e, uint32_t b)
{
	unsigned zero = hz_pmap_count(&e->pieces.of[b].zero);

	if (zero == HZ_BLOCK_PAGES) {
		hz_pieces_all_zero(e, b);
	} else if (zero) {
		hz_pieces_phase(&e->pieces, b, HZ_PIECES_AWAY);
	} else {
		hz_pieces_leave(&e->pieces, b);
		hz_block_set(&e->totals, &e->blk[b], HZ_BLK_STORED);
	}
}

void hz_pieces_settle(struct hz_engine *e, uint32_t b)
{
	struct hz_pieces *p = &e->pieces.of[b];
	struct hz_block *blk = &e->blk[b];

	if (blk->state != HZ_BLK_PIECES)
		return;
	if (p->phase == HZ_PIECES_STAGED && !p->n_held) {
		hz_pieces_stayed(&e->pieces, b);
		hz_pieces_free_frame(e, b);
	}
	if (blk->state != HZ_BLK_PIECES || p->phase != HZ_PIECES_MAPPED ||
	    p->whole != HZ_NONE || !hz_pmap_empty(&p->reading))
		return;
	if (p->n_here == HZ_BLOCK_PAGES) {
		become_resident(e, b);
	} else if (!p->n_here && !(blk->flags & HZ_BLKF_WAITING)) {
		nothing_here(e, b);
	} else {
		return;
	}
	pthread_cond_broadcast(&e->changed);
}

void hz_pieces_collapse(struct hz_engine *e)
{
	while (pool.collapses) {
		uint32_t b = pool.collapse[--pool.collapses];

		if (e->blk[b].state != HZ_BLK_RESIDENT)
			continue;
		hz_unlock(&e->lock);
		hz_os.madvise(hz_block_addr(e, b), HZ_BLOCK_SIZE,
			      MADV_COLLAPSE);
		hz_lock(&e->lock);
	}
}

/* ---- fork ---- */

void hz_pieces_adopt_all(struct hz_engine *e)
{
	init_pool();
	e->waiting_pieces = 0;
	e->strayed = 0;
	for (uint32_t b = 0; b < e->blocks_used; b++) {
		struct hz_pieces *p = &e->pieces.of[b];

		if (p->phase == HZ_PIECES_NONE)
			continue;
		memset(&p->reading, 0, sizeof(p->reading));
		memset(&p->wanted, 0, sizeof(p->wanted));
		p->whole = HZ_NONE;
	}
	e->lent = (uint32_t)((e->pieces.here + HZ_BLOCK_PAGES - 1) /
			     HZ_BLOCK_PAGES);
	e->credit = (int32_t)(lent_pages(e) - e->pieces.here);
	e->pages += e->lent + pool.paid;
}
