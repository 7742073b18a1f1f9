/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Runs of pages in a block.
 */
#include "policy/page_map.h"

unsigned hz_pmap_next(const struct hz_page_map *m, unsigned page, bool set)
{
	uint64_t flip = set ? 0 : ~0ull, w;

	while (page < HZ_BLOCK_PAGES) {
		w = (m->word[page / 64] ^ flip) >> (page % 64);
		if (w)
			return page + (unsigned)__builtin_ctzll(w);
		page = (page / 64 + 1) * 64;
	}
	return HZ_BLOCK_PAGES;
}

unsigned hz_pmap_run(const struct hz_page_map *m, unsigned from, unsigned *n)
{
	unsigned first = hz_pmap_next(m, from, true);

	*n = hz_pmap_next(m, first, false) - first;
	return first;
}

void hz_pmap_fill(struct hz_page_map *m, unsigned first, unsigned n, bool set)
{
	for (unsigned p = first; p < first + n; p++) {
		if (set)
			hz_pmap_add(m, p);
		else
			hz_pmap_remove(m, p);
	}
}
