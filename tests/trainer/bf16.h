/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bf16: the upper half of a float, rounded to the nearest, ties to even.
 */
#ifndef BF16_H
#define BF16_H

#include <stdint.h>
#include <string.h>

typedef uint16_t bf16;

static inline float bf16_widen(bf16 half)
{
	uint32_t word = (uint32_t)half << 16;
	float f;

	memcpy(&f, &word, sizeof(f));
	return f;
}

/* Any NaN becomes the same one. */
static inline bf16 bf16_round(float f)
{
	uint32_t word;

	memcpy(&word, &f, sizeof(word));
	return (word & 0x7fffffff) > 0x7f800000
	               ? 0x7fff
	               : (word + 0x7fff + (word >> 16 & 1)) >> 16;
}

#endif
