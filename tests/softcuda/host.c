/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Page-locked host memory, allocated or registered. Its device address is its
 * host address.
 */
#include <stdlib.h>
#include <sys/mman.h>
#include "soft.h"

#define PAGE	     ((size_t)4096)
#define ALLOC_FLAGS  7u
#define REGIST_FLAGS 15u

static CUresult host_alloc(void **out, size_t bytes, unsigned flags)
{
	struct soft_alloc *a;
	size_t span;
	CUcontext ctx;
	void *at;
	CUresult res = soft_current(&ctx);

	if (!res)
		res = soft_capture_unsafe();
	if (res)
		return res;
	if (!out || !bytes || (flags & ~ALLOC_FLAGS))
		return CUDA_ERROR_INVALID_VALUE;
	if (bytes > (size_t)1 << 46)
		return CUDA_ERROR_OUT_OF_MEMORY;
	span = soft_round_up(bytes, PAGE);
	at = mmap(NULL, span, PROT_READ | PROT_WRITE,
		  MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (at == MAP_FAILED)
		return CUDA_ERROR_OUT_OF_MEMORY;
	a = soft_alloc_new(SOFT_MEM_HOST, (uintptr_t)at, bytes, -1, ctx);
	if (!a) {
		munmap(at, span);
		return CUDA_ERROR_OUT_OF_MEMORY;
	}
	a->span = span;
	a->flags = flags;
	soft_guard(soft_map_lock);
	soft_map_add(a);
	soft_count(host_bytes, bytes);
	*out = at;
	return CUDA_SUCCESS;
}

SOFT_API(cuMemHostAlloc, (void **out, size_t bytes, unsigned int flags),
	 (out, bytes, flags))
{
	return host_alloc(out, bytes, flags);
}

SOFT_API(cuMemAllocHost_v2, (void **out, size_t bytes), (out, bytes))
{
	return host_alloc(out, bytes, 0);
}

/* End what begins at p and is of this kind; otherwise the error. */
static CUresult release(void *p, enum soft_mem kind, CUresult otherwise)
{
	struct soft_alloc *a;

	pthread_mutex_lock(&soft_map_lock);
	a = soft_map_find((uintptr_t)p);
	if (a && (a->base != (uintptr_t)p || a->kind != kind))
		a = NULL;
	if (a)
		soft_map_remove(a);
	else
		soft_count(bad_frees, 1);
	pthread_mutex_unlock(&soft_map_lock);
	if (!a)
		return otherwise;
	soft_alloc_destroy(a);
	return CUDA_SUCCESS;
}

SOFT_API(cuMemFreeHost, (void *p), (p))
{
	CUcontext ctx;
	CUresult res = soft_current(&ctx);

	if (!res)
		res = soft_capture_unsafe();
	if (res || !p)
		return res;
	soft_ctx_sync(ctx);
	return release(p, SOFT_MEM_HOST, CUDA_ERROR_INVALID_VALUE);
}

static CUresult host_register(void *p, size_t bytes, unsigned flags)
{
	struct soft_alloc *a, *other;
	CUcontext ctx;
	CUresult res = soft_current(&ctx);

	if (!res)
		res = soft_capture_unsafe();
	if (res)
		return res;
	if (!p || !bytes || (flags & ~REGIST_FLAGS))
		return CUDA_ERROR_INVALID_VALUE;
	soft_guard(soft_map_lock);
	other = soft_map_overlap((uintptr_t)p, bytes);
	if (other)
		return soft_on_device(other)
			       ? CUDA_ERROR_INVALID_VALUE
			       : CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED;
	a = soft_alloc_new(SOFT_MEM_REGISTERED, (uintptr_t)p, bytes, -1, ctx);
	if (!a)
		return CUDA_ERROR_OUT_OF_MEMORY;
	a->flags = flags;
	soft_map_add(a);
	soft_count(registered_bytes, bytes);
	return CUDA_SUCCESS;
}

SOFT_API(cuMemHostRegister, (void *p, size_t bytes, unsigned int flags),
	 (p, bytes, flags))
{
	return host_register(p, bytes, flags);
}

SOFT_API(cuMemHostRegister_v2, (void *p, size_t bytes, unsigned int flags),
	 (p, bytes, flags))
{
	return host_register(p, bytes, flags);
}

SOFT_API(cuMemHostUnregister, (void *p), (p))
{
	CUcontext ctx;
	CUresult res = soft_current(&ctx);

	if (!res)
		res = soft_capture_unsafe();
	if (res)
		return res;
	if (!p)
		return CUDA_ERROR_INVALID_VALUE;
	soft_ctx_sync(ctx);
	return release(p, SOFT_MEM_REGISTERED,
		       CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED);
}

SOFT_API(cuMemHostGetDevicePointer_v2,
	 (CUdeviceptr * out, void *p, unsigned int flags), (out, p, flags))
{
	struct soft_alloc *a;
	CUcontext ctx;
	CUresult res = soft_current(&ctx);

	if (res)
		return res;
	if (!out || flags)
		return CUDA_ERROR_INVALID_VALUE;
	soft_guard(soft_map_lock);
	a = soft_map_find((uintptr_t)p);
	if (!a || (soft_on_device(a) && a->kind != SOFT_MEM_MANAGED))
		return CUDA_ERROR_INVALID_VALUE;
	*out = (uintptr_t)p;
	return CUDA_SUCCESS;
}

SOFT_API(cuMemHostGetFlags, (unsigned int *out, void *p), (out, p))
{
	struct soft_alloc *a;
	CUcontext ctx;
	CUresult res = soft_current(&ctx);

	if (res)
		return res;
	if (!out)
		return CUDA_ERROR_INVALID_VALUE;
	soft_guard(soft_map_lock);
	a = soft_map_find((uintptr_t)p);
	if (!a || a->kind != SOFT_MEM_HOST)
		return CUDA_ERROR_INVALID_VALUE;
	*out = a->flags | CU_MEMHOSTALLOC_DEVICEMAP;
	return CUDA_SUCCESS;
}
