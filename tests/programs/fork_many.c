/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Many children one after the other, some of them at a time: all read right,
 * and afterwards the budget holds as before.
 */
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>
#include "tiered.h"

#define LEN   (100 * MIB)
#define FORKS 100

static char *p;

static void one(unsigned i)
{
	size_t at = i % (LEN / BLOCK) * BLOCK;
	pid_t pid = fork();

	if (!pid) {
		CHECK(filled_at(p + at, BLOCK, 1, at));
		p[at]++;
		_exit(tiered_end());
	}
	NEED(pid > 0);
	/* some overlap: the next is born while this one lives */
	if (i % 4 == 3)
		while (waitpid(-1, NULL, WNOHANG) > 0)
			;
	if (i % 10 == 9)
		CHECK(filled_at(p + at, BLOCK, 1, at));
}

static void reap(void)
{
	int status;

	while (wait(&status) > 0)
		CHECK(WIFEXITED(status) && !WEXITSTATUS(status));
}

int main(void)
{
	uint64_t over;

	tiered_start();
	p = map(LEN);
	fill(p, LEN, 1);
	CHECK(filled(p, LEN, 1));
	for (unsigned i = 0; i < FORKS; i++) {
		one(i);
		if (i % 8 == 7)
			reap();
	}
	reap();
	/* The budget holds again: all of it can leave, nothing is shared. */
	over = counter("over_budget");
	CHECK(evicted_soon(p, LEN));
	CHECK(filled(p, LEN, 1));
	fill(p, LEN, 3);
	CHECK(filled(p, LEN, 3));
	CHECK(evicted_soon(p, LEN));
	CHECK(counter("over_budget") == over);
	CHECK(filled(p, LEN, 3));
	CHECK(!munmap(p, LEN));
	return tiered_end();
}
