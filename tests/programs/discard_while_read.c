/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One thread discards blocks that another one is just touching, while their
 * reads or writes are in flight: the toucher goes on, with zeros.
 */
#include <pthread.h>
#include <sys/mman.h>
#include <unistd.h>
#include "tiered.h"

#define BLOCKS 8
#define ROUNDS 150

static volatile char *p;
static volatile unsigned long touched;
static volatile bool stop;

static void *touch(void *unused)
{
	uint32_t seed = 7;

	while (!stop) {
		p[rnd(&seed) % BLOCKS * BLOCK + 64]++;
		touched++;
	}
	return NULL;
}

/* A fault that was lost never ends: the time-out of the run says so. */
static void wait_for_progress(void)
{
	unsigned long before = touched;

	while (touched == before)
		usleep(100);
}

int main(void)
{
	pthread_t id;

	tiered_start();
	p = map(BLOCKS * BLOCK);
	NEED(pthread_create(&id, NULL, touch, NULL) == 0);
	for (unsigned i = 0; i < ROUNDS; i++) {
		evict((void *)p, BLOCKS * BLOCK);
		usleep(i % 50 * 10);
		for (size_t b = 0; b < BLOCKS; b++)
			NEED(madvise((char *)p + b * BLOCK, BLOCK,
				     MADV_DONTNEED) == 0);
		wait_for_progress();
	}
	stop = true;
	NEED(pthread_join(id, NULL) == 0);
	return tiered_end();
}
