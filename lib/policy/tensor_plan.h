/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What to do with each tensor of a step that repeats.
 *
 * A step is a list of kernels with the tensors that each reads and writes.
 * After every use of a tensor there is a gap until its next use; the plan says
 * how many of its bytes leave fast memory in that gap, by when they have to be
 * gone, and from when on they may come back:
 *
 *   who leaves   furthest next use first, in pieces, so that no more leaves
 *                than has to; of two that are about as far away, the one that
 *                has a copy below. Bytes that nobody reads again are dropped
 *                and never written.
 *   when out     as soon as the link has time: writing back is not evicting,
 *                and later the eviction of what has a copy is free.
 *   when in      just in time for the measured bandwidth of the link, earlier
 *                where memory is free until then anyway.
 *   where to     what does not fit the second tier (RAM) goes on to the third
 *                (store): again furthest next use first.
 *
 * The goal `time` lets more bytes leave where that makes room for what must be
 * on its way already; `bytes` moves the least.
 *
 * Pure: no system call, no clock, no memory but the caller's.
 */
#ifndef HZ_TENSOR_PLAN_H
#define HZ_TENSOR_PLAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "base/util.h"

/* LAST: the bytes die after this use. */
enum { HZ_USE_READ = 1, HZ_USE_WRITE = 2, HZ_USE_LAST = 4 };

/* A tensor and how a kernel uses it: at most one use a kernel. */
#define HZ_USE_TENSORS	      (1u << 29)
#define hz_use(tensor_, how_) ((uint32_t)(tensor_) << 3 | (how_))
#define hz_use_tensor(use_)   ((use_) >> 3)
#define hz_use_how(use_)      ((use_)&7)

struct hz_step {
	uint32_t kernels, tensors;
	const uint64_t *ns;    /* by kernel: how long it runs */
	const uint32_t *first; /* by kernel: its uses; first[kernels]: all */
	const uint32_t *use;   /* hz_use(); lists of all kernels */
	const uint64_t *bytes; /* by tensor */
};

enum hz_goal { HZ_GOAL_TIME, HZ_GOAL_BYTES };

struct hz_plan_for {
	uint64_t fast;		      /* bytes of the first tier */
	uint64_t second;	      /* and of the second */
	uint64_t out_bps, in_bps;     /* link, bytes a second */
	uint64_t write_bps, read_bps; /* store; 0: there is none */
	uint64_t piece;		      /* tensors are split in these */
	enum hz_goal goal;
};

/* The gap after a use. */
struct hz_gap {
	uint64_t evict;	 /* bytes that leave */
	uint64_t write;	 /* of them to be written first */
	uint64_t store;	 /* of them that go on to the third tier */
	uint64_t some;	 /* of them that may come back from `early` on */
	uint32_t next;	 /* use that ends the gap; HZ_NONE: dead */
	uint32_t wrote;	 /* use that wrote last: from there on bytes can be
			  * copied; HZ_NONE: none in the step does */
	uint32_t opened; /* kernel of the use */
	uint32_t closes; /* kernel of the next one; + kernels when it wraps */
	uint32_t by;	 /* out before this kernel; may wrap likewise */
	uint32_t gate;	 /* may come back from this kernel on; likewise */
	uint32_t early;	 /* and some of it from here on */
	uint32_t read;	 /* may be read from the store from here on */
};

struct hz_tensor_plan {
	struct hz_gap *gap; /* by use */
	uint32_t *out;	    /* gaps that write, in order of `by` */
	uint32_t outs;
	uint64_t in_bytes; /* a step over the link */
	uint64_t out_bytes;
	uint64_t store_bytes; /* a step to the store; as many come back */
	uint64_t overflow;    /* largest use of one kernel over `fast` */
};

/* Bytes of memory for hz_tensor_plan_make(). */
size_t hz_tensor_plan_bytes(const struct hz_step *step);

/* The plan lies in `mem`. O(uses log uses). */
void hz_tensor_plan_make(struct hz_tensor_plan *plan, void *mem,
			 const struct hz_step *step,
			 const struct hz_plan_for *machine);

/* The same step with other times, in the plan's own memory: who leaves stays,
 * the rest is found again. A part of the cost of a plan. */
void hz_tensor_plan_retime(struct hz_tensor_plan *plan, void *mem,
			   const struct hz_step *step,
			   const struct hz_plan_for *machine);

/* A step in which some kernels came, went or changed, after a plan for what it
 * was; `mem` is not that plan's, which must still be there. False: too much
 * changed, make a plan. */
bool hz_tensor_plan_change(struct hz_tensor_plan *plan, void *mem,
			   const struct hz_step *step,
			   const struct hz_plan_for *machine,
			   const struct hz_tensor_plan *was,
			   const struct hz_step *was_step);

/* Largest sum of bytes that are alive at a time, a kernel that it is reached
 * in, and the least time of a step by what must cross the link (and the
 * store) on both sides of each kernel. `mem` as above. */
struct hz_step_bound {
	uint64_t live_peak;
	uint32_t peak_kernel;
	uint64_t ideal_ns, bound_ns;
};

void hz_step_bound(struct hz_step_bound *bound, void *mem,
		   const struct hz_step *step,
		   const struct hz_plan_for *machine);

#endif
