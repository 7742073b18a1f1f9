/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Ranges: placement, packing, growth, cuts, exhaustion.
 */
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include "policy_range.h"

Test(range, new_range_is_filled_in)
{
	struct hz_ranges *rs = make(64, 8);
	struct hz_range *r = hz_range_alloc(rs, 3 * MB + 1, 1, HZ_RANGE_MAP,
	                                    HZ_RANGE_STICKY);

	cr_assert_not_null(r);
	cr_assert_eq(r->bytes, 3 * MB + 1);
	cr_assert_eq(r->units, 49);
	cr_assert_eq(r->kind, HZ_RANGE_MAP);
	cr_assert_eq(r->flags, HZ_RANGE_STICKY);
	cr_assert_eq(r->stats_row, HZ_NONE);
	cr_assert_eq(r->faults, 0);
	cr_assert_eq(r->last_fault, 0);
	cr_assert_eq(hz_range_count(rs), 1);
	cr_assert_eq(hz_range_total(rs), 3 * MB + 1);
	r->faults = r->last_fault = 7;
	hz_range_free(rs, r);
	r = get(rs, MB);
	cr_assert_eq(r->faults + r->last_fault, 0);
}

Test(range, free_neighbours_merge_in_any_order)
{
	static const int order[][3] = {{0, 1, 2}, {2, 1, 0}, {0, 2, 1},
	                               {1, 0, 2}, {1, 2, 0}, {2, 0, 1}};
	static const size_t sizes[] = {64 * KB, MB, 20 * MB};
	struct hz_ranges *rs = make(64, 8);
	struct hz_range *r[3];

	for (unsigned s = 0; s < 3; s++) {
		for (unsigned i = 0; i < 6; i++) {
			for (unsigned j = 0; j < 3; j++)
				r[j] = get(rs, sizes[s]);
			hz_ranges_check(rs);
			for (unsigned j = 0; j < 3; j++) {
				hz_range_free(rs, r[order[i][j]]);
				hz_ranges_check(rs);
			}
			expect_one_extent(rs, 64);
		}
	}
}

Test(range, at_answers_for_every_unit)
{
	struct hz_ranges *rs = make(64, 8);
	struct hz_range *r[] = {get(rs, 64 * KB), get(rs, 5 * MB),
	                        get(rs, 17 * MB)};
	uint32_t owned = 0;

	for (uint32_t u = 0; u < 64 * BU; u++) {
		struct hz_range *want = NULL;

		for (unsigned i = 0; i < 3; i++)
			if (u >= r[i]->first && u < r[i]->first + r[i]->units)
				want = r[i];
		cr_assert_eq(hz_range_at(rs, u), want, "unit %u", u);
		owned += want != NULL;
	}
	cr_assert_eq(owned, 1 + 80 + 9 * BU);
	cr_assert_null(hz_range_at(rs, 64 * BU));
	cr_assert_null(hz_range_at(rs, UINT32_MAX));
}

Test(range, small_ranges_share_blocks)
{
	struct hz_ranges *rs = make(4096, 256);
	struct hz_range *r[BU + 1];
	uint32_t block;

	for (unsigned i = 0; i <= BU; i++)
		r[i] = get(rs, i % 2 ? 64 * KB : 1);
	block = r[0]->first / BU;
	for (unsigned i = 0; i < BU; i++)
		cr_assert_eq(r[i]->first / BU, block);
	cr_assert_eq(r[BU]->first, (block + 1) * BU);
	cr_assert_eq(hz_range_block_use(rs, block), BU);
	cr_assert_eq(hz_range_block_use(rs, block + 1), 1);
	hz_range_free(rs, r[3]);
	cr_assert_eq(hz_range_block_use(rs, block), BU - 1);
	cr_assert_eq(get(rs, 64 * KB)->first / BU, block); /* fills the hole */
	cr_assert_eq(hz_range_block_use(rs, block), BU);
	cr_assert_eq(hz_range_block_use(rs, 4096), 0); /* outside */
	hz_ranges_check(rs);
}

