/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Ranges in long random runs: against a model that is an array of owners, for
 * fragmentation, and the pools of free space on their own.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "policy/space.h"
#include "policy_range.h"

static uint64_t rng = 88172645463325252ull;

static uint32_t draw(uint32_t n)
{
	rng ^= rng << 13;
	rng ^= rng >> 7;
	rng ^= rng << 17;
	return (uint32_t)(rng >> 32) % n;
}

/* ---- random runs against a model ---- */

enum { MODEL_RANGES = 96 };

struct model {
	struct hz_ranges *rs;
	uint32_t units;
	struct hz_range **owner; /* by unit */
	struct hz_range *live[MODEL_RANGES];
	unsigned count;
};

static void paint(struct model *m, uint32_t first, uint32_t units,
                  struct hz_range *from, struct hz_range *to)
{
	for (uint32_t i = 0; i < units; i++) {
		cr_assert_eq(m->owner[first + i], from, "unit %u", first + i);
		m->owner[first + i] = to;
	}
}

static void forget(struct model *m, struct hz_range *r)
{
	unsigned i = 0;

	while (m->live[i] != r)
		i++;
	m->live[i] = m->live[--m->count];
}

static uint32_t free_run(const struct model *m, uint32_t at)
{
	uint32_t n = 0;

	while (at + n < m->units && !m->owner[at + n])
		n++;
	return n;
}

static bool any_fit(const struct model *m, uint32_t units, uint32_t align)
{
	for (uint64_t at = 0; at < m->units; at += align)
		if (free_run(m, (uint32_t)at) >= units)
			return true;
	return false;
}

static size_t draw_bytes(void)
{
	switch (draw(8)) {
	case 0:
		return 16 * MB + draw(16 << 20);
	case 1:
		return 1 + draw(16 << 20);
	case 2:
		return HZ_UNIT_SIZE * (1 + draw(64));
	default:
		return 1 + draw(2 << 20);
	}
}

static void model_alloc(struct model *m)
{
	size_t bytes = draw_bytes();
	uint32_t units = (uint32_t)((bytes + HZ_UNIT_SIZE - 1) / HZ_UNIT_SIZE);
	uint32_t align = draw(4) ? 1 : 1u << draw(11);
	unsigned flags = draw(6) ? 0 : HZ_RANGE_WHOLE;
	struct hz_range *r =
	        hz_range_alloc(m->rs, bytes, align, HZ_RANGE_MALLOC, flags);

	if (flags || bytes >= HZ_RANGE_PACK_MAX) {
		units = hz_align_up(units, BU);
		align = hz_max(align, BU);
	}
	if (!r) {
		cr_assert(m->count == MODEL_RANGES || !any_fit(m, units, align),
		          "%u units at %u would fit", units, align);
		return;
	}
	cr_assert_eq(r->units, units);
	cr_assert_eq(r->first % align, 0);
	paint(m, r->first, r->units, NULL, r);
	m->live[m->count++] = r;
}

static void model_free(struct model *m, struct hz_range *r)
{
	paint(m, r->first, r->units, r, NULL);
	forget(m, r);
	hz_range_free(m->rs, r);
}

static void model_resize(struct model *m, struct hz_range *r)
{
	struct hz_range old = *r;
	size_t bytes = draw(2) ? draw_bytes() : old.bytes + draw(4 << 20);
	uint32_t need = (uint32_t)((bytes + HZ_UNIT_SIZE - 1) / HZ_UNIT_SIZE);
	uint32_t end = old.first + old.units;

	if (hz_range_resize(m->rs, r, bytes)) {
		cr_assert_eq(r->bytes, bytes);
		cr_assert_geq(r->units, need);
		cr_assert_lt(r->units, need + BU);
		if (r->units > old.units)
			paint(m, end, r->units - old.units, NULL, r);
		else
			paint(m, r->first + r->units, old.units - r->units, r,
			      NULL);
		return;
	}
	cr_assert_eq(memcmp(r, &old, sizeof(old)), 0);
	cr_assert_gt(bytes, old.bytes);
	if (bytes < HZ_RANGE_PACK_MAX && !(old.flags & HZ_RANGE_WHOLE))
		cr_assert_lt(free_run(m, end), need - old.units);
	else if (old.first % BU == 0)
		cr_assert_lt(free_run(m, end),
		             hz_align_up(need, BU) - old.units);
}

