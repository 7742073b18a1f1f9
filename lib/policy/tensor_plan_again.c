/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A few kernels of the step have changed: the plan is changed, not made. See
 * tensor_plan.h.
 *
 * What was planned for gaps that are still there is carried over; where that
 * does not fit, one sweep over the kernels that lack memory makes room.
 */
#include "policy/tensor_plan_int.h"

#include <string.h>

/* The two steps: where each kernel of the one that was is now, or, with GONE,
 * what came then instead of it. */
struct same {
	const struct hz_step *was, *now;
	const struct hz_gap *gap; /* of `was` */
	uint32_t *kernel;
	uint32_t changed; /* kernels of either that have no match */
};

#define GONE (1u << 31)
/* After a difference the steps are compared again so far on. */
#define LOOK 64

/* More than this part of the kernels changed: it is another step. */
#define CHANGED_MAX 8

static bool kernels_equal(const struct same *s, uint32_t was, uint32_t now)
{
	const uint32_t *a = s->was->first + was, *b = s->now->first + now;
	uint32_t n = a[1] - a[0];

	return n == b[1] - b[0] &&
	       !memcmp(s->was->use + a[0], s->now->use + b[0],
		       n * sizeof(*s->now->use));
}

/* Two kernels in a row, since one alone may be anything. */
static bool meet(const struct same *s, uint32_t was, uint32_t now)
{
	if (was >= s->was->kernels || now >= s->now->kernels)
		return was == s->was->kernels && now == s->now->kernels;
	if (!kernels_equal(s, was, now))
		return false;
	return was + 1 >= s->was->kernels || now + 1 >= s->now->kernels ||
	       kernels_equal(s, was + 1, now + 1);
}

/* How many kernels of each are to be left out so that they meet. */
static void differ(const struct same *s, uint32_t was, uint32_t now,
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

static void match(struct same *s)
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
			s->kernel[was++] = now | GONE;
		now += in;
	}
	s->changed += n - now;
}

/* False: they differ too much. `kernel` has room for two steps of now. */
static bool compare(struct same *s)
{
	uint32_t n = s->now->kernels, m = s->was->kernels;

	if (m > n + n / 2 || s->was->tensors != s->now->tensors ||
	    memcmp(s->was->bytes, s->now->bytes,
		   s->now->tensors * sizeof(*s->now->bytes)))
		return false;
	match(s);
	return s->changed <= hz_max(n, m) / CHANGED_MAX;
}

/* A use, in its kernel, of the step as it is now; HZ_NONE: it is gone. */
static uint32_t use_now(const struct same *s, uint32_t use, uint32_t kernel)
{
	uint32_t now = s->kernel[kernel];

	if (now & GONE)
		return HZ_NONE;
	return s->now->first[now] + use - s->was->first[kernel];
}

/* An absolute kernel. */
static uint32_t kernel_now(const struct same *s, uint32_t kernel)
{
	uint32_t m = s->was->kernels;

	if (kernel >= m)
		return (s->kernel[kernel - m] & ~GONE) + s->now->kernels;
	return s->kernel[kernel] & ~GONE;
}

/* What was planned for the gap, if it is still between the same uses. */
static void carry_gap(const struct same *s, uint32_t was, struct hz_gap *g)
{
	const struct hz_gap *old = &s->gap[was];
	uint32_t end = old->closes, by;

	if (old->next == HZ_NONE || !old->evict)
		return;
	end = end >= s->was->kernels ? end - s->was->kernels : end;
	if (use_now(s, old->next, end) != g->next)
		return;
	g->evict = old->evict;
	g->write = old->write;
	by = hz_max(kernel_now(s, old->by), g->opened + 1);
	g->by = hz_min(by, g->closes);
}

/* What a use and the gap after it take of memory, as changes. */
static void weigh(struct hz_tp *tp, const struct hz_gap *g, uint64_t bytes)
{
	if (g->next == HZ_NONE) {
		hz_tp_fly(tp, g->opened, g->opened + 1, (int64_t)bytes);
		return;
	}
	hz_tp_fly(tp, g->opened, g->closes, (int64_t)bytes);
	if (!g->evict)
		return;
	hz_tp_fly(tp, g->by, g->closes, -(int64_t)g->evict);
	tp->in_bytes += g->evict;
	tp->out_bytes += g->write;
}

/* Is this use the one that wrote what is there after it? What is born has been
 * written by someone. */
static bool writes(const struct hz_tp *tp, uint32_t use)
{
	return hz_use_how(tp->step->use[use]) & HZ_USE_WRITE ||
	       tp->prev[use] == HZ_NONE;
}

HZ_TP_HINT look_ahead(const struct hz_tp *tp, uint32_t use,
		      const uint32_t *wrote)
{
	uint32_t u = use + HZ_TP_AHEAD, t;

	if (u >= tp->step->first[tp->step->kernels])
		return;
	t = hz_use_tensor(tp->step->use[u]);
	__builtin_prefetch(&tp->step->bytes[t]);
	__builtin_prefetch(&wrote[t], 1);
	if (tp->gap[u].next == HZ_NONE)
		return;
	__builtin_prefetch(&tp->flight[hz_tp_in_step(tp, tp->gap[u].closes)],
			   1);
}

