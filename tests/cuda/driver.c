/* SPDX-License-Identifier: Apache-2.0 */
/*
 * See driver.h.
 */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif
#include "driver.h"

#include <dlfcn.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include "softcuda.h"

static void *library, *soft;
static CUcontext context;
static CUmodule module;

void driver_fail(const char *file, int line, const char *what, CUresult rc)
{
	const char *name = strrchr(file, '/');

	fprintf(stderr, "%s:%d: %s", name ? name + 1 : file, line, what);
	if (rc)
		fprintf(stderr, " gives %d", rc);
	fputc('\n', stderr);
	/* Not every driver has everything. */
	exit(rc == ERROR_NOT_SUPPORTED ? 77 : 1);
}

void *driver_open(void)
{
	if (!library)
		library = dlopen("libcuda.so.1", RTLD_NOW);
	if (!library) {
		fprintf(stderr, "%s\n", dlerror());
		exit(77);
	}
	return library;
}

void *driver_symbol(const char *name)
{
	void *f = dlsym(driver_open(), name);

	if (!f)
		driver_fail(name, 0, "no such symbol", 0);
	return f;
}

void *driver_get(const char *name, int version, cuuint64_t flags)
{
	static CUresult(*get) HZ_SIG_cuGetProcAddress_v2;
	void *f = NULL;
	CUresult rc;

	if (!get) {
		get = (CUresult(*) HZ_SIG_cuGetProcAddress_v2)driver_symbol(
			"cuGetProcAddress_v2");
		/* The runtime library's first question. */
		get("", &f, 0, 0, NULL);
	}
	rc = get(name, &f, version, flags, NULL);
	if (rc || !f)
		driver_fail(name, version, "cuGetProcAddress", rc);
	return f;
}

void driver_start(void)
{
	CUresult (*create)(CUcontext *, unsigned, CUdevice) =
		driver_get("cuCtxCreate", 3020, 0);
	CUresult (*load)(CUmodule *, const char *) =
		driver_get("cuModuleLoad", 2000, 0);
	const char *file = getenv("TEST_MODULE");

	ok(SYM(cuInit)(0));
	ok(create(&context, 0, 0));
	if (file)
		ok(load(&module, file));
}

void driver_end(void)
{
	CUresult (*unload)(CUmodule) = driver_get("cuModuleUnload", 2000, 0);
	CUresult (*destroy)(CUcontext) = driver_get("cuCtxDestroy", 4000, 0);

	if (module)
		ok(unload(module));
	ok(destroy(context));
	module = NULL;
	context = NULL;
}

CUfunction driver_kernel(const char *name)
{
	CUresult (*get)(CUfunction *, CUmodule, const char *) =
		driver_get("cuModuleGetFunction", 2000, 0);
	CUfunction f;

	ok(get(&f, module, name));
	return f;
}

void driver_show(void)
{
	struct pollfd in = {.fd = 0, .events = POLLIN};

	puts("ready");
	fflush(stdout);
	/* Waiting for the device is when the table is written. */
	while (poll(&in, 1, 10) == 0)
		ok(SYM(cuCtxSynchronize)());
}

CUresult driver_import(CUexternalMemory *m, int fd, uint64_t bytes)
{
	struct {
		int type;
		union {
			int fd;
			void *both[2];
		} handle;
		unsigned long long size;
		unsigned flags, reserved[16];
	} d = {.type = 1, .handle.fd = fd, .size = bytes};
	CUresult (*import)(CUexternalMemory *, const void *) =
		driver_get("cuImportExternalMemory", 10000, 0);

	return import(m, &d);
}

void driver_launch(CUfunction f, CUstream s, void **params)
{
	ok(SYM(cuLaunchKernel)(f, 1, 1, 1, 1, 1, 1, 0, s, params, NULL));
}

uint64_t counted(const char *name, uint64_t otherwise)
{
	int (*counter)(const char *, uint64_t *) =
		(int (*)(const char *, uint64_t *))dlsym(RTLD_DEFAULT,
							 "horizon_counter");
	uint64_t value;

	if (!watched())
		return otherwise;
	if (counter(name, &value))
		driver_fail(name, 0, "no such counter", 0);
	return value;
}

bool watched(void)
{
	const char *gpu = getenv("HORIZON_GPU");

	return dlsym(RTLD_DEFAULT, "horizon_counter") &&
	       !(gpu && !strcmp(gpu, "off"));
}

/* Under a name that is not the driver's, so that nobody answers for it. */
static void *soft_symbol(const char *name)
{
	const char *file = getenv("SOFTCUDA_SELF");
	void *f;

	if (!soft && file)
		soft = dlopen(file, RTLD_NOW);
	f = soft ? dlsym(soft, name) : NULL;
	if (!f)
		driver_fail(name, 0, "not the software driver", 0);
	return f;
}

/* The software driver counts under a bare name what is asked for by it, all
 * forms together. */
uint64_t soft_calls(const char *symbol)
{
	static const char *const forms[] = {"_v2",	"_v3",	    "_ptsz",
					    "_ptds",	"_v2_ptsz", "_v2_ptds",
					    "_v3_ptsz"};
	uint64_t (*calls)(const char *) =
		(uint64_t(*)(const char *))soft_symbol("softcuda_calls");
	uint64_t n = calls(symbol);
	char form[96];

	if (strchr(symbol, '_'))
		return n;
	for (size_t i = 0; i < sizeof(forms) / sizeof(forms[0]); i++) {
		snprintf(form, sizeof(form), "%s%s", symbol, forms[i]);
		n -= calls(form);
	}
	return n;
}

static struct softcuda_counters soft_counters(void)
{
	void (*read)(struct softcuda_counters *) =
		(void (*)(struct softcuda_counters *))soft_symbol(
			"softcuda_counters");
	struct softcuda_counters c;

	read(&c);
	return c;
}

uint64_t soft_live(void)
{
	return soft_counters().live_allocations;
}

uint64_t soft_bytes(void)
{
	return soft_counters().device_bytes;
}

void soft_fail(const char *rules)
{
	int (*fail)(const char *) =
		(int (*)(const char *))soft_symbol("softcuda_fail");

	if (fail(rules))
		driver_fail(rules, 0, "bad rules", 0);
}
