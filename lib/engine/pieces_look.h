/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What of a frame has changed since its slot was written, page by page. No
 * lock: the frame is the caller's alone.
 */
#ifndef HZ_ENGINE_PIECES_LOOK_H
#define HZ_ENGINE_PIECES_LOOK_H

#include <stdint.h>
#include "policy/page_map.h"

/* Zeroed before. A page of zeros is never dirty and has no hash: what the slot
 * has for it does not count any more. */
struct hz_pieces_look {
	struct hz_page_map dirty, zero;
	uint64_t hash[HZ_BLOCK_PAGES];
};

/* These pages of the frame at mem, by the hashes that the slot's pages are
 * known to have, 0 for not known. */
void hz_pieces_look(const char *mem, const struct hz_page_map *pages,
		    const uint64_t *known, struct hz_pieces_look *l);
/* All of them, of a block that was in no pieces before; stored[]: the hash of
 * its whole slot, two zeros for none. */
void hz_pieces_look_whole(const char *mem, const uint64_t stored[2],
			  struct hz_pieces_look *l);

#endif
