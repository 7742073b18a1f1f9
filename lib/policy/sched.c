/* SPDX-License-Identifier: Apache-2.0 */
/*
 * See sched.h.
 */
#include "policy/sched.h"

#include <string.h>

/* How far beyond `lead` an event may be without being strange: uses of blocks
 * that are mapped are not seen. More would take a repeated use for the next
 * one. */
#define REACH 64u
/* Uses within which a second one of a block may be no news. */
#define RECENT 64u
/* Events of a period, in multiples of its length, beyond which it is doubted
 * that it comes to an end. */
#define EVENTS_MOST 4u
/* Strange events in a row that move us. */
#define VOTES 4u
/* Uses of one block that are compared. */
#define USES_MOST 64u
/* The least time of a part is forgotten by this share at each pass. */
#define TIME_AGES 16u
/* More than these is a jump, not a passage. */
#define PARTS_AT_ONCE 8u
/* Strange events that are borne at least. */
#define STRAIN_LEAST 256u

static size_t array(uint32_t n)
{
	return hz_align_up((size_t)n * sizeof(uint32_t), HZ_PAGE_SIZE);
}

static size_t set_bytes(uint32_t room)
{
	return hz_align_up(hz_bits_bytes(room), HZ_PAGE_SIZE);
}

size_t hz_sched_bytes(uint32_t blocks, uint32_t room)
{
	return 2 * array(room) + array(blocks) + 2 * set_bytes(room);
}

void hz_sched_init(struct hz_sched *s, void *mem, uint32_t blocks,
		   uint32_t room)
{
	char *at = mem;

	memset(s, 0, sizeof(*s));
	s->blocks = blocks;
	s->room = room;
	s->block = (uint32_t *)at;
	s->next = (uint32_t *)(at += array(room));
	s->where = (uint32_t *)(at += array(room));
	hz_bits_init(&s->held, at += array(blocks), room);
	hz_bits_init(&s->missing, at += set_bytes(room), room);
}

/* ---- positions ---- */

/* Uses from `tail` to position p. */
static uint32_t uses_until(const struct hz_sched *s, uint32_t p)
{
	return p >= s->tail ? p - s->tail : p + s->length - s->tail;
}

/* The position `uses` (< 2 length) after tail. */
static uint32_t position(const struct hz_sched *s, uint32_t uses)
{
	uint64_t p = (uint64_t)s->tail + uses;

	while (p >= s->length)
		p -= s->length;
	return (uint32_t)p;
}

/* ---- loading ---- */

void hz_sched_drop(struct hz_sched *s)
{
	for (uint32_t p = 0; p < s->length; p++)
		s->where[s->block[p]] = 0;
	hz_bits_clear(&s->held, s->length);
	hz_bits_clear(&s->missing, s->length);
	s->length = 0;
}

/* From the end: where[] is then the first use after the position at hand. */
static void link_uses(struct hz_sched *s)
{
	for (unsigned round = 0; round < 2; round++)
		for (uint32_t p = s->length; p-- > 0;) {
			uint32_t b = s->block[p];

			s->next[p] = s->where[b] ? s->where[b] - 1 : p;
			s->where[b] = p + 1;
		}
}

/* One use is over: the block's state goes with its next use. */
static void pass(struct hz_sched *s, uint32_t p)
{
	uint32_t b = s->block[p], q = s->next[p];

	if (s->where[b] != p + 1)
		return; /* seen before its turn */
	s->where[b] = q + 1;
	if (q == p)
		return;
	if (hz_bits_has(&s->held, p)) {
		hz_bits_remove(&s->held, p);
		hz_bits_add(&s->held, q);
	}
	if (hz_bits_has(&s->missing, p)) {
		hz_bits_remove(&s->missing, p);
		hz_bits_add(&s->missing, q);
	}
}

static void advance(struct hz_sched *s, uint32_t uses)
{
	if ((s->done + uses) / s->length != s->done / s->length)
		s->events = 0;
	s->done += uses;
	while (uses--) {
		pass(s, s->tail);
		s->tail = s->tail + 1 < s->length ? s->tail + 1 : 0;
	}
}

