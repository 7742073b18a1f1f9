/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Copies of pages in pieces that left. Without a cgroup, and so a headroom
 * below its limit, there are none.
 *
 * Whole ones lie in the headroom, in memory that the kernel may take back at
 * any moment without asking us or the disk (MADV_FREE, Linux 4.5): they save
 * reads for as long as nobody needs it. The kernel takes single pages, which
 * read as zeros from then on, perhaps in the middle of a copy: so what is taken
 * out of here is compared by its hash, and counts only if it is what its name
 * says. They are no part of the budget: the kernel counts them as cache of
 * files, which the budget does not count as used by others.
 *
 * Pages of which little is not zero are packed (policy/pack.h): eight take one
 * page of memory, which is worth to be had for sure. That is ordinary memory,
 * and the budget is smaller by what is used of it.
 */
#ifndef HZ_ENGINE_LEFTOVERS_H
#define HZ_ENGINE_LEFTOVERS_H

#include "engine/engine.h"

/* hz-aux, before the other threads. Without memory there are no copies. */
void hz_leftovers_start(void);

/* Keep copies of these pages of a frame, of these hashes (0: not of this one),
 * where there is a place for copies; `room`: of whole ones only while there is
 * room. Drops the lock. hz-engine. */
void hz_leftovers_keep(struct hz_engine *e, const char *frame,
		       const struct hz_page_map *pages, const uint64_t *hash,
		       bool room);

/* Bytes of the memory that packed copies take; 0 if there are none. Lock
 * held, likewise below. */
uint64_t hz_leftovers_packed(void);
/* Give that memory back. Not while hz-engine keeps some. hz-engine, or before
 * it runs. */
void hz_leftovers_give_up(void);
/* The same if no packed copy was used since this was called. hz-engine. */
void hz_leftovers_decay(void);

/* Is there a copy of that name? */
bool hz_leftovers_has(uint64_t hash);
/* The copy, to `page`, which it is not any more; false: there is none, or the
 * kernel has taken it. *guessed: it was added as such. */
bool hz_leftovers_get(uint64_t hash, char *page, bool *guessed);

/* Is there a place for copies? */
bool hz_leftovers_any(void);
/* Keep a page that was never used. */
void hz_leftovers_add(uint64_t hash, const char *page, bool guessed);

#endif
