/* SPDX-License-Identifier: Apache-2.0 */
/*
 * policy/awake.h: when faults come often.
 */
#include <criterion/criterion.h>

#include "policy/awake.h"

static struct hz_awake_rate r;
static uint64_t now;

static unsigned often(unsigned faults, uint64_t gap)
{
	unsigned n = 0;

	for (unsigned i = 0; i < faults; i++)
		n += hz_awake_often(&r, now += gap);
	return n;
}

static void start(void)
{
	r = (struct hz_awake_rate){0};
	now = 1000000000;
}

Test(awake, not_before_some_tens)
{
	start();
	cr_assert_eq(often(16, 50000), 0);
	cr_assert_eq(often(200, 50000) > 100, true);
}

Test(awake, not_a_thousand_a_second)
{
	start();
	cr_assert_eq(often(10000, 1000000), 0);
}

/* Many at once, and then nothing for long: a stream of blocks. */
Test(awake, not_a_few_in_a_row)
{
	start();
	for (unsigned i = 0; i < 1000; i++) {
		cr_assert_eq(often(3, 20000), 0);
		now += 20000000;
	}
}

Test(awake, until_they_come_rarely)
{
	start();
	often(1000, 50000);
	cr_assert(hz_awake_often(&r, now += 50000));
	now += 10000000000;
	often(20, 5000000);
	cr_assert_not(hz_awake_often(&r, now += 50000));
	cr_assert_gt(often(200, 50000), 50, "and again");
}
