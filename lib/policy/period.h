/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The period of a stream of ids (blocks, tensors): a training loop touches the
 * same things in almost the same order, step after step.
 *
 * Every event is linked to the previous one of its id. In a stream of period L
 * almost every event has one of its id L before, give or take the reordering
 * that threads cause; distances within a step are shared by part of the events
 * only. So L is the smallest distance that nearly all events vote for. Distances
 * are counted in classes of about 1.1 % width.
 *
 * Memory is bounded: the last `events` events, and 4 bytes an id. hz_period_add
 * is O(1); hz_period_find walks the newer half of the events and is called when
 * hz_period_due() says so, after each growth of the stream by a quarter, so
 * that it is O(1) amortised as well.
 *
 * Pure, no allocation; the caller's lock guards it.
 */
#ifndef HZ_PERIOD_H
#define HZ_PERIOD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "base/util.h"

struct hz_period {
	uint32_t *id;	 /* ring: what was used */
	uint32_t *prev;	 /* ring: event number + 1 of its last use, 0 none */
	uint32_t *last;	 /* by id: event number + 1, 0: never */
	uint32_t mask;	 /* ring entries - 1 */
	uint32_t ids;
	uint32_t base;	 /* first event of this stream */
	uint32_t count;	 /* the number of the next event */
	uint32_t due;	 /* count at which to look again */
};

struct hz_period_found {
	uint32_t first;	 /* number of the period's first event */
	uint32_t length; /* events */
	uint32_t score;	 /* events of 1024 that have one a period before */
};

/* Bytes for hz_period_init(): zeroed, page aligned; untouched parts cost
 * nothing. `events` is a power of two; a period of up to half of them can be
 * found. */
size_t hz_period_bytes(uint32_t ids, uint32_t events);
void hz_period_init(struct hz_period *p, void *mem, uint32_t ids,
		    uint32_t events);

/* Forget the stream. O(1), but for once in two billion events. */
void hz_period_reset(struct hz_period *p);

/* `id` (< ids) was used. */
void hz_period_add(struct hz_period *p, uint32_t id);

/* Events of the stream so far, also those no longer kept. */
static inline uint32_t hz_period_count(const struct hz_period *p)
{
	return p->count - p->base;
}

/* Is it time for hz_period_find()? */
static inline bool hz_period_due(const struct hz_period *p)
{
	return p->count >= p->due;
}

/* True when there is a period. The events [first, first + length) are one:
 * the same id ends it and the one before. */
bool hz_period_find(struct hz_period *p, struct hz_period_found *found);

/* The id of an event that is still kept. */
static inline uint32_t hz_period_at(const struct hz_period *p, uint32_t event)
{
	return p->id[event & p->mask];
}

#endif
