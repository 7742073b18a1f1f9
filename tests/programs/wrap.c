/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A library that watches malloc and free from outside, as heap profilers do:
 * it finds the next ones when it is first called.
 */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif
#include <dlfcn.h>
#include <stddef.h>

#define VISIBLE __attribute__((visibility("default")))

VISIBLE void *malloc(size_t size);
VISIBLE void free(void *p);

static long calls;

VISIBLE void *malloc(size_t size)
{
	static void *(*next)(size_t);

	if (!next)
		next = dlsym(RTLD_NEXT, "malloc");
	calls++;
	return next(size);
}

VISIBLE void free(void *p)
{
	static void (*next)(void *);

	if (!next)
		next = dlsym(RTLD_NEXT, "free");
	calls--;
	next(p);
}
