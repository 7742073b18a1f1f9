/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Leftovers: which slots hold copies of pages that left, found by the hash of
 * their content. A copy that is used is given up, since the page is in RAM
 * again; else the oldest makes room for a new one.
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

struct hz_leftover {
	uint64_t name;	     /* the hash, 0 for none */
	uint32_t prev, next; /* of the named, by age, or of the free: slot + 1,
			      * 0 for none */
	bool guessed;	     /* nobody has used it yet */
};

struct hz_leftovers {
	struct hz_leftover *slot;
	uint32_t *index; /* by part of the hash: slot + 1, 0 for none */
	uint32_t slots, mask;
	uint32_t fresh;		 /* slots from here on were never used */
	uint32_t free;		 /* slot + 1, 0 for none */
	uint32_t oldest, newest; /* likewise */
};

/* Bytes of the tables for so many slots. */
size_t hz_leftovers_bytes(uint32_t slots);
/* `mem`: zeroed, aligned for a uint64_t. slots >= 1. */
void hz_leftovers_init(struct hz_leftovers *l, void *mem, uint32_t slots);

/* A slot to write a copy to, the caller's until it has a name or is freed: one
 * that is free, else the oldest copy's. HZ_NONE when all are taken so. */
uint32_t hz_leftovers_take(struct hz_leftovers *l);
/* A slot that was taken holds content of this hash (not 0) now. */
void hz_leftovers_name(struct hz_leftovers *l, uint32_t slot, uint64_t hash,
		       bool guessed);
/* The slot that holds it, or HZ_NONE. */
uint32_t hz_leftovers_find(const struct hz_leftovers *l, uint64_t hash);
/* A slot that has a name is free. */
void hz_leftovers_free(struct hz_leftovers *l, uint32_t slot);

#endif
