/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Leftovers: where copies of pages that left are, found by the hash of their
 * content. A copy that is used is given up, since the page is in RAM again;
 * else the oldest make room for a new one.
 *
 * A slot is a page. It holds one copy, or some smaller ones in its parts. Slots
 * age as a whole, from when the last copy came to them.
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

enum hz_leftover_list {
	HZ_LEFTOVER_AGE,   /* the oldest is the first; or next of the free */
	HZ_LEFTOVER_ROOMY, /* those with free parts */
	HZ_LEFTOVER_LISTS
};

struct hz_leftover {
	struct {
		uint32_t prev, next; /* slot + 1, or 0 */
	} link[HZ_LEFTOVER_LISTS];
	uint8_t used;	 /* parts that are taken, as bits */
	uint8_t unnamed; /* of these, whose content is being written */
	uint8_t guessed; /* nobody has used them yet */
};

struct hz_leftovers {
	uint64_t *name; /* by place: the hash, 0 for none */
	struct hz_leftover *slot;
	uint32_t *index; /* by part of the hash: place + 1, 0 for none */
	uint32_t slots, parts, mask;
	uint32_t fresh; /* slots from here on were never used */
	uint32_t free;	/* slot + 1, 0 for none */
	struct {
		uint32_t first, last; /* likewise */
	} list[HZ_LEFTOVER_LISTS];
};

/* Bytes of the tables for so many slots of so many parts. */
size_t hz_leftovers_bytes(uint32_t slots, uint32_t parts);
/* `mem`: zeroed, aligned for a uint64_t. slots >= 1; parts <= 8; slots *
 * parts <= 2^30. */
void hz_leftovers_init(struct hz_leftovers *l, void *mem, uint32_t slots,
		       uint32_t parts);

/* Places are numbered: slot * parts + part. */

/* A place to write a copy to, the caller's until it has a name: one that is
 * free, else those of the oldest slot are forgotten. HZ_NONE when all are being
 * written to. */
uint32_t hz_leftovers_take(struct hz_leftovers *l);
/* Would it be a free one? */
bool hz_leftovers_room(const struct hz_leftovers *l);
/* A place that was taken holds content of this hash (not 0) now. */
void hz_leftovers_name(struct hz_leftovers *l, uint32_t place, uint64_t hash,
		       bool guessed);
/* The place of that content, or HZ_NONE. */
uint32_t hz_leftovers_find(const struct hz_leftovers *l, uint64_t hash);
bool hz_leftovers_is_guessed(const struct hz_leftovers *l, uint32_t place);
/* A place that has a name is free. */
void hz_leftovers_free(struct hz_leftovers *l, uint32_t place);

#endif
