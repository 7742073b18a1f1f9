/* SPDX-License-Identifier: Apache-2.0 */
/*
 * See gpu_time.h.
 *
 * The turn. Launches are counted, and one of each 64 has its turn: it rests at
 * one place among the 64 for a stretch, then moves to the next place. While it
 * rests for a step's launches or more, turns go round the step 64 launches
 * apart; at the next place they do so one launch further, and after 64 places
 * no launch of the step was left out. How many launches a step has is not
 * known, and a stretch that is much longer than a step times the same ones
 * again and again: so stretches double, from 64 launches to 65536, and begin
 * anew. Steps of any other length are gone round unevenly, but in the same
 * way; tests/unit/engine-gpu-time.c counts after how many steps each launch
 * had its turn.
 */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif
#include "base/util.h"
#include "engine/gpu_time.h"

#define EVERY HZ_GPU_TIME_EVERY
/* Lengths of stretches: 1, 2, 4, ... times EVERY launches. */
#define LENGTHS 11u
/* As many rows of EVERY launches until all lengths were there. */
#define ROWS (EVERY * ((1u << LENGTHS) - 1))

bool hz_gpu_timing;

static uint64_t launches; /* atomic */

/* What this thread launched since it expects to: what the trace calls it, and
 * how many there were: a signal handler may launch, too. volatile for it. */
static __thread volatile struct {
	uint64_t number;
	uint32_t name, n;
} told __attribute__((tls_model("initial-exec")));

bool hz_gpu_time_is_turn(uint64_t n)
{
	uint32_t row = (uint32_t)(n / EVERY % ROWS);
	/* The lengths before this one took EVERY * (length - 1) rows. */
	unsigned log = 31 - (unsigned)__builtin_clz(row / EVERY + 1);
	uint32_t place = (row - EVERY * ((1u << log) - 1)) >> log;

	return n % EVERY == place;
}

bool hz_gpu_time_turn(void)
{
	return hz_gpu_time_is_turn(
		__atomic_fetch_add(&launches, 1, __ATOMIC_RELAXED));
}

void hz_gpu_time_expect(void)
{
	told.n = 0;
}

void hz_gpu_time_recorded(uint32_t name, uint64_t number)
{
	told.number = number;
	told.name = name;
	told.n++;
}

bool hz_gpu_time_launched(struct hz_gpu_launched *what)
{
	what->number = told.number;
	what->name = told.name;
	return told.n == 1;
}
