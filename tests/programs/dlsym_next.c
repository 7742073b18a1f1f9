/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A program that looks malloc and free up itself, and mixes what it finds with
 * its own calls. Run by dlsym_next.sh, with other libraries around.
 */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int mix(void *handle, const char *what)
{
	void *(*found_malloc)(size_t) = dlsym(handle, "malloc");
	void *(*found_realloc)(void *, size_t) = dlsym(handle, "realloc");
	void (*found_free)(void *) = dlsym(handle, "free");

	if (!found_malloc || !found_realloc || !found_free) {
		fprintf(stderr, "%s: no malloc found\n", what);
		return 1;
	}
	for (size_t n = 1; n < 8 << 20; n *= 3) {
		char *p = found_malloc(n), *q = malloc(n);

		if (!p || !q)
			return 1;
		memset(p, 1, n);
		memset(q, 2, n);
		p = realloc(p, n * 2);
		q = found_realloc(q, n * 2);
		if (!p || !q || p[n - 1] != 1 || q[n - 1] != 2) {
			fprintf(stderr, "%s: contents lost\n", what);
			return 1;
		}
		free(p);
		found_free(q);
	}
	return 0;
}

int main(void)
{
	return mix(RTLD_NEXT, "RTLD_NEXT") | mix(RTLD_DEFAULT, "RTLD_DEFAULT");
}
