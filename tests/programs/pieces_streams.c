/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Threads that scatter over an array, and now and then read a stretch of it in
 * order: pieces and whole reads of the same blocks, with all frames and the
 * whole queue in use.
 */
#include <pthread.h>
#include <time.h>
#include "tiered.h"

#define THREADS 24
#define SIZE	(128 * MIB)
#define PAGE	((size_t)4096)
#define PAGES	(SIZE / PAGE)
#define STRETCH 64
#define TURNS	(getenv("TEST_SHORT") ? 1000 : 3000)
#define EVERY	60 /* touches between two stretches, about */

static char *data;

static uint64_t *words(size_t page)
{
	return (uint64_t *)(data + page * PAGE);
}

static uint64_t word_of(size_t page, size_t k)
{
	return (page << 16) + k + 1;
}

static void paint(void)
{
	for (size_t page = 0; page < PAGES; page++)
		for (size_t k = 0; k < PAGE / 8; k++)
			words(page)[k] = word_of(page, k);
}

static bool painted(size_t page)
{
	for (size_t k = 0; k < PAGE / 8; k += 73)
		if (words(page)[k] != word_of(page, k))
			return false;
	return true;
}

/* Every second touch is of a sixth of the pages. */
static size_t some_page(uint32_t *seed)
{
	size_t page = rnd(seed) % PAGES;

	return rnd(seed) & 64 ? page : page % (PAGES / 6) * 6;
}

static void scatter(uint32_t *seed)
{
	size_t page = some_page(seed);

	CHECK(painted(page));
	if (rnd(seed) & 64) /* changed, and the same */
		words(page)[5] = word_of(page, 5);
}

static void *work(void *arg)
{
	uint32_t seed = (uint32_t)(uintptr_t)arg * 77;

	for (int turn = 0; turn < TURNS; turn++) {
		size_t first = rnd(&seed) % (PAGES - STRETCH);

		if (rnd(&seed) % EVERY) {
			scatter(&seed);
			continue;
		}
		for (size_t page = first; page < first + STRETCH; page++)
			CHECK(painted(page));
	}
	return NULL;
}

int main(void)
{
	pthread_t id[THREADS];

	tiered_start();
	data = map(SIZE);
	paint();
	for (uintptr_t i = 0; i < THREADS; i++)
		NEED(!pthread_create(&id[i], NULL, work, (void *)(i + 1)));
	for (unsigned i = 0; i < THREADS; i++)
		pthread_join(id[i], NULL);
	return tiered_end();
}
