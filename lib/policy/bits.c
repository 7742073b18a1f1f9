/* SPDX-License-Identifier: Apache-2.0 */
/*
 * See bits.h.
 */
#include "policy/bits.h"

#include <string.h>

static size_t words(uint32_t n)
{
	return ((size_t)n + 63) / 64;
}

size_t hz_bits_bytes(uint32_t n)
{
	size_t sum = 0;

	for (size_t w = words(n); w; w = w > 1 ? words((uint32_t)w) : 0)
		sum += w;
	return sum * sizeof(uint64_t);
}

void hz_bits_init(struct hz_bits *b, void *mem, uint32_t n)
{
	uint64_t *at = mem;

	b->n = n;
	b->levels = 0;
	for (size_t w = words(n); w; w = w > 1 ? words((uint32_t)w) : 0) {
		b->level[b->levels++] = at;
		at += w;
	}
}

void hz_bits_clear(struct hz_bits *b, uint32_t n)
{
	size_t w = words(hz_min(n, b->n));

	for (unsigned l = 0; l < b->levels; l++) {
		memset(b->level[l], 0, w * sizeof(uint64_t));
		w = words((uint32_t)w);
	}
}

void hz_bits_add(struct hz_bits *b, uint32_t i)
{
	for (unsigned l = 0; l < b->levels; l++) {
		b->level[l][i / 64] |= 1ull << (i % 64);
		i /= 64;
	}
}

void hz_bits_remove(struct hz_bits *b, uint32_t i)
{
	for (unsigned l = 0; l < b->levels; l++) {
		b->level[l][i / 64] &= ~(1ull << (i % 64));
		if (b->level[l][i / 64])
			break;
		i /= 64;
	}
}

bool hz_bits_has(const struct hz_bits *b, uint32_t i)
{
	return i < b->n && b->level[0][i / 64] >> (i % 64) & 1;
}

/* Down to the first (last) member of subtree `word` of level l. */
static uint32_t first_below(const struct hz_bits *b, unsigned l, uint32_t i)
{
	while (l-- > 0)
		i = i * 64 + (uint32_t)__builtin_ctzll(b->level[l][i]);
	return i;
}

static uint32_t last_below(const struct hz_bits *b, unsigned l, uint32_t i)
{
	while (l-- > 0)
		i = i * 64 + 63 - (uint32_t)__builtin_clzll(b->level[l][i]);
	return i;
}

uint32_t hz_bits_next(const struct hz_bits *b, uint32_t i)
{
	uint32_t n = b->n;

	for (unsigned l = 0; l < b->levels && i < n; l++) {
		uint64_t word = b->level[l][i / 64] >> (i % 64);

		if (word)
			return first_below(b, l,
					   i + (uint32_t)__builtin_ctzll(word));
		i = i / 64 + 1;
		n = (n + 63) / 64;
	}
	return HZ_NONE;
}

uint32_t hz_bits_prev(const struct hz_bits *b, uint32_t i)
{
	if (!b->n)
		return HZ_NONE;
	i = hz_min(i, b->n - 1);
	for (unsigned l = 0; l < b->levels; l++) {
		uint64_t word = b->level[l][i / 64] << (63 - i % 64);

		if (word)
			return last_below(b, l,
					  i - (uint32_t)__builtin_clzll(word));
		if (i < 64)
			break;
		i = i / 64 - 1;
	}
	return HZ_NONE;
}
