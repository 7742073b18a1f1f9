/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The default plan: scan-resistant, for programs whose period is not known.
 *
 * Memory is a fixed part (MAIN) and a small WINDOW. While memory is not full,
 * newcomers fill MAIN; afterwards they pass through the window, which gives
 * up its oldest block when one is needed. So a loop larger than the budget
 * keeps what is in MAIN and streams the rest.
 *
 * MAIN is kept honest by trials. Its oldest block is unmapped but stays in
 * its frame (TRIAL): a soft fault says that it is still used and sends it to
 * MAIN's end. When a block comes back from the store and its gap between uses
 * is shorter than what the oldest trial has been waiting, it takes the
 * trial's place (which becomes DOOMED, the next victim). The measure of time
 * is the fault: idle time does not age anything.
 *
 * Trials cost soft faults when MAIN is good, nothing when it is stale. `luck`,
 * the share of trials that were used, sets their rate, their number and the
 * patience with them. In the same way `aim`, the share of prefetched blocks
 * that were used, sets how far is read ahead.
 */
#include "policy/plan_default.h"

#include "policy/predict.h"

/* Faults after which a refusal is forgotten. */
#define RETRY_TICKS 64u

/* A trial is waited for at least this much longer than the gap of the block
 * that wants its place, and by up to PATIENCE_LUCK more the better MAIN is:
 * in a plain loop all gaps are equal and nothing should be swapped. */
#define PATIENCE_LEAST (HZ_PLAN_ONE + HZ_PLAN_ONE / 8)
#define PATIENCE_LUCK  (HZ_PLAN_ONE - HZ_PLAN_ONE / 8)

static size_t header_bytes(void)
{
	return hz_align_up(sizeof(struct hz_plan), HZ_PAGE_SIZE);
}

size_t hz_plan_bytes(uint32_t blocks)
{
	size_t nodes = blocks * sizeof(struct hz_node);

	return header_bytes() + hz_align_up(nodes, HZ_PAGE_SIZE) +
	       hz_learned_bytes(blocks);
}

struct hz_plan *hz_plan_init(void *mem, uint32_t blocks, uint32_t read_ahead)
{
	struct hz_plan *plan = mem;
	size_t nodes = blocks * sizeof(struct hz_node);

	plan->lists.node = (struct hz_node *)((char *)mem + header_bytes());
	plan->lists.blocks = blocks;
	plan->read_ahead = read_ahead;
	plan->capacity = blocks;
	plan->floor = HZ_NONE;
	plan->luck = HZ_PLAN_ONE / 2;
	plan->aim = HZ_PLAN_ONE;
	hz_trace_init(&plan->trace, plan->ring, HZ_PLAN_EVENTS);
	hz_learned_init(plan, (char *)plan->lists.node +
				      hz_align_up(nodes, HZ_PAGE_SIZE));
	return plan;
}

/* ---- sizes ---- */

void hz_plan_capacity(struct hz_plan *plan, uint32_t blocks)
{
	/* Growth is room for MAIN; a cut shows at the next choice. */
	if (blocks > plan->capacity && plan->floor != HZ_NONE)
		plan->floor += blocks - plan->capacity;
	plan->capacity = blocks;
}

uint32_t hz_plan_window(const struct hz_plan *plan)
{
	uint32_t want = hz_max(2 * plan->read_ahead, plan->capacity / 16);

	want = hz_min(want, plan->capacity / 4);
	return hz_max(want, 1u);
}

uint32_t hz_plan_main_count(const struct hz_plan *plan)
{
	return hz_plan_count(plan, HZ_LIST_MAIN) +
	       hz_plan_count(plan, HZ_LIST_TRIAL) +
	       hz_plan_count(plan, HZ_LIST_REFUSED) +
	       hz_plan_count(plan, HZ_LIST_REFUSED_B);
}

uint32_t hz_plan_main_target(const struct hz_plan *plan)
{
	uint32_t window = hz_plan_window(plan);

	if (plan->floor == HZ_NONE)
		return HZ_NONE;
	return plan->floor > window ? plan->floor - window : 0;
}

/* ---- accesses ---- */

/* A miss pays for an eighth of a trial when all trials are used, for a whole
 * one when none is: soft faults stay a fraction of the misses. */
static void earn(struct hz_plan *plan)
{
	uint32_t less = HZ_PLAN_TRIAL * 7 / 8 * plan->luck / HZ_PLAN_ONE;
	uint32_t credit = plan->credit + HZ_PLAN_TRIAL - less;

	plan->credit = hz_min(credit, HZ_PLAN_CREDIT_MAX);
}

/* Has the oldest trial waited so long that a block with this gap is worth
 * more? */
static bool beats_trial(struct hz_plan *plan, uint32_t gap)
{
	uint32_t trial = hz_list_head(&plan->lists, HZ_LIST_TRIAL);
	uint64_t wait =
		PATIENCE_LEAST + plan->luck * PATIENCE_LUCK / HZ_PLAN_ONE;

	if (trial == HZ_NONE || gap == 0)
		return false;
	wait = wait * gap / HZ_PLAN_ONE;
	return plan->tick - hz_plan_node(plan, trial)->stamp > wait;
}

void hz_plan_note_gap(struct hz_plan *plan, uint32_t block)
{
	struct hz_node *n = hz_plan_node(plan, block);
	uint32_t gap = hz_min(plan->tick - n->stamp, HZ_GAP_MAX);

	if (n->seen && n->gap)
		gap = (n->gap + gap) / 2;
	if (n->seen)
		n->gap = hz_max(gap, 1u);
	n->seen = 1;
}