Test(range, small_ranges_stay_away_from_large_ones)
{
	struct hz_ranges *rs = make(4096, 256);
	uint32_t large[30], small[30];
	unsigned parted = 0;

	for (unsigned i = 0; i < 30; i++) {
		large[i] = get(rs, 20 * MB)->first;
		small[i] = get(rs, 1 * MB + i * 300 * KB)->first;
	}
	/* a large one lies between two small ones only where one packed chunk
	 * was full and another one begins */
	for (unsigned i = 1; i < 30; i++) {
		uint32_t low = hz_min(small[i - 1], small[i]);
		uint32_t high = hz_max(small[i - 1], small[i]);
		bool between = false;

		for (unsigned k = 0; k < 30; k++)
			between |= large[k] > low && large[k] < high;
		parted += between;
	}
	cr_assert_leq(parted, 2);
	hz_ranges_check(rs);
}

Test(range, small_ranges_fill_what_a_cut_left)
{
	struct hz_ranges *rs = make(4096, 64);
	struct hz_range *r = get(rs, 20 * MB), *b;
	uint32_t hole = r->first + 5;

	cr_assert_eq(hz_range_cut(rs, r, hole, 3, &b), 0);
	for (unsigned i = 0; i < 3; i++)
		cr_assert_eq(get(rs, 64 * KB)->first, hole + i);
	cr_assert_gt(get(rs, 64 * KB)->first, b->first);
	hz_ranges_check(rs);
}

Test(range, large_and_whole_ranges_own_their_blocks)
{
	struct hz_ranges *rs = make(256, 64);
	struct hz_range *r;

	for (unsigned i = 0; i < 10; i++) {
		get(rs, 64 * KB);
		r = hz_range_alloc(rs, 64 * KB, 1, HZ_RANGE_MAP,
		                   HZ_RANGE_WHOLE);
		cr_assert_eq(r->first % BU, 0);
		cr_assert_eq(r->units, BU);
		cr_assert_eq(hz_range_block_use(rs, r->first / BU), BU);
		r = get(rs, HZ_RANGE_PACK_MAX + i);
		cr_assert_eq(r->first % BU, 0);
		cr_assert_eq(r->units, i ? 9 * BU : 8 * BU);
	}
	r = get(rs, HZ_RANGE_PACK_MAX - 1);
	cr_assert_eq(r->units, 8 * BU);
	hz_ranges_check(rs);
}

Test(range, alignments)
{
	static const size_t sizes[] = {1, 100 * KB, 2 * MB, 15 * MB, 33 * MB};
	struct hz_ranges *rs = make(2048, 128);
	struct hz_range *r[64];
	unsigned n;

	for (unsigned whole = 0; whole < 2; whole++) {
		for (n = 0; n < 55; n++) {
			uint32_t align = 1u << (n * 7 % 11);

			r[n] = hz_range_alloc(rs, sizes[n % 5], align,
			                      HZ_RANGE_MALLOC,
			                      whole * HZ_RANGE_WHOLE);
			cr_assert_not_null(r[n], "align %u", align);
			cr_assert_eq(r[n]->first % align, 0);
		}
		hz_ranges_check(rs);
		while (n)
			hz_range_free(rs, r[--n]);
		expect_one_extent(rs, 2048);
	}
}

Test(range, alignment_decides_whether_it_fits)
{
	struct hz_ranges *rs = make(100, 64);
	struct hz_range *r;

	get(rs, 90 * HZ_BLOCK_SIZE); /* units 0 to 2880 of 3200 */
	r = hz_range_alloc(rs, 64 * KB, 1024, HZ_RANGE_MALLOC, 0);
	cr_assert_eq(r->first, 3072);
	cr_assert_null(hz_range_alloc(rs, 64 * KB, 1024, HZ_RANGE_MALLOC, 0));
	cr_assert_null(
	        hz_range_alloc(rs, 64 * KB, 1u << 31, HZ_RANGE_MALLOC, 0));
	r = hz_range_alloc(rs, 2 * MB, 64, HZ_RANGE_MAP, HZ_RANGE_WHOLE);
	cr_assert_not_null(r);
	cr_assert_eq(r->first % 64, 0);
	hz_ranges_check(rs);
}

