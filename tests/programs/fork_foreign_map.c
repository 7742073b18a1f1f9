/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A page that the program mapped over our memory by a system call that we do
 * not see, and then a fork: what lies before and behind it is written and
 * evicted as ever.
 */
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
#include "tiered.h"

#define SIZE (40 * MIB)
#define HOLE (30 * MIB + 7 * 4096)

static char *data;
static int go[2];

static void map_over(void)
{
	char *hole = data + HOLE;

	NEED(syscall(SYS_mmap, hole, 4096, RW, ANON | MAP_FIXED, -1, 0) ==
	     (long)hole);
	fill_at(hole, 4096, 1, HOLE);
}

static pid_t fork_one(unsigned seed)
{
	pid_t pid = fork();
	char c;

	NEED(pid >= 0);
	if (pid)
		return pid;
	alarm(300);
	NEED(read(go[0], &c, 1) == 1);
	_exit(!filled(data, SIZE, seed));
}

int main(void)
{
	pid_t pid;

	tiered_start();
	NEED(!pipe(go));
	data = map(SIZE);
	fill(data, SIZE, 1);
	map_over();
	pid = fork_one(1);
	/* before it, in it and behind it, with the child there */
	fill(data, SIZE, 2);
	CHECK(filled(data, SIZE, 2));
	evict(data, SIZE);
	CHECK(filled(data, SIZE, 2));
	NEED(write(go[1], "g", 1) == 1);
	CHECK(status_of(pid) == 0);
	/* and after its end */
	pid = fork_one(2);
	NEED(write(go[1], "g", 1) == 1);
	CHECK(status_of(pid) == 0);
	evict(data, 20 * MIB);
	fill(data, SIZE, 3);
	CHECK(filled(data, SIZE, 3));
	return tiered_end();
}
