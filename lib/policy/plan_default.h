/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The state of the plan. Private to plan_default.c (what the program does),
 * plan_victims.c (what the engine takes) and plan_learned.c (the same two with
 * a schedule).
 */
#ifndef HZ_PLAN_DEFAULT_H
#define HZ_PLAN_DEFAULT_H

#include "policy/learn.h"
#include "policy/plan.h"
#include "policy/period.h"
#include "policy/plan_lists.h"
#include "policy/sched.h"
#include "policy/trace.h"

#define HZ_PLAN_EVENTS 4096 /* kept in the trace */

/* Shares are fractions of this. */
#define HZ_PLAN_ONE 1024u

/* What one trial costs in credit, and the most that is saved up. */
#define HZ_PLAN_TRIAL      1024u
#define HZ_PLAN_CREDIT_MAX (16 * HZ_PLAN_TRIAL)

/* Weight of one event in the running shares: 1/32 and 1/16. */
#define HZ_PLAN_LUCK_SHIFT 5
#define HZ_PLAN_AIM_SHIFT  4

/* Uses that a period may have: half of what is sampled at most. */
#define HZ_PLAN_SAMPLES (1u << 20)
#define HZ_PLAN_PERIOD	(HZ_PLAN_SAMPLES / 2)

enum hz_plan_mode {
	HZ_PLAN_WATCH,	/* the default policy; only faults are seen */
	HZ_PLAN_SAMPLE, /* every use is seen, and recorded */
	HZ_PLAN_FOLLOW, /* the schedule is followed */
};

struct hz_plan {
	struct hz_lists lists;
	struct hz_learn learn;
	struct hz_trace trace;
	struct hz_run *run; /* of the last access; NULL before the first */
	uint32_t capacity;
	uint32_t read_ahead;
	uint32_t tick;  /* uses so far: faults, and while a schedule is
			 * followed those in between; the clock here */
	uint32_t floor; /* fewest blocks that pressure left us with; HZ_NONE
	                 * while there was none */
	uint32_t floor_choices; /* choices since the floor rose */
	uint32_t luck;          /* share of trials that were used */
	uint32_t credit;        /* for trials */
	uint32_t aim;           /* share of prefetched blocks that were used */

	bool no_learning;
	bool dense; /* see hz_plan_dense() */
	enum hz_plan_mode mode;
	struct hz_period period;
	struct hz_sched sched;
	uint32_t sample_at;   /* tick at which to sample; 0: no pressure yet */
	uint32_t sampled_at;  /* tick at which sampling began */
	uint32_t failures;    /* samplings and schedules in a row without use */
	uint32_t locks;
	uint64_t marker;      /* use up to which we will see the program pass */
	uint64_t hits, misses; /* of earlier schedules */
	/* Of a transfer, 0: not known: the time between the ends of two when
	 * several are in flight, and how long one takes itself. */
	uint64_t share_ns, latency_ns;
	uint64_t ended; /* ns; the last one, 0: none was in flight then */
	struct hz_event ring[HZ_PLAN_EVENTS];
};

/* Blocks that the window has room for, those read ahead included. */
uint32_t hz_plan_window(const struct hz_plan *plan);

/* Blocks that MAIN may hold, and those that count against it. */
uint32_t hz_plan_main_target(const struct hz_plan *plan);
uint32_t hz_plan_main_count(const struct hz_plan *plan);

static inline uint32_t hz_plan_count(const struct hz_plan *plan,
                                     enum hz_list_id id)
{
	return hz_list_count(&plan->lists, id);
}

static inline struct hz_node *hz_plan_node(struct hz_plan *plan, uint32_t block)
{
	return &plan->lists.node[block];
}

/* A use of the block: the ticks since the last one. */
void hz_plan_note_gap(struct hz_plan *plan, uint32_t block);

/* ---- plan_learned.c ---- */
size_t hz_learned_bytes(uint32_t blocks);
void hz_learned_init(struct hz_plan *plan, void *mem);
/* The schedule, if there is one, learns what became of the block. */
void hz_learned_sync(struct hz_plan *plan, uint32_t block);
/* `block` was used: which list it is in now, and what was learned. */
void hz_learned_touch(struct hz_plan *plan, uint32_t block);
/* `age`: ticks since its last use. */
void hz_learned_event(struct hz_plan *plan, uint32_t block, uint32_t age,
                      uint64_t now);
struct hz_choice hz_learned_choose(struct hz_plan *plan, bool must);
unsigned hz_learned_ahead(struct hz_plan *plan, uint32_t *out, unsigned max);

/* ---- plan_victims.c ---- */
/* The head of a list. */
struct hz_choice hz_plan_take(struct hz_plan *plan, enum hz_action action,
                              enum hz_list_id list);
struct hz_choice hz_plan_take_refused(struct hz_plan *plan);
bool hz_plan_ahead_is_stale(struct hz_plan *plan);

static inline void hz_plan_move(struct hz_plan *plan, uint32_t block,
                                enum hz_list_id to)
{
	hz_list_move(&plan->lists, block, to);
	hz_learned_sync(plan, block);
}

#endif
