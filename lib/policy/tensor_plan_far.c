/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Open gaps, the furthest next use first, in a few steps each. See
 * tensor_plan_int.h.
 */
#include "policy/tensor_plan_int.h"

#include <string.h>

void hz_tp_far_reset(struct hz_tp *tp)
{
	struct hz_tp_queue *q = &tp->far;
	size_t words = q->keys;

	q->top = HZ_NONE;
	q->popped = 0;
	memset(q->head, 0xff, q->keys * sizeof(*q->head));
	for (unsigned l = 0; l < HZ_TP_LEVELS; l++) {
		words = words / 64 + 1;
		memset(q->bits[l], 0, words * sizeof(*q->bits[l]));
	}
}

void hz_tp_far_push(struct hz_tp *tp, struct hz_tp_far far)
{
	struct hz_tp_queue *q = &tp->far;
	uint32_t at = far.key;
	bool empty = q->head[far.key] == HZ_NONE;

	q->next[far.use] = q->head[far.key];
	q->head[far.key] = far.use;
	if (q->top != HZ_NONE)
		q->top = hz_max(q->top, far.key);
	for (unsigned l = 0; empty && l < HZ_TP_LEVELS; l++, at /= 64) {
		empty = !q->bits[l][at / 64];
		q->bits[l][at / 64] |= 1ull << (at % 64);
	}
}

/* The largest key whose list is not empty, HZ_NONE: there is none. The top
 * level has few words. */
static uint32_t furthest(const struct hz_tp_queue *q)
{
	uint32_t at = q->keys, words;

	for (unsigned l = 0; l < HZ_TP_LEVELS; l++)
		at = at / 64;
	for (words = at + 1; words && !q->bits[HZ_TP_LEVELS - 1][words - 1];)
		words--;
	if (!words)
		return HZ_NONE;
	at = words - 1;
	for (unsigned l = HZ_TP_LEVELS; l-- > 0;)
		at = at * 64 + 63 - (uint32_t)__builtin_clzll(q->bits[l][at]);
	return at;
}

static void clear(struct hz_tp_queue *q, uint32_t at)
{
	for (unsigned l = 0; l < HZ_TP_LEVELS; l++, at /= 64) {
		q->bits[l][at / 64] &= ~(1ull << (at % 64));
		if (q->bits[l][at / 64])
			return;
	}
}

bool hz_tp_far_pop(struct hz_tp *tp, struct hz_tp_far *far)
{
	struct hz_tp_queue *q = &tp->far;
	uint32_t key;

	if (q->top == HZ_NONE)
		q->top = furthest(q);
	key = q->top;
	if (key == HZ_NONE || key <= tp->now)
		return false;
	far->key = q->popped = key;
	far->use = q->head[key];
	q->head[key] = q->next[far->use];
	if (q->head[key] == HZ_NONE) {
		clear(q, key);
		q->top = HZ_NONE;
	}
	return true;
}
