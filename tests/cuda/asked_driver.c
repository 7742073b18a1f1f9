/* SPDX-License-Identifier: Apache-2.0 */
/*
 * libaskeddriver.so: a driver that counts what it is asked. All kernels have
 * the same shape, which may change at any time. Where handles end, it calls
 * the program before it returns: what that does then is what another thread
 * may do meanwhile.
 */
#include "cuda_abi.h"
#include "asked.h"

#define EXPORT __attribute__((visibility("default")))
#define FORM(name_, sig_)           \
	EXPORT CUresult name_ sig_; \
	EXPORT CUresult name_ sig_
#define SAYS(name_, sig_, answer_) \
	FORM(name_, sig_)          \
	{                          \
		return answer_;    \
	}
#define INVALID_VALUE 1

extern struct asked asked_driver;
EXPORT struct asked asked_driver = {.kernel_params = 2, .param_bytes = 8};

static struct asked *const a = &asked_driver;

static CUresult ended(void)
{
	if (a->between)
		a->between();
	return 0;
}

SAYS(cuInit, (unsigned flags), 0)

FORM(cuMemAlloc_v2, (CUdeviceptr * p, size_t bytes))
{
	static CUdeviceptr next = 0x7f0000000000;

	*p = next;
	next += (bytes + 0x1fffff) & ~(CUdeviceptr)0x1fffff;
	return 0;
}

/* ---- kernels ---- */
FORM(cuFuncGetName, (const char **name, CUfunction f))
{
	*name = "kernel";
	return 0;
}

FORM(cuFuncGetParamInfo, (CUfunction f, size_t i, size_t *offset, size_t *size))
{
	a->params++;
	if (i >= a->kernel_params)
		return INVALID_VALUE;
	*offset = i * a->param_bytes;
	*size = a->param_bytes;
	return 0;
}

FORM(cuLaunchKernel, (CUfunction f, unsigned gx, unsigned gy, unsigned gz,
		      unsigned bx, unsigned by, unsigned bz, unsigned shared,
		      CUstream s, void **params, void **extra))
{
	return 0;
}

SAYS(cuModuleUnload, (CUmodule m), ended())
SAYS(cuLibraryUnload, (CUlibrary l), ended())

/* ---- contexts ---- */
FORM(cuCtxGetCurrent, (CUcontext * c))
{
	*c = ASKED_CONTEXT;
	return 0;
}

SAYS(cuCtxDestroy, (CUcontext c), ended())
SAYS(cuCtxDestroy_v2, (CUcontext c), ended())
SAYS(cuDevicePrimaryCtxReset, (CUdevice d), ended())
SAYS(cuDevicePrimaryCtxReset_v2, (CUdevice d), ended())
SAYS(cuDevicePrimaryCtxRelease, (CUdevice d), ended())

/* Hooks that ask which context is the primary one retain it and call this. */
SAYS(cuDevicePrimaryCtxRelease_v2, (CUdevice d), 0)

FORM(cuDevicePrimaryCtxGetState, (CUdevice d, unsigned *flags, int *active))
{
	*active = 1;
	return 0;
}

FORM(cuDevicePrimaryCtxRetain, (CUcontext * c, CUdevice d))
{
	*c = ASKED_CONTEXT;
	return 0;
}

/* ---- streams ---- */
SAYS(cuStreamBeginCapture_v2, (CUstream s, int mode), 0)
SAYS(cuStreamEndCapture, (CUstream s, CUgraph *graph), 0)
SAYS(cuStreamDestroy, (CUstream s), 0)
SAYS(cuStreamDestroy_v2, (CUstream s), 0)

FORM(cuStreamIsCapturing, (CUstream s, int *status))
{
	a->capturing++;
	*status = 0;
	for (int i = 0; i < ASKED_STREAMS; i++)
		if (s == ASKED_STREAM(i))
			*status = a->captured[i];
	return 0;
}
