/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A block whose huge page was split: the parent writes one page of it while a
 * forked child shares the rest. Some of its pages can be moved, some cannot;
 * an eviction must take all or none.
 */
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>
#include "tiered.h"

#define BLOCKS 48

static char *p;

static void split_all(void)
{
	for (size_t b = 0; b < BLOCKS; b++)
		p[b * BLOCK + b * 4096] ^= 0;
}

/* Bytes stay what they are whether the child lives or is gone. */
static void evict_and_look(void)
{
	for (int round = 0; round < 3; round++) {
		evict(p, BLOCKS * BLOCK);
		CHECK(filled(p, BLOCKS * BLOCK, 3));
	}
}

int main(void)
{
	pid_t pid;

	tiered_start();
	p = map(BLOCKS * BLOCK);
	fill(p, BLOCKS * BLOCK, 3);
	pid = fork();
	NEED(pid >= 0);
	if (!pid)
		for (;;)
			pause();
	split_all();
	evict_and_look();
	kill(pid, SIGKILL);
	NEED(waitpid(pid, NULL, 0) == pid);
	evict_and_look();
	return tiered_end();
}
