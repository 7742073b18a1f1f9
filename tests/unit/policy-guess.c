/* SPDX-License-Identifier: Apache-2.0 */
/*
 * policy/guess.h: what follows a page, and when it is worth to read it.
 */
#include <criterion/criterion.h>
#include <stdlib.h>

#include "policy/guess.h"

#define PAGES 10000u

static struct hz_guess g;

static void make(void)
{
	hz_guess_init(&g, calloc(PAGES, sizeof(uint32_t)));
}

static void end(void)
{
	free(g.next);
}

Test(guess, the_order_of_last_time, .init = make, .fini = end)
{
	static const uint64_t way[] = {7, 9999, 3, 4000, 0, 5};

	cr_assert_eq(hz_guess_next(&g, 7), HZ_NONE);
	for (unsigned i = 0; i < hz_array_len(way); i++)
		hz_guess_follow(&g, way[i]);
	for (unsigned i = 0; i + 1 < hz_array_len(way); i++)
		cr_assert_eq(hz_guess_next(&g, way[i]), way[i + 1]);
	cr_assert_eq(hz_guess_next(&g, 5), HZ_NONE);
	hz_guess_follow(&g, 7);
	hz_guess_follow(&g, 7); /* itself does not follow */
	hz_guess_follow(&g, 3);
	cr_assert_eq(hz_guess_next(&g, 5), 7);
	cr_assert_eq(hz_guess_next(&g, 7), 3);
	cr_assert_eq(hz_guess_next(&g, 9999), 3);
}

Test(guess, beyond_the_numbers, .init = make, .fini = end)
{
	hz_guess_follow(&g, 1);
	hz_guess_follow(&g, HZ_NONE);
	hz_guess_follow(&g, (uint64_t)1 << 32);
	hz_guess_follow(&g, 2);
	cr_assert_eq(hz_guess_next(&g, 1), 2);
	cr_assert_eq(hz_guess_next(&g, (uint64_t)1 << 32), HZ_NONE);
}

/* So many guesses, of which those that are seen come true one in n times (0:
 * never). How many were mapped. */
static unsigned guess(unsigned many, unsigned n)
{
	unsigned mapped = 0;

	for (unsigned i = 0; i < many; i++) {
		if (hz_guess_map(&g))
			mapped++;
		else if (n && (unsigned)rand() % n == 0)
			hz_guess_right(&g);
	}
	return mapped;
}

static unsigned worth(unsigned many)
{
	unsigned n = 0;

	for (unsigned i = 0; i < many; i++)
		n += hz_guess_worth(&g);
	return n;
}

Test(guess, none_is_mapped_before_it_is_known, .init = make, .fini = end)
{
	cr_assert_eq(guess(250, 1), 0);
	cr_assert_eq(worth(100), 100);
}

Test(guess, right_ones_are_mapped, .init = make, .fini = end)
{
	unsigned mapped;

	guess(1000, 1);
	mapped = guess(10000, 1);
	cr_assert_gt(mapped, 8500, "%u", mapped);
	cr_assert_lt(mapped, 9000, "some still tell: %u", mapped);
	cr_assert_eq(worth(100), 100);
	/* and when it changes, that is noticed */
	guess(40000, 0);
	cr_assert_eq(guess(1000, 0), 0);
	cr_assert_lt(worth(6400), 110);
}

Test(guess, some_are_worth_a_read, .init = make, .fini = end)
{
	srand(3);
	guess(1000, 4);
	cr_assert_lt(guess(10000, 4), 100);
	cr_assert_eq(worth(100), 100);
}

Test(guess, wrong_ones_end, .init = make, .fini = end)
{
	unsigned n;

	guess(1000, 0);
	n = worth(6400);
	cr_assert_lt(n, 110, "%u", n);
	cr_assert_gt(n, 90, "tried now and then");
	/* and begin again when they are right */
	guess(4000, 1);
	cr_assert_eq(worth(100), 100);
}
