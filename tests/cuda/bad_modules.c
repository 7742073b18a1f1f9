/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Modules that cannot be loaded: an absent file, one that was cut, one for
 * another machine, text that is none, a kernel that is not there, a device
 * without a binary. Each answer is the driver's own code.
 */
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "driver.h"

#define MACHINE 18 /* offset of e_machine in an ELF file; elf(5) */

enum {
	INVALID_IMAGE = 200,
	NO_BINARY_FOR_GPU = 209,
	FILE_NOT_FOUND = 301,
	NOT_FOUND = 500
};

static CUresult (*load)(CUmodule *, const char *);
static char image[4 << 20];
static size_t length;

static void read_module(void)
{
	const char *file = getenv("TEST_MODULE");
	int fd = file ? open(file, O_RDONLY) : -1;
	ssize_t n = fd < 0 ? -1 : read(fd, image, sizeof(image));

	expect(n > 4096 && (size_t)n < sizeof(image));
	close(fd);
	length = (size_t)n;
}

/* The first `bytes` of the module, changed or not, as a file. What the software
 * driver says of it besides is of no interest. */
static CUresult load_file(size_t bytes)
{
	int quiet = open("/dev/null", O_WRONLY), old = dup(2);
	char name[] = "/tmp/bad-module-XXXXXX";
	int fd = mkstemp(name);
	CUmodule m = NULL;
	CUresult rc;

	expect(fd >= 0);
	expect(write(fd, image, bytes) == (ssize_t)bytes);
	close(fd);
	dup2(quiet, 2);
	rc = load(&m, name);
	dup2(old, 2);
	close(old);
	close(quiet);
	unlink(name);
	return rc;
}

static void says(const char *what, CUresult rc, int want)
{
	printf("%s: %d\n", what, (int)rc);
	if ((int)rc != want)
		driver_fail(what, want, "is what the driver says; not", rc);
}

int main(void)
{
	CUresult (*load_data)(CUmodule *, const void *);
	CUresult (*unload)(CUmodule);
	CUresult (*get)(CUfunction *, CUmodule, const char *);
	CUmodule m = NULL;
	CUfunction f = NULL;

	driver_start();
	load = driver_get("cuModuleLoad", 2000, 0);
	load_data = driver_get("cuModuleLoadData", 2000, 0);
	unload = driver_get("cuModuleUnload", 2000, 0);
	get = driver_get("cuModuleGetFunction", 2000, 0);
	read_module();
	says("absent", load(&m, "/nonexistent/module"), FILE_NOT_FOUND);
	says("cut", load_file(100), INVALID_IMAGE);
	says("empty", load_file(0), INVALID_IMAGE);
	image[MACHINE] ^= 0x55;
	says("of another machine", load_file(length), INVALID_IMAGE);
	image[MACHINE] ^= 0x55;
	says("no image", load_data(&m, "// neither text\n"), INVALID_IMAGE);
	soft_fail("cuModuleLoad:1:209");
	says("without a binary", load_file(length), NO_BINARY_FOR_GPU);
	ok(load(&m, getenv("TEST_MODULE")));
	says("no such kernel", get(&f, m, "absent"), NOT_FOUND);
	ok(unload(m));
	driver_end();
	puts("done");
	return 0;
}
