/* SPDX-License-Identifier: Apache-2.0 */
/*
 * libearlydriver.so: its constructor opens the driver, takes a function by
 * cuGetProcAddress and allocates 5 MiB. Preloaded, it runs before the
 * constructors of what was preloaded before it.
 */
#include <dlfcn.h>
#include <stdint.h>
#include <stdlib.h>
#include "cuda_abi.h"
#include "cuda_sigs.h"

static CUresult(*get) HZ_SIG_cuGetProcAddress_v2;

static void *function(const char *name, int version)
{
	void *f = NULL;

	if (get(name, &f, version, 0, NULL) || !f)
		_Exit(3);
	return f;
}

static __attribute__((constructor)) void start(void)
{
	void *driver = dlopen("libcuda.so.1", RTLD_NOW);
	CUcontext context;
	CUdeviceptr p;

	if (!driver)
		_Exit(2);
	get = (CUresult(*) HZ_SIG_cuGetProcAddress_v2)dlsym(
		driver, "cuGetProcAddress_v2");
	if (!get || ((CUresult(*)(unsigned))function("cuInit", 2000))(0) ||
	    ((CUresult(*)(CUcontext *, unsigned, CUdevice))function(
		    "cuCtxCreate", 3020))(&context, 0, 0) ||
	    ((CUresult(*) HZ_SIG_cuMemAlloc_v2)function("cuMemAlloc", 3020))(
		    &p, 5 << 20))
		_Exit(4);
}
