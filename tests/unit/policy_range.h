/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the tests of ranges share: a region of no memory at all, and what it
 * looks like when everything was given back.
 */
#ifndef POLICY_RANGE_H
#define POLICY_RANGE_H

#include <sys/mman.h>
#include <criterion/criterion.h>
#include "policy/range.h"

#define KB ((size_t)1 << 10)
#define MB ((size_t)1 << 20)
#define GB ((size_t)1 << 30)
#define BU HZ_UNITS_PER_BLOCK

static inline void *reserve(size_t len)
{
	void *mem = mmap(NULL, len, PROT_READ | PROT_WRITE,
	                 MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	cr_assert_neq(mem, MAP_FAILED);
	madvise(mem, len, MADV_NOHUGEPAGE);
	return mem;
}

static inline struct hz_ranges *make(uint32_t blocks, uint32_t max)
{
	return hz_ranges_init(reserve(hz_ranges_bytes(blocks, max)), blocks,
	                      max);
}

static inline struct hz_range *get(struct hz_ranges *rs, size_t bytes)
{
	struct hz_range *r = hz_range_alloc(rs, bytes, 1, HZ_RANGE_MALLOC, 0);

	cr_assert_not_null(r, "no room for %zu", bytes);
	return r;
}

/* Nothing is left, and nothing keeps the region apart. */
static inline void expect_one_extent(struct hz_ranges *rs, uint32_t blocks)
{
	struct hz_range *all;

	hz_ranges_check(rs);
	cr_assert_eq(hz_range_count(rs), 0);
	cr_assert_eq(hz_range_total(rs), 0);
	all = get(rs, blocks * HZ_BLOCK_SIZE);
	cr_assert_eq(all->first, 0);
	cr_assert_eq(all->units, blocks * BU);
	hz_range_free(rs, all);
}

#endif
