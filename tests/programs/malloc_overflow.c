/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sizes that cannot be: NULL, ENOMEM, and what was there stays.
 */
#include <malloc.h>
#include "both.h"

#define REFUSED(call_)                  \
	do {                            \
		errno = 0;              \
		CHECK(!(call_));        \
		CHECK(errno == ENOMEM); \
	} while (0)

static void refused_sizes(size_t n)
{
	void *p = (void *)5;

	REFUSED(malloc(n));
	REFUSED(calloc(1, n));
	REFUSED(realloc(NULL, n));
	REFUSED(memalign(64, n));
	REFUSED(aligned_alloc(4096, n));
	REFUSED(valloc(n));
	REFUSED(pvalloc(n));
	CHECK(posix_memalign(&p, 64, n) == ENOMEM);
	CHECK(p == (void *)5);
}

static void stays(size_t have)
{
	volatile size_t most = SIZE_MAX;
	char *p = malloc(have);

	CHECK(p);
	fill(p, have, 9);
	REFUSED(realloc(p, most / 2 + 1));
	REFUSED(realloc(p, most));
	REFUSED(reallocarray(p, most / 2, 3));
	CHECK(filled(p, have, 9));
	free(p);
}

int run(void)
{
	volatile size_t half = SIZE_MAX / 2 + 1;

	refused_sizes(SIZE_MAX);
	refused_sizes(SIZE_MAX - 15);
	refused_sizes(SIZE_MAX - 4095);
	refused_sizes((size_t)PTRDIFF_MAX + 1);
	refused_sizes(PTRDIFF_MAX - 4);
	REFUSED(calloc(half, 2));
	REFUSED(calloc(2, half));
	REFUSED(calloc(half, half));
	REFUSED(reallocarray(NULL, half, 2));
	REFUSED(memalign(half, 64));
	errno = 0;
	CHECK(!memalign(half + 1, 64));
	CHECK(errno == EINVAL);
	stays(100);
	stays(2 << 20);
	return 0;
}
