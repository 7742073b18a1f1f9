/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Guesses: which single pages will be wanted soon. Those that followed this one
 * when it was used the last time: a program that goes an irregular way goes it
 * again (words and their parts, the nodes of a graph, a table that is read by
 * the same keys). It is the Markov predictor of Joseph and Grunwald
 * ("Prefetching using Markov predictors", ISCA 1997), one successor a page.
 *
 * A page that is mapped before it is touched does not tell whether it ever was.
 * So guesses are put where a touch is seen, all of them at first; once half of
 * them are used, most are mapped, and some of them still tell.
 *
 * Pure data, no system call; the engine's lock.
 */
#ifndef HZ_GUESS_H
#define HZ_GUESS_H

#include <stdbool.h>
#include <stdint.h>
#include "base/util.h"

struct hz_guess {
	uint32_t *next; /* by page: 1 + the one used after it, 0 for none */
	uint32_t last;	/* likewise: the one used last */
	uint32_t seen, used; /* of those whose use is seen, of late */
	uint32_t turn;
};

/* Pages are numbered through the region; HZ_NONE and above are left out.
 * `next`: zeroed. */
void hz_guess_init(struct hz_guess *g, uint32_t *next);
/* The page is used: it follows the last one. */
void hz_guess_follow(struct hz_guess *g, uint64_t page);
/* What followed that page the last time, or HZ_NONE. */
uint32_t hz_guess_next(const struct hz_guess *g, uint64_t page);

/* Is it worth to guess? To be asked once a miss: now and then it is tried all
 * the same. */
bool hz_guess_worth(struct hz_guess *g);
/* A page comes by a guess. True: it is to be mapped; false: its use is to be
 * seen, and hz_guess_right() called then. */
bool hz_guess_map(struct hz_guess *g);
void hz_guess_right(struct hz_guess *g);

#endif
