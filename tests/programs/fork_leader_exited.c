/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The main thread has called pthread_exit: /proc shows a zombie, but the
 * process lives. A forked child must not take its slots for free.
 */
#include <pthread.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>
#include "tiered.h"

#define LEN (80 * MIB)

static char *p;
static pid_t pid;

static void *look(void *unused)
{
	CHECK(status_of(pid) == 0);
	CHECK(filled(p, LEN, 5));
	_exit(tiered_end());
}

/* The parent's main thread is gone by the time this writes. */
static int child(void)
{
	usleep(300000);
	CHECK(filled(p, LEN, 5));
	fill(p, LEN, 6);
	evict(p, LEN);
	CHECK(filled(p, LEN, 6));
	return tiered_end();
}

int main(void)
{
	pthread_t id;

	tiered_start();
	p = map(LEN);
	fill(p, LEN, 5);
	CHECK(evicted(p, LEN));
	pid = fork();
	NEED(pid >= 0);
	if (!pid)
		_exit(child());
	NEED(pthread_create(&id, NULL, look, NULL) == 0);
	pthread_exit(NULL);
}