/* More misses than the search tries before it jumps; one hit at the end. */
Test(range, alignment_is_found_among_many_misses)
{
	struct hz_ranges *rs = make(512, 1024);
	struct hz_range *r[256], *hit;

	for (unsigned i = 0; i < 256; i++) {
		r[i] = hz_range_alloc(rs, 2 * MB, 1, HZ_RANGE_MAP,
		                      HZ_RANGE_WHOLE);
		hz_range_alloc(rs, 2 * MB, 1, HZ_RANGE_MAP, HZ_RANGE_WHOLE);
	}
	for (unsigned i = 0; i < 256; i++)
		if (r[i]->first % 1024)
			hz_range_free(rs, r[i]);
	cr_assert_null(hz_range_alloc(rs, MB, 1024, HZ_RANGE_MALLOC, 0));
	hz_range_free(rs, hz_range_at(rs, 9 * 1024));
	hit = hz_range_alloc(rs, MB, 1024, HZ_RANGE_MALLOC, 0);
	cr_assert_not_null(hit);
	cr_assert_eq(hit->first, 9 * 1024);
	hz_ranges_check(rs);
}

Test(range, resize_shrinks_and_grows_in_place)
{
	struct hz_ranges *rs = make(4096, 16);
	struct hz_range *r = get(rs, 10 * MB);
	uint32_t first = r->first;

	cr_assert(hz_range_resize(rs, r, 100 * KB));
	cr_assert_eq(r->units, 2);
	cr_assert_null(hz_range_at(rs, first + 2));
	cr_assert(hz_range_resize(rs, r, 12 * MB));
	cr_assert_eq(r->units, 192);
	cr_assert_eq(hz_range_at(rs, first + 191), r);
	cr_assert_eq(r->first, first);
	cr_assert_eq(hz_range_total(rs), 12 * MB);
	cr_assert_not(hz_range_resize(rs, r, 0));
	cr_assert_not(hz_range_resize(rs, r, SIZE_MAX));
	cr_assert_eq(r->bytes, 12 * MB);
	hz_ranges_check(rs);
	hz_range_free(rs, r);
	expect_one_extent(rs, 4096);
}

Test(range, resize_stops_at_a_neighbour)
{
	struct hz_ranges *rs = make(4096, 16);
	struct hz_range *a = get(rs, MB), *b = get(rs, MB);

	cr_assert_eq(b->first, a->first + a->units);
	cr_assert_not(hz_range_resize(rs, a, MB + 1));
	cr_assert_eq(a->bytes, MB);
	cr_assert(hz_range_resize(rs, a, MB - 1));
	hz_range_free(rs, b);
	cr_assert(hz_range_resize(rs, a, MB + 1));
	hz_ranges_check(rs);
}

Test(range, resize_keeps_whole_blocks)
{
	struct hz_ranges *rs = make(4096, 16);
	struct hz_range *pad = get(rs, 64 * KB), *odd = get(rs, 10 * MB);
	struct hz_range *r = get(rs, 20 * MB + 1);

	cr_assert_eq(odd->first, pad->first + 1);
	cr_assert_not(hz_range_resize(rs, odd, HZ_RANGE_PACK_MAX));
	cr_assert(hz_range_resize(rs, pad, 64 * KB - 1));
	cr_assert_eq(r->units, 11 * BU);
	cr_assert(hz_range_resize(rs, r, 16 * MB + 1));
	cr_assert_eq(r->units, 9 * BU);
	cr_assert(hz_range_resize(rs, r, 3 * MB));
	cr_assert_eq(r->units, 48);
	cr_assert(hz_range_resize(rs, r, 30 * MB));
	cr_assert_eq(r->units, 15 * BU);
	hz_ranges_check(rs);
}

