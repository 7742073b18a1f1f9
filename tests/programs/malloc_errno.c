/* SPDX-License-Identifier: Apache-2.0 */
/*
 * free keeps errno, whatever it has to ask the kernel; posix_memalign says
 * what is wrong by its value.
 */
#include <malloc.h>
#include "both.h"

enum { ROUNDS = 200 };

static void free_keeps(size_t size)
{
	void *p[ROUNDS];

	for (int i = 0; i < ROUNDS; i++) {
		p[i] = malloc(size);
		CHECK(p[i]);
		*(char *)p[i] = 1;
	}
	for (int i = 0; i < ROUNDS; i++) {
		errno = 1000 + i;
		free(p[i]);
		CHECK(errno == 1000 + i);
	}
}

int run(void)
{
	static const size_t bad[] = {0, 1, 4, 3, 24, 4097, SIZE_MAX};
	void *p = (void *)3;

	free_keeps(20);
	free_keeps(5000);
	free_keeps(200000);
	free_keeps(2 << 20);
	errno = 7;
	free(NULL);
	CHECK(errno == 7);
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		CHECK(posix_memalign(&p, bad[i], 64) == EINVAL);
		CHECK(p == (void *)3);
		CHECK(errno == 7);
	}
	CHECK(!posix_memalign(&p, 256, 3 << 20));
	CHECK(errno == 7);
	free(p);
	return 0;
}
