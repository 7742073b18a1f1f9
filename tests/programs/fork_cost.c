/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A fork takes as many locks in a program of many threads and arrays as in a
 * small one: allocators whose handlers take one a thread, or one an arena,
 * need seconds. Locks are counted, not time.
 */
#include <errno.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include "base/lock.h"
#include "engine/arena.h"
#include "engine_check.h"
#include "horizon.h"

enum { THREADS = 48, RANGES = 12 /* each thread's */ };

#define LEN ((size_t)1 << 20)

/* The calling thread's; the linker puts these in the place of the library's,
 * see programs.am. */
static __thread unsigned locks;

void __real_hz_lock(struct hz_lock *lock);
void __wrap_hz_lock(struct hz_lock *lock);
int __real_pthread_mutex_lock(pthread_mutex_t *m);
int __wrap_pthread_mutex_lock(pthread_mutex_t *m);

void __wrap_hz_lock(struct hz_lock *lock)
{
	locks++;
	__real_hz_lock(lock);
}

int __wrap_pthread_mutex_lock(pthread_mutex_t *m)
{
	locks++;
	return __real_pthread_mutex_lock(m);
}

static unsigned fork_once(void)
{
	unsigned taken;
	int status;
	pid_t pid;

	locks = 0;
	hz_arena_fork_prepare();
	pid = fork();
	CHECK(pid >= 0);
	if (!pid) {
		hz_arena_fork_child();
		_exit(0);
	}
	hz_arena_fork_parent(pid);
	taken = locks;
	CHECK(waitpid(pid, &status, 0) == pid && !status);
	return taken;
}

/* A fork may find something under way and wait for it. */
static unsigned least(void)
{
	unsigned min = fork_once();

	for (int i = 0; i < 4; i++) {
		unsigned n = fork_once();

		min = n < min ? n : min;
	}
	return min;
}

static pthread_barrier_t ready, done;

static void *hold(void *arg)
{
	char *p[RANGES];

	for (int i = 0; i < RANGES; i++) {
		p[i] = horizon_alloc(LEN);
		CHECK(p[i]);
		memset(p[i], 1, LEN);
	}
	pthread_barrier_wait(&ready);
	pthread_barrier_wait(&done);
	for (int i = 0; i < RANGES; i++)
		horizon_free(p[i]);
	return arg;
}

int main(void)
{
	pthread_t id[THREADS];
	unsigned few, many;
	char *p;

	setenv("HORIZON_RAM", "64M", 1);
	setenv("HORIZON_STORE_SIZE", "2G", 1);
	alarm(240);
	if (horizon_start() < 0) {
		fprintf(stderr, "fork_cost: nothing can be tiered here\n");
		return 77;
	}
	p = horizon_alloc(LEN);
	CHECK(p);
	few = least();
	CHECK(!pthread_barrier_init(&ready, NULL, THREADS + 1) &&
	      !pthread_barrier_init(&done, NULL, THREADS + 1));
	for (int i = 0; i < THREADS; i++)
		CHECK(!pthread_create(&id[i], NULL, hold, NULL));
	pthread_barrier_wait(&ready);
	many = least();
	pthread_barrier_wait(&done);
	for (int i = 0; i < THREADS; i++)
		pthread_join(id[i], NULL);
	horizon_free(p);
	if (few && many <= few + 8)
		return 0;
	fprintf(stderr,
		"fork_cost: %u locks in a small program, %u with %d threads "
		"and %d ranges\n",
		few, many, THREADS, THREADS * RANGES);
	return 1;
}
