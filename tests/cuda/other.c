/* SPDX-License-Identifier: Apache-2.0 */
/*
 * libtestother.so: names that begin as the driver's do, and a look-up of the
 * next one of a name.
 */
#include <dlfcn.h>

#define EXPORT __attribute__((visibility("default")))

EXPORT int cudnnCreate(void);
EXPORT int curl_easy_init(void);
EXPORT void *test_next(const char *name);

EXPORT int cudnnCreate(void)
{
	return 41;
}

EXPORT int curl_easy_init(void)
{
	return 42;
}

/* Not the last thing that is done, or the caller would be another one. */
EXPORT void *test_next(const char *name)
{
	void *volatile f = dlsym(RTLD_NEXT, name);

	return f;
}

/* As a runtime library does inside a library that binds to itself first. */
EXPORT int test_alloc(unsigned long long *p, unsigned long bytes);
EXPORT int test_alloc(unsigned long long *p, unsigned long bytes)
{
	void *lib = dlopen("libcuda.so.1", RTLD_NOW);
	int (*get)(const char *, void **, int, unsigned long, void *) =
		(int (*)(const char *, void **, int, unsigned long,
			 void *))(lib ? dlsym(lib, "cuGetProcAddress_v2") : 0);
	void *alloc = 0;

	if (!get || get("cuMemAlloc", &alloc, 3020, 0, 0))
		return 500;
	return ((int (*)(unsigned long long *, unsigned long))alloc)(p, bytes);
}
