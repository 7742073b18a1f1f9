/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A driver that does nothing, for bench/cuda-launch: what a call costs behind
 * the preload library is the library's. A function handle is the number of
 * its argument words.
 */
#include <stddef.h>
#include <stdint.h>

#define EXPORT __attribute__((visibility("default")))

EXPORT int cuInit(unsigned flags);
EXPORT int cuMemAlloc_v2(unsigned long long *p, size_t bytes);
EXPORT int cuMemFree_v2(unsigned long long p);
EXPORT int cuCtxGetCurrent(void **context);
EXPORT int cuCtxGetDevice(int *device);
EXPORT int cuDeviceTotalMem_v2(size_t *bytes, int device);
EXPORT int cuFuncGetName(const char **name, void *f);
EXPORT int cuFuncGetParamInfo(void *f, size_t i, size_t *offset, size_t *size);
EXPORT int cuLaunchKernel(void *f, unsigned gx, unsigned gy, unsigned gz,
			  unsigned bx, unsigned by, unsigned bz,
			  unsigned shared, void *stream, void **params,
			  void **extra);

int cuInit(unsigned flags)
{
	return 0;
}

int cuMemAlloc_v2(unsigned long long *p, size_t bytes)
{
	static unsigned long long next = 0x700000000000;

	*p = __atomic_fetch_add(&next, (bytes + 511) & ~(size_t)511,
				__ATOMIC_RELAXED);
	return 0;
}

int cuMemFree_v2(unsigned long long p)
{
	return 0;
}

int cuCtxGetCurrent(void **context)
{
	*context = (void *)1;
	return 0;
}

int cuCtxGetDevice(int *device)
{
	*device = 0;
	return 0;
}

int cuDeviceTotalMem_v2(size_t *bytes, int device)
{
	*bytes = (size_t)1 << 40;
	return 0;
}

int cuFuncGetName(const char **name, void *f)
{
	*name = (uintptr_t)f > 100 ? "table" : "arguments";
	return 0;
}

/* Up to 100 words: one an argument; more: a struct by value. */
int cuFuncGetParamInfo(void *f, size_t i, size_t *offset, size_t *size)
{
	uintptr_t words = (uintptr_t)f;

	if (words > 100 ? i > 0 : i >= words)
		return 1;
	*offset = 8 * i;
	*size = words > 100 ? 8 * words : 8;
	return 0;
}

int cuLaunchKernel(void *f, unsigned gx, unsigned gy, unsigned gz, unsigned bx,
		   unsigned by, unsigned bz, unsigned shared, void *stream,
		   void **params, void **extra)
{
	return 0;
}