static void model_cut(struct model *m, struct hz_range *r)
{
	struct hz_range old = *r, *b;
	uint32_t at = draw(old.units), n = 1 + draw(old.units - at);
	uint64_t back = (uint64_t)(at + n) << HZ_UNIT_SHIFT;
	int rc = hz_range_cut(m->rs, r, old.first + at, n, &b);

	if (rc) {
		cr_assert_eq(rc, -ENOMEM);
		cr_assert_eq(m->count, MODEL_RANGES);
		cr_assert_eq(memcmp(r, &old, sizeof(old)), 0);
		return;
	}
	cr_assert_eq(b != NULL, old.bytes > back);
	forget(m, r);
	paint(m, old.first, old.units, r, NULL);
	if (at) {
		cr_assert_eq(r->first, old.first);
		cr_assert_eq(r->units, at);
		cr_assert_eq(r->bytes, hz_min(old.bytes, at * HZ_UNIT_SIZE));
		paint(m, r->first, at, NULL, r);
		m->live[m->count++] = r;
	}
	if (b) {
		cr_assert_eq(b->first, old.first + at + n);
		cr_assert_eq(b->units, old.units - at - n);
		cr_assert_eq(b->bytes, old.bytes - back);
		paint(m, b->first, b->units, NULL, b);
		m->live[m->count++] = b;
	}
}

static void model_compare(struct model *m)
{
	uint64_t bytes = 0;

	hz_ranges_check(m->rs);
	for (uint32_t u = 0; u < m->units; u++)
		cr_assert_eq(hz_range_at(m->rs, u), m->owner[u], "unit %u", u);
	for (uint32_t b = 0; b < m->units / BU; b++) {
		unsigned use = 0;

		for (uint32_t u = 0; u < BU; u++)
			use += m->owner[b * BU + u] != NULL;
		cr_assert_eq(hz_range_block_use(m->rs, b), use);
	}
	for (unsigned i = 0; i < m->count; i++)
		bytes += m->live[i]->bytes;
	cr_assert_eq(hz_range_count(m->rs), m->count);
	cr_assert_eq(hz_range_total(m->rs), bytes);
}

/* `keep`: percentage of steps that allocate. */
static void run_model(uint32_t blocks, unsigned steps, unsigned keep)
{
	struct model m = {.rs = make(blocks, MODEL_RANGES),
	                  .units = blocks * BU};

	m.owner = calloc(m.units, sizeof(*m.owner));
	for (unsigned i = 0; i < steps; i++) {
		unsigned what = draw(100);

		if (what < keep || !m.count)
			model_alloc(&m);
		else if (what < 75)
			model_free(&m, m.live[draw(m.count)]);
		else if (what < 90)
			model_resize(&m, m.live[draw(m.count)]);
		else
			model_cut(&m, m.live[draw(m.count)]);
		if (i % 250 == 0)
			model_compare(&m);
	}
	while (m.count)
		model_free(&m, m.live[draw(m.count)]);
	model_compare(&m);
	expect_one_extent(m.rs, blocks);
	free(m.owner);
}

Test(range, random_mostly_full)
{
	run_model(100, 80000, 48);
}

Test(range, random_half_empty)
{
	run_model(400, 80000, 36);
}

Test(range, random_tiny_regions)
{
	for (uint32_t blocks = 1; blocks <= 20; blocks++)
		run_model(blocks, 2000, 42);
}

/* ---- fragmentation ---- */

/* A program that keeps about 1 GiB in mixed sizes and replaces it all the
 * time uses little more blocks than bytes, and leaves the rest in one piece. */
