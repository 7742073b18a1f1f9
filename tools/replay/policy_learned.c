/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Our plan, online: nothing is known of the future but what was seen.
 *
 * Until the tensors' uses have a period it is lru. Then the last period is
 * planned and followed kernel by kernel; a kernel that is not the expected one
 * is looked for in the period (an evaluation pass, a checkpoint, kernels that
 * changed places), and where too much is strange the plan is put aside until
 * the run is back in it, or another period is found.
 */
#include "config.h"
#include "replay/follow.h"

#include <stdlib.h>
#include <string.h>
#include "replay/mem.h"
#include "policy/period.h"

#define EVENTS (1u << 20)
/* Of the last 64 kernels: more strange ones than this, and the plan rests. */
#define STRANGE_MAX 24
/* Expected ones in a row that bring it back. */
#define FAMILIAR_MIN 16

struct learned {
	struct follow follow;
	struct hz_period period;
	void *period_mem;
	struct hz_step step;   /* the last period; owns its arrays */
	uint32_t *sign;	       /* by kernel of it */
	uint32_t *head, *next; /* kernels by sign, hashed */
	uint32_t buckets;
	uint32_t expect;   /* kernel of it that should come */
	uint64_t strange;  /* a bit for each of the last kernels */
	uint32_t familiar; /* expected ones since the last strange one */
	uint32_t lost;	   /* kernels since the plan rests */
	bool known;	   /* there is a period */
};

static void init(struct sim *sim)
{
	struct learned *l = mem_zeroed(1, sizeof(*l));

	sim->data = l;
	follow_init(&l->follow, sim);
	l->period_mem =
		mem_zeroed(hz_period_bytes(sim->run->tensors, EVENTS), 1);
	hz_period_init(&l->period, l->period_mem, sim->run->tensors, EVENTS);
}

static void forget(struct learned *l)
{
	free((void *)l->step.ns);
	free((void *)l->step.first);
	free((void *)l->step.use);
	free(l->sign);
	free(l->head);
	free(l->next);
	l->sign = l->head = l->next = NULL;
	memset(&l->step, 0, sizeof(l->step));
	l->known = false;
}

static void fini(struct sim *sim)
{
	struct learned *l = sim->data;

	follow_free(&l->follow);
	forget(l);
	free(l->period_mem);
	free(l);
}

