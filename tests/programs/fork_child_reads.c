/* SPDX-License-Identifier: Apache-2.0 */
/*
 * After fork each process has its own memory, with what was evicted in it:
 * child, grandchild, and a parent that changes everything meanwhile.
 */
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>
#include "tiered.h"

#define LEN (24 * MIB)

static char *p;
static int go[2], done[2];

static void signal_one(int *fds)
{
	NEED(write(fds[1], "x", 1) == 1);
}

static void wait_one(int *fds)
{
	char c;

	NEED(read(fds[0], &c, 1) == 1);
}

/* In RAM, out, and half of the blocks each. */
static void arrange(unsigned how, unsigned seed)
{
	fill(p, LEN, seed);
	if (how)
		CHECK(evicted_soon(p, LEN));
	if (how == 2)
		for (size_t i = 0; i < LEN; i += 2 * BLOCK)
			(void)*(volatile char *)(p + i);
	if (how == 3) /* clean copies in the store, some changed since */
		for (size_t i = 0; i < LEN; i += 2 * BLOCK)
			fill_at(p + i, BLOCK, seed, i);
}

static void overwrite(unsigned seed)
{
	fill(p, LEN, seed);
	evict(p, LEN);
	CHECK(filled(p, LEN, seed));
}

/* Reads, writes, has a child of its own. */
static void child(unsigned seed)
{
	pid_t pid;

	CHECK(filled(p, LEN / 2, seed));
	wait_one(go); /* the parent has changed all of it */
	CHECK(filled(p, LEN, seed));
	evict(p, LEN);
	CHECK(filled(p, LEN, seed));
	pid = fork();
	if (!pid) {
		CHECK(filled(p, LEN, seed));
		overwrite(seed + 100);
		_exit(tiered_end());
	}
	overwrite(seed + 200);
	CHECK(status_of(pid) == 0);
	CHECK(filled(p, LEN, seed + 200));
	signal_one(done);
	_exit(tiered_end());
}

static void family(unsigned how)
{
	pid_t pid;

	arrange(how, how);
	pid = fork();
	if (!pid)
		child(how);
	overwrite(how + 300);
	signal_one(go);
	overwrite(how + 400);
	wait_one(done);
	CHECK(status_of(pid) == 0);
	CHECK(filled(p, LEN, how + 400));
	CHECK(evicted_soon(p, LEN)); /* nobody shares it any more */
	CHECK(filled(p, LEN, how + 400));
}

/* The child allocates and frees as if nothing had happened. */
static void child_allocates(void)
{
	pid_t pid;

	arrange(2, 50);
	pid = fork();
	if (!pid) {
		char *q = map(LEN), *r = malloc(3 * MIB);

		NEED(r);
		CHECK(zeros(q, LEN));
		fill(q, LEN, 51);
		fill(r, 3 * MIB, 52);
		evict(q, LEN);
		evict(r, 3 * MIB);
		CHECK(filled(q, LEN, 51) && filled(r, 3 * MIB, 52));
		CHECK(!munmap(p, LEN) && faults_on_read(p));
		free(r);
		CHECK(!munmap(q, LEN));
		exit(tiered_end());
	}
	CHECK(status_of(pid) == 0);
	CHECK(filled(p, LEN, 50));
}

/* A child that lives long, while its parent frees and allocates. */
static void long_lived(void)
{
	pid_t pid;

	arrange(1, 60);
	pid = fork();
	if (!pid) {
		wait_one(go);
		CHECK(filled(p, LEN, 60));
		_exit(tiered_end());
	}
	for (unsigned i = 0; i < 5; i++) {
		char *q = map(2 * LEN);

		fill(q, 2 * LEN, i);
		evict(q, 2 * LEN);
		CHECK(filled(q, 2 * LEN, i));
		CHECK(!munmap(q, 2 * LEN));
	}
	CHECK(!munmap(p, LEN));
	p = map(LEN);
	fill(p, LEN, 61);
	evict(p, LEN);
	signal_one(go);
	CHECK(status_of(pid) == 0);
	CHECK(filled(p, LEN, 61));
}

/* The parent ends first, twice: the last one still reads right. */
static void orphan(void)
{
	pid_t pid;

	arrange(1, 70);
	pid = fork();
	if (!pid) {
		if (fork())
			_exit(0);
		setsid();
		if (fork())
			_exit(0);
		wait_one(go);
		CHECK(filled(p, LEN, 70));
		fill(p, LEN, 71);
		evict(p, LEN);
		CHECK(filled(p, LEN, 71));
		NEED(write(done[1], tiered_failures ? "f" : "x", 1) == 1);
		_exit(0);
	}
	CHECK(status_of(pid) == 0);
	overwrite(72);
	signal_one(go);
	{
		char c = 0;

		CHECK(read(done[0], &c, 1) == 1 && c == 'x');
	}
	CHECK(filled(p, LEN, 72));
}

int main(void)
{
	tiered_start();
	NEED(!pipe(go) && !pipe(done));
	p = map(LEN);
	for (unsigned how = 0; how < 4; how++)
		family(how);
	child_allocates();
	long_lived();
	orphan();
	return tiered_end();
}
