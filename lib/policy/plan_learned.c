/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The learned plan: watch, sample, follow.
 *
 * SAMPLE. Every mapped block goes on trial once some newer blocks were used, so
 * that each use of a block is a (soft) fault and the stream of uses is
 * complete, but for repeated ones in a row. Victims are the least recently used
 * meanwhile. It ends with a period, or without one when the stream has grown
 * far beyond what memory holds; then it is tried again later, after a time that
 * doubles.
 *
 * FOLLOW. The block with the furthest next use leaves, the one with the nearest
 * is read, as long as the one is later than the other. Not earlier than has to
 * be, for the longer we wait the better the victim: a read begins when, with
 * all missing blocks before it and the writes that make room, it would end just
 * in time for some use. (T. Kimbrel and others, "A trace-driven comparison of
 * algorithms for parallel prefetching and caching", OSDI 1996: `forestall`.)
 *
 * Uses of mapped blocks are not seen, so one held block in MARKER_EVERY uses is
 * put on trial shortly before its use; prefetched blocks are seen anyway.
 */
#include "policy/plan_default.h"

#define PROBE_AGE_MOST	32u
#define PROBE_AGE_SHARE 8u
#define PROBE_AGE_DENSE 64u
/* Probes are due in lots: each wakes a thread. */
#define PROBE_LOT 4u

#define MARKER_EVERY 16u
#define MARKER_EARLY 8u

/* A use is not over with the event that tells of it: other threads reach the
 * block some uses later, and repeated uses were not sampled. What was used that
 * recently stays, whatever its next use. */
#define GRACE_MOST  16u
#define GRACE_SHARE 8u

/* Uses that are sampled before giving up, in multiples of the capacity: a step
 * may use a block a dozen times, three steps are needed. */
#define SAMPLE_MOST  64u
#define SAMPLE_LEAST 4096u
/* Faults under pressure before sampling begins, as a share of the capacity. */
#define SAMPLE_AFTER 4u
#define BACKOFF_MOST 10u

/* Before a read comes the write of what makes room for it, and latencies vary:
 * the first read is given two of them. How many can follow in the time that is
 * left is told by the rate alone, without such care: what is read too early
 * takes the frame of a block that is needed sooner. In a simulation of recorded
 * training steps at 25 to 90 % of their memory, two and a half transfers a block
 * instead of one cost up to a quarter more reads and saved no time. */
#define FIRST_COST 2u
/* Transfers in flight that keep a device busy. */
#define BUSY 4u
/* Missing blocks that are looked at. */
#define MISS_SCAN 256u

size_t hz_learned_bytes(uint32_t blocks)
{
	return hz_period_bytes(blocks, HZ_PLAN_SAMPLES) +
	       hz_sched_bytes(blocks, HZ_PLAN_PERIOD);
}

void hz_learned_init(struct hz_plan *plan, void *mem)
{
	uint32_t blocks = plan->lists.blocks;

	hz_period_init(&plan->period, mem, blocks, HZ_PLAN_SAMPLES);
	hz_sched_init(&plan->sched,
		      (char *)mem + hz_period_bytes(blocks, HZ_PLAN_SAMPLES),
		      blocks, HZ_PLAN_PERIOD);
}

void hz_plan_learning(struct hz_plan *plan, bool on)
{
	plan->no_learning = !on;
}

bool hz_plan_follows(const struct hz_plan *plan)
{
	return plan->mode == HZ_PLAN_FOLLOW;
}

struct hz_plan_learned hz_plan_learned(const struct hz_plan *plan)
{
	struct hz_plan_learned l = {
		.period = plan->sched.length,
		.locked = hz_plan_follows(plan),
		.locks = plan->locks,
		.hits = plan->hits + plan->sched.hits,
		.misses = plan->misses + plan->sched.misses,
	};

	return l;
}

/* ---- the schedule's view of a block ---- */

static enum hz_sched_state state_of(struct hz_plan *plan, uint32_t block)
{
	struct hz_node *n = hz_plan_node(plan, block);

	switch ((enum hz_list_id)n->list) {
	case HZ_LIST_NONE:
		return n->seen ? HZ_SCHED_MISSING : HZ_SCHED_AWAY;
	case HZ_LIST_REFUSED:
	case HZ_LIST_REFUSED_B:
		return HZ_SCHED_AWAY;
	default:
		return HZ_SCHED_HELD;
	}
}

void hz_learned_sync(struct hz_plan *plan, uint32_t block)
{
	if (hz_plan_follows(plan))
		hz_sched_set(&plan->sched, block, state_of(plan, block));
}

void hz_plan_absent(struct hz_plan *plan, uint32_t block)
{
	if (hz_plan_follows(plan) && block < plan->lists.blocks)
		hz_sched_set(&plan->sched, block, HZ_SCHED_AWAY);
}

void hz_plan_mapped(struct hz_plan *plan, uint32_t block)
{
	enum hz_list_id list;

	if (block >= plan->lists.blocks)
		return;
	list = hz_plan_node(plan, block)->list;
	if (list == HZ_LIST_TRIAL || list == HZ_LIST_DOOMED)
		hz_plan_move(plan, block, HZ_LIST_MAIN);
}

/* ---- from mode to mode ---- */

static void try_later(struct hz_plan *plan, uint32_t spent)
{
	uint32_t wait = hz_max(spent, SAMPLE_LEAST / 4);

	plan->mode = HZ_PLAN_WATCH;
	plan->sample_at = plan->tick + (wait << plan->failures);
	plan->failures = hz_min(plan->failures + 1, BACKOFF_MOST);
}

static void begin_sampling(struct hz_plan *plan)
{
	hz_period_reset(&plan->period);
	plan->sampled_at = plan->tick;
	plan->mode = HZ_PLAN_SAMPLE;
}

void hz_plan_dense(struct hz_plan *plan)
{
	plan->dense = true;
	begin_sampling(plan);
}

/* Blocks of the period to MAIN or where they are, strangers to WINDOW. What the
 * default policy had in mind for them does not matter now. */
static void sort_out(struct hz_plan *plan, enum hz_list_id list)
{
	bool mapped = list != HZ_LIST_TRIAL && list != HZ_LIST_AHEAD;

	for (uint32_t n = hz_plan_count(plan, list); n; n--) {
		uint32_t block = hz_list_head(&plan->lists, list);

		if (!hz_sched_knows(&plan->sched, block))
			hz_plan_move(plan, block, HZ_LIST_WINDOW);
		else
			hz_plan_move(plan, block, mapped ? HZ_LIST_MAIN : list);
	}
}

static void begin_following(struct hz_plan *plan)
{
	struct hz_sched *s = &plan->sched;

	sort_out(plan, HZ_LIST_WINDOW);
	sort_out(plan, HZ_LIST_MAIN);
	sort_out(plan, HZ_LIST_TRIAL);
	sort_out(plan, HZ_LIST_DOOMED);
	sort_out(plan, HZ_LIST_AHEAD);
	plan->mode = HZ_PLAN_FOLLOW;
	plan->locks++;
	plan->marker = 0;
	for (uint32_t p = 0; p < s->length; p++)
		hz_learned_sync(plan, s->block[p]);
}

static void stop_following(struct hz_plan *plan)
{
	uint32_t length = plan->sched.length;

	plan->hits += plan->sched.hits;
	plan->misses += plan->sched.misses;
	plan->sched.hits = plan->sched.misses = 0;
	hz_sched_drop(&plan->sched);
	try_later(plan, length);
}

static void sample(struct hz_plan *plan, uint32_t block)
{
	struct hz_period_found found;
	uint64_t most = (uint64_t)plan->capacity * SAMPLE_MOST;

	if (plan->dense)
		return;
	hz_period_add(&plan->period, block);
	if (!hz_period_due(&plan->period))
		return;
	if (hz_period_find(&plan->period, &found) &&
	    hz_sched_load(&plan->sched, &plan->period, &found)) {
		begin_following(plan);
		return;
	}
	most = hz_max(most, (uint64_t)SAMPLE_LEAST);
	most = hz_min(most, (uint64_t)HZ_PLAN_SAMPLES);
	if (hz_period_count(&plan->period) >= most)
		try_later(plan, hz_period_count(&plan->period));
}

static void follow(struct hz_plan *plan, uint32_t block, uint32_t age,
		   uint64_t now)
{
	struct hz_sched *s = &plan->sched;
	uint64_t before = hz_sched_place(s), place;

	hz_sched_event(s, block, age, now);
	/* A tick is a use, also of those that were not seen. */
	place = hz_sched_place(s);
	if (place > before)
		plan->tick += (uint32_t)(place - before) - 1;
	hz_plan_node(plan, block)->stamp = plan->tick;
	if (!hz_sched_fits(s))
		stop_following(plan);
	else if (s->done > 4ull * s->length)
		plan->failures = 0;
}

/* Under pressure for the first time, or again after a pause. */
static void watch(struct hz_plan *plan)
{
	if (plan->floor == HZ_NONE || plan->no_learning)
		return;
	if (!plan->sample_at)
		plan->sample_at =
			plan->tick + plan->capacity / SAMPLE_AFTER + 1;
	if ((int32_t)(plan->tick - plan->sample_at) >= 0)
		begin_sampling(plan);
}

void hz_learned_event(struct hz_plan *plan, uint32_t block, uint32_t age,
		      uint64_t now)
{
	switch (plan->mode) {
	case HZ_PLAN_WATCH:
		watch(plan);
		break;
	case HZ_PLAN_SAMPLE:
		sample(plan, block);
		break;
	case HZ_PLAN_FOLLOW:
		follow(plan, block, age, now);
		break;
	}
}

/* ---- uses ---- */

void hz_learned_touch(struct hz_plan *plan, uint32_t block)
{
	bool known = plan->mode == HZ_PLAN_SAMPLE ||
		     hz_sched_knows(&plan->sched, block);

	hz_plan_note_gap(plan, block);
	hz_plan_move(plan, block, known ? HZ_LIST_MAIN : HZ_LIST_WINDOW);
	hz_plan_node(plan, block)->stamp = plan->tick;
}

/* ---- probes ---- */

static uint32_t age(const struct hz_plan *plan, uint32_t block)
{
	return plan->tick - plan->lists.node[block].stamp;
}

/* Newer uses after which a block goes on trial. It must not have been evicted
 * by then, or repeated uses would be seen when following that were not when
 * sampling. */
static uint32_t probe_age(const struct hz_plan *plan)
{
	uint32_t most = plan->dense ? PROBE_AGE_DENSE : PROBE_AGE_MOST;

	return hz_min(plan->capacity / PROBE_AGE_SHARE + 2, most);
}

/* Not over yet, as far as we know: see GRACE_MOST. */
static bool in_use(const struct hz_plan *plan, uint32_t block)
{
	return plan->lists.node[block].list != HZ_LIST_AHEAD &&
	       age(plan, block) <
		       hz_min(plan->capacity / GRACE_SHARE, GRACE_MOST);
}

/* Mapped, and not used for a while. */
static struct hz_choice oldest_mapped(const struct hz_plan *plan, uint32_t old)
{
	static const enum hz_list_id lists[] = {HZ_LIST_MAIN, HZ_LIST_WINDOW};
	struct hz_choice c = {HZ_ACT_NONE, HZ_NONE};

	for (unsigned i = 0; i < hz_array_len(lists); i++) {
		uint32_t block = hz_list_head(&plan->lists, lists[i]);

		if (block != HZ_NONE && age(plan, block) >= old)
			return (struct hz_choice){HZ_ACT_TRIAL, block};
	}
	return c;
}

static bool marker_due(const struct hz_plan *plan)
{
	const struct hz_sched *s = &plan->sched;

	return plan->marker <= s->done + s->ahead + MARKER_EARLY;
}

/* A held block that will be used MARKER_EVERY uses from now, or later. */
static struct hz_choice marker(struct hz_plan *plan)
{
	struct hz_sched *s = &plan->sched;
	uint32_t uses = s->ahead + MARKER_EVERY;
	struct hz_choice c = {HZ_ACT_NONE, HZ_NONE};
	uint32_t block = hz_sched_held_from(s, &uses);

	while (block != HZ_NONE && in_use(plan, block)) {
		uses++;
		block = hz_sched_held_from(s, &uses);
	}
	plan->marker = s->done + uses;
	if (block == HZ_NONE)
		return c;
	if (hz_plan_node(plan, block)->list == HZ_LIST_MAIN) {
		c.action = HZ_ACT_TRIAL;
		c.block = block;
	}
	return c;
}

bool hz_plan_probes(const struct hz_plan *plan)
{
	if (plan->mode == HZ_PLAN_SAMPLE)
		return oldest_mapped(plan, probe_age(plan) + PROBE_LOT)
			       .action != HZ_ACT_NONE;
	return hz_plan_follows(plan) && marker_due(plan);
}

struct hz_choice hz_plan_probe(struct hz_plan *plan)
{
	struct hz_choice c = {HZ_ACT_NONE, HZ_NONE};

	if (plan->mode == HZ_PLAN_SAMPLE)
		return oldest_mapped(plan, probe_age(plan));
	return hz_plan_follows(plan) && marker_due(plan) ? marker(plan)
								: c;
}

/* ---- victims ---- */

static struct hz_choice first_of(struct hz_plan *plan)
{
	static const enum hz_list_id order[] = {HZ_LIST_DOOMED, HZ_LIST_TRIAL,
						HZ_LIST_MAIN, HZ_LIST_WINDOW};

	if (hz_plan_ahead_is_stale(plan))
		return hz_plan_take(plan, HZ_ACT_DROP, HZ_LIST_AHEAD);
	for (unsigned i = 0; i < hz_array_len(order); i++)
		if (hz_plan_count(plan, order[i]))
			return hz_plan_take(plan, HZ_ACT_EVICT, order[i]);
	if (hz_plan_count(plan, HZ_LIST_AHEAD))
		return hz_plan_take(plan, HZ_ACT_DROP, HZ_LIST_AHEAD);
	return hz_plan_take_refused(plan);
}

/* Not of the schedule: used once, and not again for a whole period. */
static bool stranger_is_old(const struct hz_plan *plan)
{
	uint32_t block = hz_list_head(&plan->lists, HZ_LIST_WINDOW);

	return block != HZ_NONE &&
	       age(plan, block) > hz_min(plan->sched.length, plan->capacity);
}

/* The program may have come as far as the next marker, unseen. */
static uint64_t time_until(const struct hz_sched *s, uint32_t uses)
{
	uint32_t unseen = MARKER_EVERY + MARKER_EARLY;

	return uses > unseen ? hz_sched_time(s, uses - unseen) : 0;
}

/* How many of the missing blocks, first first, have to be on their way now, for
 * each of them to arrive in time; `most` is enough to know. */
static uint32_t due_reads(const struct hz_plan *plan, uint32_t most)
{
	const struct hz_sched *s = &plan->sched;
	uint64_t each = plan->share_ns;
	uint64_t first = plan->latency_ns * FIRST_COST;
	uint32_t uses = 0, due = 0;

	for (uint32_t i = 1; i <= MISS_SCAN && due < most; i++) {
		uint64_t time;

		if (hz_sched_missing_from(s, &uses) == HZ_NONE)
			break;
		time = time_until(s, uses);
		if (time > first + MISS_SCAN * each)
			break; /* nor is any later one due */
		if (first + i * each >= time)
			due = i;
		uses++;
	}
	return due;
}

/* The held block that is used last, and the uses until then: one that is in use
 * only if all are. */
static uint32_t victim(const struct hz_plan *plan, uint32_t *far)
{
	const struct hz_sched *s = &plan->sched;
	uint32_t uses = s->length, block = hz_sched_held_before(s, &uses);
	uint32_t last = block;

	*far = uses;
	while (block != HZ_NONE && in_use(plan, block))
		block = hz_sched_held_before(s, &uses);
	if (block == HZ_NONE)
		return last;
	*far = uses;
	return block;
}

static struct hz_choice by_schedule(struct hz_plan *plan, bool must)
{
	struct hz_sched *s = &plan->sched;
	uint32_t far, near = 0, last = victim(plan, &far);
	struct hz_choice c = {HZ_ACT_NONE, HZ_NONE};

	if (stranger_is_old(plan))
		return hz_plan_take(plan, HZ_ACT_EVICT, HZ_LIST_WINDOW);
	if (last == HZ_NONE)
		return must ? first_of(plan) : c;
	if (!must && (hz_sched_missing_from(s, &near) == HZ_NONE ||
		      far <= near || !due_reads(plan, 1)))
		return c;
	c.block = last;
	c.action = hz_plan_node(plan, last)->list == HZ_LIST_AHEAD
			   ? HZ_ACT_DROP
			   : HZ_ACT_EVICT;
	return c;
}

struct hz_choice hz_learned_choose(struct hz_plan *plan, bool must)
{
	if (hz_plan_follows(plan))
		return by_schedule(plan, must);
	return first_of(plan);
}

/* ---- reading ahead ---- */

unsigned hz_learned_ahead(struct hz_plan *plan, uint32_t *out, unsigned max)
{
	struct hz_sched *s = &plan->sched;
	uint32_t far, uses = 0;
	unsigned n = 0;

	max = hz_min(max, due_reads(plan, max));
	victim(plan, &far);
	while (n < max) {
		uint32_t block = hz_sched_missing_from(s, &uses);

		if (block == HZ_NONE || uses >= far)
			break;
		out[n++] = block;
		uses++;
	}
	return n;
}

static void average(uint64_t *mean, uint64_t ns)
{
	if (!*mean)
		*mean = ns;
	else
		*mean += ns / 16 - *mean / 16;
}

void hz_plan_transfer(struct hz_plan *plan, uint64_t ns, uint32_t left,
		      uint64_t now)
{
	average(&plan->latency_ns, ns);
	/* Before the device was ever busy: as if one came after the other. */
	if (!plan->share_ns)
		plan->share_ns = ns;
	if (plan->ended)
		average(&plan->share_ns, now - plan->ended);
	plan->ended = left >= BUSY ? now : 0;
}
