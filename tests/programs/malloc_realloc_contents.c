/* SPDX-License-Identifier: Apache-2.0 */
/*
 * realloc keeps what fits, over every border between allocators: growing and
 * shrinking through 1 MiB and through 16 MiB, in steps and in leaps.
 */
#include "both.h"

#define MIB ((size_t)1 << 20)

static const size_t sizes[] = {
        1,        7,        8,        9,   16,      1000,    4096,
        65536,    MIB - 64, MIB - 1,  MIB, MIB + 1, MIB * 3, MIB * 16 - 1,
        MIB * 16, MIB * 17, MIB * 24,
};

enum { COUNT = sizeof(sizes) / sizeof(sizes[0]) };

static char *resize(char *p, size_t from, size_t to)
{
	size_t kept = from < to ? from : to;

	p = realloc(p, to);
	CHECK(p);
	CHECK((uintptr_t)p % 16 == 0);
	CHECK(filled(p, kept, 1));
	fill(p, to, 1);
	return p;
}

static void each_pair(void)
{
	for (int i = 0; i < COUNT; i++) {
		for (int j = 0; j < COUNT; j++) {
			char *p = malloc(sizes[i]);

			CHECK(p);
			fill(p, sizes[i], 1);
			free(resize(p, sizes[i], sizes[j]));
		}
	}
}

/* As a growing array does it, beside others that are in the way. */
static void in_steps(void)
{
	char *p = malloc(1), *stone = NULL;
	size_t n = 1;

	CHECK(p);
	fill(p, n, 1);
	for (; n < 40 * MIB; n += n / 2 + 1) {
		p = resize(p, n, n + n / 2 + 1);
		free(stone);
		stone = malloc(n);
		CHECK(stone);
	}
	for (; n > 100; n -= n / 3)
		p = resize(p, n, n - n / 3);
	free(stone);
	free(p);
}

int run(void)
{
	each_pair();
	in_steps();
	return 0;
}
