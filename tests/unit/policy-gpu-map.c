/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The map of a GPU's memory: one behaviour a test, and a long random walk
 * against a list that is searched from end to end.
 */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif
#include <criterion/criterion.h>
#include <stdlib.h>
#include "policy/gpu_map.h"

#define MIB ((uint64_t)1 << 20)
#define AT  ((uint64_t)0x7f0000000000)

static const struct hz_gpu_limits few = {
	.allocs = 64, .tensors = 256, .leaves = 8};
static struct hz_gpu_map map;
static void *mem;

static void fresh(struct hz_gpu_limits limits)
{
	free(mem);
	mem = calloc(1, hz_gpu_map_bytes(limits));
	cr_assert_not_null(mem);
	hz_gpu_map_init(&map, limits, mem);
}

static void setup(void)
{
	fresh(few);
}

static const struct hz_gpu_tensor *tensor(uint64_t addr)
{
	uint32_t t = hz_gpu_map_find(&map, addr);

	return t == HZ_NONE ? NULL : &map.tensor[t];
}

static void teardown(void)
{
	free(mem);
}

TestSuite(gpu_map, .init = setup, .fini = teardown);

Test(gpu_map, an_allocation_is_one_tensor)
{
	uint32_t a = hz_gpu_map_add(&map, AT, 5 * MIB, HZ_GPU_ALLOC, 1);

	cr_assert_neq(a, HZ_NONE);
	cr_expect_eq(tensor(AT)->bytes, 5 * MIB);
	cr_expect_eq(tensor(AT + 5 * MIB - 1)->start, AT);
	cr_expect_null(tensor(AT + 5 * MIB));
	cr_expect_null(tensor(AT - 1));
	cr_expect_eq(map.bytes[HZ_GPU_IN_VRAM], 5 * MIB);
}

Test(gpu_map, bytes_are_counted_where_they_are)
{
	hz_gpu_map_add(&map, AT, 100, HZ_GPU_ASYNC, 1);
	hz_gpu_map_add(&map, AT + MIB, 200, HZ_GPU_MANAGED, 1);
	hz_gpu_map_add(&map, AT + 2 * MIB, 300, HZ_GPU_HOST, 1);
	hz_gpu_map_add(&map, AT + 3 * MIB, 400, HZ_GPU_VMM, 1);
	cr_expect_eq(map.bytes[HZ_GPU_IN_VRAM], 100);
	cr_expect_eq(map.bytes[HZ_GPU_IN_MANAGED], 200);
	cr_expect_eq(map.bytes[HZ_GPU_IN_PINNED], 300);
	cr_expect_eq(map.bytes[HZ_GPU_IN_OTHERS], 400);
}

Test(gpu_map, an_address_cuts)
{
	hz_gpu_map_add(&map, AT, 10 * MIB, HZ_GPU_ALLOC, 1);
	hz_gpu_map_cut(&map, AT + 3 * MIB);
	hz_gpu_map_cut(&map, AT + 7 * MIB);
	hz_gpu_map_cut(&map, AT + 3 * MIB);
	cr_expect_eq(map.tensors, 3);
	cr_expect_eq(tensor(AT)->bytes, 3 * MIB);
	cr_expect_eq(tensor(AT + 3 * MIB)->bytes, 4 * MIB);
	cr_expect_eq(tensor(AT + 7 * MIB + 12345)->start, AT + 7 * MIB);
}

Test(gpu_map, crumbs_are_not_cut_off)
{
	hz_gpu_map_add(&map, AT, MIB, HZ_GPU_ALLOC, 1);
	hz_gpu_map_cut(&map, AT + HZ_GPU_CUT_MIN - 1);
	cr_expect_eq(map.tensors, 1);
	hz_gpu_map_cut(&map, AT + HZ_GPU_CUT_MIN);
	cr_expect_eq(map.tensors, 2);
}

Test(gpu_map, removing_takes_all_tensors)
{
	struct hz_gpu_alloc was;

	hz_gpu_map_add(&map, AT, 10 * MIB, HZ_GPU_PITCH, 77);
	hz_gpu_map_cut(&map, AT + MIB);
	/* Not by an address inside it. */
	cr_expect_not(hz_gpu_map_remove(&map, AT + MIB, &was));
	cr_expect(hz_gpu_map_remove(&map, AT, &was));
	cr_expect_eq(was.bytes, 10 * MIB);
	cr_expect_eq(was.owner, 77);
	cr_expect_eq(was.origin, HZ_GPU_PITCH);
	cr_expect_eq(map.tensors + map.allocs, 0);
	cr_expect_null(tensor(AT + MIB));
	cr_expect_not(hz_gpu_map_remove(&map, AT, &was));
}

Test(gpu_map, an_owner_takes_its_memory_along)
{
	for (uint64_t i = 0; i < 10; i++)
		hz_gpu_map_add(&map, AT + i * MIB, MIB, HZ_GPU_ALLOC, i % 2);
	cr_expect_eq(hz_gpu_map_remove_owner(&map, 1), 5);
	cr_expect_eq(map.allocs, 5);
	cr_expect_null(tensor(AT + MIB));
	cr_expect_not_null(tensor(AT + 2 * MIB));
	/* 0 is nobody. */
	cr_expect_eq(hz_gpu_map_remove_owner(&map, 0), 0);
}

