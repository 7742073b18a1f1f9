/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An allocator of managed memory for torch (CUDAPluggableAllocator), and what
 * item 5 asks of it: moving a range, and how much of it the CPU has mapped.
 */
#include <stdio.h>

#include "probe.h"

#define EXPORT __attribute__((visibility("default")))

EXPORT void *managed_alloc(size_t bytes, int device, CUstream s);
EXPORT void managed_free(void *p, size_t bytes, int device, CUstream s);
EXPORT int managed_move(void *p, size_t bytes, int to_gpu);
EXPORT double managed_mapped_percent(const void *p, size_t bytes);

void *managed_alloc(size_t bytes, int device, CUstream s)
{
	CUdeviceptr p;
	CUresult code;

	if (bytes > probe_free() / 2)
		return NULL;
	code = cuMemAllocManaged(&p, bytes, CU_MEM_ATTACH_GLOBAL);
	if (code) {
		fprintf(stderr, "cuMemAllocManaged(%zu): %d\n", bytes, code);
		return NULL;
	}
	need(cuMemAdvise(p, bytes, CU_MEM_ADVISE_SET_PREFERRED_LOCATION,
			 probe_gpu()));
	need(cuMemPrefetchAsync(p, bytes, probe_gpu(), 0, s));
	return (void *)p;
}

void managed_free(void *p, size_t bytes, int device, CUstream s)
{
	CUresult code = cuMemFree((CUdeviceptr)p);

	if (code)
		fprintf(stderr, "cuMemFree: %d\n", code);
}

int managed_move(void *p, size_t bytes, int to_gpu)
{
	CUresult code =
		cuMemPrefetchAsync((CUdeviceptr)p, bytes,
				   to_gpu ? probe_gpu() : probe_cpu(), 0, NULL);

	return (int)(code ? code : cuCtxSynchronize());
}

double managed_mapped_percent(const void *p, size_t bytes)
{
	return mapped_percent(p, bytes);
}
