/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The default plan: which block to take next, and what became of the choice.
 */
#include "policy/plan_default.h"

/* Choices for the floor to rise by one block. */
#define FLOOR_RISE 64u

/* The engine keeps frames free and in flight, a number that varies: MAIN is
 * sized by the fewest blocks that were left, so that the window breathes and
 * MAIN does not. */
static void note_pressure(struct hz_plan *plan)
{
	uint32_t total = plan->lists.total;

	if (total < plan->floor) {
		plan->floor = total;
		plan->floor_choices = 0;
	} else if (++plan->floor_choices >= FLOOR_RISE) {
		plan->floor += total > plan->floor;
		plan->floor_choices = 0;
	}
}

/* An eighth of the budget; half of it when trials are not used. */
static uint32_t trial_bound(const struct hz_plan *plan)
{
	uint64_t eighth = plan->capacity / 8;
	uint64_t bad = HZ_PLAN_ONE - plan->luck;

	return (uint32_t)(eighth + 3 * eighth * bad / HZ_PLAN_ONE) + 1;
}

static bool may_try(const struct hz_plan *plan)
{
	return plan->credit >= HZ_PLAN_TRIAL &&
	       hz_plan_count(plan, HZ_LIST_MAIN) &&
	       hz_plan_count(plan, HZ_LIST_TRIAL) < trial_bound(plan);
}

bool hz_plan_ahead_is_stale(struct hz_plan *plan)
{
	uint32_t block = hz_list_head(&plan->lists, HZ_LIST_AHEAD);
	uint32_t age = hz_max(8 * plan->read_ahead, plan->capacity / 4);

	return block != HZ_NONE &&
	       plan->tick - hz_plan_node(plan, block)->asked > age;
}

/* ---- choosing ---- */

/* Progress, or the end of a round: what was refused may be offered again.
 * Each refusal moves once, so the cost is amortised. */
static void age_refusals(struct hz_plan *plan)
{
	uint32_t block;

	while ((block = hz_list_head(&plan->lists, HZ_LIST_REFUSED)) != HZ_NONE)
		hz_plan_move(plan, block, HZ_LIST_REFUSED_B);
}

struct hz_choice hz_plan_take(struct hz_plan *plan, enum hz_action action,
			      enum hz_list_id list)
{
	struct hz_choice c = {action, hz_list_head(&plan->lists, list)};

	return c;
}

/* Nothing else is left: what was refused before the last progress. When that
 * is used up as well the round ends, and the next one offers all again. */
struct hz_choice hz_plan_take_refused(struct hz_plan *plan)
{
	struct hz_choice c =
		hz_plan_take(plan, HZ_ACT_EVICT, HZ_LIST_REFUSED_B);

	if (c.block == HZ_NONE) {
		c.action = HZ_ACT_NONE;
		age_refusals(plan);
	} else if (hz_plan_node(plan, c.block)->home == HZ_LIST_AHEAD) {
		c.action = HZ_ACT_DROP;
	}
	return c;
}

struct hz_choice hz_plan_choose(struct hz_plan *plan, bool must)
{
	/* Victims of the last resort, worst first. */
	static const enum hz_list_id order[] = {HZ_LIST_TRIAL, HZ_LIST_MAIN,
						HZ_LIST_WINDOW};

	note_pressure(plan);
	if (plan->mode != HZ_PLAN_WATCH)
		return hz_learned_choose(plan, must);
	if (hz_plan_count(plan, HZ_LIST_DOOMED))
		return hz_plan_take(plan, HZ_ACT_EVICT, HZ_LIST_DOOMED);
	if (hz_plan_ahead_is_stale(plan))
		return hz_plan_take(plan, HZ_ACT_DROP, HZ_LIST_AHEAD);
	if (may_try(plan))
		return hz_plan_take(plan, HZ_ACT_TRIAL, HZ_LIST_MAIN);
	if (hz_plan_count(plan, HZ_LIST_WINDOW) &&
	    hz_plan_main_count(plan) <= hz_plan_main_target(plan))
		return hz_plan_take(plan, HZ_ACT_EVICT, HZ_LIST_WINDOW);
	for (unsigned i = 0; i < hz_array_len(order); i++) {
		if (hz_plan_count(plan, order[i]))
			return hz_plan_take(plan, HZ_ACT_EVICT, order[i]);
	}
	if (hz_plan_count(plan, HZ_LIST_AHEAD))
		return hz_plan_take(plan, HZ_ACT_DROP, HZ_LIST_AHEAD);
	return hz_plan_take_refused(plan);
}

/* ---- what became of it ---- */

static void begin_trial(struct hz_plan *plan, uint32_t block)
{
	if (plan->mode == HZ_PLAN_WATCH) {
		plan->credit -= hz_min(plan->credit, HZ_PLAN_TRIAL);
		plan->luck -= plan->luck >> HZ_PLAN_LUCK_SHIFT;
	}
	hz_plan_node(plan, block)->stamp = plan->tick;
	hz_plan_move(plan, block, HZ_LIST_TRIAL);
}

/* Is this the answer to a choice of a block that is still ours? */
static bool is_held(struct hz_plan *plan, struct hz_choice choice)
{
	return choice.action != HZ_ACT_NONE &&
	       choice.block < plan->lists.blocks &&
	       hz_plan_node(plan, choice.block)->list != HZ_LIST_NONE;
}

void hz_plan_done(struct hz_plan *plan, struct hz_choice choice)
{
	age_refusals(plan);
	if (!is_held(plan, choice))
		return;
	if (choice.action == HZ_ACT_TRIAL) {
		begin_trial(plan, choice.block);
		return;
	}
	if (choice.action == HZ_ACT_DROP) {
		plan->aim -= plan->aim >> HZ_PLAN_AIM_SHIFT;
		if (hz_plan_follows(plan))
			hz_sched_doubt(&plan->sched);
	}
	hz_plan_move(plan, choice.block, HZ_LIST_NONE);
}

void hz_plan_refused(struct hz_plan *plan, struct hz_choice choice)
{
	struct hz_node *n;

	/* Refusals cost a system call as well: they are not free to repeat. */
	if (choice.action == HZ_ACT_TRIAL)
		plan->credit -= hz_min(plan->credit, HZ_PLAN_TRIAL);
	if (!is_held(plan, choice))
		return;
	n = hz_plan_node(plan, choice.block);
	if (n->list != HZ_LIST_REFUSED && n->list != HZ_LIST_REFUSED_B)
		n->home = n->list;
	n->asked = plan->tick;
	hz_plan_move(plan, choice.block, HZ_LIST_REFUSED);
}

void hz_plan_forget(struct hz_plan *plan, uint32_t block)
{
	if (block >= plan->lists.blocks)
		return;
	hz_plan_move(plan, block, HZ_LIST_NONE);
	hz_plan_node(plan, block)->seen = 0;
	hz_plan_node(plan, block)->gap = 0;
	hz_learned_sync(plan, block);
}

void hz_plan_rename(struct hz_plan *plan, uint32_t from, uint32_t to)
{
	if (from >= plan->lists.blocks || to >= plan->lists.blocks)
		return;
	hz_list_rename(&plan->lists, from, to);
	hz_learned_sync(plan, from);
	hz_learned_sync(plan, to);
}

void hz_plan_check(struct hz_plan *plan)
{
	hz_lists_check(&plan->lists);
}
