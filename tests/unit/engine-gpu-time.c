/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whose turn it is to be timed: one of each 64 launches, and over the steps
 * each launch of a step, whatever number of them a step has.
 */
#include <criterion/criterion.h>
#include <stdlib.h>
#include "engine/gpu_time.h"

#define EVERY HZ_GPU_TIME_EVERY

Test(gpu_time, one_of_each_64)
{
	for (uint64_t row = 0; row < 300000; row++) {
		unsigned turns = 0;

		for (uint64_t i = 0; i < EVERY; i++)
			turns += hz_gpu_time_is_turn(row * EVERY + i);
		cr_assert_eq(turns, 1, "row %d", (int)row);
	}
}

/* Numbers that are far from 0 are nothing special. */
Test(gpu_time, numbers_do_not_end)
{
	unsigned turns = 0;

	for (uint64_t i = 0; i < 100 * EVERY; i++)
		turns += hz_gpu_time_is_turn(UINT64_MAX - i);
	cr_assert_eq(turns, 100);
}

/* How many steps it takes until each of `launches` had its turn. */
static unsigned steps(uint32_t launches, unsigned most)
{
	uint8_t *had = calloc(launches, 1);
	uint32_t left = launches;
	uint64_t n = 0;
	unsigned step;

	for (step = 0; left && step < most; step++)
		for (uint32_t i = 0; i < launches; i++)
			if (hz_gpu_time_is_turn(n++) && !had[i]) {
				had[i] = 1;
				left--;
			}
	free(had);
	return left ? UINT32_MAX : step;
}

/* 64 steps are the fewest. Lengths that have many divisors in common with 64,
 * none, and what steps of real programs have. */
Test(gpu_time, each_launch_of_a_step_has_its_turn)
{
	static const uint32_t length[] = {
		1,    2,    3,	  63,	64,   65,   96,	  100,	101,
		127,  128,  129,  610,	640,  987,  1000, 1024, 1597,
		2048, 4095, 4096, 4097, 5000, 7919, 16384};

	for (size_t i = 0; i < sizeof(length) / sizeof(length[0]); i++) {
		unsigned n = steps(length[i], 1000);

		cr_assert_leq(n, 600, "%u launches: %u steps", length[i], n);
	}
}
