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
	return slots * sizeof(uint64_t) +
	       index_places(slots) * sizeof(uint32_t) +
	       slots * sizeof(bool);
}

void hz_leftovers_init(struct hz_leftovers *l, void *mem, uint32_t slots)
{
	uint32_t places = index_places(slots);
	uint32_t *index = (uint32_t *)((uint64_t *)mem + slots);

	*l = (struct hz_leftovers){.name = mem,
				   .index = index,
				   .guessed = (bool *)(index + places),
				   .slots = slots,
				   .mask = places - 1};
}

static uint32_t *place(const struct hz_leftovers *l, uint64_t hash, unsigned i)
{
	return &l->index[((uint32_t)(hash >> 32) + i) & l->mask];
}

/* Where the slot of that name stands in the index, or NULL. */
static uint32_t *entry(const struct hz_leftovers *l, uint64_t hash)
{
	for (unsigned i = 0; i < WAYS; i++) {
		uint32_t *at = place(l, hash, i);

		if (*at && l->name[*at - 1] == hash)
			return at;
	}
	return NULL;
}

uint32_t hz_leftovers_find(const struct hz_leftovers *l, uint64_t hash)
{
	uint32_t *at = hash && l->slots ? entry(l, hash) : NULL;

	return at ? *at - 1 : HZ_NONE;
}

void hz_leftovers_forget(struct hz_leftovers *l, uint32_t slot)
{
	uint32_t *at = l->name[slot] ? entry(l, l->name[slot]) : NULL;

	if (at && *at == slot + 1)
		*at = 0;
	l->name[slot] = 0;
}

uint32_t hz_leftovers_take(struct hz_leftovers *l, uint32_t n, uint32_t *first)
{
	n = hz_min(n, l->slots - l->hand);
	*first = l->hand;
	for (uint32_t i = 0; i < n; i++)
		hz_leftovers_forget(l, l->hand + i);
	l->hand = (l->hand + n) % l->slots;
	return n;
}

void hz_leftovers_name(struct hz_leftovers *l, uint32_t slot, uint64_t hash,
		       bool guessed)
{
	uint32_t *at = entry(l, hash);

	if (at) /* the newer copy stays for longer */
		l->name[*at - 1] = 0;
	for (unsigned i = 0; !at && i < WAYS; i++)
		if (!*place(l, hash, i))
			at = place(l, hash, i);
	if (!at) {
		at = place(l, hash, slot % WAYS);
		l->name[*at - 1] = 0;
	}
	l->name[slot] = hash;
	l->guessed[slot] = guessed;
	*at = slot + 1;
}
