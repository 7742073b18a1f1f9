/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds what two steps have in common. See tensor_plan_same.h.
 */
#include "policy/tensor_plan_same.h"

#include <string.h>

/* After a difference the steps are compared again so far on. */
#define LOOK 64

/* More than this part of the kernels changed: it is another step. */
#define CHANGED_MAX 8

static bool kernels_equal(const struct hz_tp_same *s, uint32_t was,
			  uint32_t now)
{
	const uint32_t *a = s->was->first + was, *b = s->now->first + now;
	uint32_t n = a[1] - a[0];

	return n == b[1] - b[0] &&
	       !memcmp(s->was->use + a[0], s->now->use + b[0],
		       n * sizeof(*s->now->use));
}

/* Two kernels in a row, since one alone may be anything. */
static bool meet(const struct hz_tp_same *s, uint32_t was, uint32_t now)
{
	if (was >= s->was->kernels || now >= s->now->kernels)
		return was == s->was->kernels && now == s->now->kernels;
	if (!kernels_equal(s, was, now))
		return false;
	return was + 1 >= s->was->kernels || now + 1 >= s->now->kernels ||
	       kernels_equal(s, was + 1, now + 1);
}

/* How many kernels of each are to be left out so that they meet. */
static void differ(const struct hz_tp_same *s, uint32_t was, uint32_t now,
		   uint32_t *out, uint32_t *in)
{
	for (uint32_t d = 1; d <= LOOK; d++) {
		*out = *in = d;
		if (meet(s, was + d, now + d))
			return;
		*in = 0;
		if (meet(s, was + d, now))
			return;
		*out = 0;
		*in = d;
		if (meet(s, was, now + d))
			return;
	}
	*out = *in = LOOK;
}

static void match(struct hz_tp_same *s)
{
	uint32_t n = s->now->kernels, m = s->was->kernels, out, in;
	uint32_t was = 0, now = 0;

	while (was < m) {
		if (now < n && kernels_equal(s, was, now)) {
			s->kernel[was++] = now++;
			continue;
		}
		differ(s, was, now, &out, &in);
		out = hz_min(out, m - was);
		in = hz_min(in, n - now);
		s->changed += out + in;
		for (; out; out--)
			s->kernel[was++] = now | HZ_TP_GONE;
		now += in;
	}
	s->changed += n - now;
}

/* False: they differ too much. `kernel` has room for two steps of now. */
static bool compare(struct hz_tp_same *s)
{
	uint32_t n = s->now->kernels, m = s->was->kernels;

	if (m > n + n / 2 || s->was->tensors != s->now->tensors ||
	    memcmp(s->was->bytes, s->now->bytes,
		   s->now->tensors * sizeof(*s->now->bytes)))
		return false;
	match(s);
	return s->changed <= hz_max(n, m) / CHANGED_MAX;
}

static void find_stretches(struct hz_tp_same *s)
{
	uint32_t m = s->was->kernels, i = 0;
	struct hz_tp_stretch last = {0, 0, 0};

	for (uint32_t k = 0; k < m; k++) {
		uint32_t now = s->kernel[k], first = s->was->first[k];
		struct hz_tp_stretch at;

		if (now & HZ_TP_GONE)
			continue;
		at = (struct hz_tp_stretch){first, s->now->first[now] - first,
					    now - k};
		if (s->stretches && at.uses == last.uses &&
		    at.kernels == last.kernels)
			continue;
		s->stretch[s->stretches++] = last = at;
	}
	s->stretch[s->stretches] = (struct hz_tp_stretch){.first = HZ_NONE};
	/* A small table: it is looked into for each use. */
	while (s->was->first[m] >> s->shift > 8 * s->stretches + 1)
		s->shift++;
	for (uint32_t u = 0; u < s->was->first[m]; u += 1u << s->shift) {
		while (s->stretch[i + 1].first <= u)
			i++;
		s->stretch_of[u >> s->shift] = i;
	}
}

static void mark(const struct hz_tp_same *s, const struct hz_step *step,
		 uint32_t k)
{
	for (uint32_t u = step->first[k]; u < step->first[k + 1]; u++) {
		uint32_t t = hz_use_tensor(step->use[u]);

		s->other[t / 64] |= 1ull << (t % 64);
	}
}

/* Tensors of kernels without a match. */
static void find_other(struct hz_tp_same *s)
{
	uint32_t now = 0;

	memset(s->other, 0, (s->now->tensors / 64 + 1) * sizeof(*s->other));
	for (uint32_t k = 0; k < s->was->kernels; k++) {
		if (s->kernel[k] & HZ_TP_GONE) {
			mark(s, s->was, k);
			continue;
		}
		for (; now < s->kernel[k]; now++)
			mark(s, s->now, now);
		now++;
	}
	for (; now < s->now->kernels; now++)
		mark(s, s->now, now);
}

bool hz_tp_compare(struct hz_tp *tp, struct hz_tp_same *s,
		   const struct hz_tensor_plan *was)
{
	uint32_t uses = s->now->first[s->now->kernels];
	struct hz_tp old;

	s->kernel = tp->count;
	if (!uses || !compare(s))
		return false;
	hz_tp_lay_out(&old, was->gap, s->was);
	s->prev = old.prev;
	s->stretch = (struct hz_tp_stretch *)tp->far.head;
	s->stretch_of = tp->far.next;
	s->shift = 6;
	while (s->was->first[s->was->kernels] >> s->shift >= uses)
		s->shift++;
	/* Behind what is seen of tensors while they are linked. */
	s->other =
		(uint64_t *)((struct hz_tp_seen *)tp->state + s->now->tensors);
	find_stretches(s);
	find_other(s);
	return true;
}
