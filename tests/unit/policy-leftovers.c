/* SPDX-License-Identifier: Apache-2.0 */
/*
 * policy/leftovers.h against an array that is searched.
 */
#include <criterion/criterion.h>
#include <stdlib.h>

#include "policy/leftovers.h"

static struct hz_leftovers l;

static void make(uint32_t slots)
{
	hz_leftovers_init(&l, calloc(1, hz_leftovers_bytes(slots)), slots);
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

	make(1000);
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
			cr_assert_eq(l.slot[slot].guessed, name(i) & 1);
	}
	cr_assert_lt(lost, 30, "%u of 1000 found no place", lost);
	free(l.slot);
}

Test(leftovers, nothing_has_no_name)
{
	make(10);
	cr_assert_eq(hz_leftovers_find(&l, 0), HZ_NONE);
	cr_assert_eq(hz_leftovers_find(&l, name(1)), HZ_NONE);
	put(name(1));
	cr_assert_eq(hz_leftovers_find(&l, 0), HZ_NONE);
	free(l.slot);
	l = (struct hz_leftovers){0}; /* there is no memory for them */
	cr_assert_eq(hz_leftovers_find(&l, name(1)), HZ_NONE);
}

Test(leftovers, the_newer_of_two_copies)
{
	make(10);
	put(name(1));
	put(name(2));
	cr_assert_eq(put(name(1)), 2);
	cr_assert_eq(hz_leftovers_find(&l, name(1)), 2);
	cr_assert_eq(put(name(3)), 0, "the older one's slot is free");
	hz_leftovers_free(&l, 2);
	cr_assert_eq(hz_leftovers_find(&l, name(1)), HZ_NONE);
	cr_assert_eq(hz_leftovers_find(&l, name(2)), 1);
	free(l.slot);
}

/* What is used makes room: nothing else has to go. */
Test(leftovers, used_ones_first)
{
	make(100);
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
	free(l.slot);
}

Test(leftovers, all_are_taken)
{
	make(4);
	for (uint32_t i = 0; i < 4; i++)
		cr_assert_eq(hz_leftovers_take(&l), i);
	cr_assert_eq(hz_leftovers_take(&l), HZ_NONE);
	hz_leftovers_name(&l, 2, name(7), false);
	cr_assert_eq(hz_leftovers_take(&l), 2);
	cr_assert_eq(hz_leftovers_find(&l, name(7)), HZ_NONE);
	free(l.slot);
}

/* Never a slot of another name, and none is lost. */
Test(leftovers, as_an_array)
{
	static uint64_t ref[128];
	unsigned found = 0;
	uint32_t slot;

	make(128);
	srand(7);
	for (unsigned i = 0; i < 100000; i++) {
		uint64_t hash = name((unsigned)rand() % 300);

		slot = hz_leftovers_find(&l, hash);
		if (rand() % 3) {
			ref[put(hash)] = hash;
		} else if (slot != HZ_NONE) {
			cr_assert_eq(ref[slot], hash);
			hz_leftovers_free(&l, slot);
		}
	}
	for (unsigned i = 0; i < 300; i++)
		found += hz_leftovers_find(&l, name(i)) != HZ_NONE;
	cr_assert_gt(found, 60, "%u", found);
	for (unsigned i = 0; i < 128; i++)
		cr_assert_neq(hz_leftovers_take(&l), HZ_NONE);
	cr_assert_eq(hz_leftovers_take(&l), HZ_NONE);
	free(l.slot);
}
