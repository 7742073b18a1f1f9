/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A set of small numbers that finds its next and previous member fast: a tree
 * of 64-bit words, each bit of an upper word says that the word below it is
 * not empty. All calls are O(log64 n): four words for 16 million numbers.
 *
 * Pure, no allocation; the caller's lock guards it.
 */
#ifndef HZ_BITS_H
#define HZ_BITS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "base/util.h"

#define HZ_BITS_LEVELS 5

struct hz_bits {
	uint64_t *level[HZ_BITS_LEVELS];
	uint32_t n; /* members are below it */
	unsigned levels;
};

/* Bytes of zeroed memory for numbers below n. */
size_t hz_bits_bytes(uint32_t n);
void hz_bits_init(struct hz_bits *b, void *mem, uint32_t n);

/* Remove all; O(n / 64) for numbers below `n`. */
void hz_bits_clear(struct hz_bits *b, uint32_t n);

void hz_bits_add(struct hz_bits *b, uint32_t i);
void hz_bits_remove(struct hz_bits *b, uint32_t i);
bool hz_bits_has(const struct hz_bits *b, uint32_t i);

/* The first member >= i, the last one <= i; HZ_NONE when there is none. */
uint32_t hz_bits_next(const struct hz_bits *b, uint32_t i);
uint32_t hz_bits_prev(const struct hz_bits *b, uint32_t i);

#endif
