/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fork from one thread while others fault, allocate and free; each child
 * reads, allocates and ends.
 */
#include <pthread.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>
#include "tiered.h"

#define LEN   (16 * MIB)
#define FORKS 60

static bool stop;
static char *shared;

static void *work(void *arg)
{
	unsigned seed = (unsigned)(uintptr_t)arg;
	uint32_t r = seed;
	char *p = map(LEN);

	fill(p, LEN, seed);
	while (!__atomic_load_n(&stop, __ATOMIC_RELAXED)) {
		size_t n = 300 * KIB + rnd(&r) % (4 * MIB);
		char *q = malloc(n);

		NEED(q);
		fill(q, n, seed + 100);
		if (rnd(&r) % 4 == 0)
			evict(p, LEN);
		CHECK(filled(p, LEN, seed));
		CHECK(filled(q, n, seed + 100));
		free(q);
	}
	CHECK(!munmap(p, LEN));
	return NULL;
}

static int child(void)
{
	char *q = malloc(2 * MIB);

	alarm(60);
	tiered_failures = 0;
	NEED(q);
	CHECK(filled(shared, LEN, 1));
	fill(q, 2 * MIB, 2);
	CHECK(filled(q, 2 * MIB, 2));
	free(q);
	return tiered_end();
}

int main(void)
{
	pthread_t t[4];

	tiered_start();
	shared = map(LEN);
	fill(shared, LEN, 1);
	evict(shared, LEN);
	for (uintptr_t i = 0; i < 4; i++)
		NEED(!pthread_create(&t[i], NULL, work, (void *)(i + 10)));
	for (int i = 0; i < FORKS; i++) {
		pid_t pid = fork();

		if (!pid)
			_exit(child());
		CHECK(status_of(pid) == 0);
		if (i % 8 == 0)
			evict(shared, LEN);
	}
	__atomic_store_n(&stop, true, __ATOMIC_RELAXED);
	for (int i = 0; i < 4; i++)
		pthread_join(t[i], NULL);
	CHECK(filled(shared, LEN, 1));
	return tiered_end();
}