Test(range, large_ranges_have_room_to_grow)
{
	struct hz_ranges *rs = make(4096, 64);
	struct hz_range *a = get(rs, 64 * MB), *b = get(rs, 64 * MB);

	cr_assert(hz_range_resize(rs, a, 128 * MB));
	cr_assert_not(hz_range_resize(rs, a, 128 * MB + 1));
	cr_assert(hz_range_resize(rs, b, 128 * MB));
	hz_ranges_check(rs);
	hz_range_free(rs, a);
	hz_ranges_check(rs);
	hz_range_free(rs, b);
	expect_one_extent(rs, 4096);
}

Test(range, room_to_grow_is_used_before_failing)
{
	struct hz_ranges *rs = make(512, 64);
	unsigned n = 0;

	while (hz_range_alloc(rs, 16 * MB, 1, HZ_RANGE_MALLOC, 0))
		n++;
	cr_assert_eq(n, 64);
	hz_ranges_check(rs);
}

Test(range, freed_room_is_used_again)
{
	struct hz_ranges *rs = make(1 << 20, 64);
	struct hz_range *keep = get(rs, GB), *r = get(rs, GB);
	uint32_t first = r->first;

	for (unsigned i = 0; i < 1000; i++) {
		hz_range_free(rs, r);
		r = get(rs, GB);
		cr_assert_eq(r->first, first);
	}
	cr_assert_neq(keep->first, first);
}

Test(range, cut_front_middle_back)
{
	struct hz_ranges *rs = make(256, 16);
	struct hz_range *r = get(rs, 40 * MB - 5), *b, *c;
	uint32_t f = r->first;

	r->stats_row = 3;
	r->faults = 9;
	cr_assert_eq(hz_range_cut(rs, r, f + 100, 40, &b), 0);
	cr_assert_eq(r->units, 100);
	cr_assert_eq(r->bytes, 100 * HZ_UNIT_SIZE);
	cr_assert_eq(r->stats_row, 3);
	cr_assert_eq(b->first, f + 140);
	cr_assert_eq(b->units, 500);
	cr_assert_eq(b->bytes, 500 * HZ_UNIT_SIZE - 5);
	cr_assert_eq(b->stats_row, HZ_NONE);
	cr_assert_eq(b->faults, 0);
	cr_assert_eq(b->kind, HZ_RANGE_MALLOC);
	cr_assert_null(hz_range_at(rs, f + 100));
	cr_assert_null(hz_range_at(rs, f + 139));
	cr_assert_eq(hz_range_at(rs, f + 140), b);
	cr_assert_eq(hz_range_block_use(rs, f / BU + 3), 4);
	cr_assert_eq(hz_range_block_use(rs, f / BU + 4), 20);
	hz_ranges_check(rs);

	cr_assert_eq(hz_range_cut(rs, b, f + 140, 60, &c), 0); /* front */
	cr_assert_eq(c->first, f + 200);
	cr_assert_eq(c->units, 440);
	cr_assert_eq(hz_range_count(rs), 2);
	hz_ranges_check(rs);
	cr_assert_eq(hz_range_cut(rs, c, f + 600, 40, &b), 0); /* back */
	cr_assert_null(b);
	cr_assert_eq(c->units, 400);
	cr_assert_eq(c->bytes, 400 * HZ_UNIT_SIZE);
	hz_ranges_check(rs);
	cr_assert_eq(hz_range_cut(rs, c, f + 200, 400, &b), 0); /* all */
	cr_assert_null(b);
	cr_assert_eq(hz_range_count(rs), 1);
	cr_assert_eq(hz_range_cut(rs, r, f, 0, &b), 0); /* nothing */
	cr_assert_null(b);
	cr_assert_eq(hz_range_cut(rs, r, f + 90, UINT32_MAX, &b), 0);
	cr_assert_null(b);
	cr_assert_eq(r->units, 90); /* what is not r's is ignored */
	hz_range_free(rs, r);
	expect_one_extent(rs, 256);
}

