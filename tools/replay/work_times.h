/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How long the kernels of a recording take. Its launches say when the program
 * asked for them; a few were timed. See horizon-trace(5).
 */
#ifndef HZ_REPLAY_WORK_TIMES_H
#define HZ_REPLAY_WORK_TIMES_H

#include "replay/work.h"

/* What the device was asked for, in the order of the trace. */
struct times_asked {
	uint64_t name; /* TIMES_COPY: no launch */
	uint64_t at;   /* ns: when the program went on */
	uint32_t kernel;
	bool known; /* how long it takes */
};
#define TIMES_COPY UINT64_MAX

struct times {
	struct times_asked *asked;
	uint32_t n, max;
	uint32_t *launch; /* by number, from 0 on: of asked */
	uint32_t launches, launches_max;
	uint32_t timed;	     /* launches that an event of their own timed */
	uint64_t mismatched; /* events about what was not launched */
};

/* The last kernel of `w` was asked for; `ns` 0: how long it takes is not
 * known. */
void times_asked(struct times *t, struct work *w, uint64_t name, uint64_t at,
		 uint64_t ns);
/* The launch of this name, `back` launches before the next one, took so long.
 */
void times_took(struct times *t, struct work *w, uint64_t name, uint64_t back,
		uint64_t ns);
/* The whole trace was read: every kernel of the device gets its time. */
void times_settle(struct times *t, struct work *w);
void times_free(struct times *t);

#endif
