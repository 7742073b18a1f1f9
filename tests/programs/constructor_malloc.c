/* SPDX-License-Identifier: Apache-2.0 */
/*
 * constructor_malloc [LIBRARY]: ask the library of ctor.c, loaded already or
 * loaded now, whether its constructor's memory is all right. Run by
 * constructor_malloc.sh.
 */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif
#include <dlfcn.h>
#include <stdio.h>

int main(int argc, char **argv)
{
	void *lib = argc > 1 ? dlopen(argv[1], RTLD_NOW) : RTLD_DEFAULT;
	int (*check)(void) = NULL;
	int r;

	if (lib || argc == 1)
		check = dlsym(lib, "ctor_check");
	if (!check) {
		fprintf(stderr, "%s\n", dlerror());
		return 99;
	}
	r = check();
	if (r)
		fprintf(stderr, "ctor_check: %d\n", r);
	return r;
}
