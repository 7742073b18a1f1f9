/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Our plan, online: nothing is known of the future but what was seen.
 *
 * Until a step is recognised it is lru. Then the step is planned and followed
 * kernel by kernel; a kernel that is not the expected one is looked for in it
 * (an evaluation pass, a checkpoint, kernels that changed places), and where
 * too much is strange the plan is put aside until the run is back in it. A
 * longer step around the known one takes its place. The times of the kernels
 * are averaged from step to step.
 */
#include "config.h"
#include "replay/follow.h"

#include <stdlib.h>
#include <string.h>
#include "replay/mem.h"
#include "replay/recognise.h"

/* Of the last 64 kernels: more strange ones than this, and the plan rests. */
#define STRANGE_MAX 24
/* Expected ones in a row that bring it back. */
#define FAMILIAR_MIN 16
/* Times that differ by more than this part are planned with anew; a step
 * counts for this part of the average. */
#define DRIFT	32
#define AVERAGE 4

/* A step that was seen; owns its arrays. */
struct seen {
	struct hz_step step;
	uint64_t *ns;	       /* of it */
	uint64_t *now;	       /* by kernel: its time this time; 0: none */
	uint32_t *sign;	       /* by kernel */
	uint32_t *head, *next; /* kernels by sign, hashed */
	uint32_t buckets;
};

struct learned {
	struct follow follow; /* the first: for the calls of it */
	struct recogniser recogniser;
	struct seen seen;
	uint32_t expect;   /* kernel of it that should come */
	uint64_t strange;  /* a bit for each of the last kernels */
	uint32_t familiar; /* expected ones since the last strange one */
	uint32_t lost;	   /* kernels since the plan rests */
	bool known;	   /* there is a step */
	bool placed;	   /* the last kernel is one of it */
};

static void init(struct sim *sim)
{
	struct learned *l = mem_zeroed(1, sizeof(*l));

	sim->data = l;
	follow_init(&l->follow, sim);
	recognise_start(&l->recogniser, sim->run);
}

static void forget(struct seen *s)
{
	free(s->ns);
	free(s->now);
	free((void *)s->step.first);
	free((void *)s->step.use);
	free(s->sign);
	free(s->head);
	free(s->next);
	memset(s, 0, sizeof(*s));
}

static void fini(struct sim *sim)
{
	struct learned *l = sim->data;

	follow_free(&l->follow);
	forget(&l->seen);
	recognise_stop(&l->recogniser);
	free(l);
}

/* Copies the step, positions [a, b) that are over. */
static void take_step(struct seen *s, const struct run *r, uint32_t a,
		      uint32_t b)
{
	uint32_t n = b - a, from = r->first_use[a];
	uint32_t uses = r->first_use[b] - from;
	uint32_t *first = mem_resize(NULL, n + 1, sizeof(*first));
	uint32_t *use = mem_resize(NULL, uses, sizeof(*use));

	s->ns = mem_resize(NULL, n, sizeof(*s->ns));
	s->now = mem_zeroed(n, sizeof(*s->now));
	s->sign = mem_resize(NULL, n, sizeof(*s->sign));
	memcpy(s->ns, r->ns + a, n * sizeof(*s->ns));
	memcpy(use, r->use + from, uses * sizeof(*use));
	for (uint32_t k = 0; k <= n; k++)
		first[k] = r->first_use[a + k] - from;
	for (uint32_t k = 0; k < n; k++)
		s->sign[k] = recognise_sign(r, a + k, false);
	s->step = (struct hz_step){n, r->tensors, s->ns, first, use, r->bytes};
}

static void index_step(struct seen *s)
{
	uint32_t n = s->step.kernels;

	for (s->buckets = 64; s->buckets < n; s->buckets *= 2)
		;
	s->head = mem_resize(NULL, s->buckets, sizeof(*s->head));
	s->next = mem_resize(NULL, n, sizeof(*s->next));
	memset(s->head, 0xff, s->buckets * sizeof(*s->head));
	for (uint32_t k = n; k-- > 0;) {
		uint32_t *head = &s->head[s->sign[k] & (s->buckets - 1)];

		s->next[k] = *head;
		*head = k;
	}
}