/* The address came again, so its end was not seen. */
Test(gpu_map, what_is_overlapped_is_forgotten)
{
	hz_gpu_map_add(&map, AT, 4 * MIB, HZ_GPU_ALLOC, 1);
	hz_gpu_map_cut(&map, AT + MIB);
	hz_gpu_map_add(&map, AT + 6 * MIB, MIB, HZ_GPU_ALLOC, 1);
	hz_gpu_map_add(&map, AT + 3 * MIB, 2 * MIB, HZ_GPU_ALLOC, 1);
	cr_expect_null(tensor(AT));
	cr_expect_eq(tensor(AT + 3 * MIB)->bytes, 2 * MIB);
	cr_expect_not_null(tensor(AT + 6 * MIB));
	cr_expect_eq(map.bytes[HZ_GPU_IN_VRAM], 3 * MIB);
}

Test(gpu_map, full_tables_refuse_and_stay_whole)
{
	for (uint32_t i = 0; i < few.allocs; i++)
		cr_assert_neq(hz_gpu_map_add(&map, AT + i * MIB, MIB,
					     HZ_GPU_ALLOC, 1),
			      HZ_NONE);
	cr_expect_eq(hz_gpu_map_add(&map, AT + 200 * MIB, MIB, HZ_GPU_ALLOC,
				    1),
		     HZ_NONE);
	for (uint64_t i = 1; i < 1000; i++)
		hz_gpu_map_cut(&map, AT + i * 1024);
	cr_expect_eq(map.tensors, few.tensors);
	cr_expect_eq(map.bytes[HZ_GPU_IN_VRAM], few.allocs * MIB);
	/* Found in the last piece that there was room for. */
	cr_expect_not_null(tensor(AT + 63 * MIB + 5));
	cr_expect(hz_gpu_map_remove(&map, AT, NULL));
	cr_expect_neq(hz_gpu_map_add(&map, AT + 200 * MIB, MIB, HZ_GPU_ALLOC,
				     1),
		      HZ_NONE);
}

Test(gpu_map, what_is_no_range_is_refused)
{
	cr_expect_eq(hz_gpu_map_add(&map, 0, MIB, HZ_GPU_ALLOC, 1), HZ_NONE);
	cr_expect_eq(hz_gpu_map_add(&map, AT, 0, HZ_GPU_ALLOC, 1), HZ_NONE);
	cr_expect_eq(hz_gpu_map_add(&map, UINT64_MAX - 10, 20, HZ_GPU_ALLOC,
				    1),
		     HZ_NONE);
	cr_expect_eq(hz_gpu_map_add(&map, 1ull << 50, MIB, HZ_GPU_ALLOC, 1),
		     HZ_NONE);
	cr_expect_null(tensor(1ull << 50));
	cr_expect_null(tensor(UINT64_MAX));
}

Test(gpu_map, the_hint_never_denies_an_address)
{
	hz_gpu_map_add(&map, AT + MIB, MIB, HZ_GPU_ALLOC, 1);
	hz_gpu_map_add(&map, AT + 9 * MIB, MIB, HZ_GPU_ALLOC, 1);
	cr_expect(hz_gpu_map_maybe(&map, AT + MIB));
	cr_expect(hz_gpu_map_maybe(&map, AT + 10 * MIB - 1));
	/* It may take what is near for one; it is not to take anything. */
	cr_expect_not(hz_gpu_map_maybe(&map, AT - 1));
	cr_expect_not(hz_gpu_map_maybe(&map, AT + 1024 * MIB));
	cr_expect_not(hz_gpu_map_maybe(&map, 5ull << 32 | 1024));
	cr_expect_not(hz_gpu_map_maybe(&map, 0));
	cr_expect_not(hz_gpu_map_maybe(&map, 1ull << 48 | AT));
	cr_expect_not(hz_gpu_map_maybe(&map, UINT64_MAX));
}

/* All the blocks of a range of many leaves, and none of its neighbours'. */
Test(gpu_map, cut_far_away_leaves_the_rest)
{
	const uint64_t gib = 1024 * MIB;

	hz_gpu_map_add(&map, AT + MIB, 40 * gib, HZ_GPU_ALLOC, 1);
	hz_gpu_map_cut(&map, AT + 20 * gib);
	hz_gpu_map_cut(&map, AT + 3 * gib + 4096);
	cr_expect_eq(tensor(AT + MIB)->bytes, 3 * gib + 4096 - MIB);
	cr_expect_eq(tensor(AT + 3 * gib)->start, AT + MIB);
	cr_expect_eq(tensor(AT + 3 * gib + 4096)->bytes, 17 * gib - 4096);
	cr_expect_eq(tensor(AT + 20 * gib - 1)->start, AT + 3 * gib + 4096);
	cr_expect_eq(tensor(AT + 39 * gib)->start, AT + 20 * gib);
	cr_expect_eq(tensor(AT + 40 * gib + MIB - 1)->start, AT + 20 * gib);
	cr_expect_null(tensor(AT + 40 * gib + MIB));
	cr_expect(hz_gpu_map_remove(&map, AT + MIB, NULL));
	cr_expect_null(tensor(AT + 39 * gib));
}

