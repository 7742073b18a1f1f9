/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Eviction goes on while a forked child lives and shares the pages: what the
 * parent evicts comes back to it, the child reads what was there at the fork,
 * and neither sees what the other writes.
 */
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>
#include "tiered.h"

#define LEN (24 * MIB)

static void wait_for(int fd)
{
	char c;

	CHECK(read(fd, &c, 1) == 1);
}

static void tell(int fd)
{
	CHECK(write(fd, "x", 1) == 1);
}

/* The child: reads all, writes its own, evicts too, reads again. */
static void child(char *p, int from, int to)
{
	wait_for(from);
	CHECK(filled(p, LEN, 1));
	CHECK(evicted_soon(p, LEN));
	CHECK(filled(p, LEN, 1));
	fill(p, LEN / 2, 3);
	tell(to);
	wait_for(from);
	CHECK(evicted_soon(p, LEN));
	CHECK(filled(p, LEN / 2, 3));
	CHECK(filled_at(p + LEN / 2, LEN / 2, 1, LEN / 2));
	_exit(tiered_failures != 0);
}

/* One page of each block is the parent's own, the others are shared. */
static void write_some(char *p)
{
	for (size_t at = 5 * 4096; at < LEN; at += BLOCK)
		fill_at(p + at, 4096, 2, at);
}

static bool wrote_some(char *p)
{
	for (size_t at = 5 * 4096; at < LEN; at += BLOCK)
		if (!filled_at(p + at, 4096, 2, at) ||
		    !filled_at(p + at + 4096, 4096, 1, at + 4096))
			return false;
	return true;
}

static void with_child(char *p, bool change)
{
	int down[2], up[2];
	pid_t pid;

	NEED(pipe(down) == 0 && pipe(up) == 0);
	pid = fork();
	NEED(pid >= 0);
	if (!pid)
		child(p, down[0], up[1]);
	if (change)
		write_some(p);
	CHECK(evicted(p, LEN)); /* with all of it shared, or most */
	CHECK(change ? wrote_some(p) : filled(p, LEN, 1));
	tell(down[1]);
	wait_for(up[0]);
	CHECK(change ? wrote_some(p) : filled(p, LEN, 1));
	CHECK(evicted(p, LEN));
	tell(down[1]);
	CHECK(status_of(pid) == 0);
	CHECK(change ? wrote_some(p) : filled(p, LEN, 1));
	close(down[0]);
	close(down[1]);
	close(up[0]);
	close(up[1]);
}

int main(void)
{
	char *p;

	tiered_start();
	p = map(LEN);
	fill(p, LEN, 1);
	with_child(p, false);
	with_child(p, true);
	fill(p, LEN, 1);
	evicted(p, LEN);
	with_child(p, false);
	munmap(p, LEN);
	CHECK(counter("poisoned") == 0);
	return tiered_end();
}
