/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The end of a transfer: is what was read what it should be, and who waits for
 * it?
 *
 * Runs in the thread whose queue it was, under the engine's lock, which is
 * dropped while content is checked.
 */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif
#include <errno.h>

#include "base/knobs.h"
#include "base/os.h"
#include "base/stats.h"
#include "checksum.h"
#include "engine/engine.h"
#include "engine/file_map.h"
#include "engine/pieces.h"

/* Reads of one block before its content counts as lost. */
#define READ_TRIES 3

/* Is it what was written? Blocks of zeros are never written, so a hole in the
 * store (a file that was cut and grew again, a trimmed device) is known at
 * its first byte; anything else takes the knob `verify`. Drops the lock; the
 * block stays READING meanwhile. */
static bool verified(struct hz_engine *e, struct hz_block *blk, uint32_t f)
{
	uint64_t expect[2] = {blk->hash[0], blk->hash[1]};
	uint64_t got[2] = {expect[0], expect[1]};
	const char *mem = hz_frame_addr(e, f);
	bool hole;

	if (expect[0] == HZ_HASH_ANY && !expect[1])
		return true;
	hz_unlock(&e->lock);
	hole = hz_is_zero(mem, HZ_BLOCK_SIZE);
	if (hz_knobs.verify && !hole)
		hz_checksum(mem, HZ_BLOCK_SIZE, got);
	hz_lock(&e->lock);
	return !hole && got[0] == expect[0] && got[1] == expect[1];
}

/* The block was freed while the transfer ran. A thread may have touched it
 * just before (its fault was read, and forgotten with the block): it looks
 * again. */
void hz_fill_orphan(struct hz_engine *e, uint32_t f)
{
	e->fault->wake(e->uffd, hz_block_addr(e, e->frame[f].block),
		       HZ_BLOCK_SIZE);
	hz_frame_set(e, f, HZ_FRAME_FREE);
	pthread_cond_broadcast(&e->changed);
}

/* The slot may be as good as ever: nobody's wish is dropped, a waiting
 * thread's is tried again before the block is given up. */
static void read_failed(struct hz_engine *e, struct hz_worker *w, uint32_t f,
			int res)
{
	struct hz_frame *fr = &e->frame[f];
	uint32_t b = fr->block;
	struct hz_block *blk = &e->blk[b];
	unsigned tries = fr->tries + 1u;

	blk->frame = HZ_NONE;
	hz_frame_set(e, f, HZ_FRAME_FREE);
	if (!(blk->flags & HZ_BLKF_WANTED)) {
		hz_plan_forget(e->plan, b);
		hz_block_set(&e->totals, blk, hz_file_home(e, b));
		pthread_cond_broadcast(&e->changed);
		return;
	}
	if (tries < READ_TRIES && res != -EBADMSG) {
		bool zeros;
		uint32_t again = hz_frame_take(e, false, &zeros);

		hz_block_set(&e->totals, blk, hz_file_home(e, b));
		if (again != HZ_NONE && hz_fill_start(e, w, b, again)) {
			e->frame[again].tries = (uint8_t)tries;
			return;
		}
		hz_block_set(&e->totals, blk, HZ_BLK_READING);
	}
	hz_fill_lost(e, b, res, "read");
}

/* Its file was cut: the kernel knows best what is still there of it. */
static void cut_short(struct hz_engine *e, uint32_t b)
{
	struct hz_block *blk = &e->blk[b];
	int rc;

	hz_frame_set(e, blk->frame, HZ_FRAME_FREE);
	blk->frame = HZ_NONE;
	hz_block_set(&e->totals, blk, HZ_BLK_UNMAPPING);
	rc = hz_file_to_kernel(e, b);
	if (rc < 0)
		hz_fill_lost(e, b, rc, "mapping");
}

/* Is what was read what it should be? Drops the lock. */
static int check(struct hz_engine *e, uint32_t f, int res)
{
	struct hz_frame *fr = &e->frame[f];

	if (res == 0 && !fr->orphan && fr->xfer.fd)
		res = hz_file_check(e, fr->block, &fr->xfer);
	else if (res == 0 && !fr->orphan &&
		 !verified(e, &e->blk[fr->block], f))
		res = -EBADMSG;
	hz_file_xfer_done(e, &fr->xfer);
	return res;
}

static void read_done(struct hz_engine *e, struct hz_worker *w, uint32_t f,
		      int res)
{
	struct hz_frame *fr = &e->frame[f];
	uint32_t b = fr->block;
	struct hz_block *blk = &e->blk[b];

	if (!fr->xfer.fd)
		hz_stat_add(HZ_STAT_store_read, HZ_BLOCK_SIZE);
	if (!fr->orphan && hz_pieces_in(e, b) && e->pieces.of[b].whole == f) {
		hz_pieces_whole_done(e, b, res);
		return;
	}
	res = check(e, f, res);
	if (fr->orphan) {
		hz_fill_orphan(e, f);
		return;
	}
	if (res == -ENODATA) {
		cut_short(e, b);
		return;
	}
	if (res < 0) {
		hz_stat_add(HZ_STAT_store_errors, 1);
		read_failed(e, w, f, res);
		return;
	}
	hz_block_set(&e->totals, blk, HZ_BLK_READY);
	if (!(blk->flags & HZ_BLKF_WANTED)) {
		pthread_cond_broadcast(&e->changed);
		return;
	}
	hz_fill_moved_in(HZ_BLOCK_SIZE);
	hz_fill_map(e, b, false);
}

void hz_fill_done(struct hz_engine *e, struct hz_worker *w, struct hz_xfer *x)
{
	uint64_t now = hz_os.now();
	uint32_t f = x->tag;
	bool write = x->write;

	w->inflight--;
	if (f & HZ_TAG_PIECE) {
		hz_pieces_done(e, w, x);
		return;
	}
	e->frame[f].io = false;
	hz_plan_transfer(e->plan, now - e->frame[f].began,
			 e->reader.inflight + e->writer.inflight, now);
	if (write)
		hz_evict_done(e, f, x->res);
	else
		read_done(e, w, f, x->res);
}
