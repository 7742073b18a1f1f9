/* SPDX-License-Identifier: Apache-2.0 */
/*
 * policy/leftovers.h against an array that is searched.
 */
#include <criterion/criterion.h>
#include <stdlib.h>

#include "policy/leftovers.h"

static struct hz_leftovers l;

static void make(uint32_t slots, uint32_t parts)
{
	hz_leftovers_init(&l, calloc(1, hz_leftovers_bytes(slots, parts)),
			  slots, parts);
}

static uint64_t name(unsigned i)
{
	return (i + 1) * 0x9e3779b97f4a7c15u;
}

static uint32_t put(uint64_t hash)
{
	uint32_t slot = hz_leftovers_take(&l);

	cr_assert_neq(slot, HZ_NONE);
	hz_leftovers_name(&l, slot, hash, hash & 1);
	return slot;
}

Test(leftovers, the_last_ones_are_found)
{
	unsigned lost = 0;

	make(1000, 1);
	for (unsigned i = 0; i < 5000; i++)
		put(name(i));
	/* A name that finds no place takes another one's, whose slot is then
	 * free: so some of the older ones stay. */
	for (unsigned i = 0; i < 3900; i++)
		cr_assert_eq(hz_leftovers_find(&l, name(i)), HZ_NONE);
	for (unsigned i = 4000; i < 5000; i++) {
		uint32_t slot = hz_leftovers_find(&l, name(i));

		lost += slot == HZ_NONE;
		if (slot != HZ_NONE)
			cr_assert_eq(hz_leftovers_is_guessed(&l, slot),
				     name(i) & 1);
	}
	cr_assert_lt(lost, 30, "%u of 1000 found no place", lost);
	free(l.name);
}

Test(leftovers, nothing_has_no_name)
{
	make(10, 1);
	cr_assert_eq(hz_leftovers_find(&l, 0), HZ_NONE);
	cr_assert_eq(hz_leftovers_find(&l, name(1)), HZ_NONE);
	put(name(1));
	cr_assert_eq(hz_leftovers_find(&l, 0), HZ_NONE);
	free(l.name);
	l = (struct hz_leftovers){0}; /* there is no memory for them */
	cr_assert_eq(hz_leftovers_find(&l, name(1)), HZ_NONE);
}

Test(leftovers, the_newer_of_two_copies)
{
	make(10, 1);
	put(name(1));
	put(name(2));
	cr_assert_eq(put(name(1)), 2);
	cr_assert_eq(hz_leftovers_find(&l, name(1)), 2);
	cr_assert_eq(put(name(3)), 0, "the older one's slot is free");
	hz_leftovers_free(&l, 2);
	cr_assert_eq(hz_leftovers_find(&l, name(1)), HZ_NONE);
	cr_assert_eq(hz_leftovers_find(&l, name(2)), 1);
	free(l.name);
}

/* What is used makes room: nothing else has to go. */
Test(leftovers, used_ones_first)
{
	make(100, 1);
	for (unsigned i = 0; i < 100; i++)
		put(name(i));
	for (unsigned i = 50; i < 60; i++)
		hz_leftovers_free(&l, hz_leftovers_find(&l, name(i)));
	for (unsigned i = 100; i < 110; i++)
		put(name(i));
	cr_assert_neq(hz_leftovers_find(&l, name(0)), HZ_NONE);
	put(name(200));
	cr_assert_eq(hz_leftovers_find(&l, name(0)), HZ_NONE);
	cr_assert_neq(hz_leftovers_find(&l, name(1)), HZ_NONE);
	free(l.name);
}

Test(leftovers, all_are_taken)
{
	make(4, 1);
	for (uint32_t i = 0; i < 4; i++)
		cr_assert_eq(hz_leftovers_take(&l), i);
	cr_assert_eq(hz_leftovers_take(&l), HZ_NONE);
	hz_leftovers_name(&l, 2, name(7), false);
	cr_assert_eq(hz_leftovers_take(&l), 2);
	cr_assert_eq(hz_leftovers_find(&l, name(7)), HZ_NONE);
	free(l.name);
}

/* ---- slots of several parts ---- */

Test(leftovers, parts_of_a_slot_age_together)
{
	make(3, 8);
	for (unsigned i = 0; i < 24; i++)
		cr_assert_eq(put(name(i)), i);
	put(name(24));
	for (unsigned i = 0; i < 8; i++)
		cr_assert_eq(hz_leftovers_find(&l, name(i)), HZ_NONE);
	for (unsigned i = 8; i < 25; i++)
		cr_assert_neq(hz_leftovers_find(&l, name(i)), HZ_NONE);
	free(l.name);
}

Test(leftovers, a_free_part_is_filled_again)
{
	make(2, 8);
	for (unsigned i = 0; i < 16; i++)
		put(name(i));
	cr_assert_not(hz_leftovers_room(&l));
	hz_leftovers_free(&l, 3);
	cr_assert(hz_leftovers_room(&l));
	cr_assert_eq(put(name(16)), 3);
	/* the slot is young again: the other one has to go */
	put(name(17));
	cr_assert_neq(hz_leftovers_find(&l, name(0)), HZ_NONE);
	cr_assert_eq(hz_leftovers_find(&l, name(8)), HZ_NONE);
	free(l.name);
}

Test(leftovers, a_slot_that_is_written_to_is_kept)
{
	make(1, 8);
	for (unsigned i = 0; i < 7; i++)
		put(name(i));
	cr_assert_eq(hz_leftovers_take(&l), 7);
	cr_assert_eq(hz_leftovers_take(&l), HZ_NONE);
	for (unsigned i = 0; i < 7; i++)
		hz_leftovers_free(&l, i);
	cr_assert_eq(hz_leftovers_take(&l), 0);
	hz_leftovers_name(&l, 7, name(7), false);
	hz_leftovers_name(&l, 0, name(0), true);
	hz_leftovers_free(&l, 7);
	cr_assert_eq(hz_leftovers_find(&l, name(0)), 0);
	cr_assert(hz_leftovers_is_guessed(&l, 0));
	free(l.name);
}

/* ---- all of it ---- */

/* Never a place of another name, and none is lost. */
static void against_an_array(uint32_t slots, uint32_t parts)
{
	uint32_t copies = slots * parts, place;
	uint64_t *ref = calloc(copies, sizeof(*ref));
	unsigned found = 0;

	make(slots, parts);
	srand(7);
	for (unsigned i = 0; i < 100000; i++) {
		uint64_t hash = name((unsigned)rand() % 300);

		place = hz_leftovers_find(&l, hash);
		if (rand() % 3) {
			ref[put(hash)] = hash;
		} else if (place != HZ_NONE) {
			cr_assert_eq(ref[place], hash);
			hz_leftovers_free(&l, place);
		}
	}
	for (unsigned i = 0; i < 300; i++)
		found += hz_leftovers_find(&l, name(i)) != HZ_NONE;
	cr_assert_gt(found, 60, "%u", found);
	for (unsigned i = 0; i < 300; i++) {
		place = hz_leftovers_find(&l, name(i));
		if (place != HZ_NONE)
			hz_leftovers_free(&l, place);
	}
	for (unsigned i = 0; i < copies; i++)
		cr_assert_neq(hz_leftovers_take(&l), HZ_NONE);
	cr_assert_eq(hz_leftovers_take(&l), HZ_NONE);
	free(l.name);
	free(ref);
}

Test(leftovers, as_an_array)
{
	against_an_array(128, 1);
}

Test(leftovers, as_an_array_of_parts)
{
	against_an_array(16, 8);
}
