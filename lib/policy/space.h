/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Space: the free units of the region, and where the next range goes.
 *
 * Free units are kept as extents in three pools:
 *
 *   open    ordinary free space
 *   packed  free units of chunks that small ranges share; a chunk is taken
 *           from the upper end of the largest open extent, so small ranges
 *           gather at the top and do not come to lie between large ones
 *   gap     room to grow in place behind a large range, left while address
 *           space is plentiful; it becomes open as soon as its range is gone
 *
 * Pools are a preference, not a border: a request that the preferred pools
 * cannot serve dissolves the others before it fails.
 *
 * Pure; not thread-safe (the engine's lock). It knows no ranges; range.c
 * keeps those.
 */
#ifndef HZ_SPACE_H
#define HZ_SPACE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "base/util.h"

enum hz_pool { HZ_POOL_OPEN, HZ_POOL_PACKED, HZ_POOL_GAP, HZ_POOLS };

enum hz_placement {
	HZ_PLACE_PACKED, /* at any unit, among its like */
	HZ_PLACE_WHOLE,  /* units and alignment are whole blocks */
};

struct hz_space;

/* Bytes of zeroed metadata for `blocks` blocks (at most HZ_SPACE_BLOCKS) of
 * which at most `max_ranges` separate runs are in use at a time. */
#define HZ_SPACE_BLOCKS (UINT32_MAX / HZ_UNITS_PER_BLOCK)
size_t hz_space_bytes(uint32_t blocks, uint32_t max_ranges);
struct hz_space *hz_space_init(void *mem, uint32_t blocks, uint32_t max_ranges);

/* Take `units` (> 0) at a multiple of `align` (a power of two). */
bool hz_space_place(struct hz_space *s, uint32_t units, uint32_t align,
                    enum hz_placement how, uint32_t *first);

/* Take exactly [first, first + units); false, and nothing is changed, unless
 * all of them are free. */
bool hz_space_take(struct hz_space *s, uint32_t first, uint32_t units);

/* Give [first, first + units) back. Never fails. */
void hz_space_give(struct hz_space *s, uint32_t first, uint32_t units);

/* Is any unit of [first, first + units) free? */
bool hz_space_touches(struct hz_space *s, uint32_t first, uint32_t units);

uint64_t hz_space_left(const struct hz_space *s);    /* units, all pools */
uint32_t hz_space_extents(const struct hz_space *s); /* extents, all pools */

/* NULL, or what is wrong with the pools. */
const char *hz_space_check(struct hz_space *s);

#endif
