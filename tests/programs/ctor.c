/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A library that allocates in its constructor, maybe before the preload
 * library's own has run, and gives the memory back in its destructor.
 */
#include <malloc.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { COUNT = 3, MAP = 16 << 20 };
static const size_t size[COUNT] = {10, 5000, 3 << 20};
static char *p[COUNT], *q[COUNT], *map;

int ctor_check(void);

static __attribute__((constructor)) void start(void)
{
	for (int i = 0; i < COUNT; i++) {
		p[i] = malloc(size[i]);
		q[i] = calloc(1, size[i]);
		if (!p[i] || !q[i])
			_exit(3);
		memset(p[i], i + 1, size[i]);
	}
	map = mmap(NULL, MAP, PROT_READ | PROT_WRITE,
	           MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (map == MAP_FAILED)
		_exit(3);
	map[MAP - 1] = 9;
}

/* 0: everything is as the constructor left it, and can be resized. */
__attribute__((visibility("default"))) int ctor_check(void)
{
	for (int i = 0; i < COUNT; i++) {
		if (p[i][0] != i + 1 || p[i][size[i] - 1] != i + 1)
			return 1;
		if (q[i][0] || q[i][size[i] - 1])
			return 2;
		if (malloc_usable_size(p[i]) < size[i])
			return 3;
		p[i] = realloc(p[i], size[i] * 2);
		if (!p[i] || p[i][size[i] - 1] != i + 1)
			return 4;
	}
	return map[MAP - 1] == 9 && !map[0] ? 0 : 5;
}

static __attribute__((destructor)) void stop(void)
{
	for (int i = 0; i < COUNT; i++) {
		free(p[i]);
		free(q[i]);
	}
	munmap(map, MAP);
}
