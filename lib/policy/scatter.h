/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Granularity: is a range used in scattered pieces, how much of a block to
 * bring in at a fault, which blocks in pieces to take pages from, and who
 * gives memory to whom.
 *
 * A stream enters a block at an end of it: a range whose faults lie anywhere
 * inside its blocks is scattered, and its blocks are refilled by the page. A
 * wrong guess costs little: faults in a row double the piece each time, and a
 * few doublings bring the whole block in; some blocks like that end the guess.
 *
 * A block in pieces has some of its pages mapped, the rest in its slot; those
 * that are all zero are nowhere, and cost no transfer. Under pressure it is
 * STAGED: all its pages are moved to a frame at once, and those
 * that the program touches are put back one by one (a soft fault, no I/O). So
 * every page tells how long it takes until it is used, which the kernel does
 * not. After the stay, pages whose gaps were short in the past are mapped
 * again, the others are written and freed. The border moves so that half of
 * what is left in frames goes.
 *
 * Zipf .99, rows of 400 bytes, half of them in RAM, simulated: 7.6 accesses a
 * miss by LRU, 7.0 by a clock with these stays alone, 8.3 so; 11.8 if all
 * frequencies were known.
 *
 * Pure data, no system call, no clock but the `now` given; the engine's lock.
 */
#ifndef HZ_SCATTER_H
#define HZ_SCATTER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "base/util.h"
#include "policy/page_map.h"

/* ---- ranges ---- */

/* The score of a range: zeroed at its birth. */
struct hz_scatter {
	int8_t score;
	bool scattered;
	uint32_t singles; /* pieces that continued nothing, less what streams
			   * weigh; at 0 the range is scattered no more */
};

/* A fault that waits for the store came at `page` of a whole block. */
void hz_scatter_fault(struct hz_scatter *s, unsigned page);
/* A fault in a block in pieces that continues no other, or one of those was
 * read from one end to the other after all. One pass over a range of so many
 * blocks (a checkpoint is saved) does not tell that the next uses are of that
 * kind: what singles have shown outweighs two passes, but no more. */
void hz_scatter_single(struct hz_scatter *s, uint32_t blocks);
void hz_scatter_streamed(struct hz_scatter *s);

/* Does a program spend its time waiting for pieces? Told once a second: by how
 * much the sum of their stalls (ns, of all threads) has grown, and the time
 * itself. True after ten seconds in a row with more than half of it. */
struct hz_hopeless {
	uint32_t seconds;
};
bool hz_hopeless(struct hz_hopeless *h, uint64_t stalled, uint64_t passed);

/* ---- blocks in pieces ---- */

enum hz_pieces_phase {
	HZ_PIECES_NONE,	   /* the block is not in pieces */
	HZ_PIECES_AWAY,	   /* no page is in RAM, and some are zero */
	HZ_PIECES_MAPPED,  /* no frame: its pages are mapped or stored */
	HZ_PIECES_STAGED,  /* some pages stay in a frame, to see if used */
	HZ_PIECES_WRITING, /* what was not used is on its way to the slot */
	HZ_PIECES_PHASES
};

/* A stream in a block. */
struct hz_run {
	uint16_t next; /* the page that would follow the last piece */
	uint8_t size;  /* pages of that */
	uint8_t count; /* pieces in a row, saturated; 0: none */
};

/* Threads that share a tensor are that many streams in a block. */
#define HZ_RUNS 4u

struct hz_pieces {
	struct hz_page_map here;    /* mapped */
	struct hz_page_map held;    /* the newest content is in the frame */
	struct hz_page_map frame;   /* pages that were moved to the frame */
	struct hz_page_map dirty;   /* WRITING: still to be written */
	struct hz_page_map zero;    /* if neither mapped nor held: it is all
				     * zero, and the slot may lack it */
	struct hz_page_map reading; /* a read of it is in flight */
	struct hz_page_map wanted;  /* a fault waits that nothing serves yet */
	uint32_t prev, next;	    /* links of the phase's list: block + 1 */
	uint32_t whole;		    /* frame that a read of all goes to, or
				     * HZ_NONE */
	uint16_t n_here, n_held;
	struct hz_run run[HZ_RUNS]; /* the last that went on is first */
	uint8_t phase;	   /* enum hz_pieces_phase */
	bool huge;	   /* the frame holds one huge page */
	bool failed;	   /* WRITING: a write failed */
	bool single;	   /* a read of all of it failed: pages alone */
	uint8_t rest;	   /* turns of the clock to pass over from now on */
	uint8_t skip;	   /* of these, still to come */
	bool guarded;	   /* mapped pages are protected: engine/guard.c */
	bool known;	   /* of a whole block, or in one's frame: `zero` and
			    * the hashes of pages tell what its slot has */
};

