/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Memory: from what a driver function says to what the map knows.
 */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif
#include "cuda_hooks.h"
#include "base/util.h"

enum { CAPTURING = 1 }; /* CU_STREAM_CAPTURE_STATUS_ACTIVE */

/* Contexts may be born unseen, through private tables: the driver is asked. */
static uint64_t owner_now(void)
{
	CUcontext c = NULL;

	if (!hz_cu_has(HZ_CU_cuCtxGetCurrent) || HZ_REAL(cuCtxGetCurrent)(&c))
		return 0;
	return (uintptr_t)c;
}

/* Once a device: how much memory it has. */
static void note_device(void)
{
	static uint64_t noted; /* bit: device */
	CUdevice dev = 0;
	size_t bytes = 0;

	if (HZ_REAL(cuCtxGetDevice)(&dev) || dev < 0 || dev > 63 ||
	    (__atomic_load_n(&noted, __ATOMIC_RELAXED) >> dev) & 1)
		return;
	if (!HZ_REAL(cuDeviceTotalMem_v2)(&bytes, dev))
		hz_gpu_device(dev, bytes);
	__atomic_fetch_or(&noted, 1ull << dev, __ATOMIC_RELAXED);
}

void hz_cu_alloc(CUdeviceptr p, size_t bytes, enum hz_gpu_origin origin)
{
	if (!p)
		return;
	hz_gpu_started(); /* perhaps by a private table */
	note_device();
	hz_gpu_add(p, bytes, origin, owner_now());
}

bool hz_cu_capturing(CUstream stream, bool own)
{
	CUstreamCaptureStatus status = 0;
	CUresult rc;

	if (!hz_gpu_capturing())
		return false;
	if (own)
		rc = HZ_REAL(cuStreamIsCapturing_ptsz)(stream, &status);
	else
		rc = HZ_REAL(cuStreamIsCapturing)(stream, &status);
	return rc == CUDA_SUCCESS && status == CAPTURING;
}

/* In a capture this is a node: memory comes when the graph runs. */
void hz_cu_alloc_on(CUdeviceptr p, size_t bytes, enum hz_gpu_origin origin,
		    CUstream stream, bool own)
{
	if (hz_cu_capturing(stream, own))
		origin = HZ_GPU_GRAPH;
	hz_cu_alloc(p, bytes, origin);
}

void hz_cu_free_on(struct hz_gpu_taken *taken, CUdeviceptr p, CUstream stream,
		   bool own)
{
	if (!hz_cu_capturing(stream, own))
		hz_gpu_take(p, taken);
}

void hz_cu_imported(CUdeviceptr p)
{
	CUdeviceptr base = 0;
	size_t bytes = 0;

	/* What is not the whole of it is freed by the same address. */
	if (!HZ_REAL(cuMemGetAddressRange_v2)(&base, &bytes, p))
		hz_gpu_imported(p, base + bytes - p, owner_now());
}

void hz_cu_global(const CUdeviceptr *p, const size_t *bytes, const void *module)
{
	if (p && bytes)
		hz_gpu_add(*p, *bytes, HZ_GPU_MODULE, (uintptr_t)module);
}

void hz_cu_unload(const void *module)
{
	hz_cu_func_forget();
	hz_gpu_owner_gone((uintptr_t)module);
}

void hz_cu_gone(uint64_t context)
{
	if (context)
		hz_gpu_owner_gone(context);
}

/* Retaining gives the handle; it is done only where that creates nothing. */
uint64_t hz_cu_primary(CUdevice dev)
{
	CUcontext c = NULL;
	unsigned flags;
	int active = 0;

	if (HZ_REAL(cuDevicePrimaryCtxGetState)(dev, &flags, &active) ||
	    !active || HZ_REAL(cuDevicePrimaryCtxRetain)(&c, dev))
		return 0;
	HZ_REAL(cuDevicePrimaryCtxRelease_v2)(dev);
	return (uintptr_t)c;
}

void hz_cu_primary_gone(CUdevice dev, uint64_t context)
{
	unsigned flags;
	int active = 1;

	if (!HZ_REAL(cuDevicePrimaryCtxGetState)(dev, &flags, &active) &&
	    !active)
		hz_cu_gone(context);
}

/* ---- copies ---- */

static CUdeviceptr at(CUmemorytype type, CUdeviceptr device, const void *host,
		      CUarray array, size_t offset)
{
	if (type == CU_MEM_HOST)
		return HZ_PTR(host) + offset;
	return type == CU_MEM_ARRAY ? HZ_ARRAY(array) : device + offset;
}

void hz_cu_copy_2d(const CUDA_MEMCPY2D *c)
{
	size_t to = c->dstY * c->dstPitch + c->dstXInBytes;
	size_t from = c->srcY * c->srcPitch + c->srcXInBytes;

	hz_gpu_copied(
		at(c->dstMemoryType, c->dstDevice, c->dstHost, c->dstArray, to),
		at(c->srcMemoryType, c->srcDevice, c->srcHost, c->srcArray,
		   from),
		c->WidthInBytes * c->Height);
}

CUdeviceptr hz_cu_copy_3d_to(const CUDA_MEMCPY3D *c)
{
	size_t row = c->dstZ * c->dstHeight + c->dstY;

	return at(c->dstMemoryType, c->dstDevice, c->dstHost, c->dstArray,
		  row * c->dstPitch + c->dstXInBytes);
}

CUdeviceptr hz_cu_copy_3d_from(const CUDA_MEMCPY3D *c)
{
	size_t row = c->srcZ * c->srcHeight + c->srcY;

	return at(c->srcMemoryType, c->srcDevice, c->srcHost, c->srcArray,
		  row * c->srcPitch + c->srcXInBytes);
}

void hz_cu_copy_3d(const CUDA_MEMCPY3D *c)
{
	hz_gpu_copied(hz_cu_copy_3d_to(c), hz_cu_copy_3d_from(c),
		      c->WidthInBytes * c->Height * c->Depth);
}

void hz_cu_copy_batch(const CUdeviceptr *to, const CUdeviceptr *from,
		      const size_t *bytes, size_t n)
{
	for (size_t i = 0; i < n; i++)
		hz_gpu_copied(to[i], from[i], bytes[i]);
}

static CUdeviceptr operand(const CUmemcpy3DOperand *o)
{
	if (o->type == CU_OPERAND_ARRAY)
		return HZ_ARRAY(o->op.array.array);
	return o->type == CU_OPERAND_POINTER ? o->op.ptr.ptr : 0;
}

void hz_cu_copy_3d_batch(size_t n, const CUDA_MEMCPY3D_BATCH_OP *op)
{
	for (size_t i = 0; i < n; i++)
		hz_gpu_copied(operand(&op[i].dst), operand(&op[i].src),
			      op[i].extent.width * op[i].extent.height *
				      op[i].extent.depth);
}
