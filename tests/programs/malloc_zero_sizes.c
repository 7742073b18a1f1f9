/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Nothing asked for is still something: a pointer that is unique and can be
 * freed. Programs take NULL for "out of memory".
 */
#include <malloc.h>
#include "both.h"

static void free_is_null(void)
{
	char *p = malloc(100);

	CHECK(p);
	errno = 0;
	CHECK(!realloc(p, 0));
	CHECK(!errno);
	p = malloc(3 << 20);
	CHECK(p);
	CHECK(!realloc(p, 0));
	CHECK(!errno);
	free(NULL);
}

int run(void)
{
	void *p[9], *q = (void *)1;

	p[0] = malloc(0);
	p[1] = malloc(0);
	p[2] = realloc(NULL, 0);
	p[3] = calloc(0, 16);
	p[4] = calloc(16, 0);
	p[5] = memalign(64, 0);
	p[6] = valloc(0);
	p[7] = reallocarray(NULL, 0, 8);
	p[8] = pvalloc(0);
	for (int i = 0; i < 9; i++) {
		CHECK(p[i]);
		CHECK((uintptr_t)p[i] % 16 == 0);
		for (int j = 0; j < i; j++)
			CHECK(p[i] != p[j]);
	}
	CHECK(!posix_memalign(&q, 64, 0));
	CHECK(q && q != (void *)1);
	free(q);
	for (int i = 0; i < 9; i++)
		free(p[i]);
	CHECK(malloc_usable_size(NULL) == 0);
	free_is_null();
	return 0;
}
