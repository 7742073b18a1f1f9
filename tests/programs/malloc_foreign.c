/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Pointers that the preload library did not hand out: glibc's second names
 * reach the C library's own allocator, and their memory comes back through
 * free and realloc.
 */
#include <malloc.h>
#include "both.h"

void *__libc_malloc(size_t size);
void *__libc_calloc(size_t n, size_t size);
void *__libc_memalign(size_t align, size_t size);

int run(void)
{
	for (size_t n = 1; n < 8 << 20; n *= 3) {
		char *p = __libc_malloc(n), *q = __libc_memalign(4096, n);
		char *r = __libc_calloc(n, 1);

		CHECK(p && q && r);
		CHECK(malloc_usable_size(p) >= n);
		fill(p, n, 1);
		fill(q, n, 2);
		fill(r, n, 3);
		p = realloc(p, 2 * n);
		q = realloc(q, n / 2 + 1);
		CHECK(p && filled(p, n, 1));
		CHECK(q && filled(q, n / 2, 2));
		free(r);
		CHECK(!realloc(q, 0));
		free(p);
	}
	return 0;
}
