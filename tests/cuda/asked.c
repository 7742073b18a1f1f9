/* SPDX-License-Identifier: Apache-2.0 */
/*
 * asked WHAT DRIVER: on the driver of asked_driver.c, which is this file.
 */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include "driver.h"
#include "asked.h"

#define KERNEL(n_) ((CUfunction)(uintptr_t)(0x100000 + 0x40 * (n_)))

static struct asked *asked;
static CUdeviceptr memory;
static void *no_params[4096];

/* How much more of it there is after `what_`. */
#define MORE(counter_, what_)                  \
	({                                     \
		uint64_t before_ = (counter_); \
                                               \
		what_;                         \
		(counter_) - before_;          \
	})

static void launch(CUfunction f, CUstream s)
{
	driver_launch(f, s, no_params);
}

static void unload(void)
{
	ok(SYM(cuModuleUnload)((CUmodule)0x20));
}

/* ---- handles that come again while a call that ended them runs ---- */

static void **one_param; /* behind it is no memory */

static void launch_with_one(void)
{
	asked->kernel_params = 1;
	driver_launch(ASKED_KERNEL, NULL, one_param);
}

/* A kernel of two arguments is known when `name` ends it; a kernel of one has
 * its handle before that returns. */
static void again(const char *name)
{
	CUresult (*end)(void *) = (CUresult(*)(void *))driver_symbol(name);
	void *params[] = {&memory, &memory};

	asked->kernel_params = 2;
	unload();
	driver_launch(ASKED_KERNEL, NULL, params);
	asked->between = launch_with_one;
	ok(end(NULL));
	asked->between = NULL;
}