static void learn(struct sim *sim, struct learned *l, uint32_t a, uint32_t b)
{
	struct seen was = l->seen;

	take_step(&l->seen, sim->run, a, b);
	index_step(&l->seen);
	follow_plan(&l->follow, sim, &l->seen.step,
		    l->known ? &was.step : NULL);
	forget(&was);
	follow_prime(&l->follow);
	l->known = true;
	l->expect = (sim->pos - b) % (b - a);
	l->strange = 0;
	l->familiar = 0;
}

/* A step may lose this part of its kernels and still be it. */
#define SHORTER 8
/* Where kernels that are known come in another order, a step of so many of the
 * known ones is worth planning as a whole; rarer than that, they are waited
 * for. Kernels that are not known are worth any. */
#define LONGER 4

/* Before a kernel: is there a step, or one around the step that is known? */
static void look(struct sim *sim, struct learned *l)
{
	struct recogniser *r = &l->recogniser;
	uint32_t n = l->seen.step.kernels, most = UINT32_MAX, a, b;
	bool found;

	if (!l->known) {
		found = recognise(r, sim->pos, &a, &b);
	} else {
		if (l->placed)
			most = LONGER * n;
		found = l->strange & 1 &&
			recognise_around(r, sim->pos, n - n / SHORTER, most, &a,
					 &b);
	}
	if (found)
		learn(sim, l, a, b);
}

/* The next kernel of the step that looks so, from the expected one on. */
static uint32_t find(const struct learned *l, uint32_t sign)
{
	const struct seen *s = &l->seen;
	uint32_t n = s->step.kernels, best = HZ_NONE, least = UINT32_MAX;

	for (uint32_t k = s->head[sign & (s->buckets - 1)]; k != HZ_NONE;
	     k = s->next[k]) {
		uint32_t ahead = (k + n - l->expect) % n;

		if (s->sign[k] == sign && ahead < least) {
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
		l->strange = 0;
	} else if (!f->on && ++l->lost > 2 * l->seen.step.kernels) {
		/* Not the program that was learned. */
		forget(&l->seen);
		l->known = false;
	}
}

/* A step is over. Kernels that did not run in it tell nothing. */
static void average(struct sim *sim, struct learned *l)
{
	struct seen *s = &l->seen;
	uint64_t all = 0, differs = 0;

	for (uint32_t k = 0; k < s->step.kernels; k++) {
		uint64_t was = s->ns[k], now = s->now[k];

		s->now[k] = 0;
		all += was;
		if (!now)
			continue;
		differs += now > was ? now - was : was - now;
		s->ns[k] = was - was / AVERAGE + now / AVERAGE;
	}
	if (differs > all / DRIFT && l->follow.on)
		follow_retime(&l->follow, sim);
}

/* Where in the step are we? */
static void locate(struct sim *sim, struct learned *l, uint32_t sign)
{
	struct follow *f = &l->follow;
	uint32_t k = l->expect, n = l->seen.step.kernels;
	bool strange = l->seen.sign[k] != sign;

	if (strange)
		k = find(l, sign);
	l->strange = l->strange << 1 | strange;
	l->familiar = strange ? 0 : l->familiar + 1;
	l->placed = k != HZ_NONE;
	if (l->placed) {
		if (k < f->at) {
			f->base += n;
			average(sim, l);
		}
		f->at = k;
		l->seen.now[k] = sim->run->ns[sim->pos];
		l->expect = (k + 1) % n;
	}
	judge(l);
}

static void begin(struct sim *sim)
{
	struct learned *l = sim->data;

	look(sim, l);
	if (l->known)
		locate(sim, l, recognise_sign(sim->run, sim->pos, false));
	recognise_add(&l->recogniser, sim->pos);
	follow_begin(sim);
}

const struct policy policy_learned = {
	.name = "learned",
	.help = "our plan, online: the first step is not known",
	.init = init,
	.fini = fini,
	.begin = begin,
	.end = follow_end,
	.pick = follow_pick,
	.room = follow_room,
	.keep_copy = follow_keep_copy,
};