bool hz_sched_load(struct hz_sched *s, const struct hz_period *p,
		   const struct hz_period_found *found)
{
	uint32_t since = p->count - found->first;

	hz_sched_drop(s);
	if (found->length > s->room)
		return false;
	s->length = found->length;
	for (uint32_t i = 0; i < s->length; i++)
		s->block[i] = hz_period_at(p, found->first + i);
	s->slack = HZ_SCHED_SLACK_LEAST;
	s->latest = 0;
	link_uses(s);
	s->tail = s->ahead = s->votes = s->events = 0;
	s->strain = 0;
	s->hits = s->misses = s->done = 0;
	s->entered = s->part = 0;
	memset(s->took, 0, sizeof(s->took));
	memset(s->begin, 0, sizeof(s->begin));
	advance(s, since % s->length);
	return true;
}

/* ---- states ---- */

void hz_sched_set(struct hz_sched *s, uint32_t block, enum hz_sched_state to)
{
	uint32_t p;

	if (!hz_sched_knows(s, block))
		return;
	p = s->where[block] - 1;
	hz_bits_remove(&s->held, p);
	hz_bits_remove(&s->missing, p);
	if (to == HZ_SCHED_HELD)
		hz_bits_add(&s->held, p);
	else if (to == HZ_SCHED_MISSING)
		hz_bits_add(&s->missing, p);
}

/* ---- following ---- */

static uint32_t reach(const struct hz_sched *s)
{
	/* Of a short period not all of it, or nothing would be strange. */
	return hz_min(REACH, s->length / 2 + 1);
}

/* The use of `block` next to position `from`, if it is within reach. */
static bool use_near(const struct hz_sched *s, uint32_t block, uint32_t from,
		     uint32_t *p)
{
	uint32_t best = HZ_NONE, at = s->where[block] - 1;

	for (unsigned i = 0; i < USES_MOST && best; i++) {
		uint32_t d = at >= from ? at - from : at + s->length - from;

		if (d < best) {
			best = d;
			*p = at;
		}
		at = s->next[at];
	}
	return best < reach(s);
}

bool hz_sched_fits(const struct hz_sched *s)
{
	return s->strain <= 3ull * hz_max(s->length, STRAIN_LEAST);
}

void hz_sched_doubt(struct hz_sched *s)
{
	s->misses++;
	s->strain += 3;
}

static void strange(struct hz_sched *s, uint32_t block)
{
	uint32_t p;

	hz_sched_doubt(s);
	if (!hz_sched_knows(s, block))
		return;
	if (s->votes && use_near(s, block, s->other, &p)) {
		s->votes++;
	} else {
		p = s->where[block] - 1;
		s->votes = 1;
	}
	s->other = p + 1 < s->length ? p + 1 : 0;
	if (s->votes < VOTES)
		return;
	advance(s, uses_until(s, s->other));
	s->ahead = s->votes = 0;
}

/* ---- time ---- */

/* Uses in a part but the last; at least one. */
static uint32_t part_length(const struct hz_sched *s)
{
	return s->length / HZ_SCHED_PARTS + 1;
}

/* Slack, when uses come so late. */
static uint32_t allowed(const struct hz_sched *s, uint32_t late)
{
	late = hz_min(late, s->length / HZ_SCHED_SLACK_SHARE);
	return hz_max(late, HZ_SCHED_SLACK_LEAST);
}

/* The program left part s->part for `part`. When few events are seen it may
 * have passed several at once. */
static void leave_part(struct hz_sched *s, uint32_t part, uint64_t now)
{
	uint32_t parts = (s->length - 1) / part_length(s) + 1;
	uint32_t passed = (part + parts - s->part) % parts;
	uint64_t took = (now - s->entered) / hz_max(passed, 1u);

	for (uint32_t i = 0; s->entered && i < passed; i++) {
		uint64_t *t = &s->took[(s->part + i) % parts];

		if (passed > PARTS_AT_ONCE)
			break;
		*t = *t ? hz_min(took, *t + *t / TIME_AGES) : took;
	}
	s->entered = now;
	s->part = part;
	for (uint32_t i = 0; i < HZ_SCHED_PARTS; i++)
		s->begin[i + 1] = s->begin[i] + s->took[i];
	if (part == 0) {
		s->slack = allowed(s, s->latest + s->latest / 4);
		s->latest = 0;
	}
}

static uint64_t time_at(const struct hz_sched *s, uint32_t p)
{
	uint32_t n = part_length(s), part = p / n;

	return s->begin[part] + s->took[part] * (p % n) / n;
}

uint64_t hz_sched_time(const struct hz_sched *s, uint32_t uses)
{
	uint32_t lead = position(s, s->ahead), p = position(s, uses);
	uint64_t from = time_at(s, lead), to = time_at(s, p);

	if (uses <= s->ahead)
		return 0;
	return p >= lead ? to - from : to + s->begin[HZ_SCHED_PARTS] - from;
}