/* Equal for equal uses, whether they are the last ones or not. */
static uint32_t sign_at(const struct run *r, uint32_t pos)
{
	uint32_t h = 2166136261u;

	for (uint32_t u = r->first_use[pos]; u < r->first_use[pos + 1]; u++)
		h = (h ^ (r->use[u] & ~(uint32_t)HZ_USE_LAST)) * 16777619u;
	return h;
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

/* Copies the period, positions [a, b) that are over. */
static void take_step(struct learned *l, const struct run *r, uint32_t a,
		      uint32_t b)
{
	uint32_t n = b - a, from = r->first_use[a];
	uint32_t uses = r->first_use[b] - from;
	uint64_t *ns = mem_resize(NULL, n, sizeof(*ns));
	uint32_t *first = mem_resize(NULL, n + 1, sizeof(*first));
	uint32_t *use = mem_resize(NULL, uses, sizeof(*use));

	forget(l);
	l->sign = mem_resize(NULL, n, sizeof(*l->sign));
	memcpy(ns, r->ns + a, n * sizeof(*ns));
	memcpy(use, r->use + from, uses * sizeof(*use));
	for (uint32_t k = 0; k <= n; k++)
		first[k] = r->first_use[a + k] - from;
	for (uint32_t k = 0; k < n; k++)
		l->sign[k] = sign_at(r, a + k);
	l->step = (struct hz_step){n, r->tensors, ns, first, use, r->bytes};
}

static void index_step(struct learned *l)
{
	uint32_t n = l->step.kernels;

	for (l->buckets = 64; l->buckets < n; l->buckets *= 2)
		;
	l->head = mem_resize(NULL, l->buckets, sizeof(*l->head));
	l->next = mem_resize(NULL, n, sizeof(*l->next));
	memset(l->head, 0xff, l->buckets * sizeof(*l->head));
	for (uint32_t k = n; k-- > 0;) {
		uint32_t *head = &l->head[l->sign[k] & (l->buckets - 1)];

		l->next[k] = *head;
		*head = k;
	}
}

/* Is the period before [a, b) the same, as far as it was seen? */
static bool repeats(const struct run *r, uint32_t a, uint32_t b)
{
	uint32_t n = b - a, same = 0, seen = hz_min(a, n);

	for (uint32_t i = 1; i <= seen; i++)
		same += sign_at(r, b - i) == sign_at(r, a - i);
	return n > 1 && seen > n / 2 && same > seen - seen / 10;
}

/* A tensor that is used a few times on end leaves some kernels to choose
 * from. */
#define NEAR 8

static bool settle(const struct run *r, uint32_t *a, uint32_t b)
{
	for (uint32_t i = 0; i < 2 * NEAR; i++) {
		uint32_t at = *a + (i + 1) / 2;

		if (i & 1)
			at = *a - hz_min(*a, (i + 1) / 2);
		if (at < b && repeats(r, at, b)) {
			*a = at;
			return true;
		}
	}
	return false;
}

static void look_for_period(struct sim *sim, struct learned *l)
{
	const struct run *r = sim->run;
	struct hz_period_found found;
	uint32_t a, b;

	if (!hz_period_find(&l->period, &found) || !found.first)
		return;
	/* The kernels after the one that ends the period before. */
	a = position_of(r, sim->pos, found.first - 1) + 1;
	b = position_of(r, sim->pos, found.first + found.length - 1) + 1;
	if (b > sim->pos || a >= b || !settle(r, &a, b))
		return;
	take_step(l, r, a, b);
	index_step(l);
	follow_plan(&l->follow, sim, &l->step);
	follow_prime(&l->follow);
	l->known = true;
	l->expect = (sim->pos - b) % l->step.kernels;
	l->strange = 0;
	l->familiar = 0;
}

/* The next kernel of the period that looks so, from the expected one on. */
static uint32_t find(const struct learned *l, uint32_t sign)
{
	uint32_t n = l->step.kernels, best = HZ_NONE, least = UINT32_MAX;

	for (uint32_t k = l->head[sign & (l->buckets - 1)]; k != HZ_NONE;
	     k = l->next[k]) {
		uint32_t ahead = (k + n - l->expect) % n;

		if (l->sign[k] == sign && ahead < least) {
			least = ahead;
			best = k;
		}
	}
	return best;
}

static void judge(struct learned *l)
{
	struct follow *f = &l->follow;

	if (f->on && __builtin_popcountll(l->strange) > STRANGE_MAX) {
		follow_stop(f);
		l->lost = 0;
	} else if (!f->on && l->familiar >= FAMILIAR_MIN) {
		f->on = true;
	} else if (!f->on && ++l->lost > 2 * l->step.kernels) {
		/* Not the program that was learned. */
		forget(l);
	}
}

/* Where in the period are we? */
static void locate(struct learned *l, uint32_t sign)
{
	struct follow *f = &l->follow;
	uint32_t k = l->expect, n = l->step.kernels;
	bool strange = l->sign[k] != sign;

	if (strange)
		k = find(l, sign);
	l->strange = l->strange << 1 | strange;
	l->familiar = strange ? 0 : l->familiar + 1;
	if (k != HZ_NONE) {
		if (k < f->at)
			f->base += n;
		f->at = k;
		l->expect = (k + 1) % n;
	}
	judge(l);
}

static void begin(struct sim *sim)
{
	struct learned *l = sim->data;
	const struct run *r = sim->run;

	if (!l->known && hz_period_due(&l->period))
		look_for_period(sim, l);
	if (l->known)
		locate(l, sign_at(r, sim->pos));
	for (uint32_t u = r->first_use[sim->pos];
	     u < r->first_use[sim->pos + 1]; u++)
		hz_period_add(&l->period, hz_use_tensor(r->use[u]));
	follow_begin(sim, &l->follow);
}

static void end(struct sim *sim)
{
	struct learned *l = sim->data;

	follow_end(sim, &l->follow);
}

static struct move pick(struct sim *sim, enum channel ch)
{
	struct learned *l = sim->data;

	return follow_pick(sim, &l->follow, ch);
}

static void room(struct sim *sim, uint64_t bytes, uint32_t tensor)
{
	struct learned *l = sim->data;

	follow_room(sim, &l->follow, bytes, tensor);
}

static bool keep_copy(struct sim *sim, uint32_t tensor)
{
	struct learned *l = sim->data;

	return follow_keep_copy(sim, &l->follow, tensor);
}

const struct policy policy_learned = {
	.name = "learned",
	.help = "our plan, online: the first step is not known",
	.init = init,
	.fini = fini,
	.begin = begin,
	.end = end,
	.pick = pick,
	.room = room,
	.keep_copy = keep_copy,
};
