/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Free extents in two red-black trees.
 */
#include "policy/extent.h"

enum { ALIGN_TRIES = 32 };

static int cmp_addr(const struct hz_extent *a, const struct hz_extent *b)
{
	return (a->first > b->first) - (a->first < b->first);
}

static int cmp_size(const struct hz_extent *a, const struct hz_extent *b)
{
	if (a->units != b->units)
		return a->units < b->units ? -1 : 1;
	return cmp_addr(a, b);
}

/* RB_GENERATE_STATIC needs a macro that only the overlay headers define. */
#define TREE_FN static __attribute__((unused))
RB_GENERATE_INTERNAL(hz_addr_tree, hz_extent, by_addr, cmp_addr, TREE_FN)
RB_GENERATE_INTERNAL(hz_size_tree, hz_extent, by_size, cmp_size, TREE_FN)

static struct hz_extent *insert(struct hz_extents *set, uint32_t first,
                                uint32_t units)
{
	struct hz_extent_nodes *nodes = set->nodes;
	struct hz_extent *e = nodes->unused;

	if (e)
		nodes->unused = e->next_unused;
	else
		e = &nodes->node[nodes->fresh++];
	nodes->count++;
	e->first = first;
	e->units = units;
	RB_INSERT(hz_addr_tree, &set->by_addr, e);
	RB_INSERT(hz_size_tree, &set->by_size, e);
	return e;
}

static void erase(struct hz_extents *set, struct hz_extent *e)
{
	RB_REMOVE(hz_addr_tree, &set->by_addr, e);
	RB_REMOVE(hz_size_tree, &set->by_size, e);
	e->next_unused = set->nodes->unused;
	set->nodes->unused = e;
	set->nodes->count--;
}

/* The last extent that starts at or below `unit`. */
static struct hz_extent *floor_of(struct hz_extents *set, uint32_t unit)
{
	struct hz_extent key = {.first = unit};
	struct hz_extent *e = RB_NFIND(hz_addr_tree, &set->by_addr, &key);

	if (!e)
		return RB_MAX(hz_addr_tree, &set->by_addr);
	return e->first == unit ? e : RB_PREV(hz_addr_tree, NULL, e);
}

struct hz_extent *hz_extents_find(struct hz_extents *set, uint32_t unit)
{
	struct hz_extent *e = floor_of(set, unit);

	return e && unit < hz_extent_end(e) ? e : NULL;
}

bool hz_extents_touch(struct hz_extents *set, uint32_t first, uint32_t units)
{
	struct hz_extent *e = floor_of(set, first + units - 1);

	return e && hz_extent_end(e) > first;
}

void hz_extents_carve(struct hz_extents *set, struct hz_extent *e,
                      uint32_t first, uint32_t units)
{
	uint32_t begin = e->first, end = hz_extent_end(e);

	erase(set, e);
	if (begin < first)
		insert(set, begin, first - begin);
	if (first + units < end)
		insert(set, first + units, end - first - units);
}

struct hz_extent *hz_extents_add(struct hz_extents *set, uint32_t first,
                                 uint32_t units)
{
	struct hz_extent *below =
	        first ? hz_extents_find(set, first - 1) : NULL;
	struct hz_extent *above = hz_extents_find(set, first + units);

	if (below) {
		first = below->first;
		units += below->units;
		erase(set, below);
	}
	if (above) {
		units += above->units;
		erase(set, above);
	}
	return insert(set, first, units);
}

static bool fits(const struct hz_extent *e, uint32_t units, uint32_t align,
                 uint32_t *first)
{
	uint64_t at = hz_align_up((uint64_t)e->first, (uint64_t)align);

	if (at + units > hz_extent_end(e))
		return false;
	*first = (uint32_t)at;
	return true;
}

static struct hz_extent *at_least(struct hz_extents *set, uint64_t units)
{
	struct hz_extent key = {.units = (uint32_t)units};

	if (units > UINT32_MAX)
		return NULL;
	return RB_NFIND(hz_size_tree, &set->by_size, &key);
}

/* A strict alignment may make many extents just miss it: after a few of
 * those, look where it is sure to fit; try the rest only if there is none. */
struct hz_extent *hz_extents_best(struct hz_extents *set, uint32_t units,
                                  uint32_t align, uint32_t *first)
{
	struct hz_extent *e = at_least(set, units), *sure;
	unsigned tries = 0;

	for (; e; e = RB_NEXT(hz_size_tree, NULL, e)) {
		if (fits(e, units, align, first))
			return e;
		if (++tries != ALIGN_TRIES)
			continue;
		sure = at_least(set, (uint64_t)units + align - 1);
		if (sure && fits(sure, units, align, first))
			return sure;
	}
	return NULL;
}

struct hz_extent *hz_extents_lowest(struct hz_extents *set)
{
	return RB_MIN(hz_addr_tree, &set->by_addr);
}

struct hz_extent *hz_extents_largest(struct hz_extents *set)
{
	return RB_MAX(hz_size_tree, &set->by_size);
}

struct hz_extent *hz_extents_next(struct hz_extent *e)
{
	return RB_NEXT(hz_addr_tree, NULL, e);
}

const char *hz_extents_check(struct hz_extents *set)
{
	struct hz_extent *e, *last = NULL;
	uint32_t by_addr = 0, by_size = 0;

	RB_FOREACH(e, hz_addr_tree, &set->by_addr)
	{
		if (!e->units)
			return "empty extent";
		if (last && e->first <= hz_extent_end(last))
			return "extents overlap or are not merged";
		if (RB_FIND(hz_size_tree, &set->by_size, e) != e)
			return "extent missing by size";
		last = e;
		by_addr++;
	}
	RB_FOREACH(e, hz_size_tree, &set->by_size)
	by_size++;
	return by_addr == by_size ? NULL : "trees of different size";
}
