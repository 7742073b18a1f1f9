/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Ranges: which part of the region belongs to which allocation.
 *
 * The region is counted in units of 64 KiB. Sizes under 16 MiB are packed at
 * unit granularity, so neighbours may share a block; larger ones (and every
 * one made with HZ_RANGE_WHOLE) own whole blocks and start on a block border.
 * Free space is kept in extents: best fit by size, lowest address first among
 * equals, neighbours merged at once. Packed ranges are carved from their own
 * blocks first so that they do not fragment the large ones.
 *
 * All metadata lives in the memory given to hz_ranges_init(): nothing is ever
 * stored inside the region. Pure; not thread-safe (the engine's lock).
 */
#ifndef HZ_RANGE_H
#define HZ_RANGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "base/util.h"
#include "policy/scatter.h"

enum hz_range_kind { HZ_RANGE_FREE, HZ_RANGE_MALLOC, HZ_RANGE_MAP };

enum {
	HZ_RANGE_WHOLE = 1 << 0, /* own whole blocks whatever the size */
	HZ_RANGE_STICKY = 1 << 1, /* mlocked: never evicted */
	HZ_RANGE_FILE = 1 << 2, /* a private map of a file */
};

#define HZ_RANGE_PACK_MAX ((size_t)16 << 20)

struct hz_range {
	uint64_t bytes; /* as asked for */
	uint32_t first; /* first unit */
	uint32_t units; /* units owned */
	uint32_t kind;	/* enum hz_range_kind */
	uint32_t flags;
	uint32_t stats_row; /* row in the segment, or HZ_NONE */
	struct hz_scatter scatter;
	uint64_t faults, last_fault; /* for horizon-stat --tensors */
	uint64_t faults_seen;	     /* of `faults`, a second ago */
};

struct hz_ranges;

/* Bytes of metadata for a region of `blocks` blocks and at most `max_ranges`
 * ranges alive. */
size_t hz_ranges_bytes(uint32_t blocks, uint32_t max_ranges);
struct hz_ranges *hz_ranges_init(void *mem, uint32_t blocks,
				 uint32_t max_ranges);

/* A new range of `bytes` (> 0), its first unit a multiple of `align_units`
 * (a power of two). NULL when no extent or no record is left. */
struct hz_range *hz_range_alloc(struct hz_ranges *rs, size_t bytes,
				uint32_t align_units, enum hz_range_kind kind,
				unsigned flags);

/* A new range of exactly the units [first, first + units). NULL when one of
 * them is in use or no record is left. */
struct hz_range *hz_range_place(struct hz_ranges *rs, uint32_t first,
				uint32_t units, enum hz_range_kind kind,
				unsigned flags);

/* Give all units back. */
void hz_range_free(struct hz_ranges *rs, struct hz_range *r);

/* The range that owns `unit`, or NULL. O(1). */
struct hz_range *hz_range_at(struct hz_ranges *rs, uint32_t unit);

/* Change the size in place: shrinking always works, growing only into free
 * units right behind. false if it cannot grow. */
bool hz_range_resize(struct hz_ranges *rs, struct hz_range *r, size_t bytes);

/* Cut the units [first, first + units) out of r: r keeps the part before (it
 * may become empty and is then freed), the return value is the part behind
 * or NULL. The middle becomes free. 0 or -ENOMEM when no record is left (r is
 * then unchanged). */
int hz_range_cut(struct hz_ranges *rs, struct hz_range *r, uint32_t first,
		 uint32_t units, struct hz_range **behind);

/* How many units of `block` belong to any range: 0 means that the block is
 * free and its content may be dropped. O(1). */
unsigned hz_range_block_use(struct hz_ranges *rs, uint32_t block);

/* Walk all live ranges, in no order. */
void hz_range_each(struct hz_ranges *rs,
		   void (*fn)(void *arg, struct hz_range *r), void *arg);

uint32_t hz_range_count(const struct hz_ranges *rs);
uint64_t hz_range_total(const struct hz_ranges *rs); /* sum of bytes */

/* Re-compute everything and abort on a difference (HZ_DEBUG builds and unit
 * tests). */
void hz_ranges_check(struct hz_ranges *rs);

#endif
