/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Eight threads allocate, resize, check and free blocks of all sizes; half of
 * the blocks are freed by another thread than the one that made them.
 */
#include <pthread.h>
#include "both.h"

enum { THREADS = 8, OWN = 24, SHARED = 64, ROUNDS = 4000 };

struct piece {
	char *p;
	size_t len;
	unsigned seed;
};

static struct piece shared[SHARED];
static pthread_mutex_t shared_lock = PTHREAD_MUTEX_INITIALIZER;

static size_t size(uint32_t *s)
{
	uint32_t kind = rnd(s) % 100;

	if (kind < 80)
		return rnd(s) % 3000;
	if (kind < 98)
		return rnd(s) % 100000;
	return ((size_t)1 << 20) - 4096 + rnd(s) % (3 << 20);
}

static void drop(struct piece *b)
{
	if (b->p)
		CHECK(filled(b->p, b->len, b->seed));
	free(b->p);
	b->p = NULL;
}

static void make(struct piece *b, uint32_t *s)
{
	b->len = size(s);
	b->seed = rnd(s);
	if (b->seed % 4 == 0) {
		b->p = calloc(1, b->len);
		CHECK(b->p && all_zero(b->p, b->len));
	} else {
		b->p = malloc(b->len);
	}
	CHECK(b->p);
	fill(b->p, b->len, b->seed);
}

static void resize(struct piece *b, uint32_t *s)
{
	size_t len = size(s);

	if (!b->p || !len)
		return;
	b->p = realloc(b->p, len);
	CHECK(b->p && filled(b->p, len < b->len ? len : b->len, b->seed));
	b->len = len;
	fill(b->p, len, b->seed);
}

static void swap_with_others(struct piece *b, uint32_t *s)
{
	struct piece *o = &shared[rnd(s) % SHARED], t;

	pthread_mutex_lock(&shared_lock);
	t = *o;
	*o = *b;
	*b = t;
	pthread_mutex_unlock(&shared_lock);
}

static void *work(void *arg)
{
	struct piece own[OWN] = {{0}};
	uint32_t s = 77u + (unsigned)(uintptr_t)arg * 1013u;

	for (int i = 0; i < ROUNDS; i++) {
		struct piece *b = &own[rnd(&s) % OWN];

		switch (rnd(&s) % 8) {
		case 0:
			resize(b, &s);
			break;
		case 1:
		case 2:
		case 3:
			swap_with_others(b, &s);
			break;
		default:
			drop(b);
			make(b, &s);
		}
	}
	for (int i = 0; i < OWN; i++)
		drop(&own[i]);
	return NULL;
}

int run(void)
{
	pthread_t t[THREADS];

	for (uintptr_t i = 0; i < THREADS; i++)
		CHECK(!pthread_create(&t[i], NULL, work, (void *)i));
	for (int i = 0; i < THREADS; i++)
		CHECK(!pthread_join(t[i], NULL));
	for (int i = 0; i < SHARED; i++)
		drop(&shared[i]);
	return 0;
}
