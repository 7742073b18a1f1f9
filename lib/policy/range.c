/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Ranges: their records, the map unit -> record and the use of each block.
 * Where a range goes and what is free is the business of space.c.
 *
 * The map holds a record's index plus one, the use counts are bytes: memory
 * as the kernel gives it is a valid empty state, and only the parts that
 * ranges ever covered are touched.
 */
#include <errno.h>
#include <stdlib.h>
#include "base/log.h"
#include "policy/range.h"
#include "policy/space.h"

#define BLOCK_UNITS HZ_UNITS_PER_BLOCK
#define LINE        ((size_t)64)

struct hz_ranges {
	struct hz_space *space;
	struct hz_range *record;
	uint32_t *map; /* by unit: index of its record + 1, 0 none */
	uint8_t *use;  /* by block: units in use */
	uint32_t max;
	uint32_t fresh;  /* record[fresh...] were never used */
	uint32_t unused; /* given back: index + 1, linked through `first` */
	uint32_t count;
	uint32_t units; /* of the region */
	uint64_t total; /* bytes of all ranges */
};

/* ---- layout ---- */

struct layout {
	size_t space, record, map, use, end;
};

static struct layout layout_of(uint32_t blocks, uint32_t max_ranges)
{
	struct layout l;
	size_t units = (size_t)blocks * BLOCK_UNITS;

	l.record = hz_align_up(sizeof(struct hz_ranges), LINE);
	l.space = hz_align_up(l.record + max_ranges * sizeof(struct hz_range),
	                      LINE);
	l.map = hz_align_up(l.space + hz_space_bytes(blocks, max_ranges), LINE);
	l.use = l.map + units * sizeof(uint32_t);
	l.end = l.use + blocks;
	return l;
}

size_t hz_ranges_bytes(uint32_t blocks, uint32_t max_ranges)
{
	return layout_of(blocks, max_ranges).end;
}

struct hz_ranges *hz_ranges_init(void *mem, uint32_t blocks,
                                 uint32_t max_ranges)
{
	struct layout l = layout_of(blocks, max_ranges);
	struct hz_ranges *rs = mem;
	char *base = mem;

	rs->record = (struct hz_range *)(base + l.record);
	rs->map = (uint32_t *)(base + l.map);
	rs->use = (uint8_t *)(base + l.use);
	rs->max = max_ranges;
	rs->units = blocks * BLOCK_UNITS;
	rs->space = hz_space_init(base + l.space, blocks, max_ranges);
	return rs;
}

/* ---- records and units ---- */

static uint32_t index_of(const struct hz_ranges *rs, const struct hz_range *r)
{
	return (uint32_t)(r - rs->record);
}

static bool have_record(const struct hz_ranges *rs)
{
	return rs->unused || rs->fresh < rs->max;
}

static struct hz_range *new_record(struct hz_ranges *rs, uint32_t kind,
                                   uint32_t flags)
{
	uint32_t i = rs->unused ? rs->unused - 1 : rs->fresh;
	struct hz_range *r = &rs->record[i];

	if (rs->unused)
		rs->unused = r->first;
	else
		rs->fresh++;
	rs->count++;
	*r = (struct hz_range){
	        .kind = kind, .flags = flags, .stats_row = HZ_NONE};
	return r;
}

static void drop_record(struct hz_ranges *rs, struct hz_range *r)
{
	rs->total -= r->bytes;
	rs->count--;
	*r = (struct hz_range){.kind = HZ_RANGE_FREE, .first = rs->unused};
	rs->unused = index_of(rs, r) + 1;
}

static void set_bytes(struct hz_ranges *rs, struct hz_range *r, uint64_t bytes)
{
	rs->total += bytes - r->bytes;
	r->bytes = bytes;
}

/* Write the map; 0 makes the units free. */
static void set_map(struct hz_ranges *rs, uint32_t first, uint32_t units,
                    uint32_t id)
{
	for (uint32_t i = 0; i < units; i++)
		rs->map[first + i] = id;
}

static void count_use(struct hz_ranges *rs, uint32_t first, uint32_t units,
                      int sign)
{
	uint32_t end = first + units;

	while (first < end) {
		uint32_t block = first / BLOCK_UNITS;
		uint32_t to = hz_min((block + 1) * BLOCK_UNITS, end);

		rs->use[block] += (uint8_t)(sign * (int)(to - first));
		first = to;
	}
}

