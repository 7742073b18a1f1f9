/* SPDX-License-Identifier: Apache-2.0 */
/*
 * See guess.h.
 */
#include "policy/guess.h"

/* Guesses before they are judged, and after how many the past counts half. One
 * may be used late. */
#define SEEN_LEAST 256u
#define SEEN_MOST  2048u
/* One of so many is to be used: a read that somebody waits for takes 50 us more
 * than a copy, and a guess costs a read, 4 us of a processor. */
#define WORTH	   8u
/* Of those that are as good as sure, one of so many is seen. */
#define SURE	   2u
#define SEE_EVERY  8u
/* Misses for each that is guessed at although it is not worth it. */
#define TRY_EVERY  64u

void hz_guess_init(struct hz_guess *g, uint32_t *next)
{
	*g = (struct hz_guess){.next = next};
}

void hz_guess_follow(struct hz_guess *g, uint64_t page)
{
	if (page >= HZ_NONE)
		return;
	if (g->last && g->last != page + 1)
		g->next[g->last - 1] = (uint32_t)page + 1;
	g->last = (uint32_t)page + 1;
}

uint32_t hz_guess_next(const struct hz_guess *g, uint64_t page)
{
	uint32_t next = page < HZ_NONE ? g->next[page] : 0;

	return next ? next - 1 : HZ_NONE;
}

/* One of n is used, as far as that can be said. */
static bool is_used(const struct hz_guess *g, unsigned n)
{
	return g->seen >= SEEN_LEAST && g->used * n >= g->seen;
}

bool hz_guess_worth(struct hz_guess *g)
{
	if (g->seen < SEEN_LEAST || is_used(g, WORTH))
		return true;
	return ++g->turn % TRY_EVERY == 0;
}

bool hz_guess_map(struct hz_guess *g)
{
	if (is_used(g, SURE) && ++g->turn % SEE_EVERY)
		return true;
	if (++g->seen < SEEN_MOST)
		return false;
	g->seen /= 2;
	g->used /= 2;
	return false;
}

void hz_guess_right(struct hz_guess *g)
{
	g->used++;
}
