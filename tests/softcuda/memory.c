/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cuMemAlloc, cuMemAllocPitch, cuMemAllocManaged, cuMemFree, and what is told
 * of device memory. How an allocation of any family ends is here too.
 */
#include <stdlib.h>
#include <sys/mman.h>
#include "array.h"

static void destroy_native(struct soft_alloc *a)
{
	soft_va_put(a->span < SOFT_BLOCK ? SOFT_ARENA_SMALL : SOFT_ARENA_LARGE,
		    (void *)a->base, a->span);
	soft_uncharge(&soft_devices[a->dev], a->charged);
	if (!a->idle)
		soft_uncount(device_bytes, a->size);
}

/* Already out of the map. */
void soft_alloc_destroy(struct soft_alloc *a)
{
	switch (a->kind) {
	case SOFT_MEM_ASYNC:
		if (a->pool) /* in use; spare pieces have left theirs */
			soft_pool_forget(a);
		destroy_native(a);
		break;
	case SOFT_MEM_DEVICE:
	case SOFT_MEM_GRAPH:
		destroy_native(a);
		break;
	case SOFT_MEM_MANAGED:
		soft_managed_free(a);
		break;
	case SOFT_MEM_HOST:
		munmap((void *)a->base, a->span);
		soft_uncount(host_bytes, a->size);
		break;
	case SOFT_MEM_REGISTERED:
		soft_uncount(registered_bytes, a->size);
		break;
	case SOFT_MEM_ARRAY:
		soft_array_gone(a->object);
		destroy_native(a);
		break;
	case SOFT_MEM_IPC:
	case SOFT_MEM_EXTERNAL:
		/* it may begin inside of a page */
		munmap((void *)(a->base & ~(uintptr_t)4095), a->span);
		break;
	case SOFT_MEM_VMM:
	case SOFT_MEM_GLOBAL:
		break;
	}
	free(a);
}

static CUresult unsafe_current(CUcontext *ctx)
{
	CUresult res = soft_current(ctx);

	return res ? res : soft_capture_unsafe();
}

SOFT_API(cuMemAlloc_v2, (CUdeviceptr * out, size_t bytes), (out, bytes))
{
	struct soft_alloc *a;
	CUcontext ctx;
	CUresult res = unsafe_current(&ctx);

	if (res)
		return res;
	if (!out || !bytes)
		return CUDA_ERROR_INVALID_VALUE;
	soft_exclusively();
	res = soft_device_alloc(ctx, ctx->dev, bytes, SOFT_MEM_DEVICE, &a);
	if (!res)
		*out = a->base;
	return res;
}

SOFT_API(cuMemAllocPitch_v2,
	 (CUdeviceptr * out, size_t *pitch, size_t width, size_t height,
	  unsigned int element),
	 (out, pitch, width, height, element))
{
	struct soft_alloc *a;
	size_t bytes;
	CUcontext ctx;
	CUresult res = unsafe_current(&ctx);

	if (res)
		return res;
	if (!out || !pitch || !width || !height ||
	    (element != 4 && element != 8 && element != 16))
		return CUDA_ERROR_INVALID_VALUE;
	*pitch = soft_round_up(width, (size_t)512);
	if (__builtin_mul_overflow(*pitch, height, &bytes))
		return CUDA_ERROR_OUT_OF_MEMORY;
	soft_exclusively();
	res = soft_device_alloc(ctx, ctx->dev, bytes, SOFT_MEM_DEVICE, &a);
	if (!res)
		*out = a->base;
	return res;
}

SOFT_API(cuMemAllocManaged,
	 (CUdeviceptr * out, size_t bytes, unsigned int flags),
	 (out, bytes, flags))
{
	struct soft_alloc *a;
	CUcontext ctx;
	CUresult res = unsafe_current(&ctx);

	if (res)
		return res;
	if (!out || !bytes ||
	    (flags != CU_MEM_ATTACH_GLOBAL && flags != CU_MEM_ATTACH_HOST))
		return CUDA_ERROR_INVALID_VALUE;
	soft_exclusively();
	res = soft_managed_new(ctx, bytes, flags, &a);
	if (!res)
		*out = a->base;
	return res;
}

static bool freeable(const struct soft_alloc *a)
{
	switch (a->kind) {
	case SOFT_MEM_DEVICE:
	case SOFT_MEM_MANAGED:
	case SOFT_MEM_ASYNC:
	case SOFT_MEM_EXTERNAL:
		return !a->freeing;
	case SOFT_MEM_GRAPH:
		return !a->freeing && !a->idle;
	default:
		return false;
	}
}

/* Takes it out of the map, so that nobody else frees it. */
static struct soft_alloc *take(CUdeviceptr p)
{
	struct soft_alloc *a;

	soft_guard(soft_map_lock);
	a = soft_map_find(p);
	if (!a || a->base != p || !freeable(a)) {
		soft_count(bad_frees, 1);
		return NULL;
	}
	if (a->kind != SOFT_MEM_GRAPH)
		soft_map_remove(a);
	return a;
}

static void give(struct soft_alloc *a)
{
	if (a->kind == SOFT_MEM_GRAPH) {
		soft_graph_memory_give(a);
		return;
	}
	soft_alloc_destroy(a);
}

/* Waits for the device as the driver does: nothing that was queued before can
 * still touch the memory. */
SOFT_API(cuMemFree_v2, (CUdeviceptr p), (p))
{
	struct soft_alloc *a;
	CUcontext ctx;
	CUresult res = unsafe_current(&ctx);

	if (res || !p)
		return res;
	soft_ctx_sync(ctx);
	soft_exclusively();
	a = take(p);
	if (!a)
		return CUDA_ERROR_INVALID_VALUE;
	give(a);
	return CUDA_SUCCESS;
}

SOFT_API(cuMemGetInfo_v2, (size_t *free_bytes, size_t *total),
	 (free_bytes, total))
{
	CUcontext ctx;
	CUresult res = soft_current(&ctx);

	if (res)
		return res;
	if (free_bytes)
		*free_bytes = soft_device_free_bytes(ctx->dev);
	if (total)
		*total = ctx->dev->capacity;
	return CUDA_SUCCESS;
}

SOFT_API(cuMemGetAddressRange_v2,
	 (CUdeviceptr * base, size_t *size, CUdeviceptr p), (base, size, p))
{
	struct soft_alloc *a;
	CUcontext ctx;
	CUresult res = soft_current(&ctx);

	if (res)
		return res;
	soft_guard(soft_map_lock);
	a = soft_map_find(p);
	if (!a)
		return CUDA_ERROR_NOT_FOUND;
	if (base)
		*base = a->base;
	if (size)
		*size = a->size;
	return CUDA_SUCCESS;
}
