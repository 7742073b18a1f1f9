/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A heap, the smallest key first. See follow.h.
 */
#include "config.h"
#include "replay/follow.h"

#include "replay/mem.h"

void queue_push(struct queue *q, struct queue_entry e)
{
	uint32_t i = q->n++;

	if (i == q->max) {
		q->max = hz_max(256u, 2 * q->max);
		q->at = mem_resize(q->at, q->max, sizeof(*q->at));
	}
	for (; i && e.key < q->at[(i - 1) / 2].key; i = (i - 1) / 2)
		q->at[i] = q->at[(i - 1) / 2];
	q->at[i] = e;
}

void queue_pop(struct queue *q)
{
	struct queue_entry last = q->at[--q->n];
	uint32_t i = 0, c;

	for (; (c = 2 * i + 1) < q->n; i = c) {
		if (c + 1 < q->n && q->at[c + 1].key < q->at[c].key)
			c++;
		if (last.key <= q->at[c].key)
			break;
		q->at[i] = q->at[c];
	}
	q->at[i] = last;
}
