/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Threads whose stacks the program allocated itself, and a fork: our own calls
 * run on memory that we tier, and that the fork shares.
 */
#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>
#include "tiered.h"

#define THREADS 3
#define STACK	(4 * MIB)
#define SIZE	(40 * MIB)
#define FORKS	6

static char *data;
static bool stop;

static void *allocate(void *arg)
{
	unsigned seed = (unsigned)(uintptr_t)arg;

	while (!__atomic_load_n(&stop, __ATOMIC_RELAXED)) {
		char *p = malloc(3 * MIB);

		NEED(p);
		fill(p, 3 * MIB, seed);
		CHECK(filled(p, 3 * MIB, seed));
		free(p);
	}
	return NULL;
}

static void *forks(void *arg)
{
	for (unsigned i = 0; i < FORKS; i++) {
		pid_t pid = fork();

		NEED(pid >= 0);
		if (!pid)
			_exit(!filled(data, SIZE, i));
		fill(data, SIZE, i + 1);
		CHECK(status_of(pid) == 0);
	}
	return arg;
}

static pthread_t start(void *(*body)(void *), uintptr_t arg)
{
	pthread_attr_t attr;
	pthread_t id;
	void *stack;

	NEED(!posix_memalign(&stack, 2 * MIB, STACK));
	NEED(!pthread_attr_init(&attr));
	NEED(!pthread_attr_setstack(&attr, stack, STACK));
	NEED(!pthread_create(&id, &attr, body, (void *)arg));
	pthread_attr_destroy(&attr);
	return id;
}

int main(void)
{
	pthread_t id[THREADS], forker;

	tiered_start();
	data = map(SIZE);
	fill(data, SIZE, 0);
	for (uintptr_t i = 0; i < THREADS; i++)
		id[i] = start(allocate, i);
	forker = start(forks, 0);
	pthread_join(forker, NULL);
	__atomic_store_n(&stop, true, __ATOMIC_RELAXED);
	for (unsigned i = 0; i < THREADS; i++)
		pthread_join(id[i], NULL);
	CHECK(filled(data, SIZE, FORKS));
	return tiered_end();
}
