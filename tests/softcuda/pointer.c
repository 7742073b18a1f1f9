/* SPDX-License-Identifier: Apache-2.0 */
/* Pointer attributes. Host memory that nobody registered has none. */
#include <string.h>
#include "soft.h"

#define LAST 21u

static size_t mapped_bytes(const struct soft_alloc *a)
{
	return a->size;
}

static unsigned memory_type(const struct soft_alloc *a)
{
	return soft_on_device(a) ? CU_MEMORYTYPE_DEVICE : CU_MEMORYTYPE_HOST;
}

static CUresult host_pointer(void *out, const struct soft_alloc *a, uintptr_t p)
{
	if (soft_on_device(a) && a->kind != SOFT_MEM_MANAGED)
		return CUDA_ERROR_INVALID_VALUE;
	*(void **)out = (void *)p;
	return CUDA_SUCCESS;
}

static bool ipc_capable(const struct soft_alloc *a)
{
	return a->kind == SOFT_MEM_DEVICE;
}

static CUresult get(void *out, unsigned attr, const struct soft_alloc *a,
		    uintptr_t p)
{
	switch (attr) {
	case CU_POINTER_ATTRIBUTE_CONTEXT:
		*(CUcontext *)out = a->ctx;
		break;
	case CU_POINTER_ATTRIBUTE_MEMORY_TYPE:
		*(unsigned *)out = memory_type(a);
		break;
	case CU_POINTER_ATTRIBUTE_DEVICE_POINTER:
		*(CUdeviceptr *)out = p;
		break;
	case CU_POINTER_ATTRIBUTE_HOST_POINTER:
		return host_pointer(out, a, p);
	case CU_POINTER_ATTRIBUTE_SYNC_MEMOPS:
		*(int *)out = a->sync_memops;
		break;
	case CU_POINTER_ATTRIBUTE_BUFFER_ID:
		*(unsigned long long *)out = a->id;
		break;
	case CU_POINTER_ATTRIBUTE_IS_MANAGED:
		*(int *)out = a->kind == SOFT_MEM_MANAGED;
		break;
	case CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL:
		*(int *)out = a->dev >= 0 ? a->dev
			      : a->ctx	  ? a->ctx->dev->index
					  : 0;
		break;
	case CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE:
		*(int *)out = ipc_capable(a);
		break;
	case CU_POINTER_ATTRIBUTE_RANGE_START_ADDR:
	case CU_POINTER_ATTRIBUTE_MAPPING_BASE_ADDR:
		*(CUdeviceptr *)out = a->base;
		break;
	case CU_POINTER_ATTRIBUTE_RANGE_SIZE:
	case CU_POINTER_ATTRIBUTE_MAPPING_SIZE:
		*(size_t *)out = mapped_bytes(a);
		break;
	case CU_POINTER_ATTRIBUTE_MAPPED:
		*(int *)out = 1;
		break;
	case CU_POINTER_ATTRIBUTE_ALLOWED_HANDLE_TYPES:
		*(unsigned long long *)out = 0;
		break;
	case CU_POINTER_ATTRIBUTE_IS_GPU_DIRECT_RDMA_CAPABLE:
	case CU_POINTER_ATTRIBUTE_IS_HW_DECOMPRESS_CAPABLE:
		*(int *)out = 0;
		break;
	case CU_POINTER_ATTRIBUTE_ACCESS_FLAGS:
		*(unsigned *)out = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
		break;
	case CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE:
		*(CUmemoryPool *)out = a->pool;
		break;
	case CU_POINTER_ATTRIBUTE_MEMORY_BLOCK_ID:
		*(unsigned long long *)out = a->id;
		break;
	default:
		return CUDA_ERROR_NOT_SUPPORTED;
	}
	return CUDA_SUCCESS;
}

SOFT_API(cuPointerGetAttribute,
	 (void *out, CUpointer_attribute attr, CUdeviceptr p), (out, attr, p))
{
	struct soft_alloc *a;

	if (!out || !(unsigned)attr || (unsigned)attr > LAST)
		return CUDA_ERROR_INVALID_VALUE;
	soft_guard(soft_map_lock);
	a = soft_map_find(p);
	if (!a)
		return CUDA_ERROR_INVALID_VALUE;
	return get(out, (unsigned)attr, a, p);
}

/* What an attribute is when there is none; the widths are the values'. */
static void none(void *out, unsigned attr)
{
	static const uint8_t wide[] = {
		[CU_POINTER_ATTRIBUTE_CONTEXT] = 8,
		[CU_POINTER_ATTRIBUTE_DEVICE_POINTER] = 8,
		[CU_POINTER_ATTRIBUTE_HOST_POINTER] = 8,
		[CU_POINTER_ATTRIBUTE_BUFFER_ID] = 8,
		[CU_POINTER_ATTRIBUTE_RANGE_START_ADDR] = 8,
		[CU_POINTER_ATTRIBUTE_RANGE_SIZE] = 8,
		[CU_POINTER_ATTRIBUTE_ALLOWED_HANDLE_TYPES] = 8,
		[CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE] = 8,
		[CU_POINTER_ATTRIBUTE_MAPPING_SIZE] = 8,
		[CU_POINTER_ATTRIBUTE_MAPPING_BASE_ADDR] = 8,
		[CU_POINTER_ATTRIBUTE_MEMORY_BLOCK_ID] = 8,
		[LAST] = 0,
	};

	if (attr == CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL)
		*(int *)out = CU_DEVICE_INVALID;
	else
		memset(out, 0, wide[attr] ? 8 : 4);
}

/* Unlike the other one it succeeds on any pointer. */
SOFT_API(cuPointerGetAttributes,
	 (unsigned int n, CUpointer_attribute *attrs, void **out,
	  CUdeviceptr p),
	 (n, attrs, out, p))
{
	struct soft_alloc *a;

	if (!n || !attrs || !out)
		return CUDA_ERROR_INVALID_VALUE;
	soft_guard(soft_map_lock);
	a = soft_map_find(p);
	for (unsigned i = 0; i < n; i++) {
		if (!(unsigned)attrs[i] || (unsigned)attrs[i] > LAST)
			return CUDA_ERROR_INVALID_VALUE;
		if (!a || get(out[i], (unsigned)attrs[i], a, p))
			none(out[i], (unsigned)attrs[i]);
	}
	return CUDA_SUCCESS;
}

SOFT_API(cuPointerSetAttribute,
	 (const void *value, CUpointer_attribute attr, CUdeviceptr p),
	 (value, attr, p))
{
	struct soft_alloc *a;

	if (!value || attr != CU_POINTER_ATTRIBUTE_SYNC_MEMOPS)
		return CUDA_ERROR_INVALID_VALUE;
	soft_guard(soft_map_lock);
	a = soft_map_find(p);
	if (!a || !soft_on_device(a))
		return CUDA_ERROR_INVALID_VALUE;
	a->sync_memops = *(const int *)value != 0;
	return CUDA_SUCCESS;
}
