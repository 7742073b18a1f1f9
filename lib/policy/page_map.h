/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A bit for each page of a block. Pure; the caller's lock guards it.
 */
#ifndef HZ_PAGE_MAP_H
#define HZ_PAGE_MAP_H

#include <stdbool.h>
#include <stdint.h>
#include "base/util.h"

#define HZ_BLOCK_PAGES ((unsigned)(HZ_BLOCK_SIZE / HZ_PAGE_SIZE))

struct hz_page_map {
	uint64_t word[HZ_BLOCK_SIZE / HZ_PAGE_SIZE / 64];
};

static inline bool hz_pmap_has(const struct hz_page_map *m, unsigned page)
{
	return m->word[page / 64] >> (page % 64) & 1;
}

static inline void hz_pmap_add(struct hz_page_map *m, unsigned page)
{
	m->word[page / 64] |= 1ull << (page % 64);
}

static inline void hz_pmap_remove(struct hz_page_map *m, unsigned page)
{
	m->word[page / 64] &= ~(1ull << (page % 64));
}

static inline unsigned hz_pmap_count(const struct hz_page_map *m)
{
	unsigned n = 0;

	for (unsigned i = 0; i < hz_array_len(m->word); i++)
		n += (unsigned)__builtin_popcountll(m->word[i]);
	return n;
}

static inline bool hz_pmap_empty(const struct hz_page_map *m)
{
	uint64_t any = 0;

	for (unsigned i = 0; i < hz_array_len(m->word); i++)
		any |= m->word[i];
	return !any;
}

/* a and not b. */
static inline struct hz_page_map hz_pmap_without(const struct hz_page_map *a,
						 const struct hz_page_map *b)
{
	struct hz_page_map m;

	for (unsigned i = 0; i < hz_array_len(m.word); i++)
		m.word[i] = a->word[i] & ~b->word[i];
	return m;
}

static inline struct hz_page_map hz_pmap_both(const struct hz_page_map *a,
					      const struct hz_page_map *b)
{
	struct hz_page_map m;

	for (unsigned i = 0; i < hz_array_len(m.word); i++)
		m.word[i] = a->word[i] & b->word[i];
	return m;
}

static inline struct hz_page_map hz_pmap_either(const struct hz_page_map *a,
						const struct hz_page_map *b)
{
	struct hz_page_map m;

	for (unsigned i = 0; i < hz_array_len(m.word); i++)
		m.word[i] = a->word[i] | b->word[i];
	return m;
}

/* The first page >= `page` whose bit is `set`; HZ_BLOCK_PAGES: none. */
unsigned hz_pmap_next(const struct hz_page_map *m, unsigned page, bool set);

/* The next run of set bits from `from` on: its first page and, in *n, its
 * length; 0 pages when there is none. */
unsigned hz_pmap_run(const struct hz_page_map *m, unsigned from, unsigned *n);

/* Set or clear [first, first + n). */
void hz_pmap_fill(struct hz_page_map *m, unsigned first, unsigned n, bool set);

#endif
