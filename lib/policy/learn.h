/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sequential runs in the stream of faults.
 *
 * A run is a number of faults that go through the blocks in one direction,
 * holes allowed: blocks that are resident do not fault. A table of runs is
 * kept, since a program reads several arrays at once and has threads; the
 * least recently continued one makes room for a new one. Runs in the
 * same place merge by themselves: the first that matches takes the event.
 *
 * A zeroed table is an empty one. Pure; the engine's lock guards it.
 */
#ifndef HZ_LEARN_H
#define HZ_LEARN_H

#include <stdbool.h>
#include <stdint.h>
#include "base/util.h"

#define HZ_RUNS          32
#define HZ_RUN_GAP       2 /* blocks that a run may leave out */
#define HZ_RUN_CONFIRMED 3 /* steps in one direction that make it one */

struct hz_run {
	uint32_t last;  /* the farthest block that faulted */
	uint32_t high;  /* the farthest block that was requested */
	uint32_t used;  /* tick of the last event, 0: unused entry */
	uint32_t steps; /* events that continued it */
	uint32_t ahead; /* blocks requested and not used yet */
	int32_t dir;    /* +1, -1, or 0 after one event */
};

struct hz_learn {
	struct hz_run run[HZ_RUNS];
	uint32_t tick;
};

/* Take one event in; the run that it belongs to (never NULL). */
struct hz_run *hz_learn_event(struct hz_learn *learn, uint32_t block);

static inline bool hz_run_confirmed(const struct hz_run *run)
{
	return run->steps >= HZ_RUN_CONFIRMED;
}

#endif
