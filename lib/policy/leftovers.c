/* SPDX-License-Identifier: Apache-2.0 */
/*
 * See leftovers.h.
 */
#include "policy/leftovers.h"

/* Places of the index that a name may stand in; there are twice as many as
 * copies at least, so that next to none finds all of them taken. */
#define WAYS 4u

static uint32_t index_places(uint32_t copies)
{
	uint32_t n = WAYS;

	while (n < 2 * copies)
		n *= 2;
	return n;
}

size_t hz_leftovers_bytes(uint32_t slots, uint32_t parts)
{
	return slots * (parts * sizeof(uint64_t) + sizeof(struct hz_leftover)) +
	       index_places(slots * parts) * sizeof(uint32_t);
}

void hz_leftovers_init(struct hz_leftovers *l, void *mem, uint32_t slots,
		       uint32_t parts)
{
	uint64_t *name = mem;
	struct hz_leftover *slot =
		(struct hz_leftover *)(name + (size_t)slots * parts);

	*l = (struct hz_leftovers){.name = name,
				   .slot = slot,
				   .index = (uint32_t *)(slot + slots),
				   .slots = slots,
				   .parts = parts,
				   .mask = index_places(slots * parts) - 1};
}

/* ---- places ---- */

static struct hz_leftover *slot_of(const struct hz_leftovers *l, uint32_t place)
{
	return &l->slot[place / l->parts];
}

static uint8_t bit_of(const struct hz_leftovers *l, uint32_t place)
{
	return (uint8_t)(1u << place % l->parts);
}

bool hz_leftovers_is_guessed(const struct hz_leftovers *l, uint32_t place)
{
	return slot_of(l, place)->guessed & bit_of(l, place);
}

/* ---- the index ---- */

static uint32_t *entry_at(const struct hz_leftovers *l, uint64_t hash,
			  unsigned i)
{
	return &l->index[((uint32_t)(hash >> 32) + i) & l->mask];
}

/* Where the place of that name stands in the index, or NULL. */
static uint32_t *entry(const struct hz_leftovers *l, uint64_t hash)
{
	for (unsigned i = 0; i < WAYS; i++) {
		uint32_t *at = entry_at(l, hash, i);

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

/* ---- lists of slots ---- */

static void append(struct hz_leftovers *l, enum hz_leftover_list to,
		   uint32_t slot)
{
	uint32_t last = l->list[to].last;

	l->slot[slot].link[to].prev = last;
	l->slot[slot].link[to].next = 0;
	if (last)
		l->slot[last - 1].link[to].next = slot + 1;
	else
		l->list[to].first = slot + 1;
	l->list[to].last = slot + 1;
}

static void unlink_from(struct hz_leftovers *l, enum hz_leftover_list from,
			uint32_t slot)
{
	uint32_t prev = l->slot[slot].link[from].prev;
	uint32_t next = l->slot[slot].link[from].next;

	if (prev)
		l->slot[prev - 1].link[from].next = next;
	else
		l->list[from].first = next;
	if (next)
		l->slot[next - 1].link[from].prev = prev;
	else
		l->list[from].last = prev;
}

/* ---- slots with free parts ---- */

static bool is_roomy(const struct hz_leftovers *l, const struct hz_leftover *s)
{
	return s->used && s->used != (1u << l->parts) - 1;
}

/* The parts in use are these from now on. */
static void set_used(struct hz_leftovers *l, uint32_t slot, unsigned used)
{
	struct hz_leftover *s = &l->slot[slot];
	bool was = is_roomy(l, s);

	s->used = (uint8_t)used;
	if (was && !is_roomy(l, s))
		unlink_from(l, HZ_LEFTOVER_ROOMY, slot);
	else if (!was && is_roomy(l, s))
		append(l, HZ_LEFTOVER_ROOMY, slot);
}

/* ---- copies ---- */

void hz_leftovers_free(struct hz_leftovers *l, uint32_t place)
{
	struct hz_leftover *s = slot_of(l, place);
	uint32_t slot = place / l->parts;

	*entry(l, l->name[place]) = 0;
	l->name[place] = 0;
	set_used(l, slot, s->used & ~(unsigned)bit_of(l, place));
	if (s->used)
		return;
	unlink_from(l, HZ_LEFTOVER_AGE, slot);
	s->link[HZ_LEFTOVER_AGE].next = l->free;
	l->free = slot + 1;
}

/* All its copies are named, or it would be in no list. */
static void empty(struct hz_leftovers *l, uint32_t slot)
{
	uint32_t first = slot * l->parts;

	for (uint32_t place = first; place < first + l->parts; place++)
		if (l->name[place])
			hz_leftovers_free(l, place);
}

static uint32_t take_slot(struct hz_leftovers *l)
{
	uint32_t slot;

	if (!l->free && l->fresh < l->slots)
		return l->fresh++;
	if (!l->free && l->list[HZ_LEFTOVER_AGE].first)
		empty(l, l->list[HZ_LEFTOVER_AGE].first - 1);
	if (!l->free)
		return HZ_NONE;
	slot = l->free - 1;
	l->free = l->slot[slot].link[HZ_LEFTOVER_AGE].next;
	return slot;
}

/* While something is written to it a slot does not age. */
static uint32_t take_part(struct hz_leftovers *l, uint32_t slot)
{
	struct hz_leftover *s = &l->slot[slot];
	unsigned part = (unsigned)__builtin_ctz(~(unsigned)s->used);

	if (s->used && !s->unnamed)
		unlink_from(l, HZ_LEFTOVER_AGE, slot);
	s->unnamed |= (uint8_t)(1u << part);
	set_used(l, slot, s->used | 1u << part);
	return slot * l->parts + part;
}

bool hz_leftovers_room(const struct hz_leftovers *l)
{
	return l->list[HZ_LEFTOVER_ROOMY].last || l->free || l->fresh < l->slots;
}

uint32_t hz_leftovers_take(struct hz_leftovers *l)
{
	uint32_t roomy = l->list[HZ_LEFTOVER_ROOMY].last;
	uint32_t slot = roomy ? roomy - 1 : take_slot(l);

	return slot == HZ_NONE ? HZ_NONE : take_part(l, slot);
}

/* An older copy of the same, or else one that stands in all ways. */
static uint32_t *make_entry(struct hz_leftovers *l, uint64_t hash)
{
	uint32_t *at = entry(l, hash);

	if (at) /* the newer copy stays for longer */
		hz_leftovers_free(l, *at - 1);
	for (unsigned i = 0; i < WAYS; i++)
		if (!*entry_at(l, hash, i))
			return entry_at(l, hash, i);
	at = entry_at(l, hash, (unsigned)hash % WAYS);
	hz_leftovers_free(l, *at - 1);
	return at;
}

void hz_leftovers_name(struct hz_leftovers *l, uint32_t place, uint64_t hash,
		       bool guessed)
{
	struct hz_leftover *s = slot_of(l, place);

	*make_entry(l, hash) = place + 1;
	l->name[place] = hash;
	s->unnamed &= (uint8_t)~bit_of(l, place);
	s->guessed = (uint8_t)(guessed ? s->guessed | bit_of(l, place)
				       : s->guessed & ~bit_of(l, place));
	if (!s->unnamed)
		append(l, HZ_LEFTOVER_AGE, place / l->parts);
}