/* The rest of the last block goes with the bytes. */
Test(range, cut_leaves_no_part_without_bytes)
{
	struct hz_ranges *rs = make(64, 16);
	struct hz_range *r =
	        hz_range_alloc(rs, 3 * MB, 1, HZ_RANGE_MAP, HZ_RANGE_WHOLE);
	struct hz_range *b;

	cr_assert_eq(r->units, 2 * BU);
	cr_assert_eq(hz_range_cut(rs, r, r->first + 16, 32, &b), 0);
	cr_assert_null(b);
	cr_assert_eq(r->units, 16);
	cr_assert_eq(hz_range_cut(rs, r, r->first, 16, &b), 0);
	cr_assert_null(b);
	expect_one_extent(rs, 64);
}

Test(range, cut_without_a_record_changes_nothing)
{
	struct hz_ranges *rs = make(64, 1);
	struct hz_range *r = get(rs, 20 * MB), *b;
	struct hz_range before = *r;

	cr_assert_eq(hz_range_cut(rs, r, r->first + 1, 1, &b), -ENOMEM);
	cr_assert_eq(memcmp(r, &before, sizeof(before)), 0);
	hz_ranges_check(rs);
	/* Cutting the front needs no second record. */
	cr_assert_eq(hz_range_cut(rs, r, r->first, 1, &b), 0);
	cr_assert_eq(b->units, 10 * BU - 1);
	hz_ranges_check(rs);
}

Test(range, space_and_records_run_out)
{
	struct hz_ranges *rs = make(10, 100);
	struct hz_range *r;
	unsigned n = 0;

	cr_assert_null(hz_range_alloc(rs, 0, 1, HZ_RANGE_MALLOC, 0));
	cr_assert_null(hz_range_alloc(rs, 20 * MB + 1, 1, HZ_RANGE_MALLOC, 0));
	cr_assert_null(hz_range_alloc(rs, SIZE_MAX, 1, HZ_RANGE_MALLOC, 0));
	while (hz_range_alloc(rs, MB, 1, HZ_RANGE_MALLOC, 0))
		n++;
	cr_assert_eq(n, 20);
	hz_ranges_check(rs);
	r = hz_range_at(rs, 160);
	hz_range_free(rs, r);
	cr_assert_eq(get(rs, MB)->first, 160);

	rs = make(64, 3);
	r = get(rs, MB);
	get(rs, MB);
	get(rs, MB);
	cr_assert_null(hz_range_alloc(rs, MB, 1, HZ_RANGE_MALLOC, 0));
	hz_range_free(rs, r);
	get(rs, MB);
	hz_ranges_check(rs);
}

static void free_it(void *arg, struct hz_range *r)
{
	hz_range_free(arg, r);
}

static void sum_it(void *arg, struct hz_range *r)
{
	*(uint64_t *)arg += r->bytes;
}

Test(range, each_visits_every_live_range)
{
	struct hz_ranges *rs = make(256, 64);
	uint64_t sum = 0;

	for (unsigned i = 1; i < 40; i++) {
		struct hz_range *r = get(rs, i * 300 * KB);

		if (i % 3 == 0)
			hz_range_free(rs, r);
	}
	hz_range_each(rs, sum_it, &sum);
	cr_assert_eq(sum, hz_range_total(rs));
	cr_assert_eq(sum, (780 - 273) * 300 * KB);
	hz_range_each(rs, free_it, rs);
	expect_one_extent(rs, 256);
}

Test(range, check_finds_damage, .signal = SIGABRT)
{
	struct hz_ranges *rs = make(64, 8);

	get(rs, MB)->units++;
	hz_ranges_check(rs);
}

Test(range, metadata_of_a_huge_region_is_not_touched)
{
	uint32_t blocks = 8u << 20;
	size_t len =
	        hz_align_up(hz_ranges_bytes(blocks, 1 << 16), HZ_PAGE_SIZE);
	void *mem = reserve(len);
	struct hz_ranges *rs = hz_ranges_init(mem, blocks, 1 << 16);
	unsigned char *core = malloc(len / HZ_PAGE_SIZE);
	size_t resident = 0;

	get(rs, MB);
	get(rs, GB);
	cr_assert_not(mincore(mem, len, core));
	for (size_t i = 0; i < len / HZ_PAGE_SIZE; i++)
		resident += core[i] & 1;
	free(core);
	cr_assert_lt(resident, 64);
}
