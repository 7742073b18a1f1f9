/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The three pools of free units and the choice of a place.
 *
 * A unit that is free belongs to the packed pool if its block is marked so,
 * else to the open pool or to a gap. Nodes are never short: see make_room().
 */
#include <string.h>
#include "policy/extent.h"
#include "policy/range.h"
#include "policy/space.h"

#define BLOCK_UNITS HZ_UNITS_PER_BLOCK
#define LINE        ((size_t)64)

enum {
	/* Open extents below this size are of no use to whole-block ranges;
	 * packed ones fill them before a new chunk is cut. */
	CRUMB_UNITS = (8 << 20) >> HZ_UNIT_SHIFT,
	LARGE_UNITS = HZ_RANGE_PACK_MAX >> HZ_UNIT_SHIFT,
	CHUNK_MAX = (1 << 30) >> HZ_BLOCK_SHIFT, /* blocks */
	CHUNK_SHARE = 64,                        /* of the region */
	PLENTY = 8,      /* leave a gap in an extent this many times as large */
	SPARE_NODES = 8, /* more than any one step splits off */
};

struct hz_space {
	struct hz_extents pool[HZ_POOLS];
	struct hz_extent_nodes nodes;
	uint32_t blocks;
	uint32_t chunk;  /* blocks of a packed chunk */
	uint8_t *packed; /* by block: its free units are in the packed pool */
	uint64_t free;   /* units, all pools */
};

static struct hz_extents *open_pool(struct hz_space *s)
{
	return &s->pool[HZ_POOL_OPEN];
}

static struct hz_extents *packed_pool(struct hz_space *s)
{
	return &s->pool[HZ_POOL_PACKED];
}

static struct hz_extents *gap_pool(struct hz_space *s)
{
	return &s->pool[HZ_POOL_GAP];
}

static bool is_packed(const struct hz_space *s, uint32_t block)
{
	return block < s->blocks && s->packed[block];
}

/* ---- from pool to pool ---- */

/* More open space. A gap right behind it has lost its range: it joins. */
static void give_open(struct hz_space *s, uint32_t first, uint32_t units)
{
	struct hz_extent *e = hz_extents_add(open_pool(s), first, units);
	struct hz_extent *gap = hz_extents_find(gap_pool(s), hz_extent_end(e));

	if (!gap)
		return;
	first = gap->first;
	units = gap->units;
	hz_extents_carve(gap_pool(s), gap, first, units);
	hz_extents_add(open_pool(s), first, units);
}

/* More packed space. A run of packed blocks that is wholly free, or a whole
 * chunk's worth inside a longer one, goes back to the open space. */
static void give_packed(struct hz_space *s, uint32_t first, uint32_t units)
{
	struct hz_extent *e = hz_extents_add(packed_pool(s), first, units);
	uint32_t end = hz_extent_end(e);
	uint32_t from = hz_align_up(e->first, BLOCK_UNITS) / BLOCK_UNITS;
	uint32_t to = end / BLOCK_UNITS;
	bool whole = e->first % BLOCK_UNITS == 0 && end % BLOCK_UNITS == 0;
	bool alone =
	        whole && !is_packed(s, to) && !(from && is_packed(s, from - 1));

	if (!alone && (from >= to || to - from < s->chunk))
		return;
	first = from * BLOCK_UNITS;
	units = (to - from) * BLOCK_UNITS;
	hz_extents_carve(packed_pool(s), e, first, units);
	memset(s->packed + from, 0, to - from);
	give_open(s, first, units);
}

/* Turn a pool into open space. */
static void dissolve(struct hz_space *s, enum hz_pool p)
{
	struct hz_extent *e;

	while ((e = hz_extents_lowest(&s->pool[p]))) {
		uint32_t first = e->first, units = e->units;
		uint32_t from = first / BLOCK_UNITS;
		uint32_t to = (first + units - 1) / BLOCK_UNITS;

		hz_extents_carve(&s->pool[p], e, first, units);
		if (p == HZ_POOL_PACKED)
			memset(s->packed + from, 0, to - from + 1);
		give_open(s, first, units);
	}
}

/* Nodes for the next step. With one pool left there is a range between every
 * two extents, and the array holds more than that: this always succeeds. */
static void make_room(struct hz_space *s)
{
	if (s->nodes.count + SPARE_NODES <= s->nodes.cap)
		return;
	dissolve(s, HZ_POOL_GAP);
	dissolve(s, HZ_POOL_PACKED);
}

