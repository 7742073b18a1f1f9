/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Children that are killed while they have much in the store, more than it
 * holds by their number: their places are found free again.
 */
#include <signal.h>
#include <sys/mman.h>
#include <unistd.h>
#include "tiered.h"

#define LEN   (48 * MIB)
#define KILLS 6
#define STORE "160M" /* the parent's and two children's, hardly a third's */

static char *p;
static int ready[2];

static void child(void)
{
	fill(p, LEN, 2); /* no place is shared with the parent any more */
	evict(p, LEN);
	NEED(write(ready[1], "x", 1) == 1);
	pause();
}

int main(int argc, char **argv)
{
	if (!getenv("FORK_KILLED")) {
		setenv("FORK_KILLED", "1", 1);
		setenv("HORIZON_STORE_SIZE", STORE, 1);
		execv("/proc/self/exe", argv);
		return 99;
	}
	tiered_start();
	CHECK(counter("store_capacity") <= 160 * MIB);
	NEED(!pipe(ready));
	p = map(LEN);
	fill(p, LEN, 1);
	CHECK(evicted_soon(p, LEN));
	for (int i = 0; i < KILLS; i++) {
		pid_t pid = fork();
		char c;

		if (!pid)
			child();
		NEED(pid > 0);
		CHECK(read(ready[0], &c, 1) == 1);
		kill(pid, SIGKILL);
		CHECK(status_of(pid) == 128 + SIGKILL);
		CHECK(filled(p, LEN, 1));
	}
	fill(p, LEN, 3);
	CHECK(evicted_soon(p, LEN));
	CHECK(filled(p, LEN, 3));
	CHECK(counter("store_full") == 0);
	return tiered_end();
}
