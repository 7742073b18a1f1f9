/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Intrusive lists of blocks. Every operation is O(1) and valid in any state
 * of the block.
 */
#include "policy/plan_lists.h"

#include <stdlib.h>
#include <string.h>

#include "base/log.h"

/* The word that points at the node from before, and from behind. */
static uint32_t *link_before(struct hz_lists *ls, struct hz_node *n)
{
	return n->prev ? &ls->node[n->prev - 1].next : &ls->list[n->list].head;
}

static uint32_t *link_behind(struct hz_lists *ls, struct hz_node *n)
{
	return n->next ? &ls->node[n->next - 1].prev : &ls->list[n->list].tail;
}

static void detach(struct hz_lists *ls, uint32_t block)
{
	struct hz_node *n = &ls->node[block];

	if (n->list == HZ_LIST_NONE)
		return;
	*link_before(ls, n) = n->next;
	*link_behind(ls, n) = n->prev;
	ls->list[n->list].count--;
	ls->total--;
	n->prev = n->next = 0;
	n->list = HZ_LIST_NONE;
}

static void append(struct hz_lists *ls, uint32_t block, enum hz_list_id to)
{
	struct hz_node *n = &ls->node[block];

	n->list = to;
	n->prev = ls->list[to].tail;
	n->next = 0;
	*link_before(ls, n) = block + 1;
	ls->list[to].tail = block + 1;
	ls->list[to].count++;
	ls->total++;
}

void hz_list_move(struct hz_lists *ls, uint32_t block, enum hz_list_id to)
{
	detach(ls, block);
	if (to != HZ_LIST_NONE)
		append(ls, block, to);
}

void hz_list_rename(struct hz_lists *ls, uint32_t from, uint32_t to)
{
	struct hz_node *f = &ls->node[from], *t = &ls->node[to];

	if (from == to)
		return;
	detach(ls, to);
	*t = *f;
	memset(f, 0, sizeof(*f));
	if (t->list == HZ_LIST_NONE)
		return;
	*link_before(ls, t) = to + 1;
	*link_behind(ls, t) = to + 1;
}

static void fail(const char *what, uint32_t block)
{
	hz_log(HZ_ERROR, "plan", "lists are damaged (%s at block %u)", what,
	       block);
	abort();
}

static uint32_t check_list(const struct hz_lists *ls, enum hz_list_id id)
{
	uint32_t prev = 0, n = 0;

	for (uint32_t at = ls->list[id].head; at; n++) {
		const struct hz_node *node = &ls->node[at - 1];

		if (n == ls->blocks || at > ls->blocks)
			fail("a link", at - 1);
		if (node->list != id || node->prev != prev)
			fail("a node", at - 1);
		prev = at;
		at = node->next;
	}
	if (ls->list[id].tail != prev || ls->list[id].count != n)
		fail("a count or tail", prev - 1);
	return n;
}

void hz_lists_check(const struct hz_lists *ls)
{
	uint32_t total = 0;

	for (unsigned id = HZ_LIST_MAIN; id < HZ_LISTS; id++)
		total += check_list(ls, id);
	if (total != ls->total)
		fail("the total", HZ_NONE);
	for (uint32_t b = 0; b < ls->blocks; b++)
		total -= ls->node[b].list != HZ_LIST_NONE;
	if (total)
		fail("a lost block", HZ_NONE);
}
