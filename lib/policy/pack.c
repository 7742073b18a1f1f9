/* SPDX-License-Identifier: Apache-2.0 */
/*
 * See pack.h.
 */
#include "policy/pack.h"

#include <stdint.h>
#include <string.h>

#define MAPS (HZ_PACK_WORDS / 64)

struct word {
	uint64_t half[2];
} __attribute__((may_alias));

_Static_assert(sizeof(struct word) == HZ_PACK_WORD, "a word is 16 bytes");

struct pack {
	uint64_t map[MAPS];
	struct word word[HZ_PACK_MOST];
} __attribute__((may_alias));

_Static_assert(sizeof(struct pack) == HZ_PACK_SIZE, "no byte is unused");

/* Of 64 words, those that are not zero. */
static uint64_t filled(const struct word *w)
{
	uint64_t map = 0;

	for (unsigned i = 0; i < 64; i++)
		map |= (uint64_t)((w[i].half[0] | w[i].half[1]) != 0) << i;
	return map;
}

static unsigned bits(uint64_t map)
{
	return (unsigned)__builtin_popcountll(map);
}

bool hz_pack_fits(const void *page)
{
	const struct word *w = page;
	unsigned n = 0;

	for (unsigned m = 0; m < MAPS && n <= HZ_PACK_MOST; m++)
		n += bits(filled(w + 64 * m));
	return n <= HZ_PACK_MOST;
}

void hz_pack(const void *page, void *to)
{
	const struct word *w = page;
	struct pack *p = to;
	unsigned n = 0;

	for (unsigned m = 0; m < MAPS; m++) {
		uint64_t map = filled(w + 64 * m);

		p->map[m] = map;
		for (; map && n < HZ_PACK_MOST; map &= map - 1)
			p->word[n++] =
				w[64 * m + (unsigned)__builtin_ctzll(map)];
	}
}

void hz_unpack(const void *from, void *page)
{
	const struct pack *p = from;
	struct word *w = page;
	unsigned n = 0;

	memset(page, 0, HZ_PAGE_SIZE);
	for (unsigned m = 0; m < MAPS; m++) {
		uint64_t map = p->map[m];

		for (; map && n < HZ_PACK_MOST; map &= map - 1)
			w[64 * m + (unsigned)__builtin_ctzll(map)] =
				p->word[n++];
	}
}
