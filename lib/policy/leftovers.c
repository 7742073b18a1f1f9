/* SPDX-License-Identifier: Apache-2.0 */
/*
 * See leftovers.h.
 */
#include "policy/leftovers.h"

/* Places of the index that a name may stand in; there are twice as many as
 * slots at least, so that next to none finds all of them taken. */
#define WAYS 4u

static uint32_t index_places(uint32_t slots)
{
	uint32_t n = WAYS;

	while (n < 2 * slots)
		n *= 2;
	return n;
}

size_t hz_leftovers_bytes(uint32_t slots)
{
	return slots * sizeof(struct hz_leftover) +
	       index_places(slots) * sizeof(uint32_t);
}

void hz_leftovers_init(struct hz_leftovers *l, void *mem, uint32_t slots)
{
	struct hz_leftover *slot = mem;

	*l = (struct hz_leftovers){.slot = slot,
				   .index = (uint32_t *)(slot + slots),
				   .slots = slots,
				   .mask = index_places(slots) - 1};
}

/* ---- the index ---- */

static uint32_t *place(const struct hz_leftovers *l, uint64_t hash, unsigned i)
{
	return &l->index[((uint32_t)(hash >> 32) + i) & l->mask];
}

/* Where the slot of that name stands in the index, or NULL. */
static uint32_t *entry(const struct hz_leftovers *l, uint64_t hash)
{
	for (unsigned i = 0; i < WAYS; i++) {
		uint32_t *at = place(l, hash, i);

		if (*at && l->slot[*at - 1].name == hash)
			return at;
	}
	return NULL;
}

uint32_t hz_leftovers_find(const struct hz_leftovers *l, uint64_t hash)
{
	uint32_t *at = hash && l->slots ? entry(l, hash) : NULL;

	return at ? *at - 1 : HZ_NONE;
}

/* ---- the named, by age ---- */

static void append(struct hz_leftovers *l, uint32_t slot)
{
	l->slot[slot].prev = l->newest;
	l->slot[slot].next = 0;
	if (l->newest)
		l->slot[l->newest - 1].next = slot + 1;
	else
		l->oldest = slot + 1;
	l->newest = slot + 1;
}

static void unlink_from(struct hz_leftovers *l, uint32_t slot)
{
	const struct hz_leftover *s = &l->slot[slot];

	if (s->prev)
		l->slot[s->prev - 1].next = s->next;
	else
		l->oldest = s->next;
	if (s->next)
		l->slot[s->next - 1].prev = s->prev;
	else
		l->newest = s->prev;
}

/* It has no name any more, and is in no list. */
static void forget(struct hz_leftovers *l, uint32_t slot)
{
	*entry(l, l->slot[slot].name) = 0;
	l->slot[slot].name = 0;
	unlink_from(l, slot);
}

void hz_leftovers_free(struct hz_leftovers *l, uint32_t slot)
{
	forget(l, slot);
	l->slot[slot].next = l->free;
	l->free = slot + 1;
}

uint32_t hz_leftovers_take(struct hz_leftovers *l)
{
	uint32_t slot = l->free - 1;

	if (l->free) {
		l->free = l->slot[slot].next;
	} else if (l->fresh < l->slots) {
		slot = l->fresh++;
	} else if (l->oldest) {
		slot = l->oldest - 1;
		forget(l, slot);
	} else {
		return HZ_NONE;
	}
	return slot;
}

void hz_leftovers_name(struct hz_leftovers *l, uint32_t slot, uint64_t hash,
		       bool guessed)
{
	uint32_t *at = entry(l, hash);

	if (at) /* the newer copy stays for longer */
		hz_leftovers_free(l, *at - 1);
	at = NULL;
	for (unsigned i = 0; !at && i < WAYS; i++)
		if (!*place(l, hash, i))
			at = place(l, hash, i);
	if (!at) {
		at = place(l, hash, slot % WAYS);
		hz_leftovers_free(l, *at - 1);
	}
	*at = slot + 1;
	l->slot[slot].name = hash;
	l->slot[slot].guessed = guessed;
	append(l, slot);
}
