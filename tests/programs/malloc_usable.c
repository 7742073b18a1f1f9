/* SPDX-License-Identifier: Apache-2.0 */
/*
 * malloc_usable_size: never less than was asked for, and all of it may be
 * written without harm to the neighbours.
 */
#include <malloc.h>
#include "both.h"

enum { PIECES = 64 };

static void fill_whole(size_t size)
{
	char *p[PIECES];
	size_t len[PIECES];
	int n = size > 1 << 20 ? 4 : PIECES;

	for (int i = 0; i < n; i++) {
		p[i] = malloc(size);
		CHECK(p[i]);
		len[i] = malloc_usable_size(p[i]);
		CHECK(len[i] >= size);
		fill(p[i], len[i], (unsigned)i);
	}
	for (int i = 0; i < n; i++) {
		CHECK(filled(p[i], len[i], (unsigned)i));
		p[i] = realloc(p[i], len[i]);
		CHECK(p[i] && filled(p[i], len[i], (unsigned)i));
		free(p[i]);
	}
}

int run(void)
{
	for (size_t size = 0; size < 300; size++)
		fill_whole(size);
	for (size_t size = 300; size < 5 << 20; size += size / 3)
		fill_whole(size);
	CHECK(malloc_usable_size(NULL) == 0);
	return 0;
}