Test(gpu_map, classes)
{
	struct hz_gpu_tensor t = {.bytes = 1000 * MIB};
	const uint64_t link = 10000000000ull, second = 1000000000;

	/* Never used: it can go. Copied only: no kernel needs it. */
	cr_expect_eq(hz_gpu_class(&t, false, link), HZ_GPU_OFFLOADABLE);
	t.copies = 3;
	cr_expect_eq(hz_gpu_class(&t, false, link), HZ_GPU_HOST_ONLY);
	/* 0.1 s to move it once: every second pays, every 0.1 s does not. */
	t.launches = 8;
	t.first_ns = 1;
	t.last_ns = 10 * second;
	cr_expect_eq(hz_gpu_class(&t, false, link), HZ_GPU_OFFLOADABLE);
	t.last_ns = second;
	cr_expect_eq(hz_gpu_class(&t, false, link), HZ_GPU_RESIDENT);
	/* What others have a handle of stays where it is. */
	t.last_ns = 10 * second;
	cr_expect_eq(hz_gpu_class(&t, true, link), HZ_GPU_RESIDENT);
}

/* ---- a random walk ---- */

#define SPACE (64 * MIB)
#define UNIT  1024u
#define UNITS (SPACE / UNIT)

/* By unit: the first unit of its tensor and of its allocation, + 1. */
static uint32_t in_tensor[UNITS], in_alloc[UNITS];
static uint64_t state = 88172645463325252ull;

static uint64_t random_below(uint64_t n)
{
	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return state % n;
}

static void model_remove(uint32_t alloc)
{
	for (uint32_t u = 0; u < UNITS; u++)
		if (in_alloc[u] == alloc)
			in_alloc[u] = in_tensor[u] = 0;
}

static void model_add(uint32_t first, uint32_t n)
{
	for (uint32_t u = first; u < first + n; u++)
		if (in_alloc[u])
			model_remove(in_alloc[u]);
	for (uint32_t u = first; u < first + n; u++)
		in_alloc[u] = in_tensor[u] = first + 1;
}

static void model_cut(uint32_t at)
{
	uint32_t old = in_tensor[at];

	for (uint32_t u = at; old && u < UNITS && in_tensor[u] == old; u++)
		in_tensor[u] = at + 1;
}

static void step(void)
{
	uint32_t u = (uint32_t)random_below(UNITS);
	uint32_t n = 1 + (uint32_t)random_below(random_below(4) ? 64 : 12000);

	switch (random_below(8)) {
	case 0:
	case 1:
		n = n > UNITS - u ? (uint32_t)UNITS - u : n;
		hz_gpu_map_add(&map, AT + (uint64_t)u * UNIT,
			       (uint64_t)n * UNIT, HZ_GPU_ALLOC, 1);
		model_add(u, n);
		break;
	case 2:
		hz_gpu_map_remove(&map, AT + (uint64_t)u * UNIT, NULL);
		if (in_alloc[u] == u + 1)
			model_remove(u + 1);
		break;
	case 3:
		/* The allocation that holds it. */
		if (!in_alloc[u])
			break;
		cr_assert(hz_gpu_map_remove(
			&map, AT + (uint64_t)(in_alloc[u] - 1) * UNIT, NULL));
		model_remove(in_alloc[u]);
		break;
	default:
		hz_gpu_map_cut(&map, AT + (uint64_t)u * UNIT);
		model_cut(u);
	}
}

static void compare(uint32_t u)
{
	uint64_t addr = AT + (uint64_t)u * UNIT + random_below(UNIT);
	const struct hz_gpu_tensor *t = tensor(addr);

	if (!in_tensor[u]) {
		cr_assert_null(t, "unit %u", u);
		return;
	}
	cr_assert_not_null(t, "unit %u", u);
	cr_assert_eq(t->start, AT + (uint64_t)(in_tensor[u] - 1) * UNIT);
	cr_assert_eq(map.alloc[t->alloc].start,
		     AT + (uint64_t)(in_alloc[u] - 1) * UNIT);
}

Test(gpu_map, random_walk)
{
	fresh((struct hz_gpu_limits){
		.allocs = 8192, .tensors = 65536, .leaves = 8});
	for (int i = 0; i < 3000; i++) {
		step();
		for (int k = 0; k < 30; k++)
			compare((uint32_t)random_below(UNITS));
		if (i % 500 == 0)
			for (uint32_t u = 0; u < UNITS; u += 7)
				compare(u);
	}
	for (uint32_t u = 0; u < UNITS; u++)
		if (in_alloc[u] == u + 1)
			cr_assert(hz_gpu_map_remove(
				&map, AT + (uint64_t)u * UNIT, NULL));
	cr_expect_eq(map.tensors + map.allocs, 0);
	cr_expect_eq(map.bytes[HZ_GPU_IN_VRAM], 0);
}
