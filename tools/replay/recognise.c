/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Steps by their kernels. See recognise.h.
 */
#include "config.h"
#include "replay/recognise.h"

#include <stdlib.h>
#include "replay/mem.h"

#define EVENTS (1u << 20)
/* A period of uses is so many kernels, give or take. */
#define NEAR 8
/* Kernels of a hundred that may differ: threads, and what the program does
 * now and then. */
#define DIFFER_PCT 1
/* Periods back that are looked at. */
#define BACK 4

void recognise_start(struct recogniser *r, const struct run *run)
{
	*r = (struct recogniser){.run = run};
	r->period_mem = mem_zeroed(hz_period_bytes(run->tensors, EVENTS), 1);
	hz_period_init(&r->period, r->period_mem, run->tensors, EVENTS);
	r->sign = mem_zeroed(run->n, sizeof(*r->sign));
	for (r->mask = 1023; r->mask < run->n && r->mask < EVENTS;)
		r->mask = 2 * r->mask + 1;
	r->last = mem_zeroed(r->mask + 1, sizeof(*r->last));
}

void recognise_stop(struct recogniser *r)
{
	free(r->period_mem);
	free(r->sign);
	free(r->last);
}

uint32_t recognise_sign(const struct run *run, uint32_t pos, bool deaths)
{
	uint32_t h = 2166136261u,
		 care = deaths ? UINT32_MAX : ~(uint32_t)HZ_USE_LAST;

	for (uint32_t u = run->first_use[pos]; u < run->first_use[pos + 1]; u++)
		h = (h ^ (run->use[u] & care)) * 16777619u;
	return h;
}

/* Where this kernel came last, after the same one as now: after an evaluation
 * pass even the first kernel of a step is not where it was. */
static uint32_t *last_of(const struct recogniser *r, uint32_t pos)
{
	uint32_t key = r->sign[pos] * 0x9e3779b1u;

	if (pos)
		key ^= r->sign[pos - 1];
	return &r->last[key & r->mask];
}

void recognise_add(struct recogniser *r, uint32_t pos)
{
	const struct run *run = r->run;

	for (uint32_t u = run->first_use[pos]; u < run->first_use[pos + 1]; u++)
		hz_period_add(&r->period, hz_use_tensor(run->use[u]));
	/* Its deaths are known when it is over; nobody looks before. */
	r->sign[pos] = recognise_sign(run, pos, true);
	if (pos)
		*last_of(r, pos - 1) = pos;
}

/* The newest [b - n, b) that is the same as the n kernels before it. Looked
 * for from the oldest on, so that a step ends where it ended first. */
static bool twice(const struct recogniser *r, uint32_t pos, uint32_t n,
		  uint32_t *end)
{
	uint32_t from = pos > BACK * n ? pos - BACK * n : 0, run = 0;
	uint32_t least = n - n * DIFFER_PCT / 100;

	if (n < 2 || pos < from + 2 * n)
		return false;
	for (uint32_t i = from + n; i < pos; i++) {
		run += r->sign[i] == r->sign[i - n];
		if (i >= from + 2 * n)
			run -= r->sign[i - n] == r->sign[i - 2 * n];
		if (i + 1 >= from + 2 * n && run >= least) {
			*end = i + 1;
			return true;
		}
	}
	return false;
}

/* The position whose uses hold an event: events are counted as uses are. */
static uint32_t position_of(const struct run *r, uint32_t pos, uint32_t event)
{
	uint32_t low = 0, high = pos;

	while (low < high) {
		uint32_t mid = (low + high + 1) / 2;

		if (r->first_use[mid] <= event)
			low = mid;
		else
			high = mid - 1;
	}
	return low;
}

bool recognise(struct recogniser *r, uint32_t pos, uint32_t *a, uint32_t *b)
{
	struct hz_period_found found;
	uint32_t n;

	if (!hz_period_due(&r->period) || !hz_period_find(&r->period, &found))
		return false;
	n = position_of(r->run, pos, found.first + found.length) -
	    position_of(r->run, pos, found.first);
	for (uint32_t i = 0; i < 2 * NEAR; i++) {
		uint32_t try = i & 1 ? n - hz_min(n, (i + 1) / 2) : n + i / 2;

		if (twice(r, pos, try, b)) {
			*a = *b - try;
			return true;
		}
	}
	return false;
}

bool recognise_around(struct recogniser *r, uint32_t pos, uint32_t least,
		      uint32_t most, uint32_t *a, uint32_t *b)
{
	uint32_t last, n, same = 0;

	if (pos < 2 || pos < r->next_try)
		return false;
	last = *last_of(r, pos - 1);
	n = last && last < pos ? pos - last : 0;
	if (n < hz_max(least, 2u) || n > most || pos < 2 * n ||
	    r->sign[pos - 1] != r->sign[pos - 1 - n])
		return false;
	r->next_try = pos + n / 8;
	for (uint32_t i = pos - n; i < pos; i++)
		same += r->sign[i] == r->sign[i - n];
	*a = pos - n;
	*b = pos;
	return same >= n - n * DIFFER_PCT / 100;
}
