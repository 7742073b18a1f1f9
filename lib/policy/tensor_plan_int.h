/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the files of the tensor planner share. See tensor_plan.h.
 */
#ifndef HZ_TENSOR_PLAN_INT_H
#define HZ_TENSOR_PLAN_INT_H

#include "policy/tensor_plan.h"

/* A line of the caches: the planner waits for memory, and is told what comes
 * next so many uses ahead. */
#define HZ_TP_LINE  64u
#define HZ_TP_AHEAD 24u
/* Of a function that only does so: else the compiler takes it for one that
 * does nothing. */
#define HZ_TP_HINT static inline __attribute__((always_inline)) void

/* A tensor while uses are linked: its next use, kernel * 2 + is it read. */
struct hz_tp_seen {
	uint32_t use, how;
};

/* A tensor while the step is walked. */
struct hz_tp_state {
	uint64_t bytes;
	uint64_t here;	/* bytes in the tier */
	uint64_t clean; /* bytes that have a copy below */
	uint64_t evict; /* left in the open gap */
	uint64_t write; /* of them without a copy */
	uint32_t use;	/* the open gap's; HZ_NONE: not alive */
	uint32_t since; /* kernel, absolute, after the last write */
	uint32_t by;	/* kernel of the first eviction, absolute */
	uint32_t wrote; /* use that wrote last */
} __attribute__((aligned(HZ_TP_LINE)));

/* An open gap, and the absolute kernel that closes it. */
struct hz_tp_far {
	uint32_t key, use;
};

/* Open gaps by the kernel that closes them: a list for each, and a bit for
 * each list that is not empty, with bits above those by 64. What is not later
 * than now is not looked at any more, so that nothing has to be taken out. */
#define HZ_TP_LEVELS 4

struct hz_tp_queue {
	uint32_t *head; /* by kernel, absolute: use, HZ_NONE: empty */
	uint32_t *next; /* by use */
	uint64_t *bits[HZ_TP_LEVELS];
	uint32_t keys;
	uint32_t top;	 /* the largest key that is not empty; HZ_NONE: look */
	uint32_t popped; /* the key that was taken last */
};

/* The link out in a kernel: bytes that it could carry more, and the first
 * kernel from here on that has any. */
struct hz_tp_link {
	int64_t left;
	uint32_t idle;
};

/* A walk backwards in time along one link: each transfer ends when it has to,
 * or when the one after it begins. */
struct hz_tp_late {
	uint64_t at;	 /* the link is taken from here on */
	uint32_t kernel; /* the one that runs then, absolute */
	uint64_t bps;
	uint64_t bytes, ns; /* the last transfer, and how long it takes */
};

struct hz_tp {
	const struct hz_step *step;
	const struct hz_plan_for *m;
	struct hz_gap *gap;
	uint64_t *spill;  /* by use: bytes for the third tier */
	uint32_t *order;  /* by use: its gap's `closes`, HZ_NONE: dead; at last
			   * the plan's list */
	uint32_t *prev;	  /* by use: the gap that it ends, or HZ_NONE */
	uint64_t *leaves; /* a bit a use: some leaves in its gap */
	uint32_t *count;  /* 2 a kernel and 2 more: gaps that write, by `by` */
	uint64_t in_bytes, out_bytes; /* of a step */
	struct hz_tp_state *state;    /* by tensor */
	struct hz_tp_queue far;
	uint64_t *start; /* by kernel of HZ_TP_TIMES rounds, 1 more: time */
	int64_t *room;	 /* by kernel: bytes that may be used */
	int64_t *used;	 /* by kernel: bytes that are */
	int64_t *flight; /* by kernel, 1 more: on their way in */
	struct hz_tp_link *link; /* by kernel of all rounds, 1 more */
	uint64_t stall; /* bytes that nothing but waiting makes room for */
	uint64_t now;	/* kernel of a walk, absolute */
	uint32_t rounds;
};

/* Rounds of a walk until it is steady; one less for very long steps. */
#define HZ_TP_ROUNDS 3
#define HZ_TP_LARGE  1000000u /* uses: very long */
/* Walks back in time begin so many rounds ahead. */
#define HZ_TP_TIMES 4

void hz_tp_far_reset(struct hz_tp *tp);
void hz_tp_far_push(struct hz_tp *tp, struct hz_tp_far far);
/* The furthest one; false: none closes after tp->now. */
bool hz_tp_far_pop(struct hz_tp *tp, struct hz_tp_far *far);

/* An absolute kernel in its step; few rounds, so no division. */
static inline uint32_t hz_tp_in_step(const struct hz_tp *tp, uint32_t kernel)
{
	while (kernel >= tp->step->kernels)
		kernel -= tp->step->kernels;
	return kernel;
}

/* Nanoseconds that a link takes. */
static inline uint64_t hz_tp_ns(uint64_t bytes, uint64_t bps)
{
	return bps ? (uint64_t)((double)bytes * 1e9 / (double)bps) : 0;
}

/* Most gaps evict nothing, and are not looked at. */
static inline bool hz_tp_leaves(const struct hz_tp *tp, uint32_t use)
{
	return tp->leaves[use / 64] >> (use % 64) & 1;
}

static inline void hz_tp_leaves_some(struct hz_tp *tp, uint32_t use)
{
	tp->leaves[use / 64] |= 1ull << (use % 64);
}

/* Does a gap end with this use that something comes back from? */
static inline bool hz_tp_comes_back(const struct hz_tp *tp, uint32_t use)
{
	return tp->prev[use] != HZ_NONE && hz_tp_leaves(tp, tp->prev[use]);
}

/* `bytes` more are in memory from kernel a to before b: a change of flight,
 * which is summed up later. */
void hz_tp_fly(struct hz_tp *tp, uint32_t a, uint32_t b, int64_t bytes);

/* Who leaves, within tp->room; counts it. */
void hz_tp_choose(struct hz_tp *tp);

/* When each comes back at the latest: fills gate and flight. */
void hz_tp_just_in_time(struct hz_tp *tp);
/* Gates earlier where there is memory. */
void hz_tp_earlier(struct hz_tp *tp);

/* Which of it goes to the third tier, and when it is read at the latest;
 * leaves in room what the second tier holds. */
void hz_tp_spill(struct hz_tp *tp);
/* Reads earlier where the second tier has room. */
void hz_tp_read_earlier(struct hz_tp *tp);

/* Lay the arrays out; returns the bytes. `mem` may be NULL. */
size_t hz_tp_lay_out(struct hz_tp *tp, void *mem, const struct hz_step *step);
/* The same for a machine. */
void hz_tp_begin(struct hz_tp *tp, void *mem, const struct hz_step *step,
		 const struct hz_plan_for *machine);
/* All that comes after who leaves; used and order must be as then. */
void hz_tp_timing(struct hz_tp *tp, struct hz_tensor_plan *plan);
void hz_tp_list_outs(struct hz_tp *tp, struct hz_tensor_plan *plan);
/* Links uses of those tensors that have a bit, NULL: of all; zeroes the rest of
 * their gaps. */
void hz_tp_gaps(struct hz_tp *tp, const uint64_t *only);
/* Fills start. */
void hz_tp_times(struct hz_tp *tp);

#endif
