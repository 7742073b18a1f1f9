/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the tests of the software driver share. Each is a program that opens
 * the driver as a program with no link to it does, in the order of dlopen,
 * cuGetProcAddress_v2 and a version. A test ends at its first failure.
 *
 * $softcuda is the driver's file, $softcuda_module the module's; by default
 * they lie beside each other where make puts them.
 */
#ifndef SOFTCUDA_TESTING_H
#define SOFTCUDA_TESTING_H

#include <dlfcn.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "cuda_abi.h"
#include "softcuda.h"

#define expect(cond_)                                                        \
	do {                                                                 \
		if (cond_)                                                   \
			break;                                               \
		fprintf(stderr, "%s:%d: not true: %s\n", __FILE__, __LINE__, \
			#cond_);                                             \
		exit(1);                                                     \
	} while (0)

#define expect_code(call_, code_)                                            \
	do {                                                                 \
		int got_ = (int)(call_);                                     \
                                                                             \
		if (got_ == (int)(code_))                                    \
			break;                                               \
		fprintf(stderr, "%s:%d: %s: %d, expected %s\n", __FILE__,    \
			__LINE__, #call_, got_, #code_);                     \
		exit(1);                                                     \
	} while (0)
#define ok(call_) expect_code(call_, CUDA_SUCCESS)

static void *driver;

/* A symbol of the driver's own handle. */
__attribute__((unused)) static void *symbol(const char *name)
{
	void *at = dlsym(driver, name);

	if (!at) {
		fprintf(stderr, "no symbol %s\n", name);
		exit(1);
	}
	return at;
}
#define CALL(name_) ((__typeof__(name_) *)symbol(#name_))

__attribute__((unused)) static const char *path_of(const char *variable,
						   const char *fallback)
{
	const char *path = getenv(variable);

	return path && *path ? path : fallback;
}

__attribute__((unused)) static void open_driver(void)
{
	driver = dlopen(path_of("softcuda", "./libcuda.so.1"),
			RTLD_NOW | RTLD_LOCAL);
	if (!driver) {
		fprintf(stderr, "%s\n", dlerror());
		exit(1);
	}
}

/* The driver, and a context of device 0. */
__attribute__((unused)) static CUcontext open_context(void)
{
	CUcontext ctx;

	if (!driver)
		open_driver();
	ok(CALL(cuInit)(0));
	ok(CALL(cuDevicePrimaryCtxRetain)(&ctx, 0));
	ok(CALL(cuCtxSetCurrent)(ctx));
	return ctx;
}

__attribute__((unused)) static CUmodule open_module(void)
{
	CUmodule m;

	ok(CALL(cuModuleLoad)(&m, path_of("softcuda_module",
					  "./mod-basic.so")));
	return m;
}

__attribute__((unused)) static CUfunction function(CUmodule m, const char *name)
{
	CUfunction f;

	ok(CALL(cuModuleGetFunction)(&f, m, name));
	return f;
}

__attribute__((unused)) static struct softcuda_counters counters(void)
{
	struct softcuda_counters c;

	CALL(softcuda_counters)(&c);
	return c;
}

/* p[i] += v on a stream. */
__attribute__((unused)) static CUresult launch_add(CUfunction f, CUstream s,
						   CUdeviceptr p, unsigned n,
						   unsigned v)
{
	void *args[] = {&p, &n, &v};

	return CALL(cuLaunchKernel)(f, (n + 255) / 256, 1, 1, 256, 1, 1, 0, s,
				    args, NULL);
}

#endif