static void pass_time(struct hz_sched *s, uint64_t now)
{
	uint32_t part = position(s, s->ahead) / part_length(s);

	if (part != s->part)
		leave_part(s, part, now);
}

/* A use that we took for over is seen now: how late it is. */
static uint32_t lateness(const struct hz_sched *s, uint32_t block)
{
	uint32_t at = s->where[block] - 1, best = HZ_NONE;

	for (unsigned i = 0; i < USES_MOST; i++) {
		uint32_t ago = s->length - uses_until(s, at);

		best = hz_min(best, ago);
		at = s->next[at];
	}
	return best + s->ahead;
}

static bool is_late(struct hz_sched *s, uint32_t block)
{
	uint32_t late = lateness(s, block);

	if (late > s->length / HZ_SCHED_SLACK_SHARE)
		return false;
	s->latest = hz_max(s->latest, late);
	s->slack = hz_max(s->slack, allowed(s, late));
	return true;
}

/* Used once more: neither for nor against the place. */
static bool is_repeat(const struct hz_sched *s, uint32_t uses, uint32_t age)
{
	return uses > s->ahead && age < hz_min(RECENT, uses - s->ahead);
}

/* Whatever each event says: is the program getting on? */
static void count(struct hz_sched *s)
{
	if (++s->events > EVENTS_MOST * hz_max(s->length, STRAIN_LEAST))
		hz_sched_doubt(s);
}

static void expected(struct hz_sched *s)
{
	s->hits++;
	s->strain -= s->strain > 0;
	s->votes = 0;
}

bool hz_sched_event(struct hz_sched *s, uint32_t block, uint32_t age,
		    uint64_t now)
{
	uint32_t uses;

	count(s);
	if (!hz_sched_knows(s, block)) {
		strange(s, block);
		return false;
	}
	/* where[] is the first use that is not over. */
	uses = uses_until(s, s->where[block] - 1);
	if (is_repeat(s, uses, age))
		return true;
	if (uses >= s->ahead + reach(s)) {
		if (is_late(s, block)) {
			expected(s);
			return true;
		}
		strange(s, block);
		return false;
	}
	expected(s);
	pass(s, s->where[block] - 1);
	if (uses < s->ahead) {
		s->latest = hz_max(s->latest, s->ahead - uses);
		return true;
	}
	s->ahead = uses + 1;
	if (s->ahead > s->slack) {
		advance(s, s->ahead - s->slack);
		s->ahead = s->slack;
	}
	pass_time(s, now);
	return true;
}

/* ---- questions ---- */

/* The member of `set` that comes first from position p on, around the end. */
static uint32_t first_from(const struct hz_sched *s, const struct hz_bits *set,
			   uint32_t p)
{
	uint32_t at = hz_bits_next(set, p);

	return at != HZ_NONE ? at : hz_bits_next(set, 0);
}

static uint32_t answer(const struct hz_sched *s, uint32_t p, uint32_t *uses)
{
	if (p == HZ_NONE)
		return HZ_NONE;
	*uses = uses_until(s, p);
	return s->block[p];
}

uint32_t hz_sched_held_before(const struct hz_sched *s, uint32_t *uses)
{
	uint32_t last, p;

	if (!s->length || !*uses)
		return HZ_NONE;
	last = position(s, *uses - 1);
	p = hz_bits_prev(&s->held, last);
	/* Around the beginning, but not past tail. */
	if (p == HZ_NONE && last < s->tail)
		p = hz_bits_prev(&s->held, s->length - 1);
	if (p == HZ_NONE || uses_until(s, p) >= *uses)
		return HZ_NONE;
	return answer(s, p, uses);
}

static uint32_t from(const struct hz_sched *s, const struct hz_bits *set,
		     uint32_t *uses)
{
	uint32_t at, block;

	/* Without a schedule the length is 0. */
	if (*uses >= s->length)
		return HZ_NONE;
	block = answer(s, first_from(s, set, position(s, *uses)), &at);
	if (block == HZ_NONE || at < *uses)
		return HZ_NONE;
	*uses = at;
	return block;
}

uint32_t hz_sched_held_from(const struct hz_sched *s, uint32_t *uses)
{
	return from(s, &s->held, uses);
}

uint32_t hz_sched_missing_from(const struct hz_sched *s, uint32_t *uses)
{
	return from(s, &s->missing, uses);
}
