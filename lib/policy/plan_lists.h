/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Residency lists of the default plan: each block is in one list or in none.
 * Doubly linked through one small record a block; links are block + 1 so that
 * zeroed memory is a valid start and an untouched record costs no page.
 *
 * Private to plan_default.c and its tests.
 */
#ifndef HZ_PLAN_LISTS_H
#define HZ_PLAN_LISTS_H

#include <stdbool.h>
#include <stdint.h>
#include "base/util.h"

enum hz_list_id {
	HZ_LIST_NONE,      /* not resident */
	HZ_LIST_MAIN,      /* the fixed part; mapped */
	HZ_LIST_WINDOW,    /* newcomers, mapped */
	HZ_LIST_TRIAL,     /* of the main part, unmapped to see if it is used */
	HZ_LIST_DOOMED,    /* a trial that a better block has displaced */
	HZ_LIST_AHEAD,     /* prefetched, not used yet */
	HZ_LIST_REFUSED,   /* the engine could not take it, this round */
	HZ_LIST_REFUSED_B, /* the same, before the last progress */
	HZ_LISTS
};

#define HZ_GAP_MAX ((1u << 24) - 1)

struct hz_node {
	uint32_t prev, next; /* block + 1, 0: none */
	uint32_t stamp;      /* tick of the last known use, or of its trial */
	uint32_t asked;      /* tick when it was read ahead or refused */
	uint32_t gap : 24;   /* mean ticks between uses, 0: not known */
	uint32_t list : 3;   /* enum hz_list_id */
	uint32_t home : 3;   /* where a refused block came from */
	uint32_t seen : 1;   /* was used since it was last forgotten */
	uint32_t spare : 1;
};

struct hz_list {
	uint32_t head, tail; /* block + 1, 0: empty */
	uint32_t count;
};

struct hz_lists {
	struct hz_node *node;
	uint32_t blocks;
	uint32_t total; /* blocks in any list */
	struct hz_list list[HZ_LISTS];
};

/* Move the block to the end of a list, HZ_LIST_NONE included. */
void hz_list_move(struct hz_lists *ls, uint32_t block, enum hz_list_id to);

/* `to` takes the place of `from`, which is in no list then. */
void hz_list_rename(struct hz_lists *ls, uint32_t from, uint32_t to);

/* The first block, or HZ_NONE. */
static inline uint32_t hz_list_head(const struct hz_lists *ls,
                                    enum hz_list_id id)
{
	return ls->list[id].head - 1;
}

static inline uint32_t hz_list_count(const struct hz_lists *ls,
                                     enum hz_list_id id)
{
	return ls->list[id].count;
}

/* Walk all lists and abort on a difference to the counts. */
void hz_lists_check(const struct hz_lists *ls);

#endif
