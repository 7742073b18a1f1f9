/* SPDX-License-Identifier: Apache-2.0 */
/*
 * See pieces_look.h.
 */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif
#include "engine/pieces_look.h"

#include "checksum.h"
#include "engine/pieces.h"

static void look_at(const char *mem, unsigned i, struct hz_pieces_look *l)
{
	const char *page = mem + i * HZ_PAGE_SIZE;

	if (hz_is_zero(page, HZ_PAGE_SIZE))
		hz_pmap_add(&l->zero, i);
	else
		l->hash[i] = hz_page_hash(page);
}

void hz_pieces_look(const char *mem, const struct hz_page_map *pages,
		    const uint64_t *known, struct hz_pieces_look *l)
{
	for (unsigned i = hz_pmap_next(pages, 0, true); i < HZ_BLOCK_PAGES;
	     i = hz_pmap_next(pages, i + 1, true)) {
		look_at(mem, i, l);
		if (l->hash[i] && l->hash[i] != known[i])
			hz_pmap_add(&l->dirty, i);
	}
}

static bool is_stored(const char *mem, const uint64_t stored[2])
{
	uint64_t hash[2];

	if (!stored[0] && !stored[1])
		return false;
	hz_checksum(mem, HZ_BLOCK_SIZE, hash);
	return hash[0] == stored[0] && hash[1] == stored[1];
}

void hz_pieces_look_whole(const char *mem, const uint64_t stored[2],
			  struct hz_pieces_look *l)
{
	for (unsigned i = 0; i < HZ_BLOCK_PAGES; i++)
		look_at(mem, i, l);
	if (is_stored(mem, stored))
		return;
	hz_pmap_fill(&l->dirty, 0, HZ_BLOCK_PAGES, true);
	l->dirty = hz_pmap_without(&l->dirty, &l->zero);
}
