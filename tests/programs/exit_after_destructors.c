/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The program's last words: atexit handlers and destructors run after every
 * library said good-bye, and they allocate and free.
 */
#include <unistd.h>
#include "both.h"

static char *small, *big;
static int handlers;

static void use(size_t n)
{
	char *p = malloc(n), *q = calloc(1, n);

	CHECK(p && q);
	fill(p, n, 2);
	CHECK(filled(p, n, 2) && all_zero(q, n));
	p = realloc(p, n * 2);
	CHECK(p && filled(p, n, 2));
	free(p);
	free(q);
}

static void last(void)
{
	handlers++;
	use(100);
	use(700000);
	use(3 << 20);
}

static __attribute__((destructor)) void destructor(void)
{
	if (!small) /* the process that only starts the others */
		return;
	CHECK(handlers == 2);
	CHECK(filled(small, 100, 1) && filled(big, 5 << 20, 1));
	free(small);
	free(big);
	last();
}

int run(void)
{
	small = malloc(100);
	big = malloc(5 << 20);
	CHECK(small && big);
	fill(small, 100, 1);
	fill(big, 5 << 20, 1);
	CHECK(!atexit(last) && !atexit(last));
	return 0;
}
