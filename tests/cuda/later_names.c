/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Functions that are younger than the toolkit which the forwarders were made
 * from: dlsym finds them in the driver, on libstrangedriver.so. What the
 * driver does not have is not there, and other handles are left alone.
 */
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

static int failed;

static void expect(int good, const char *what)
{
	if (good)
		return;
	fprintf(stderr, "later_names: %s\n", what);
	failed = 1;
}

/* Of a form that nobody hooks, of a function that is hooked. */
static void is_counted(void)
{
	int (*counter)(const char *, uint64_t *) =
		(int (*)(const char *, uint64_t *))dlsym(RTLD_DEFAULT,
							 "horizon_counter");
	uint64_t n = 0;

	expect(counter && !counter("gpu_unhooked", &n) && n == 1,
	       "cuMemAlloc_v9 is not counted as unhooked");
}

int main(void)
{
	void *driver = dlopen("libcuda.so.1", RTLD_NOW);
	void *program = dlopen(NULL, RTLD_NOW);
	int (*later)(void), (*alloc)(uint64_t *, size_t), (*init)(unsigned);
	uint64_t p = 0;

	expect(driver && program, "no driver");
	if (failed)
		return 1;
	init = (int (*)(unsigned))dlsym(driver, "cuInit");
	expect(init && !init(0), "cuInit");
	later = (int (*)(void))dlsym(driver, "cuLaterThanUs");
	expect(later && later() == 4711, "cuLaterThanUs");
	alloc = (int (*)(uint64_t *, size_t))dlsym(driver, "cuMemAlloc_v9");
	expect(alloc && !alloc(&p, 1) && p, "cuMemAlloc_v9");
	is_counted();
	expect(!dlsym(driver, "cuNobodyHasThis"), "cuNobodyHasThis is there");
	expect(strstr(dlerror(), "cuNobodyHasThis") != NULL, "dlerror");
	expect(!dlsym(driver, "cudnnCreate"), "cudnnCreate is there");
	expect(!dlsym(program, "cuLaterThanUs"), "the program has it");
	expect(!dlsym(RTLD_NEXT, "cuLaterThanUs"), "a next one has it");
	if (!failed)
		puts("found");
	return failed;
}
