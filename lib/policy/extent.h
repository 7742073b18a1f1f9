/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A set of free extents, neighbours merged, each in two red-black trees: by
 * address to merge, by size (then address) to fit.
 *
 * Sets that share their nodes can pass extents to each other without ever
 * running out. A call that adds to a set takes at most one node more than it
 * gives back; the caller keeps count.
 *
 * Pure; not thread-safe.
 */
#ifndef HZ_EXTENT_H
#define HZ_EXTENT_H

#include <stddef.h>
#include <stdint.h>
#include <bsd/sys/tree.h>
#include "base/util.h"

struct hz_extent {
	RB_ENTRY(hz_extent) by_addr;
	union {
		RB_ENTRY(hz_extent) by_size;
		struct hz_extent *next_unused;
	};
	uint32_t first;
	uint32_t units;
};

/* An array of nodes; all zero but `node` and `cap` is the empty state. */
struct hz_extent_nodes {
	struct hz_extent *node;
	struct hz_extent *unused; /* given back */
	uint32_t fresh;           /* node[fresh...] were never used */
	uint32_t cap;
	uint32_t count; /* in use, all sets */
};

RB_HEAD(hz_addr_tree, hz_extent);
RB_HEAD(hz_size_tree, hz_extent);

struct hz_extents {
	struct hz_extent_nodes *nodes;
	struct hz_addr_tree by_addr;
	struct hz_size_tree by_size;
};

static inline uint32_t hz_extent_end(const struct hz_extent *e)
{
	return e->first + e->units;
}

/* Add units that are in no extent of the set. Returns the extent that holds
 * them, merged. */
struct hz_extent *hz_extents_add(struct hz_extents *set, uint32_t first,
                                 uint32_t units);

/* Take [first, first + units) out of e, which holds them; e is gone. */
void hz_extents_carve(struct hz_extents *set, struct hz_extent *e,
                      uint32_t first, uint32_t units);

/* The extent that holds `unit`, or NULL. */
struct hz_extent *hz_extents_find(struct hz_extents *set, uint32_t unit);

/* Does the set hold any of [first, first + units)? */
bool hz_extents_touch(struct hz_extents *set, uint32_t first, uint32_t units);

/* The smallest, then lowest extent that holds `units` once aligned, and where
 * they start in it; or NULL. */
struct hz_extent *hz_extents_best(struct hz_extents *set, uint32_t units,
                                  uint32_t align, uint32_t *first);

struct hz_extent *hz_extents_lowest(struct hz_extents *set);
struct hz_extent *hz_extents_largest(struct hz_extents *set);
struct hz_extent *hz_extents_next(struct hz_extent *e); /* by address */

/* NULL, or what is wrong with the trees. */
const char *hz_extents_check(struct hz_extents *set);

#endif
