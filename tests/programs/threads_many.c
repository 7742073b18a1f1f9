/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sixty-four threads at a time allocate, touch, free and end, on all
 * processors and on one.
 */
#include <pthread.h>
#include <sched.h>
#include <sys/mman.h>
#include "tiered.h"

#define THREADS 64

static char *left[THREADS]; /* allocated by one thread, freed by another */

static void *work(void *arg)
{
	unsigned me = (unsigned)(uintptr_t)arg;
	uint32_t r = me + 1;

	for (int i = 0; i < 6; i++) {
		size_t n = 256 * KIB + rnd(&r) % (3 * MIB);
		char *p = malloc(n), *q = map(2 * MIB);

		NEED(p);
		fill(p, n, me);
		fill(q, 2 * MIB, me + 100);
		if (rnd(&r) % 8 == 0)
			evict(q, 2 * MIB);
		CHECK(filled(p, n, me) && filled(q, 2 * MIB, me + 100));
		free(p);
		CHECK(!munmap(q, 2 * MIB));
	}
	left[me] = malloc(512 * KIB);
	NEED(left[me]);
	fill(left[me], 512 * KIB, me);
	return NULL;
}

static void round_of(unsigned n)
{
	pthread_t t[THREADS];

	for (uintptr_t i = 0; i < n; i++)
		NEED(!pthread_create(&t[i], NULL, work, (void *)i));
	for (unsigned i = 0; i < n; i++)
		pthread_join(t[i], NULL);
	for (unsigned i = 0; i < n; i++) {
		CHECK(filled(left[i], 512 * KIB, i));
		free(left[i]);
	}
}

int main(void)
{
	cpu_set_t one;

	tiered_start();
	round_of(THREADS);
	round_of(THREADS);
	/* A new process on one processor: Horizon's threads are there too. */
	CPU_ZERO(&one);
	CPU_SET(sched_getcpu(), &one);
	CHECK(!sched_setaffinity(0, sizeof(one), &one));
	round_of(16);
	CHECK(counter("ranges") == 0 && counter("range_bytes") == 0);
	return tiered_end();
}