/* ---- placement ---- */

/* Best fit in one pool, if its extent is not above `limit` units. */
static bool place_in(struct hz_extents *set, uint32_t units, uint32_t align,
                     uint32_t limit, uint32_t *first)
{
	struct hz_extent *e = hz_extents_best(set, units, align, first);

	if (!e || e->units > limit)
		return false;
	hz_extents_carve(set, e, *first, units);
	return true;
}

/* Cut a chunk that holds `units` at `align` off the lower end of the largest
 * open extent: what is in use of the region stays together at its beginning,
 * so that tables by block stay small. */
static bool add_chunk(struct hz_space *s, uint32_t units, uint32_t align)
{
	struct hz_extent *e = hz_extents_largest(open_pool(s));
	uint32_t blocks = hz_max((units - 1) / BLOCK_UNITS + 1, s->chunk);
	uint32_t step = hz_max(align, BLOCK_UNITS);
	uint32_t first;

	if (!e)
		return false;
	first = hz_align_up(e->first, step);
	if (first < e->first || hz_extent_end(e) < first ||
	    (hz_extent_end(e) - first) / BLOCK_UNITS < blocks)
		return false;
	hz_extents_carve(open_pool(s), e, first, blocks * BLOCK_UNITS);
	memset(s->packed + first / BLOCK_UNITS, 1, blocks);
	hz_extents_add(packed_pool(s), first, blocks * BLOCK_UNITS);
	return true;
}

static bool place_packed(struct hz_space *s, uint32_t units, uint32_t align,
                         uint32_t *first)
{
	struct hz_extents *packed = packed_pool(s), *open = open_pool(s);

	return place_in(packed, units, align, UINT32_MAX, first) ||
	       place_in(open, units, align, CRUMB_UNITS - 1, first) ||
	       (add_chunk(s, units, align) &&
	        place_in(packed, units, align, UINT32_MAX, first)) ||
	       place_in(open, units, align, UINT32_MAX, first);
}

/* Keep the `units` from `gap` on for the large range that ends there. */
static void leave_gap(struct hz_space *s, uint32_t gap, uint32_t units)
{
	struct hz_extent *e = hz_extents_find(open_pool(s), gap);

	if (!e || hz_extent_end(e) - gap < units)
		return;
	hz_extents_carve(open_pool(s), e, gap, units);
	hz_extents_add(gap_pool(s), gap, units);
}

static bool place_whole(struct hz_space *s, uint32_t units, uint32_t align,
                        uint32_t *first)
{
	struct hz_extent *e =
	        hz_extents_best(open_pool(s), units, align, first);
	bool plenty;

	if (!e)
		return false;
	plenty = units >= LARGE_UNITS && e->units / PLENTY >= units;
	hz_extents_carve(open_pool(s), e, *first, units);
	if (plenty)
		leave_gap(s, *first + units, units);
	return true;
}

static bool place(struct hz_space *s, uint32_t units, uint32_t align,
                  enum hz_placement how, uint32_t *first)
{
	bool ok = how == HZ_PLACE_PACKED ? place_packed(s, units, align, first)
	                                 : place_whole(s, units, align, first);

	if (ok)
		s->free -= units;
	return ok;
}

bool hz_space_place(struct hz_space *s, uint32_t units, uint32_t align,
                    enum hz_placement how, uint32_t *first)
{
	if (units > s->free)
		return false;
	make_room(s);
	if (place(s, units, align, how, first))
		return true;
	dissolve(s, HZ_POOL_GAP);
	if (place(s, units, align, how, first))
		return true;
	dissolve(s, HZ_POOL_PACKED);
	return place(s, units, align, how, first);
}

/* The free extent that holds `unit`, and its pool. */
static struct hz_extent *find_any(struct hz_space *s, uint32_t unit,
                                  struct hz_extents **set)
{
	struct hz_extent *e = NULL;

	for (unsigned p = 0; p < HZ_POOLS && !e; p++) {
		*set = &s->pool[p];
		e = hz_extents_find(*set, unit);
	}
	return e;
}

