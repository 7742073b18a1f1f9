/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The table of runs. A plain search over its few hundred bytes costs less than
 * the fault that led here by three orders.
 */
#include "policy/learn.h"

/* How far `block` lies beyond the run's last one, in its direction. */
static int64_t run_delta(const struct hz_run *run, uint32_t block)
{
	return ((int64_t)block - run->last) * (run->dir < 0 ? -1 : 1);
}

/* Blocks past `last` that still continue the run: what was requested, and a
 * small hole. */
static int64_t run_reach(const struct hz_run *run)
{
	int64_t asked = run_delta(run, run->high);

	return hz_max(asked, (int64_t)0) + HZ_RUN_GAP + 1;
}

/* Distance of a match, or -1. Two threads of one run may overtake each other
 * by a block or two: such an event belongs to the run but moves nothing. */
static int64_t run_match(const struct hz_run *run, uint32_t block)
{
	int64_t delta = run_delta(run, block);

	if (!run->used)
		return -1;
	if (delta <= 0)
		return delta >= -HZ_RUN_GAP - 1 ? -delta : -1;
	return delta <= run_reach(run) ? delta : -1;
}

static struct hz_run *find_run(struct hz_learn *learn, uint32_t block)
{
	struct hz_run *best = NULL;
	int64_t best_delta = INT64_MAX;

	for (unsigned i = 0; i < HZ_RUNS; i++) {
		int64_t delta = run_match(&learn->run[i], block);

		if (delta >= 0 && delta < best_delta) {
			best = &learn->run[i];
			best_delta = delta;
		}
	}
	return best;
}

static struct hz_run *oldest_run(struct hz_learn *learn)
{
	struct hz_run *oldest = &learn->run[0];

	for (unsigned i = 1; i < HZ_RUNS && oldest->used; i++) {
		struct hz_run *run = &learn->run[i];

		if (!run->used ||
		    learn->tick - run->used > learn->tick - oldest->used)
			oldest = run;
	}
	return oldest;
}

static void start_run(struct hz_run *run, uint32_t block)
{
	*run = (struct hz_run){.last = block, .high = block};
}

static void advance_run(struct hz_run *run, uint32_t block)
{
	run->last = block;
	run->steps++;
	if (run_delta(run, run->high) <= 0) {
		run->high = block;
		run->ahead = 0;
	}
}

static void continue_run(struct hz_run *run, uint32_t block)
{
	if (run->dir == 0 && block != run->last)
		run->dir = block > run->last ? 1 : -1;
	if (run_delta(run, block) > 0)
		advance_run(run, block);
	else if (run->dir && !hz_run_confirmed(run) && block != run->last) {
		/* One step each way is no run; begin again from here. */
		start_run(run, block);
	}
}

struct hz_run *hz_learn_event(struct hz_learn *learn, uint32_t block)
{
	struct hz_run *run = find_run(learn, block);

	if (++learn->tick == 0)
		learn->tick = 1;
	if (!run) {
		run = oldest_run(learn);
		start_run(run, block);
	} else {
		continue_run(run, block);
	}
	run->used = learn->tick;
	return run;
}
