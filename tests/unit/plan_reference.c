/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What FIFO, LRU and a policy that knows the future would move: the measures
 * for a plan. They see every visit and read nothing ahead.
 */
#include "plan_sim.h"

#include <stdlib.h>

struct ref_block {
	uint64_t key; /* the smallest is the next victim */
	bool resident, dirty, copy;
};

/* For each visit the next one to the same block. */
static size_t *next_visits(const struct sim_trace *t)
{
	size_t *next = calloc(t->n, sizeof(*next));
	size_t *last = calloc(t->blocks, sizeof(*last));

	if (!next || !last)
		abort();
	for (size_t i = t->n; i-- > 0;) {
		size_t seen = last[t->visit[i].block];

		next[i] = seen ? seen : SIZE_MAX;
		last[t->visit[i].block] = i;
	}
	free(last);
	return next;
}

static void evict_least(struct ref_block *b, uint32_t blocks,
                        struct sim_count *c)
{
	struct ref_block *least = NULL;

	for (uint32_t i = 0; i < blocks; i++) {
		if (b[i].resident && (!least || b[i].key < least->key))
			least = &b[i];
	}
	if (!least)
		abort();
	c->writes += least->dirty;
	least->copy |= least->dirty;
	least->resident = least->dirty = false;
}

struct sim_count sim_reference(const struct sim_trace *t, uint32_t capacity,
                               size_t from, enum sim_policy policy)
{
	struct ref_block *b = calloc(t->blocks, sizeof(*b));
	size_t *next = next_visits(t);
	struct sim_count c = {0};
	uint32_t used = 0;

	if (!b)
		abort();
	for (size_t i = 0; i < t->n; i++) {
		struct ref_block *x = &b[t->visit[i].block];

		if (i == from)
			c = (struct sim_count){0};
		c.visits++;
		if (!x->resident) {
			if (used == capacity)
				evict_least(b, t->blocks, &c);
			else
				used++;
			c.reads += x->copy;
			c.zero += !x->copy;
			x->resident = true;
			x->key = i;
		}
		x->dirty |= t->visit[i].write;
		if (policy == SIM_LRU)
			x->key = i;
		else if (policy == SIM_BELADY)
			x->key = SIZE_MAX - next[i];
	}
	free(next);
	free(b);
	return c;
}
