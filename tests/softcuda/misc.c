/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Calls that are little more than their answer: attributes of streams and
 * kernel nodes, user objects, occupancy, the pools of a location.
 */
#include <stdlib.h>
#include <string.h>
#include "soft.h"

SOFT_API(cuFuncSetSharedMemConfig, (CUfunction handle, CUsharedconfig config),
	 (handle, config))
{
	CUfunction f;

	return soft_function(handle, &f);
}

SOFT_API(cuOccupancyMaxPotentialBlockSize,
	 (int *grid, int *block, CUfunction handle,
	  CUoccupancyB2DSize by_block, size_t shared, int limit),
	 (grid, block, handle, by_block, shared, limit))
{
	CUfunction f;
	CUresult res = soft_function(handle, &f);

	if (!res && (!grid || !block || limit < 0))
		res = CUDA_ERROR_INVALID_VALUE;
	if (res)
		return res;
	*block = (int)f->kernel->max_threads;
	if (limit && limit < *block)
		*block = limit;
	/* The program says how much a block of this size would need. */
	while (by_block && *block > 1 && by_block(*block) > f->max_dynamic)
		*block /= 2;
	*grid = 8 * (2048 / *block);
	return CUDA_SUCCESS;
}

SOFT_API(cuOccupancyAvailableDynamicSMemPerBlock,
	 (size_t *out, CUfunction handle, int blocks, int threads),
	 (out, handle, blocks, threads))
{
	CUfunction f;
	CUresult res = soft_function(handle, &f);
	size_t each;

	if (!res && (!out || blocks <= 0 || threads <= 0 || threads > 1024))
		res = CUDA_ERROR_INVALID_VALUE;
	if (res)
		return res;
	each = 233472 / (size_t)blocks;
	*out = each > f->kernel->static_shared + 1024
		       ? each - f->kernel->static_shared - 1024
		       : 0;
	return CUDA_SUCCESS;
}

/* ---- the pool of a location: of devices only ---- */

static CUresult pool_device(const CUmemLocation *l, CUmemAllocationType type,
			    CUdevice *dev)
{
	if (!l || type != CU_MEM_ALLOCATION_TYPE_PINNED ||
	    l->type != CU_MEM_LOCATION_TYPE_DEVICE)
		return CUDA_ERROR_NOT_SUPPORTED;
	*dev = l->id;
	return CUDA_SUCCESS;
}

SOFT_API(cuMemGetDefaultMemPool,
	 (CUmemoryPool * out, CUmemLocation *l, CUmemAllocationType type),
	 (out, l, type))
{
	CUdevice dev;
	CUresult res = pool_device(l, type, &dev);

	return res ? res : cuDeviceGetDefaultMemPool(out, dev);
}

SOFT_API(cuMemGetMemPool,
	 (CUmemoryPool * out, CUmemLocation *l, CUmemAllocationType type),
	 (out, l, type))
{
	CUdevice dev;
	CUresult res = pool_device(l, type, &dev);

	return res ? res : cuDeviceGetMemPool(out, dev);
}

SOFT_API(cuMemSetMemPool,
	 (CUmemLocation * l, CUmemAllocationType type, CUmemoryPool pool),
	 (l, type, pool))
{
	CUdevice dev;
	CUresult res = pool_device(l, type, &dev);

	return res ? res : cuDeviceSetMemPool(dev, pool);
}

/* ---- user objects: a count, and a call at its end ---- */

struct CUuserObject_st {
	_Atomic unsigned refs;
	CUhostFn destroy;
	void *user;
};

SOFT_API(cuUserObjectCreate,
	 (CUuserObject * out, void *user, CUhostFn destroy,
	  unsigned int refs, unsigned int flags),
	 (out, user, destroy, refs, flags))
{
	CUuserObject o;

	if (!out || !destroy || !refs || flags != 1)
		return CUDA_ERROR_INVALID_VALUE;
	o = malloc(sizeof(*o));
	if (!o)
		return CUDA_ERROR_OUT_OF_MEMORY;
	atomic_store(&o->refs, refs);
	o->destroy = destroy;
	o->user = user;
	*out = o;
	return CUDA_SUCCESS;
}

SOFT_API(cuUserObjectRetain, (CUuserObject o, unsigned int n), (o, n))
{
	if (!o || !n)
		return CUDA_ERROR_INVALID_VALUE;
	atomic_fetch_add(&o->refs, n);
	return CUDA_SUCCESS;
}

SOFT_API(cuUserObjectRelease, (CUuserObject o, unsigned int n), (o, n))
{
	if (!o || !n || atomic_load(&o->refs) < n)
		return CUDA_ERROR_INVALID_VALUE;
	if (atomic_fetch_sub(&o->refs, n) == n) {
		o->destroy(o->user);
		free(o);
	}
	return CUDA_SUCCESS;
}
