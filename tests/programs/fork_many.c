/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Many children one after the other, and some that are killed: memory and
 * store are as free afterwards as before.
 */
#include <signal.h>
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

static void killed(void)
{
	pid_t pid[4];

	for (int i = 0; i < 4; i++) {
		pid[i] = fork();
		if (!pid[i]) {
			fill(p, LEN, 2); /* slots of its own */
			pause();
			_exit(0);
		}
		usleep(300000);
		kill(pid[i], SIGKILL);
		CHECK(status_of(pid[i]) == 128 + SIGKILL);
	}
	CHECK(filled(p, LEN, 1));
}

int main(void)
{
	uint64_t used, out;

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
	killed();
	/* The budget holds again: all of it can leave, nothing is shared. */
	out = counter("over_budget");
	CHECK(evicted(p, LEN));
	CHECK(filled(p, LEN, 1));
	fill(p, LEN, 3);
	CHECK(filled(p, LEN, 3));
	CHECK(evicted(p, LEN));
	CHECK(counter("over_budget") == out);
	/* One slot a block, none of the children's. */
	used = counter("store_resident");
	CHECK(used <= LEN + 8 * BLOCK);
	CHECK(filled(p, LEN, 3));
	CHECK(!munmap(p, LEN));
	return tiered_end();
}
