/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Votes for distances between uses of the same id. See period.h.
 */
#include "policy/period.h"

#include <string.h>

#define ONE 1024u
/* Votes that a period needs: some of what a step touches is new each time. */
#define ENOUGH (ONE * 9 / 10)
/* A shorter distance that has nearly the votes of the best one is it; a micro
 * batch, which most but not all of a step repeats, is not. */
#define NEARLY (ONE * 49 / 50)
/* Uses of one id in a period that are looked at. */
#define CHAIN 64u
/* Too short to plan with. */
#define SHORTEST   8u
#define FIRST_LOOK 64u
/* Events that vote: enough to tell 90 % from 80 %. */
#define VOTERS 2048u
/* No less than one in so many of those asked must have a say. */
#define FEWEST 8u

/* Classes of distances: 64 in an octave, exact below 64. */
#define OCTAVE	64u
#define CLASSES (32u * OCTAVE)

static unsigned class_of(uint32_t distance)
{
	unsigned top;

	if (distance < OCTAVE)
		return distance;
	top = 31u - (unsigned)__builtin_clz(distance);
	return (top - 5) * OCTAVE + ((distance >> (top - 6)) & (OCTAVE - 1));
}

size_t hz_period_bytes(uint32_t ids, uint32_t events)
{
	return hz_align_up(((size_t)2 * events + ids) * sizeof(uint32_t),
			   HZ_PAGE_SIZE);
}

void hz_period_init(struct hz_period *p, void *mem, uint32_t ids,
		    uint32_t events)
{
	p->id = mem;
	p->prev = p->id + events;
	p->last = p->prev + events;
	p->mask = events - 1;
	p->ids = ids;
	p->base = p->count = 0;
	p->due = FIRST_LOOK;
}

void hz_period_reset(struct hz_period *p)
{
	if (p->count > UINT32_MAX / 2) { /* numbers must not wrap */
		memset(p->last, 0, (size_t)p->ids * sizeof(*p->last));
		p->count = 0;
	}
	p->base = p->count;
	p->due = p->count + FIRST_LOOK;
}

void hz_period_add(struct hz_period *p, uint32_t id)
{
	uint32_t at = p->count & p->mask;

	if (id >= p->ids || p->count == UINT32_MAX)
		return;
	p->id[at] = id;
	p->prev[at] = p->last[id];
	p->last[id] = ++p->count;
}

/* The first event that is still kept. */
static uint32_t oldest(const struct hz_period *p)
{
	uint32_t kept = hz_min(hz_period_count(p), p->mask + 1);

	return p->count - kept;
}

/* The event before `event` of the same id, if it is not before `from`. */
static bool before(const struct hz_period *p, uint32_t *event, uint32_t from)
{
	uint32_t prev = p->prev[*event & p->mask];

	if (prev <= from)
		return false;
	*event = prev - 1;
	return true;
}

/* Events that have one of their id at a distance of a class; `near`: or of one
 * beside it, since reordering spreads them. */
struct tally {
	uint32_t own[CLASSES], near[CLASSES];
};

/* One event's votes, for each class once. False: its id is used so often that a
 * whole period may lie beyond the chain, and it has no say. */
static bool vote(const struct hz_period *p, uint32_t event, uint32_t from,
		 uint32_t longest, struct tally *t)
{
	unsigned class[CHAIN], n = 0, next = 0;
	uint32_t at = event;

	while (before(p, &at, from) && event - at <= longest) {
		if (n == CHAIN)
			return false;
		class[n++] = class_of(event - at);
	}
	for (unsigned i = 0; i < n; i++) { /* ascending */
		unsigned end = hz_min(class[i] + 2, CLASSES);

		t->own[class[i]] += !i || class[i] != class[i - 1];
		for (next = hz_max(next, class[i] - 1); next < end; next++)
			t->near[next]++;
	}
	return true;
}

/* The class of the period, 0: none. */
static unsigned elect(const struct tally *t, uint32_t events, uint32_t *score)
{
	unsigned least = class_of(SHORTEST), at = 0;
	uint32_t most = 0, nearly, want;

	for (unsigned c = least; c < CLASSES; c++)
		most = hz_max(most, t->near[c]);
	nearly = (uint32_t)((uint64_t)most * NEARLY / ONE);
	want = (uint32_t)((uint64_t)events * ENOUGH / ONE) + 1;
	want = hz_max(want, nearly);
	for (unsigned c = least; c < CLASSES && !at; c++)
		if (t->near[c] >= want)
			at = c;
	/* Of neighbours the one with the votes of its own. */
	while (at && at + 1 < CLASSES && t->own[at + 1] > t->own[at])
		at++;
	*score = (uint32_t)((uint64_t)most * ONE / hz_max(events, 1u));
	return at;
}

/* Was this event's id used one period before, and when exactly? */
static uint32_t length_at(const struct hz_period *p, uint32_t event,
			  uint32_t from, unsigned class)
{
	uint32_t at = event;

	for (unsigned i = 0; i < CHAIN && before(p, &at, from); i++)
		if (class_of(event - at) == class)
			return event - at;
	return 0;
}

/* The newest use that has one a period before cuts the stream exactly. */
static bool cut(const struct hz_period *p, uint32_t from, unsigned class,
		struct hz_period_found *found)
{
	for (uint32_t i = p->count; i-- > from;) {
		uint32_t length = length_at(p, i, from, class);

		if (!length)
			continue;
		found->first = i + 1 - length;
		found->length = length;
		return true;
	}
	return false;
}

bool hz_period_find(struct hz_period *p, struct hz_period_found *found)
{
	struct tally t = {0};
	uint32_t from = oldest(p), n = p->count - from, half = n / 2;
	uint32_t step = half / VOTERS + 1, asked = 0, voters = 0;
	unsigned class;

	p->due = p->count + hz_max(n / 4, FIRST_LOOK);
	for (uint32_t i = p->count - half; i < p->count; i += step, asked++)
		voters += vote(p, i, from, half, &t);
	if (voters < asked / FEWEST)
		return false;
	class = elect(&t, voters, &found->score);
	return class && cut(p, from, class, found);
}
