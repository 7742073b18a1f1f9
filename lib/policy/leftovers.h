/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Leftovers: which slots of a ring hold copies of pages that left, found by
 * the hash of their content. Oldest first, they are written over.
 *
 * A name tells the content, not the place: whatever happens to the page, the
 * block or the range meanwhile, a copy is never stale, only not asked for.
 *
 * Pure data, no system call; the engine's lock.
 */
#ifndef HZ_LEFTOVERS_H
#define HZ_LEFTOVERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "base/util.h"

struct hz_leftovers {
	uint64_t *name;	 /* by slot: the hash, 0 for none */
	uint32_t *index; /* by part of the hash: slot + 1, 0 for none */
	bool *guessed;	 /* by slot: nobody has used it yet */
	uint32_t slots, mask;
	uint32_t hand; /* the next slot to be written over */
};

/* Bytes of the tables for so many slots. */
size_t hz_leftovers_bytes(uint32_t slots);
/* `mem`: zeroed, aligned for a uint64_t. slots >= 1. */
void hz_leftovers_init(struct hz_leftovers *l, void *mem, uint32_t slots);

/* The next n slots in a row, fewer at the ring's end, from *first on: what they
 * held is forgotten, and the caller may write to them. Returns how many. */
uint32_t hz_leftovers_take(struct hz_leftovers *l, uint32_t n, uint32_t *first);
/* The slot holds content of this hash (not 0) now. */
void hz_leftovers_name(struct hz_leftovers *l, uint32_t slot, uint64_t hash,
		       bool guessed);
/* The slot that holds it, or HZ_NONE. */
uint32_t hz_leftovers_find(const struct hz_leftovers *l, uint64_t hash);
/* It does not any more. */
void hz_leftovers_forget(struct hz_leftovers *l, uint32_t slot);

#endif