static void handles(void)
{
	long page = sysconf(_SC_PAGESIZE);
	char *two = mmap(NULL, 2 * (size_t)page, PROT_READ | PROT_WRITE,
			 MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	expect(two != MAP_FAILED);
	expect(!mprotect(two + page, (size_t)page, PROT_NONE));
	one_param = (void **)(void *)(two + page) - 1;
	*one_param = &memory;
	again("cuModuleUnload");
	again("cuLibraryUnload");
	again("cuCtxDestroy");
	again("cuCtxDestroy_v2");
	again("cuDevicePrimaryCtxRelease");
	again("cuDevicePrimaryCtxReset");
	again("cuDevicePrimaryCtxReset_v2");
	expect(counted("gpu_unknown", 0) == 0);
}

/* ---- modules that are loaded and unloaded all the time ---- */

static void reload(unsigned times, unsigned other)
{
	for (unsigned i = 0; i < times; i++) {
		unload();
		asked->kernel_params += i & 1 ? -other : other;
		launch(ASKED_KERNEL, NULL);
	}
}

static void kernels(void)
{
	asked->kernel_params = 2000;
	asked->param_bytes = 4;
	/* More than there is memory for, if each time took some. */
	reload(4500, 0);
	expect(counted("gpu_unknown", 0) == 0);
	expect(MORE(asked->params, launch(ASKED_KERNEL, NULL)) == 0);
}

/* More kernels than there are places, and then others. */
static void places(void)
{
	uint64_t unknown;

	asked->kernel_params = 0;
	for (int i = 0; i < 50000; i++)
		launch(KERNEL(i), NULL);
	unload();
	unknown = counted("gpu_unknown", 0);
	for (int i = 50000; i < 51000; i++)
		launch(KERNEL(i), NULL);
	expect(counted("gpu_unknown", 0) == unknown);
	expect(MORE(asked->params, launch(KERNEL(50999), NULL)) == 0);
}

/* A handle that is another kernel each time does use up the memory; what was
 * known before stays so, and the rest is asked once a load. */
static void used_up(void)
{
	CUfunction known = KERNEL(1);

	asked->param_bytes = 4;
	asked->kernel_params = 3000;
	launch(known, NULL);
	reload(3001, 1);
	expect(counted("gpu_unknown", 0) > 0);
	expect(MORE(asked->params, launch(ASKED_KERNEL, NULL)) == 0);
	expect(MORE(asked->params, launch(KERNEL(2), NULL)) == 0);
	unload();
	asked->kernel_params = 3000;
	expect(MORE(asked->params, launch(known, NULL)) > 0);
	expect(MORE(asked->params, launch(known, NULL)) == 0);
}

/* ---- captures that end with something else ---- */

static void begin(CUstream s)
{
	ok(SYM(cuStreamBeginCapture_v2)(s, 0));
}

/* Is nobody believed to capture? */
static bool quiet(void)
{
	return MORE(asked->capturing,
		    for (int i = 0; i < 10; i++)
			    launch(ASKED_KERNEL, ASKED_STREAM(9))) == 0;
}

static void captures(void)
{
	CUstream s = ASKED_STREAM(1), joined = ASKED_STREAM(2);
	CUgraph graph;
	uint64_t launches;

	expect(quiet());
	begin(s);
	expect(!quiet());
	ok(SYM(cuStreamDestroy_v2)(s));
	expect(quiet());
	begin(s);
	begin(joined);
	ok(SYM(cuStreamDestroy)(s));
	expect(!quiet());
	ok(SYM(cuCtxDestroy_v2)(ASKED_CONTEXT));
	expect(quiet());
	begin(s);
	ok(SYM(cuCtxDestroy_v2)((CUcontext)0x30));
	expect(!quiet());
	ok(SYM(cuDevicePrimaryCtxReset_v2)(0));
	expect(quiet());

	/* One that has joined a capture does not end it. */
	begin(s);
	asked->captured[1] = asked->captured[2] = 1;
	ok(SYM(cuStreamDestroy_v2)(joined));
	launches = counted("gpu_launches", 0);
	expect(MORE(asked->params, launch(KERNEL(3), s)) == 0);
	expect(counted("gpu_launches", 0) == launches);
	asked->captured[1] = 0;
	ok(SYM(cuStreamEndCapture)(s, &graph));
	expect(quiet());
}

/* Its end is not seen: other streams' kernels are known all the same. */
static void believed(void)
{
	begin((CUstream)2);
	expect(MORE(asked->params, launch(KERNEL(4), ASKED_STREAM(9))) > 0);
	expect(MORE(asked->params, launch(KERNEL(4), ASKED_STREAM(9))) == 0);
	expect(counted("gpu_unknown", 0) == 0);
	expect(counted("gpu_launches", 0) == 2);
}

/* ---- the segment ---- */

static int segment(void)
{
	static const char name[] = "/memfd:horizon-stats";
	char path[64], link[sizeof(name)] = {0};

	for (int fd = 0; fd < 64; fd++) {
		snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
		if (readlink(path, link, sizeof(link)) > 0 &&
		    !memcmp(link, name, sizeof(name) - 1))
			return fd;
	}
	return -1;
}

static void closed(void)
{
	expect(segment() > 2);
	for (int fd = 0; fd < 3; fd++)
		expect(fcntl(fd, F_GETFD) == -1 && errno == EBADF);
}

static void limited(void)
{
	expect(segment() == -1);
	/* Counting goes on, for this process alone. */
	expect(counted("vram_resident", 0) == 4096);
}

static void wait_for_input(void)
{
	expect(segment() > 2);
	puts("ready");
	fflush(stdout);
	getchar();
}

static const struct {
	const char *name;
	void (*run)(void);
} whats[] = {
	{"handles", handles}, {"kernels", kernels},   {"places", places},
	{"used_up", used_up}, {"captures", captures}, {"believed", believed},
	{"closed", closed},   {"limited", limited},   {"wait", wait_for_input},
};

int main(int argc, char **argv)
{
	void *driver;

	if (argc == 3 && !strcmp(argv[1], "closed"))
		for (int fd = 0; fd < 3; fd++)
			close(fd);
	driver = argc == 3 ? dlopen(argv[2], RTLD_NOW) : NULL;
	asked = driver ? dlsym(driver, "asked_driver") : NULL;
	expect(asked);
	ok(SYM(cuInit)(0));
	ok(SYM(cuMemAlloc_v2)(&memory, 4096));
	for (size_t i = 0; i < sizeof(whats) / sizeof(whats[0]); i++) {
		if (strcmp(argv[1], whats[i].name))
			continue;
		whats[i].run();
		return 0;
	}
	return 2;
}
