/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Look-ups go where they went without us: RTLD_NEXT of a library never gives
 * the library its own symbol, names that only begin like the driver's are the
 * library's, and a name that the driver does not have is not there.
 */
#include <dlfcn.h>
#include <string.h>
#include <stdlib.h>
#include "driver.h"

int main(void)
{
	char *file = getenv("TEST_MODULE"), path[4096];
	char *slash = file ? strrchr(file, '/') : NULL;
	void *lib;
	void *(*next)(const char *);
	int (*cudnn)(void), (*curl)(void);

	expect(slash);
	snprintf(path, sizeof(path), "%.*s/libtestother.so",
		 (int)(slash - file), file);
	lib = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	expect(lib);
	next = (void *(*)(const char *))dlsym(lib, "test_next");
	expect(next);
	/* The second time as the first. */
	for (int i = 0; i < 2; i++) {
		expect(next("test_next") == NULL);
		expect(next("cudnnCreate") == NULL);
		expect(next("malloc") != NULL);
	}
	cudnn = (int (*)(void))dlsym(lib, "cudnnCreate");
	curl = (int (*)(void))dlsym(lib, "curl_easy_init");
	expect(cudnn && cudnn() == 41);
	expect(curl && curl() == 42);
	expect(dlsym(driver_open(), "cudnnCreate") == NULL);
	expect(dlsym(driver_open(), "cuNoSuchFunction") == NULL);
	expect(dlsym(RTLD_DEFAULT, "curl_easy_init") == NULL);
	expect(dlsym(lib, "cuInit") == NULL);
	puts("done");
	return 0;
}