static void carry_use(struct hz_tp *tp, const struct same *s, uint32_t use,
		      uint32_t was, uint32_t *wrote)
{
	uint32_t t = hz_use_tensor(tp->step->use[use]);
	struct hz_gap *g = &tp->gap[use];

	look_ahead(tp, use, wrote);
	if (writes(tp, use))
		wrote[t] = use;
	g->wrote = wrote[t];
	g->by = g->closes;
	if (was != HZ_NONE && g->next != HZ_NONE)
		carry_gap(s, was, g);
	weigh(tp, g, tp->step->bytes[t]);
}

/* Sums up the changes in flight. */
static void add_up(struct hz_tp *tp)
{
	for (uint32_t k = 0; k < tp->step->kernels; k++) {
		tp->flight[k + 1] += tp->flight[k];
		tp->used[k] += tp->flight[k];
	}
}

/* All uses in their order, with the kernel that each was in before. */
static void carry(struct hz_tp *tp, const struct same *s)
{
	const struct hz_step *now = tp->step;
	uint32_t *wrote = (uint32_t *)tp->state, was = 0;

	memset(wrote, 0xff, now->tensors * sizeof(*wrote));
	for (uint32_t u = 0; u < now->first[now->kernels]; u++)
		if (writes(tp, u))
			wrote[hz_use_tensor(now->use[u])] = u;
	memset(tp->flight, 0, (now->kernels + 1) * sizeof(*tp->flight));
	memset(tp->used, 0, now->kernels * sizeof(*tp->used));
	for (uint32_t k = 0; k < now->kernels; k++) {
		uint32_t old;

		while (was < s->was->kernels &&
		       (s->kernel[was] & GONE || s->kernel[was] < k))
			was++;
		old = was < s->was->kernels && s->kernel[was] == k
			      ? s->was->first[was]
			      : HZ_NONE;
		for (uint32_t u = now->first[k]; u < now->first[k + 1]; u++)
			carry_use(tp, s, u,
				  old == HZ_NONE ? old
						 : old + u - now->first[k],
				  wrote);
	}
	add_up(tp);
}

/* A gap that is open, and closes at `key` counted from this step. */
static void offer(struct hz_tp *tp, uint32_t use, uint32_t key)
{
	uint64_t bytes = tp->step->bytes[hz_use_tensor(tp->step->use[use])];

	if (tp->gap[use].evict < bytes && bytes > tp->m->fast >> 22)
		hz_tp_far_push(tp, (struct hz_tp_far){key, use});
}

/* All that are open before kernel k, of this step and the one before. */
static void offer_open(struct hz_tp *tp, uint32_t k)
{
	uint32_t n = tp->step->kernels;

	for (uint32_t u = 0; u < tp->step->first[n]; u++) {
		const struct hz_gap *g = &tp->gap[u];

		if (g->next == HZ_NONE)
			continue;
		if (g->opened < k && g->closes > k)
			offer(tp, u, g->closes);
		else if (g->opened >= k && g->closes > k + n)
			offer(tp, u, g->closes - n);
	}
}

/* Up to `excess` bytes leave in kernel k; they count as written: what has a
 * copy is found when it is due. */
static uint64_t leave(struct hz_tp *tp, const struct hz_tp_far *far, uint32_t k,
		      uint64_t excess)
{
	struct hz_gap *g = &tp->gap[far->use];
	uint64_t all = tp->step->bytes[hz_use_tensor(tp->step->use[far->use])];
	uint64_t n = hz_align_up(excess, tp->m->piece);
	uint32_t at = k + (g->closes - far->key);

	n = hz_min(n, all - g->evict);
	g->by = g->evict ? hz_min(g->by, at) : at;
	g->evict += n;
	g->write += n;
	tp->in_bytes += n;
	tp->out_bytes += n;
	hz_tp_fly(tp, k, far->key, -(int64_t)n);
	return n;
}

/* From the first kernel that lacks memory to the last one that does. */
static void repair(struct hz_tp *tp)
{
	const struct hz_step *s = tp->step;
	int64_t fast = (int64_t)tp->m->fast, sum = 0;
	struct hz_tp_far far;
	uint32_t k = 0, end = s->kernels;

	while (k < end && tp->used[k] <= fast)
		k++;
	if (k == end)
		return;
	while (tp->used[end - 1] <= fast)
		end--;
	hz_tp_far_reset(tp);
	tp->now = k;
	offer_open(tp, k);
	memset(tp->flight, 0, (s->kernels + 1) * sizeof(*tp->flight));
	for (; k < end; k++) {
		tp->now = k;
		sum += tp->flight[k];
		while (tp->used[k] + sum > fast && hz_tp_far_pop(tp, &far))
			sum -= (int64_t)leave(
				tp, &far, k,
				(uint64_t)(tp->used[k] + sum - fast));
		for (uint32_t u = s->first[k]; u < s->first[k + 1]; u++)
			if (tp->gap[u].next != HZ_NONE)
				offer(tp, u, tp->gap[u].closes);
	}
	add_up(tp);
}

bool hz_tensor_plan_change(struct hz_tensor_plan *plan, void *mem,
			   const struct hz_step *step,
			   const struct hz_plan_for *machine,
			   const struct hz_tensor_plan *was,
			   const struct hz_step *was_step)
{
	struct same s = {.was = was_step, .now = step, .gap = was->gap};
	struct hz_tp tp;

	hz_tp_begin(&tp, mem, step, machine);
	s.kernel = tp.count;
	if (!compare(&s))
		return false;
	memset(plan, 0, sizeof(*plan));
	hz_tp_gaps(&tp);
	carry(&tp, &s);
	repair(&tp);
	hz_tp_timing(&tp, plan);
	hz_tp_list_outs(&tp, plan);
	return true;
}
