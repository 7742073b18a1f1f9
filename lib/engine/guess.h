/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Pages that are read before they are wanted (policy/guess.h says which). One
 * whose use is to be seen comes to the copies of pages that left, the others
 * into their blocks. Without a place for copies there are no guesses.
 */
#ifndef HZ_ENGINE_GUESS_H
#define HZ_ENGINE_GUESS_H

#include "engine/pieces.h"

/* `page` of block b came, or is coming, out of the slot, alone. Lock held. */
void hz_guess_from(struct hz_engine *e, struct hz_worker *w, uint32_t b,
		   unsigned page);
/* The read of a guess ended. */
void hz_guess_done(struct hz_engine *e, struct hz_piece_io *io, int res);

#endif
