/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What was evicted comes back as it was: whole blocks, partial ones, blocks
 * that several allocations share, blocks of zeros; and what is new is zero
 * where it has to be.
 */
#include <malloc.h>
#include <sys/mman.h>
#include "tiered.h"

/* Random bytes in place of a pattern: nothing is equal to anything. */
static void noise(char *p, size_t len, uint32_t seed)
{
	for (size_t i = 0; i + 4 <= len; i += 4) {
		uint32_t x = rnd(&seed);

		memcpy(p + i, &x, 4);
	}
}

static bool is_noise(const char *p, size_t len, uint32_t seed)
{
	for (size_t i = 0; i + 4 <= len; i += 4) {
		uint32_t x = rnd(&seed);

		if (memcmp(p + i, &x, 4))
			return false;
	}
	return true;
}

/* More than the budget, three times over: written, half of it changed. */
static void big_array(void)
{
	size_t n = 160 * MIB;
	char *p = malloc(n);

	NEED(p);
	noise(p, n, 11);
	CHECK(is_noise(p, n, 11));
	noise(p, n / 2, 12);
	CHECK(is_noise(p, n / 2, 12));
	for (size_t i = n / 2; i < n; i += 5 * MIB)
		p[i] = (char)~p[i];
	for (size_t i = n / 2; i < n; i += 5 * MIB)
		p[i] = (char)~p[i];
	noise(p, n / 2, 11);
	/* the generator's state in the middle is not known: all again */
	CHECK(is_noise(p, n, 11));
	free(p);
}

static void packed(void)
{
	enum { N = 64 };
	char *p[N];
	size_t size[N];
	uint32_t r = 5;

	for (unsigned i = 0; i < N; i++) {
		size[i] = 256 * KIB + rnd(&r) % (3 * MIB);
		NEED((p[i] = malloc(size[i])));
		CHECK(malloc_usable_size(p[i]) >= size[i]);
		fill(p[i], size[i], i);
	}
	for (unsigned i = 0; i < N; i++)
		evict(p[i], size[i]);
	for (unsigned i = 0; i < N; i += 2) {
		CHECK(filled(p[i], size[i], i));
		free(p[i]);
	}
	for (unsigned i = 0; i < N; i += 2) {
		NEED((p[i] = calloc(1, size[i])));
		CHECK(zeros(p[i], size[i]));
		fill(p[i], size[i], i + 1000);
	}
	for (unsigned i = 0; i < N; i++)
		evict(p[i], size[i]);
	for (unsigned i = 0; i < N; i++) {
		CHECK(filled(p[i], size[i], i & 1 ? i : i + 1000));
		free(p[i]);
	}
}

/* Zeros need no place in the store, before and after they were something. */
static void zero_blocks(void)
{
	size_t n = 32 * MIB;
	char *p = calloc(1, n);

	NEED(p);
	CHECK(zeros(p, n));
	CHECK(evicted(p, n));
	CHECK(zeros(p, n));
	fill(p, n, 1);
	CHECK(evicted(p, n));
	memset(p, 0, n);
	CHECK(evicted(p, n));
	CHECK(zeros(p, n));
	p[n - 1] = 1;
	CHECK(evicted(p, n));
	CHECK(zeros(p, n - 1) && p[n - 1] == 1);
	free(p);
}

static void new_is_zero(void)
{
	for (unsigned i = 0; i < 6; i++) {
		size_t n = (i & 1 ? 20 : 3) * MIB + i * 4096;
		char *p = malloc(n), *q;

		NEED(p);
		fill(p, n, i);
		if (i & 2)
			evict(p, n);
		free(p);
		NEED((p = calloc(n / 4096, 4096)));
		CHECK(zeros(p, n / 4096 * 4096));
		free(p);
		q = map(n);
		fill(q, n, i);
		if (i & 2)
			evict(q, n);
		CHECK(!munmap(q, n));
		q = map(n);
		CHECK(zeros(q, n));
		CHECK(!munmap(q, n));
	}
}

/* One realloc after the other, of what is in, out, and both. */
static void reallocs(size_t from, size_t to)
{
	static const char *const how[] = { "in", "out", "mixed", "untouched" };

	for (unsigned i = 0; i < 4; i++) {
		char *p = calloc(1, from), *q;
		size_t keep = from < to ? from : to;

		NEED(p);
		if (i < 3)
			fill(p, from, i);
		if (i)
			evict(p, from);
		for (size_t at = 0; i == 2 && at < from; at += 2 * BLOCK)
			p[at] = *(volatile char *)(p + at);
		q = realloc(p, to);
		NEED(q);
		CHECK(malloc_usable_size(q) >= to);
		if (i < 3 ? !filled(q, keep, i) : !zeros(q, keep)) {
			fprintf(stderr, "realloc %zu to %zu, %s\n", from, to,
				how[i]);
			CHECK(!"realloc keeps the contents");
		}
		fill(q, to, i + 10);
		evict(q, to);
		CHECK(filled(q, to, i + 10));
		free(q);
	}
}

static void realloc_all(void)
{
	static const size_t sizes[] = {
		1000,	       300 * KIB,      2 * MIB,	     5 * MIB + 17,
		15 * MIB,      16 * MIB,       17 * MIB + 3, 40 * MIB,
	};
	size_t n = sizeof(sizes) / sizeof(*sizes);

	for (size_t i = 0; i < n; i++)
		for (size_t j = 0; j < n; j++)
			reallocs(sizes[i], sizes[j]);
}

/* Growing step by step, with a wall behind every second step. */
static void realloc_steps(void)
{
	size_t n = 0;
	char *p = NULL, *wall[20];

	for (unsigned i = 0; i < 20; i++) {
		size_t more = n + 3 * MIB + i * 1000;
		char *q = realloc(p, more);

		NEED(q);
		p = q;
		CHECK(filled(p, n, 3));
		fill_at(p + n, more - n, 3, n);
		n = more;
		NEED((wall[i] = malloc(i & 1 ? 2 * MIB : 300 * KIB)));
		memset(wall[i], 0x55, 300 * KIB);
		if (i % 3 == 0)
			evict(p, n);
	}
	CHECK(filled(p, n, 3));
	while (n > 4 * MIB) {
		n = n / 2 + 77;
		NEED((p = realloc(p, n)));
		CHECK(filled(p, n, 3));
		evict(p, n);
	}
	free(p);
	for (unsigned i = 0; i < 20; i++) {
		CHECK(wall[i][0] == 0x55 && wall[i][300 * KIB - 1] == 0x55);
		free(wall[i]);
	}
}

int main(void)
{
	/* before anything is tiered: only read, only written, untouched */
	char *early[3];

	for (int i = 0; i < 3; i++)
		NEED((early[i] = calloc(1, 4 * MIB)));
	CHECK(zeros(early[0], 4 * MIB));
	fill(early[1], 3 * MIB, 9);
	tiered_start();
	for (int round = 0; round < 2; round++) {
		for (int i = 0; i < 3; i++)
			evict(early[i], 4 * MIB);
		CHECK(zeros(early[0], 4 * MIB));
		CHECK(filled(early[1], 3 * MIB, 9));
		CHECK(zeros(early[1] + 3 * MIB, MIB));
		CHECK(zeros(early[2], 4 * MIB));
	}
	for (int i = 0; i < 3; i++)
		free(early[i]);
	big_array();
	packed();
	zero_blocks();
	new_is_zero();
	realloc_all();
	realloc_steps();
	CHECK(counter("ranges") == 0 && counter("range_bytes") == 0);
	CHECK(counter("store_errors") == 0);
	return tiered_end();
}
