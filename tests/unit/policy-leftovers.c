/* SPDX-License-Identifier: Apache-2.0 */
/*
 * policy/leftovers.h against an array that is searched.
 */
#include <criterion/criterion.h>
#include <stdlib.h>

#include "policy/leftovers.h"

static struct hz_leftovers ring;

static void make(uint32_t slots)
{
	hz_leftovers_init(&ring, calloc(1, hz_leftovers_bytes(slots)), slots);
}

static uint64_t name(unsigned i)
{
	return (i + 1) * 0x9e3779b97f4a7c15u;
}

static uint32_t put(uint64_t hash)
{
	uint32_t slot;

	cr_assert_eq(hz_leftovers_take(&ring, 1, &slot), 1);
	hz_leftovers_name(&ring, slot, hash, slot % 2);
	return slot;
}

Test(leftovers, the_last_ones_are_found)
{
	unsigned lost = 0;

	make(1000);
	for (unsigned i = 0; i < 5000; i++)
		put(name(i));
	for (unsigned i = 0; i < 4000; i++)
		cr_assert_eq(hz_leftovers_find(&ring, name(i)), HZ_NONE);
	for (unsigned i = 4000; i < 5000; i++) {
		uint32_t slot = hz_leftovers_find(&ring, name(i));

		lost += slot == HZ_NONE;
		if (slot == HZ_NONE)
			continue;
		cr_assert_eq(slot, i % 1000);
		cr_assert_eq(ring.guessed[slot], slot % 2);
	}
	cr_assert_lt(lost, 30, "%u of 1000 found no place", lost);
	free(ring.name);
}

Test(leftovers, nothing_has_no_name)
{
	make(10);
	cr_assert_eq(hz_leftovers_find(&ring, 0), HZ_NONE);
	cr_assert_eq(hz_leftovers_find(&ring, name(1)), HZ_NONE);
	put(name(1));
	cr_assert_eq(hz_leftovers_find(&ring, 0), HZ_NONE);
	free(ring.name);
	ring = (struct hz_leftovers){0}; /* there is no ring */
	cr_assert_eq(hz_leftovers_find(&ring, name(1)), HZ_NONE);
}

Test(leftovers, the_newer_of_two_copies)
{
	make(10);
	put(name(1));
	put(name(2));
	cr_assert_eq(put(name(1)), 2);
	cr_assert_eq(hz_leftovers_find(&ring, name(1)), 2);
	hz_leftovers_forget(&ring, 0); /* the older one */
	cr_assert_eq(hz_leftovers_find(&ring, name(1)), 2);
	hz_leftovers_forget(&ring, 2);
	cr_assert_eq(hz_leftovers_find(&ring, name(1)), HZ_NONE);
	cr_assert_eq(hz_leftovers_find(&ring, name(2)), 1);
	free(ring.name);
}

Test(leftovers, taken_slots_are_in_a_row)
{
	uint32_t first;

	make(100);
	cr_assert_eq(hz_leftovers_take(&ring, 64, &first), 64);
	cr_assert_eq(first, 0);
	cr_assert_eq(hz_leftovers_take(&ring, 64, &first), 36);
	cr_assert_eq(first, 64);
	hz_leftovers_name(&ring, 0, name(7), false);
	cr_assert_eq(hz_leftovers_take(&ring, 64, &first), 64);
	cr_assert_eq(first, 0);
	cr_assert_eq(hz_leftovers_find(&ring, name(7)), HZ_NONE);
	free(ring.name);
}

/* Never a slot of another name. */
Test(leftovers, as_an_array)
{
	static uint64_t ref[128];
	uint32_t slot;

	make(128);
	srand(7);
	for (unsigned i = 0; i < 100000; i++) {
		uint64_t hash = name((unsigned)rand() % 300);

		if (rand() % 3) {
			slot = put(hash);
			for (unsigned k = 0; k < 128; k++)
				if (ref[k] == hash)
					ref[k] = 0;
			ref[slot] = hash;
		} else if (rand() % 3 == 0) {
			slot = (uint32_t)rand() % 128;
			hz_leftovers_forget(&ring, slot);
			ref[slot] = 0;
		}
		hash = name((unsigned)rand() % 300);
		slot = hz_leftovers_find(&ring, hash);
		if (slot != HZ_NONE)
			cr_assert_eq(ref[slot], hash);
	}
	free(ring.name);
}
