/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A child's engine begins with memory that is full. Before its region is
 * armed nothing may leave: what came back then was lost.
 */
#include <time.h>
#include "engine/engine.h"
#include "forked_engine.h"

/* As a cgroup that has less to offer than before. */
static void be_short(void)
{
	hz_lock(&hz_engine.lock);
	hz_engine.cap = hz_engine.pages / 2;
	hz_unlock(&hz_engine.lock);
	hz_engine_kick(&hz_engine.writer);
	nanosleep(&(struct timespec){.tv_nsec = 300000000}, NULL);
}

static void look_at_all(void)
{
	for (size_t page = 0; page < pages; page++)
		look(page);
	scatter(2000);
	for (size_t page = 0; page < pages; page++)
		look(page);
	CHECK(count("poisoned") == 0);
}

int main(void)
{
	before_armed = be_short;
	start_engine("64M");
	make_table(192 * MIB);
	for (unsigned round = 0; round < 4; round++) {
		scatter(getenv("TEST_SHORT") ? 6000 : 20000);
		in_a_child(look_at_all);
	}
	CHECK(count("piece_faults"));
	look_at_all();
	return 0;
}
