/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A learned schedule: one period of the program's uses of blocks, followed as
 * the program runs.
 *
 * Each block of the schedule has one next use, a position. Two sets of
 * positions answer what a plan asks: the held block that is needed last, and
 * the missing one that is needed first. All in O(log64 length).
 *
 * Threads overtake each other, so the place in the schedule is a stretch: uses
 * before `tail` are over, those from `lead` on have not been seen, and between
 * the two (at most `slack`, which follows the latest of the last period) an
 * event takes the use that is its own. An
 * event far away from there is strange; when several strange ones in a row fit
 * together somewhere else, the program is there (a step was cut short, an
 * evaluation pass ended).
 *
 * The period is divided into stretches of which the time is measured as the
 * program passes, stalls included but the least of several passes, so that the
 * time until a use can be told.
 *
 * Pure, no allocation; the caller's lock guards it.
 */
#ifndef HZ_SCHED_H
#define HZ_SCHED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "policy/bits.h"
#include "policy/period.h"

/* Uses that a thread may be late with; at most this share of the period. When
 * threads divide an array, one may well be descheduled for a while. */
#define HZ_SCHED_SLACK_LEAST 16u
#define HZ_SCHED_SLACK_SHARE 8u

/* Parts of the period with a time of their own. */
#define HZ_SCHED_PARTS 64u

enum hz_sched_state {
	HZ_SCHED_AWAY,	  /* neither: freed, or not to be taken */
	HZ_SCHED_HELD,	  /* in memory, may be taken */
	HZ_SCHED_MISSING, /* in the store */
};

struct hz_sched {
	uint32_t *block; /* by position */
	uint32_t *next;	 /* by position: where this block is used next */
	uint32_t *where; /* by block: its next use + 1; 0: not in the period */
	struct hz_bits held, missing;
	uint32_t blocks, room;
	uint32_t length; /* positions; 0: no schedule */
	uint32_t tail;	 /* uses before it are over */
	uint32_t ahead;	 /* lead - tail, at most slack */
	uint32_t slack, latest; /* the latest use of this period, in uses */
	uint32_t other, votes; /* where strange events say that we are */
	uint32_t events; /* in this period, so far */
	uint64_t strain; /* thirds: three for each strange event, less one for
			  * each that was expected */
	uint64_t done;	 /* uses over since the schedule was loaded */
	uint32_t part;	 /* that the program is in */
	uint64_t entered; /* time when it entered it, ns; 0: not known */
	uint64_t begin[HZ_SCHED_PARTS + 1]; /* ns since the period began */
	uint64_t took[HZ_SCHED_PARTS]; /* ns; 0: not measured yet */
	uint64_t hits, misses; /* events expected, and not */
};

/* Bytes for hz_sched_init() (zeroed, page aligned, lazily touched); `room` is
 * the longest period. */
size_t hz_sched_bytes(uint32_t blocks, uint32_t room);
void hz_sched_init(struct hz_sched *s, void *mem, uint32_t blocks,
		   uint32_t room);

/* Take over the period that was found in p; the place is right after the
 * newest event of p. All blocks are AWAY. False: it is too long. */
bool hz_sched_load(struct hz_sched *s, const struct hz_period *p,
		   const struct hz_period_found *found);
void hz_sched_drop(struct hz_sched *s);

static inline bool hz_sched_knows(const struct hz_sched *s, uint32_t block)
{
	return s->length && s->where[block];
}

/* Something speaks against the schedule: an event that it does not explain, a
 * block that was read for nothing. */
void hz_sched_doubt(struct hz_sched *s);

/* Does the program still do what the schedule says? A quarter of the events may
 * be strange, and all of them for as long as a period. */
bool hz_sched_fits(const struct hz_sched *s);

/* What `block` is now. */
void hz_sched_set(struct hz_sched *s, uint32_t block, enum hz_sched_state to);

/* `block` was seen to be used at `now` (ns), for the first time since `age`
 * uses (HZ_NONE: that is not known). True when it was no surprise. One that is
 * nearer to its last use than to its next is used here once more, and says
 * nothing of the place. */
bool hz_sched_event(struct hz_sched *s, uint32_t block, uint32_t age,
		    uint64_t now);

/* How far the program has come since the schedule was loaded, in uses. */
static inline uint64_t hz_sched_place(const struct hz_sched *s)
{
	return s->done + s->ahead;
}

/* Nanoseconds from the last use seen to the one that is `uses` after tail; a
 * part that was not measured yet takes no time. */
uint64_t hz_sched_time(const struct hz_sched *s, uint32_t uses);

/* The held block that is used last, of those that are used less than *uses
 * after tail (s->length: of all); *uses becomes its own. HZ_NONE, and *uses as
 * it was: there is none. */
uint32_t hz_sched_held_before(const struct hz_sched *s, uint32_t *uses);

/* The first held (missing) block that is used *uses after tail or later; *uses
 * becomes its own. HZ_NONE, and *uses as it was: none in this period. */
uint32_t hz_sched_held_from(const struct hz_sched *s, uint32_t *uses);
uint32_t hz_sched_missing_from(const struct hz_sched *s, uint32_t *uses);

#endif