Test(range, churn_stays_compact)
{
	static const size_t sizes[] = {1 * MB,  1 * MB,  3 * MB,
	                               4 * MB,  12 * MB, 16 * MB,
	                               32 * MB, 48 * MB, 64 * KB};
	struct hz_ranges *rs = make(4096, 1024);
	struct hz_range *r[1024];
	unsigned n = 0;

	for (unsigned i = 0; i < 50000; i++) {
		if (hz_range_total(rs) < GB) {
			r[n++] = get(rs, sizes[draw(9)] + draw(64 << 10));
		} else {
			unsigned j = draw(n);

			hz_range_free(rs, r[j]);
			r[j] = r[--n];
		}
		if (i % 5000 == 4999) {
			uint64_t used = 0;
			struct hz_range *big;

			for (uint32_t b = 0; b < 4096; b++)
				used += hz_range_block_use(rs, b) != 0;
			cr_assert_lt(used * HZ_BLOCK_SIZE,
			             hz_range_total(rs) * 5 / 4);
			big = get(rs, 4 * GB);
			hz_range_free(rs, big);
		}
	}
	while (n)
		hz_range_free(rs, r[--n]);
	expect_one_extent(rs, 4096);
}

/* The pools themselves: one extent again, without a request that forces it. */
Test(space, all_given_back_is_one_extent)
{
	struct hz_space *s =
	        hz_space_init(reserve(hz_space_bytes(1024, 256)), 1024, 256);
	uint32_t first[256], units[256];
	unsigned n = 0;

	for (unsigned i = 0; i < 20000; i++) {
		if (n < 256 && draw(2)) {
			bool whole = !draw(5);

			units[n] = whole ? BU * (1 + draw(16)) : 1 + draw(200);
			if (hz_space_place(s, units[n], whole ? BU : 1,
			                   whole ? HZ_PLACE_WHOLE
			                         : HZ_PLACE_PACKED,
			                   &first[n]))
				n++;
		} else if (n) {
			unsigned j = draw(n);

			hz_space_give(s, first[j], units[j]);
			first[j] = first[--n];
			units[j] = units[n];
		}
		if (i % 100 == 0)
			cr_assert_null(hz_space_check(s));
	}
	while (n--)
		hz_space_give(s, first[n], units[n]);
	cr_assert_eq(hz_space_extents(s), 1);
	cr_assert_eq(hz_space_left(s), 1024 * BU);
	cr_assert_null(hz_space_check(s));
}

/* 64 ranges, of which every second is freed again and replaced by one that
 * fits no hole, would make more extents than there are nodes: the pools give
 * up their borders, never a unit. */
Test(space, nodes_are_never_short)
{
	struct hz_space *s =
	        hz_space_init(reserve(hz_space_bytes(16384, 64)), 16384, 64);
	uint32_t first[64], units[64], most = 0, used = 0;

	for (unsigned i = 0; i < 64; i++) {
		units[i] = 8 * BU;
		cr_assert(hz_space_place(s, units[i], BU, HZ_PLACE_WHOLE,
		                         &first[i]));
	}
	for (unsigned i = 0; i < 64; i += 2)
		hz_space_give(s, first[i], units[i]);
	for (unsigned i = 0; i < 64; i += 2) {
		units[i] = 40 * BU;
		cr_assert(hz_space_place(s, units[i], BU, HZ_PLACE_WHOLE,
		                         &first[i]));
		most = hz_max(most, hz_space_extents(s));
		cr_assert_null(hz_space_check(s));
	}
	cr_assert_gt(most, 64);
	cr_assert_lt(hz_space_extents(s), most);
	for (unsigned i = 0; i < 64; i++)
		used += units[i];
	cr_assert_eq(hz_space_left(s), 16384 * BU - used);
	for (unsigned i = 0; i < 64; i++) {
		hz_space_give(s, first[i], units[i]);
		cr_assert_null(hz_space_check(s));
	}
	cr_assert_eq(hz_space_extents(s), 1);
}
