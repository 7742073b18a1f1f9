/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finding the processes that run under Horizon: a segment is a memfd that
 * an engine thread (its name starts with "hz-"), the job's horizon-run, or a
 * process whose GPU is watched keeps open, so it is found under
 * /proc/PID/task/TID/fd or /proc/PID/fd.
 */
#ifndef HZ_ATTACH_H
#define HZ_ATTACH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include "base/stats.h"

#define ATTACH_PIDS_MAX 64

/* A mapped segment; a job's processes share one. */
struct attach_segment {
	dev_t dev;
	ino_t ino;
	const struct hz_stats_segment *map;
	bool found; /* by this scan */
};

/* A living process. Only identity and cells of the copies are filled; ranges
 * are read from `slot`. */
struct attach_proc {
	const struct hz_stats_proc *slot;
	struct hz_stats_proc *now, *before; /* before: zero at first */
	uint64_t now_ns, before_ns;
	bool alive; /* seen by this scan */
};

struct attach {
	/* only these processes; none: all */
	uint32_t pids[ATTACH_PIDS_MAX];
	unsigned pid_count;

	struct attach_segment *segments;
	unsigned segment_count;
	struct attach_proc *procs; /* by pid */
	unsigned proc_count;

	bool engine;	  /* this process has engine threads */
	bool denied;	  /* there are some that we may not look into */
	uint32_t foreign; /* one whose segment has another layout; 0 none */
};

/* Look again: new processes come in, those that ended leave, and each one's
 * counters are copied. 0 or -ENOMEM. */
int attach_scan(struct attach *a);

#endif