struct hz_pieces_list {
	uint32_t head, tail; /* block + 1, 0: empty */
	uint32_t count;
	uint64_t held; /* sum of n_held */
};

/* Of each page of a block: when it was unmapped last, and the gap between that
 * and the next use, averaged, as 8 * log2. Time is counted in faults. */
struct hz_page_use {
	uint16_t since[HZ_BLOCK_SIZE / HZ_PAGE_SIZE];
	uint8_t gap[HZ_BLOCK_SIZE / HZ_PAGE_SIZE];
};

struct hz_pieces_set {
	struct hz_pieces *of;	 /* by block */
	struct hz_page_use *use; /* likewise; touched for those in pieces */
	uint32_t tick;		 /* faults so far */
	uint32_t border;	 /* gap from which a page leaves, * 16 */
	struct hz_pieces_list list[HZ_PIECES_PHASES];
	uint64_t here; /* sum of n_here */
};

size_t hz_pieces_bytes(uint32_t blocks);
/* `mem`: zeroed, page aligned. */
void hz_pieces_init(struct hz_pieces_set *s, void *mem, uint32_t blocks);

/* A block enters (no page mapped, none held, none known to be zero) or
 * leaves. */
void hz_pieces_enter(struct hz_pieces_set *s, uint32_t b);
/* The same for one that had all its pages meanwhile and is `known`: so it
 * stays, with what is known of its pages' uses. */
void hz_pieces_enter_again(struct hz_pieces_set *s, uint32_t b);
void hz_pieces_leave(struct hz_pieces_set *s, uint32_t b);
/* To the end of another phase's list. */
void hz_pieces_phase(struct hz_pieces_set *s, uint32_t b,
		     enum hz_pieces_phase to);
/* Pages [first, first + n) are mapped now, or are not any more. A block that
 * was AWAY is MAPPED then. */
void hz_pieces_here(struct hz_pieces_set *s, uint32_t b, unsigned first,
		    unsigned n, bool here);
/* The same for pages whose content is in the frame. */
void hz_pieces_held(struct hz_pieces_set *s, uint32_t b, unsigned first,
		    unsigned n, bool held);

static inline uint32_t hz_pieces_first(const struct hz_pieces_set *s,
				       enum hz_pieces_phase phase)
{
	return s->list[phase].head - 1;
}

/* What to bring in for a fault at `page`: a piece that begins there, in pages;
 * HZ_BLOCK_PAGES: the whole block. To be called once a fault. */
unsigned hz_pieces_span(struct hz_pieces *p, unsigned page);

/* The block to stage next, or HZ_NONE; it is turned round the clock. */
uint32_t hz_pieces_pick(struct hz_pieces_set *s);
/* A stay of block b in its frame ends: it rests for longer when nearly all of
 * it was used meanwhile. */
void hz_pieces_stayed(struct hz_pieces_set *s, uint32_t b);
/* Should more pages be staged before any is taken? `all`: pages of the budget,
 * in whole blocks and in pieces. Fewer will do while faults wait. */
bool hz_pieces_sampling(const struct hz_pieces_set *s, uint64_t all,
			bool waiting);
/* A fault on pages [first, first + n), which were unmapped. */
void hz_pieces_used(struct hz_pieces_set *s, uint32_t b, unsigned first,
		    unsigned n);
/* Its mapped pages are moved to a frame. */
void hz_pieces_unmapped(struct hz_pieces_set *s, uint32_t b);
/* The stay is over: the held pages that should be mapped again, `most` at
 * most. */
struct hz_page_map hz_pieces_keep(struct hz_pieces_set *s, uint32_t b,
				  unsigned most);

/* ---- who gives ---- */

/* Stalls of faults on whole blocks and on pieces, halved each second. */
struct hz_share {
	uint64_t stall[2]; /* ns; blocks, pieces */
	uint64_t sum[2];   /* the same, never halved */
	uint64_t since;	   /* of the last halving */
};

enum hz_share_class {
	HZ_SHARE_BLOCKS,
	HZ_SHARE_PIECES,
	HZ_SHARE_CLASSES,
	HZ_SHARE_NONE = HZ_SHARE_CLASSES
};

void hz_share_stall(struct hz_share *s, enum hz_share_class c, uint64_t ns,
		    uint64_t now);
/* Memory is short for `asks`, and the two have so many pages of memory: who
 * gives? The one whose memory saves less time, a page of it; in doubt who
 * asks. */
enum hz_share_class hz_share_gives(const struct hz_share *s,
				   enum hz_share_class asks, uint64_t blocks,
				   uint64_t pieces);

#endif