/* Units that space has handed out become r's. */
static void own(struct hz_ranges *rs, struct hz_range *r, uint32_t first,
                uint32_t units)
{
	set_map(rs, first, units, index_of(rs, r) + 1);
	count_use(rs, first, units, 1);
}

static void disown(struct hz_ranges *rs, uint32_t first, uint32_t units)
{
	set_map(rs, first, units, 0);
	count_use(rs, first, units, -1);
	hz_space_give(rs->space, first, units);
}

static uint64_t units_of(uint64_t bytes)
{
	return (bytes >> HZ_UNIT_SHIFT) + !!(bytes & (HZ_UNIT_SIZE - 1));
}

static bool is_whole(uint64_t bytes, unsigned flags)
{
	return bytes >= HZ_RANGE_PACK_MAX || (flags & HZ_RANGE_WHOLE);
}

/* ---- the interface ---- */

struct hz_range *hz_range_alloc(struct hz_ranges *rs, size_t bytes,
                                uint32_t align_units, enum hz_range_kind kind,
                                unsigned flags)
{
	uint32_t align = hz_max(align_units, 1u), first;
	uint64_t units = units_of(bytes);
	enum hz_placement how = HZ_PLACE_PACKED;
	struct hz_range *r;

	if (is_whole(bytes, flags)) {
		how = HZ_PLACE_WHOLE;
		units = hz_align_up(units, (uint64_t)BLOCK_UNITS);
		align = hz_max(align, BLOCK_UNITS);
	}
	if (!units || units > rs->units || !have_record(rs) ||
	    !hz_space_place(rs->space, (uint32_t)units, align, how, &first))
		return NULL;
	r = new_record(rs, kind, flags);
	r->first = first;
	r->units = (uint32_t)units;
	set_bytes(rs, r, bytes);
	own(rs, r, first, r->units);
	return r;
}

struct hz_range *hz_range_place(struct hz_ranges *rs, uint32_t first,
                                uint32_t units, enum hz_range_kind kind,
                                unsigned flags)
{
	struct hz_range *r;

	if (!units || first > rs->units || units > rs->units - first ||
	    !have_record(rs) || !hz_space_take(rs->space, first, units))
		return NULL;
	r = new_record(rs, kind, flags);
	r->first = first;
	r->units = units;
	set_bytes(rs, r, (uint64_t)units << HZ_UNIT_SHIFT);
	own(rs, r, first, units);
	return r;
}

void hz_range_free(struct hz_ranges *rs, struct hz_range *r)
{
	disown(rs, r->first, r->units);
	drop_record(rs, r);
}

struct hz_range *hz_range_at(struct hz_ranges *rs, uint32_t unit)
{
	uint32_t id = unit < rs->units ? rs->map[unit] : 0;

	return id ? &rs->record[id - 1] : NULL;
}

static bool grow(struct hz_ranges *rs, struct hz_range *r, uint64_t units)
{
	uint32_t end = r->first + r->units;
	uint64_t more = units - r->units;

	if (more > rs->units - end ||
	    !hz_space_take(rs->space, end, (uint32_t)more))
		return false;
	r->units = (uint32_t)units;
	own(rs, r, end, (uint32_t)more);
	return true;
}

/* A range that a cut left without whole blocks keeps what it has; one that
 * becomes large has to start on a block border. */
bool hz_range_resize(struct hz_ranges *rs, struct hz_range *r, size_t bytes)
{
	uint64_t need = units_of(bytes), want = need;
	bool whole = is_whole(bytes, r->flags);

	if (!need ||
	    (whole && !is_whole(r->bytes, r->flags) && r->first % BLOCK_UNITS))
		return false;
	if (whole)
		want = hz_align_up(r->first + need, (uint64_t)BLOCK_UNITS) -
		       r->first;
	if (need <= r->units)
		want = hz_min(want, (uint64_t)r->units);
	if (want > r->units && !grow(rs, r, want))
		return false;
	if (want < r->units) {
		disown(rs, r->first + (uint32_t)want,
		       r->units - (uint32_t)want);
		r->units = (uint32_t)want;
	}
	set_bytes(rs, r, bytes);
	return true;
}

static void keep_front(struct hz_ranges *rs, struct hz_range *r, uint32_t units)
{
	r->units = units;
	set_bytes(rs, r, hz_min(r->bytes, (uint64_t)units << HZ_UNIT_SHIFT));
}

static uint64_t bytes_behind(const struct hz_range *r, uint32_t unit)
{
	uint64_t before = (uint64_t)(unit - r->first) << HZ_UNIT_SHIFT;

	return r->bytes > before ? r->bytes - before : 0;
}