bool hz_space_take(struct hz_space *s, uint32_t first, uint32_t units)
{
	uint32_t end = first + units, n;
	struct hz_extents *set;
	struct hz_extent *e;

	for (uint32_t at = first; at < end; at = hz_extent_end(e)) {
		e = find_any(s, at, &set);
		if (!e)
			return false;
	}
	make_room(s);
	for (uint32_t at = first; at < end; at += n) {
		e = find_any(s, at, &set);
		n = hz_min(hz_extent_end(e), end) - at;
		hz_extents_carve(set, e, at, n);
	}
	s->free -= units;
	return true;
}

/* The end of the blocks that are marked as the one at `first`. */
static uint32_t run_end(const struct hz_space *s, uint32_t first, uint32_t end)
{
	uint32_t block = first / BLOCK_UNITS;
	bool packed = is_packed(s, block);

	while (++block * BLOCK_UNITS < end && is_packed(s, block) == packed)
		;
	return hz_min(block * BLOCK_UNITS, end);
}

void hz_space_give(struct hz_space *s, uint32_t first, uint32_t units)
{
	uint32_t end = first + units, to;

	for (; first < end; first = to) {
		make_room(s); /* first: it may change the marks */
		to = run_end(s, first, end);
		if (is_packed(s, first / BLOCK_UNITS))
			give_packed(s, first, to - first);
		else
			give_open(s, first, to - first);
	}
	s->free += units;
}

/* ---- set-up and views ---- */

static uint32_t nodes_for(uint32_t max_ranges)
{
	return max_ranges + 2 * SPARE_NODES;
}

size_t hz_space_bytes(uint32_t blocks, uint32_t max_ranges)
{
	return hz_align_up(sizeof(struct hz_space), LINE) +
	       nodes_for(max_ranges) * sizeof(struct hz_extent) + blocks;
}

struct hz_space *hz_space_init(void *mem, uint32_t blocks, uint32_t max_ranges)
{
	struct hz_space *s = mem;
	char *rest = (char *)mem + hz_align_up(sizeof(*s), LINE);

	s->blocks = blocks;
	s->nodes.cap = nodes_for(max_ranges);
	s->nodes.node = (struct hz_extent *)rest;
	s->packed = (uint8_t *)(s->nodes.node + s->nodes.cap);
	s->chunk = hz_min(blocks / CHUNK_SHARE + 1, (uint32_t)CHUNK_MAX);
	for (unsigned p = 0; p < HZ_POOLS; p++)
		s->pool[p].nodes = &s->nodes;
	s->free = (uint64_t)blocks * BLOCK_UNITS;
	if (blocks) /* not given: that would read every mark */
		hz_extents_add(open_pool(s), 0, blocks * BLOCK_UNITS);
	return s;
}

uint64_t hz_space_left(const struct hz_space *s)
{
	return s->free;
}

uint32_t hz_space_extents(const struct hz_space *s)
{
	return s->nodes.count;
}

bool hz_space_touches(struct hz_space *s, uint32_t first, uint32_t units)
{
	for (unsigned p = 0; p < HZ_POOLS; p++)
		if (hz_extents_touch(&s->pool[p], first, units))
			return true;
	return false;
}

/* ---- check ---- */

static const char *check_extent(struct hz_space *s, unsigned p,
                                const struct hz_extent *e)
{
	uint32_t last = (hz_extent_end(e) - 1) / BLOCK_UNITS;

	if (last >= s->blocks)
		return "extent outside the region";
	for (unsigned i = 0; i < HZ_POOLS; i++)
		if (i != p && hz_extents_touch(&s->pool[i], e->first, e->units))
			return "extent in two pools";
	for (uint32_t b = e->first / BLOCK_UNITS; b <= last; b++)
		if (is_packed(s, b) != (p == HZ_POOL_PACKED))
			return "extent in the wrong pool";
	if (p == HZ_POOL_GAP &&
	    (!e->first || hz_space_touches(s, e->first - 1, 1)))
		return "gap without a range";
	return NULL;
}

const char *hz_space_check(struct hz_space *s)
{
	uint64_t free = 0;
	uint32_t count = 0;

	for (unsigned p = 0; p < HZ_POOLS; p++) {
		const char *why = hz_extents_check(&s->pool[p]);
		struct hz_extent *e = hz_extents_lowest(&s->pool[p]);

		for (; e && !why; e = hz_extents_next(e)) {
			why = check_extent(s, p, e);
			free += e->units;
			count++;
		}
		if (why)
			return why;
	}
	return free == s->free && count == s->nodes.count
	               ? NULL
	               : "totals of free space";
}
