/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Arrays in the map of a GPU's memory: known by handles, some of which are of
 * parts, and never taken for addresses.
 */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif
#include <criterion/criterion.h>
#include <stdlib.h>
#include "policy/gpu_map.h"

#define MIB	    ((uint64_t)1 << 20)
#define HANDLE	    ((uint64_t)0x55550000)
#define KEY(n_)	    (HZ_GPU_BY_HANDLE | (HANDLE + 16u * (unsigned)(n_)))
#define AS_ADDR(n_) (HANDLE + 16u * (unsigned)(n_))
#define ARRAYS	    600u

static const struct hz_gpu_limits limits = {
	.allocs = 1024, .tensors = 2048, .leaves = 8};
static struct hz_gpu_map map;
static void *mem;

static void setup(void)
{
	mem = calloc(1, hz_gpu_map_bytes(limits));
	cr_assert_not_null(mem);
	hz_gpu_map_init(&map, limits, mem);
}

static void teardown(void)
{
	free(mem);
}

static uint32_t add(unsigned n, uint64_t bytes)
{
	return hz_gpu_map_add(&map, KEY(n), bytes, HZ_GPU_ARRAY, 1 + n % 3);
}

static const struct hz_gpu_tensor *found(uint64_t key)
{
	uint32_t t = hz_gpu_map_find(&map, key);

	return t == HZ_NONE ? NULL : &map.tensor[t];
}

TestSuite(gpu_arrays, .init = setup, .fini = teardown);

Test(gpu_arrays, is_no_address)
{
	cr_assert_neq(add(1, 5 * MIB), HZ_NONE);
	cr_expect_eq(map.bytes[HZ_GPU_IN_VRAM], 5 * MIB);
	cr_expect_eq(found(KEY(1))->bytes, 5 * MIB);
	cr_expect_null(found(AS_ADDR(1)));
	cr_expect_null(found(KEY(1) + 8));
	cr_expect_not(hz_gpu_map_maybe(&map, AS_ADDR(1)));
	cr_expect(hz_gpu_map_maybe(&map, KEY(1)));
	/* Memory at the same number is another thing. */
	hz_gpu_map_add(&map, AS_ADDR(1), 4096, HZ_GPU_HOST, 1);
	cr_expect_eq(found(AS_ADDR(1))->bytes, 4096);
	cr_expect_eq(found(KEY(1))->bytes, 5 * MIB);
	cr_assert(hz_gpu_map_remove(&map, AS_ADDR(1), NULL));
	cr_expect_eq(found(KEY(1))->bytes, 5 * MIB);
}

Test(gpu_arrays, is_not_cut_and_not_moved)
{
	uint32_t a = add(1, 5 * MIB), t = hz_gpu_map_find(&map, KEY(1));

	hz_gpu_map_part(&map, KEY(400), KEY(1));
	cr_expect_eq(hz_gpu_map_cut(&map, KEY(1)), t);
	cr_expect_eq(hz_gpu_map_cut(&map, KEY(400)), t);
	cr_expect_eq(map.tensors, 1);
	cr_expect(map.alloc[a].shared);
}

Test(gpu_arrays, what_is_nothing_is_refused)
{
	cr_expect_eq(add(1, 0), HZ_NONE);
	cr_expect_eq(hz_gpu_map_add(&map, KEY(1), UINT64_MAX, HZ_GPU_ARRAY, 1),
		     HZ_NONE);
	cr_expect_eq(map.allocs + map.tensors, 0);
}

Test(gpu_arrays, a_handle_that_comes_again_is_another_array)
{
	add(1, MIB);
	hz_gpu_map_part(&map, KEY(9), KEY(1));
	add(1, 2 * MIB); /* its end was not seen */
	cr_expect_eq(map.allocs, 1);
	cr_expect_eq(map.bytes[HZ_GPU_IN_VRAM], 2 * MIB);
	cr_expect_null(found(KEY(9)));
}

Test(gpu_arrays, parts_are_the_whole_while_it_lives)
{
	add(1, MIB);
	add(2, 2 * MIB);
	for (unsigned i = 0; i < 15; i++)
		hz_gpu_map_part(&map, KEY(100 + i), KEY(2));
	for (unsigned i = 0; i < 15; i++)
		cr_expect_eq(found(KEY(100 + i)), found(KEY(2)));
	/* They are not ends of it. */
	cr_expect_not(hz_gpu_map_remove(&map, KEY(100), NULL));
	cr_assert(hz_gpu_map_remove(&map, KEY(2), NULL));
	cr_expect_null(found(KEY(100)));
	/* The entry of the map is used anew, and the handle of the part too. */
	add(3, 3 * MIB);
	cr_expect_null(found(KEY(100)));
	add(100, 4 * MIB);
	cr_expect_eq(found(KEY(100))->bytes, 4 * MIB);
	cr_expect_eq(found(KEY(1))->bytes, MIB);
	/* Of one that is not there: nothing. */
	hz_gpu_map_part(&map, KEY(101), KEY(2));
	cr_expect_null(found(KEY(101)));
	hz_gpu_map_part(&map, KEY(3), KEY(3));
	cr_expect_eq(found(KEY(3))->bytes, 3 * MIB);
}

Test(gpu_arrays, go_with_their_owner)
{
	for (unsigned i = 0; i < 30; i++)
		add(i, MIB);
	cr_expect_eq(hz_gpu_map_remove_owner(&map, 2), 10);
	for (unsigned i = 0; i < 30; i++)
		cr_expect_eq(!found(KEY(i)), i % 3 == 1);
	cr_expect_eq(map.bytes[HZ_GPU_IN_VRAM], 20 * MIB);
}

/* Many handles, so that the lists are long. */
Test(gpu_arrays, random_walk)
{
	uint64_t bytes[ARRAYS] = {0}, sum = 0, state = 88172645463325252ull;

	for (int i = 0; i < 200000; i++) {
		unsigned n;

		state ^= state << 13;
		state ^= state >> 7;
		state ^= state << 17;
		n = (unsigned)(state % ARRAYS);
		if (bytes[n]) {
			cr_assert_eq(found(KEY(n))->bytes, bytes[n]);
			cr_assert(hz_gpu_map_remove(&map, KEY(n), NULL));
			sum -= bytes[n];
			bytes[n] = 0;
		} else {
			cr_assert_null(found(KEY(n)));
			bytes[n] = 1 + state % 1000;
			sum += bytes[n];
			cr_assert_neq(add(n, bytes[n]), HZ_NONE);
		}
		cr_assert_eq(map.bytes[HZ_GPU_IN_VRAM], sum);
	}
	for (unsigned n = 0; n < ARRAYS; n++)
		cr_assert_eq(hz_gpu_map_remove(&map, KEY(n), NULL),
			     bytes[n] != 0);
	cr_expect_eq(map.tensors + map.allocs, 0);
}
