/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A block: 2 MiB of the region. The state machine is the table in
 * block_states.def; hz_block_set() is the only writer of `state`.
 *
 *        first touch                    evict
 *   ZERO ----------> FILLING --> RESIDENT ----> UNMAPPING --> STAGED
 *    ^                  ^  ^         ^  ^                        |
 *    | all zero         |  |         |  +-- touched (MAPPING) ---+
 *    +------------------|--|---------|---------------------- HASHING
 *                       |  |         |        equal to the slot  | changed
 *    STORED -- fault ---|--+         |      STORED <-------------+
 *      |                |            |        ^                  v
 *      +-- prefetch --> READING --> READY     +------------ WRITING
 *
 * Of a range that is used all over, STORED blocks become PIECES at a fault and
 * RESIDENT ones when they are to leave; see policy/scatter.h.
 *
 * A map of a file has FILED blocks in the place of ZERO ones: like STORED, but
 * in the file, and back there as long as nothing was changed.
 *
 * Content of a block is in exactly one place that counts: nowhere (ZERO,
 * DEAD), mapped pages (RESIDENT), a frame (STAGED HASHING WRITING READY), the
 * slot (STORED READING) or a file (FILED READING). A READY block's slot holds
 * the same bytes. For
 * PIECES this is true page by page.
 *
 * Pure data: no system call, no lock of its own. The engine's lock guards
 * every field.
 */
#ifndef HZ_BLOCK_H
#define HZ_BLOCK_H

#include <stdbool.h>
#include <stdint.h>
#include "base/util.h"

enum hz_block_state {
#define HZ_BLOCK_STATE(id_, text_) HZ_BLK_##id_,
#define HZ_BLOCK_EDGE(from_, to_, why_)
#include "policy/block_states.def"
#undef HZ_BLOCK_EDGE
#undef HZ_BLOCK_STATE
	HZ_BLK_STATES
};

/* Flags, beside the state. */
enum {
	HZ_BLKF_WANTED = 1 << 0,  /* a thread of the program waits for it */
	HZ_BLKF_STICKY = 1 << 1,  /* mlock: never evict */
	HZ_BLKF_PINNED = 1 << 2,  /* MOVE said EBUSY lately */
	HZ_BLKF_SLOT = 1 << 3,	  /* slot and hash are valid: a copy exists */
	HZ_BLKF_DEMAND = 1 << 4,  /* READING: begun by a fault */
	HZ_BLKF_WAITING = 1 << 5, /* on the list of faults without a frame */
	HZ_BLKF_ON_DEAD = 1 << 6, /* on the ring of dead blocks */
	HZ_BLKF_NO_ACCESS = 1 << 7, /* unmapped by the program: PROT_NONE */
};

/* hash[0] with hash[1] == 0: the slot was written in pieces, and may even be
 * all zero. */
#define HZ_HASH_ANY 1u

struct hz_block {
	uint8_t state; /* enum hz_block_state; hz_block_set() only */
	uint8_t flags;
	uint16_t fork_gen; /* generation of its last mapping; see fork.c */
	uint32_t frame;	   /* HZ_NONE or the frame that holds the content */
	uint32_t slot;	   /* HZ_NONE or its place in the store */
	uint32_t wait_next; /* link of the waiting list */
	uint32_t departed_at; /* huge pages that had left when it did */
	uint64_t hash[2];   /* of the slot's content; valid with _SLOT; two
			     * zeros: it was not computed */
	uint64_t wanted_ns; /* when the oldest waiting fault was read */
	uint16_t changed;   /* times in a row that it left changed */
	bool waits_in_pieces; /* how it entered the waiting list */
	bool freed_again; /* since it came onto the ring of dead blocks */
	bool guarded; /* as it was at a fork; hz_block_guard() only */
};

/* Totals by state; each is changed only by hz_block_set(). */
struct hz_block_totals {
	uint64_t count[HZ_BLK_STATES];
	uint32_t guarded;
};

const char *hz_block_state_name(enum hz_block_state state);
bool hz_block_may(enum hz_block_state from, enum hz_block_state to);

/* Change the state; a transition that the table does not list aborts in
 * HZ_DEBUG builds and is logged otherwise. */
void hz_block_set(struct hz_block_totals *totals, struct hz_block *block,
		  enum hz_block_state to);

/* Its content is, or is not any more, what it was when a relative was forked:
 * see engine/guard.c. hz_block_set() ends it where that cannot be. */
void hz_block_guard(struct hz_block_totals *totals, struct hz_block *block,
		    bool guarded);

/* Is it mapped, and protected from writes? */
static inline bool hz_block_is_shared(const struct hz_block *block)
{
	return block->guarded && block->state == HZ_BLK_RESIDENT;
}

void hz_block_init(struct hz_block *block);

#endif