/* A block that was not resident, or not used since it was read ahead. */
static void enter(struct hz_plan *plan, uint32_t block)
{
	earn(plan);
	hz_plan_note_gap(plan, block);
	if (hz_plan_main_count(plan) < hz_plan_main_target(plan)) {
		hz_plan_move(plan, block, HZ_LIST_MAIN);
	} else if (beats_trial(plan, hz_plan_node(plan, block)->gap)) {
		hz_plan_move(plan, hz_list_head(&plan->lists, HZ_LIST_TRIAL),
			     HZ_LIST_DOOMED);
		hz_plan_move(plan, block, HZ_LIST_MAIN);
	} else {
		hz_plan_move(plan, block, HZ_LIST_WINDOW);
	}
}

static void touch(struct hz_plan *plan, uint32_t block, enum hz_access how)
{
	enum hz_list_id list = hz_plan_node(plan, block)->list;

	/* It left without a word if it has to be read again. */
	if ((list == HZ_LIST_TRIAL || list == HZ_LIST_DOOMED) &&
	    how != HZ_ACCESS_SOFT) {
		hz_plan_move(plan, block, HZ_LIST_NONE);
		list = HZ_LIST_NONE;
	}
	if (list == HZ_LIST_AHEAD)
		plan->aim += (HZ_PLAN_ONE - plan->aim) >> HZ_PLAN_AIM_SHIFT;
	if (list == HZ_LIST_TRIAL)
		plan->luck =
			hz_min(plan->luck + (HZ_PLAN_ONE >> HZ_PLAN_LUCK_SHIFT),
			       HZ_PLAN_ONE);
	if (list == HZ_LIST_NONE || list == HZ_LIST_AHEAD)
		enter(plan, block);
	else
		hz_plan_move(plan, block,
			     list == HZ_LIST_WINDOW ? list : HZ_LIST_MAIN);
	hz_plan_node(plan, block)->stamp = plan->tick;
}

/* Refusals do not last: a pin ends, a child exits. */
static void forgive(struct hz_plan *plan, enum hz_list_id list)
{
	for (unsigned i = 0; i < 2; i++) {
		uint32_t block = hz_list_head(&plan->lists, list);
		enum hz_list_id home;

		if (block == HZ_NONE ||
		    plan->tick - hz_plan_node(plan, block)->asked < RETRY_TICKS)
			return;
		home = hz_plan_node(plan, block)->home;
		if (home != HZ_LIST_AHEAD && home != HZ_LIST_WINDOW)
			home = HZ_LIST_MAIN;
		hz_plan_move(plan, block, home);
	}
}

void hz_plan_access(struct hz_plan *plan, uint32_t block, enum hz_access how,
		    uint64_t now)
{
	uint32_t age;

	if (block >= plan->lists.blocks)
		return;
	plan->tick++;
	/* The stamp of a block on trial is not that of its last use. */
	age = plan->tick - hz_plan_node(plan, block)->stamp;
	if (hz_plan_node(plan, block)->list == HZ_LIST_TRIAL)
		age = HZ_NONE;
	hz_trace_add(&plan->trace, block, how, now);
	plan->run = hz_learn_event(&plan->learn, block);
	if (hz_plan_node(plan, block)->list == HZ_LIST_AHEAD)
		hz_predict_used(plan->run);
	if (plan->mode == HZ_PLAN_WATCH)
		touch(plan, block, how);
	else
		hz_learned_touch(plan, block);
	hz_learned_event(plan, block, age, now);
	forgive(plan, HZ_LIST_REFUSED);
	forgive(plan, HZ_LIST_REFUSED_B);
}

/* ---- reading ahead ---- */

/* Only what was used once and is gone can be in the store. */
static bool is_missing(void *arg, uint32_t block)
{
	struct hz_node *n = hz_plan_node(arg, block);

	return n->seen && n->list == HZ_LIST_NONE;
}

/* Wrong guesses shorten the reach, down to one block. */
static uint32_t reach(const struct hz_plan *plan)
{
	uint32_t far = plan->read_ahead * plan->aim / HZ_PLAN_ONE + 1;

	return hz_min(far, plan->read_ahead);
}

unsigned hz_plan_ahead(struct hz_plan *plan, uint32_t *out, unsigned max)
{
	struct hz_predict_where where = {.blocks = plan->lists.blocks,
					 .missing = is_missing,
					 .arg = plan};
	uint32_t held = hz_plan_count(plan, HZ_LIST_AHEAD);
	uint32_t window = hz_plan_window(plan), bound = window - window / 4;

	if (hz_plan_follows(plan))
		return hz_learned_ahead(plan, out, max);
	/* The rest of the window is for blocks in use. */
	if (!plan->run || held >= bound)
		return 0;
	max = hz_min(max, bound - held);
	return hz_predict_run(plan->run, reach(plan), &where, out, max);
}

void hz_plan_prefetched(struct hz_plan *plan, uint32_t block)
{
	if (block >= plan->lists.blocks ||
	    hz_plan_node(plan, block)->list != HZ_LIST_NONE)
		return;
	hz_plan_node(plan, block)->asked = plan->tick;
	hz_plan_move(plan, block, HZ_LIST_AHEAD);
	if (plan->run)
		hz_predict_requested(plan->run, block);
}
