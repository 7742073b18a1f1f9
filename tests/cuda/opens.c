/* SPDX-License-Identifier: Apache-2.0 */
/*
 * opens NAME...: dlopen each; say whether it worked, what cuInit gives, and
 * which file it is in. TEST_LIBRARY_PATH becomes LD_LIBRARY_PATH before.
 */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void say(const char *name, void *lib)
{
	int (*init)(unsigned) = (int (*)(unsigned))dlsym(lib, "cuInit");
	const char *slash;
	Dl_info in;

	printf("%s: opened", name);
	if (init && dladdr((void *)init, &in)) {
		slash = strrchr(in.dli_fname, '/');
		printf(", cuInit gives %d in %s", init(0),
		       slash ? slash + 1 : in.dli_fname);
	}
	putchar('\n');
}

int main(int argc, char **argv)
{
	const char *path = getenv("TEST_LIBRARY_PATH");

	if (path)
		setenv("LD_LIBRARY_PATH", path, 1);
	for (int i = 1; i < argc; i++) {
		void *lib = dlopen(argv[i], RTLD_NOW);

		if (lib)
			say(argv[i], lib);
		else
			printf("%s: refused\n", argv[i]);
	}
	return 0;
}