/* Units behind the cut that hold no bytes (the rest of the last block) are
 * freed with it: a part without bytes is no range. Units outside r are
 * ignored. */
int hz_range_cut(struct hz_ranges *rs, struct hz_range *r, uint32_t first,
                 uint32_t units, struct hz_range **behind)
{
	uint32_t end = r->first + r->units;
	uint32_t to = (uint32_t)hz_min((uint64_t)first + units, (uint64_t)end);
	uint32_t from = hz_max(first, r->first);
	struct hz_range old = *r, *b = NULL;
	uint64_t rest;

	*behind = NULL;
	if (from >= to)
		return 0;
	rest = bytes_behind(r, to);
	if (rest && from > old.first && !have_record(rs))
		return -ENOMEM;
	if (from > old.first)
		keep_front(rs, r, from - old.first);
	else
		drop_record(rs, r);
	if (rest) {
		b = new_record(rs, old.kind, old.flags);
		b->first = to;
		b->units = end - to;
		set_bytes(rs, b, rest);
		set_map(rs, to, b->units, index_of(rs, b) + 1);
	}
	disown(rs, from, (rest ? to : end) - from);
	*behind = b;
	return 0;
}

unsigned hz_range_block_use(struct hz_ranges *rs, uint32_t block)
{
	return block < rs->units / BLOCK_UNITS ? rs->use[block] : 0;
}

void hz_range_each(struct hz_ranges *rs,
                   void (*fn)(void *arg, struct hz_range *r), void *arg)
{
	for (uint32_t i = 0; i < rs->fresh; i++)
		if (rs->record[i].kind != HZ_RANGE_FREE)
			fn(arg, &rs->record[i]);
}

uint32_t hz_range_count(const struct hz_ranges *rs)
{
	return rs->count;
}

uint64_t hz_range_total(const struct hz_ranges *rs)
{
	return rs->total;
}

/* ---- check ---- */

static void expect(bool ok, const char *what)
{
	if (ok)
		return;
	hz_log(HZ_ERROR, "range", "bookkeeping is wrong (%s)", what);
	abort();
}

/* Compare the blocks whose first used unit is r's. */
static void check_use(struct hz_ranges *rs, const struct hz_range *r,
                      uint64_t *used)
{
	for (uint32_t b = r->first / BLOCK_UNITS;
	     b <= (r->first + r->units - 1) / BLOCK_UNITS; b++) {
		const uint32_t *map = rs->map + b * BLOCK_UNITS;
		uint32_t n = 0, owner = 0;

		for (unsigned i = 0; i < BLOCK_UNITS; i++) {
			n += map[i] != 0;
			owner = owner ? owner : map[i];
		}
		expect(n == rs->use[b], "use of a block");
		if (owner == index_of(rs, r) + 1)
			*used += n;
	}
}

static void check_range(struct hz_ranges *rs, const struct hz_range *r)
{
	uint32_t id = index_of(rs, r) + 1;

	expect(r->units && r->first + (uint64_t)r->units <= rs->units,
	       "range outside the region");
	expect(r->bytes && units_of(r->bytes) <= r->units, "units of a range");
	for (uint32_t i = 0; i < r->units; i++)
		expect(rs->map[r->first + i] == id, "map of a range");
	expect(!hz_space_touches(rs->space, r->first, r->units),
	       "unit both free and in use");
}

/* Ranges are disjoint by the map, extents by their order, each from the
 * other; so if their units add up, they cover the region exactly. */
void hz_ranges_check(struct hz_ranges *rs)
{
	uint64_t bytes = 0, units = 0, used = 0, uses = 0;
	const char *why = hz_space_check(rs->space);
	uint32_t count = 0;

	expect(!why, why);
	for (uint32_t i = 0; i < rs->fresh; i++) {
		const struct hz_range *r = &rs->record[i];

		if (r->kind == HZ_RANGE_FREE)
			continue;
		check_range(rs, r);
		check_use(rs, r, &used);
		count++;
		bytes += r->bytes;
		units += r->units;
	}
	for (uint32_t b = 0; b < rs->units / BLOCK_UNITS; b++)
		uses += rs->use[b];
	expect(used == units && uses == units, "sum of the uses");
	expect(units + hz_space_left(rs->space) == rs->units, "sum of units");
	expect(count == rs->count && bytes == rs->total, "totals");
}
