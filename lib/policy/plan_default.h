/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The state of the default plan. Private to plan_default.c (what the program
 * does) and plan_victims.c (what the engine takes).
 */
#ifndef HZ_PLAN_DEFAULT_H
#define HZ_PLAN_DEFAULT_H

#include "policy/learn.h"
#include "policy/plan.h"
#include "policy/plan_lists.h"
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

struct hz_plan {
	struct hz_lists lists;
	struct hz_learn learn;
	struct hz_trace trace;
	struct hz_run *run; /* of the last access; NULL before the first */
	uint32_t capacity;
	uint32_t read_ahead;
	uint32_t tick;  /* faults so far: the clock of everything here */
	uint32_t floor; /* fewest blocks that pressure left us with; HZ_NONE
	                 * while there was none */
	uint32_t floor_choices; /* choices since the floor rose */
	uint32_t luck;          /* share of trials that were used */
	uint32_t credit;        /* for trials */
	uint32_t aim;           /* share of prefetched blocks that were used */
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

static inline void hz_plan_move(struct hz_plan *plan, uint32_t block,
                                enum hz_list_id to)
{
	hz_list_move(&plan->lists, block, to);
}

#endif
