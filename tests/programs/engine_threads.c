/* SPDX-License-Identifier: Apache-2.0 */
/*
 * engine_threads [SECONDS]: the engine and the program's threads in one
 * process, without the preload library, so that ThreadSanitizer can look at
 * them: arrays are made, filled, evicted, read in order and at random, partly
 * zeroed, and freed, with a quarter of them in RAM. What two threads of the
 * program share is ordered by a lock; what is wrong, or a race of the engine's
 * threads with each other, ends it.
 */
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include "engine_check.h"
#include "horizon.h"

enum { THREADS = 4, ARRAYS = 6, LEN = 12 << 20, PAGE = 4096 };
enum { PAGES = LEN / PAGE };

struct array {
	pthread_mutex_t lock;
	uint64_t *p;
	uint8_t version[PAGES]; /* 0: the page is all zero */
};

static struct array arrays[ARRAYS];
static double until;

static double now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (double)ts.tv_sec + (double)ts.tv_nsec * 1e-9;
}

static uint32_t rnd(uint32_t *x)
{
	*x ^= *x << 13;
	*x ^= *x >> 17;
	return *x ^= *x << 5;
}

static uint64_t *page_of(const struct array *a, unsigned page)
{
	return a->p + (size_t)page * PAGE / 8;
}

static uint64_t word(const struct array *a, unsigned page, unsigned k)
{
	uint64_t v = a->version[page];

	return v ? v << 56 | (uint64_t)page << 16 | k : 0;
}

static const unsigned looked_at[] = {0, 1, 255, 511};

static void check(const struct array *a, unsigned page)
{
	for (unsigned i = 0; i < 4; i++)
		CHECK(page_of(a, page)[looked_at[i]] ==
		      word(a, page, looked_at[i]));
}

static void put(struct array *a, unsigned page, uint8_t version)
{
	a->version[page] = version;
	for (unsigned k = 0; k < PAGE / 8; k++)
		page_of(a, page)[k] = word(a, page, k);
}

static void make(struct array *a)
{
	a->p = horizon_alloc(LEN);
	CHECK(a->p);
	for (unsigned i = 0; i < PAGES; i++)
		put(a, i, 1);
}

static void in_order(struct array *a)
{
	for (unsigned i = 0; i < PAGES; i++)
		check(a, i);
}

static void at_random(struct array *a, uint32_t *x)
{
	for (unsigned i = 0; i < 400; i++) {
		unsigned page = rnd(x) % PAGES;

		check(a, page);
		if (rnd(x) % 4 == 0)
			put(a, page, (uint8_t)(rnd(x) % 3));
	}
}

static void step(struct array *a, uint32_t *x)
{
	switch (rnd(x) % 12) {
	case 0:
		horizon_free(a->p);
		make(a);
		break;
	case 1:
		horizon_evict(a->p, LEN);
		break;
	case 2:
	case 3:
		in_order(a);
		break;
	default:
		at_random(a, x);
	}
}

static void *work(void *arg)
{
	uint32_t x = (uint32_t)(uintptr_t)arg * 7919 + 1;

	while (now() < until) {
		struct array *a = &arrays[rnd(&x) % ARRAYS];

		pthread_mutex_lock(&a->lock);
		step(a, &x);
		pthread_mutex_unlock(&a->lock);
	}
	return NULL;
}

static uint64_t counter(const char *name)
{
	uint64_t n = 0;

	CHECK(horizon_counter(name, &n) == 0);
	return n;
}

int main(int argc, char **argv)
{
	pthread_t id[THREADS];

	setenv("HORIZON_RAM", "64M", 1);
	setenv("HORIZON_STORE_SIZE", "1G", 1);
	setenv("HORIZON_RESERVE", "4G", 1);
	alarm(300);
	if (horizon_start() < 0) {
		fprintf(stderr, "engine_threads: nothing can be tiered here\n");
		return 77;
	}
	for (unsigned i = 0; i < ARRAYS; i++) {
		CHECK(!pthread_mutex_init(&arrays[i].lock, NULL));
		make(&arrays[i]);
	}
	until = now() + (argc > 1 ? atof(argv[1]) : 5);
	for (uintptr_t i = 0; i < THREADS; i++)
		CHECK(!pthread_create(&id[i], NULL, work, (void *)i));
	for (unsigned i = 0; i < THREADS; i++)
		pthread_join(id[i], NULL);
	for (unsigned i = 0; i < ARRAYS; i++)
		in_order(&arrays[i]);
	CHECK(counter("piece_faults") > 0 && counter("store_write") > 0);
	CHECK(counter("poisoned") == 0);
	return 0;
}
