/* SPDX-License-Identifier: Apache-2.0 */
/* The copy calls of one, two and three dimensions, and among devices. */
#include "soft.h"

static CUresult linear(bool pt, CUstream handle, bool sync, uintptr_t dst,
		       unsigned dst_type, uintptr_t src, unsigned src_type,
		       size_t bytes)
{
	struct soft_side to = {dst, bytes, bytes, dst_type};
	struct soft_side from = {src, bytes, bytes, src_type};
	struct soft_op op;
	CUstream s;
	CUresult res = soft_stream(handle, pt, &s);

	if (!res)
		res = soft_copy_prepare(&op, to, from, bytes, 1, 1);
	return res ? res : soft_copy_submit(s, &op, sync);
}

SOFT_DEFAULT_API(cuMemcpy, (CUdeviceptr dst, CUdeviceptr src, size_t n),
		 (dst, src, n))
{
	return linear(pt, NULL, true, dst, CU_MEMORYTYPE_UNIFIED, src,
		      CU_MEMORYTYPE_UNIFIED, n);
}

SOFT_STREAM_API(cuMemcpyAsync,
		(CUdeviceptr dst, CUdeviceptr src, size_t n, CUstream s),
		(dst, src, n, s))
{
	return linear(pt, s, false, dst, CU_MEMORYTYPE_UNIFIED, src,
		      CU_MEMORYTYPE_UNIFIED, n);
}

SOFT_DEFAULT_API(cuMemcpyHtoD_v2, (CUdeviceptr dst, const void *src, size_t n),
		 (dst, src, n))
{
	return linear(pt, NULL, true, dst, CU_MEMORYTYPE_DEVICE,
		      (uintptr_t)src, CU_MEMORYTYPE_HOST, n);
}

SOFT_STREAM_API(cuMemcpyHtoDAsync_v2,
		(CUdeviceptr dst, const void *src, size_t n, CUstream s),
		(dst, src, n, s))
{
	return linear(pt, s, false, dst, CU_MEMORYTYPE_DEVICE, (uintptr_t)src,
		      CU_MEMORYTYPE_HOST, n);
}

SOFT_DEFAULT_API(cuMemcpyDtoH_v2, (void *dst, CUdeviceptr src, size_t n),
		 (dst, src, n))
{
	return linear(pt, NULL, true, (uintptr_t)dst, CU_MEMORYTYPE_HOST, src,
		      CU_MEMORYTYPE_DEVICE, n);
}

SOFT_STREAM_API(cuMemcpyDtoHAsync_v2,
		(void *dst, CUdeviceptr src, size_t n, CUstream s),
		(dst, src, n, s))
{
	return linear(pt, s, false, (uintptr_t)dst, CU_MEMORYTYPE_HOST, src,
		      CU_MEMORYTYPE_DEVICE, n);
}

SOFT_DEFAULT_API(cuMemcpyDtoD_v2, (CUdeviceptr dst, CUdeviceptr src, size_t n),
		 (dst, src, n))
{
	return linear(pt, NULL, true, dst, CU_MEMORYTYPE_DEVICE, src,
		      CU_MEMORYTYPE_DEVICE, n);
}

SOFT_STREAM_API(cuMemcpyDtoDAsync_v2,
		(CUdeviceptr dst, CUdeviceptr src, size_t n, CUstream s),
		(dst, src, n, s))
{
	return linear(pt, s, false, dst, CU_MEMORYTYPE_DEVICE, src,
		      CU_MEMORYTYPE_DEVICE, n);
}

static bool two_contexts(CUcontext a, CUcontext b)
{
	return soft_is(a, SOFT_CTX) && soft_is(b, SOFT_CTX);
}

SOFT_DEFAULT_API(cuMemcpyPeer,
		 (CUdeviceptr dst, CUcontext dst_ctx, CUdeviceptr src,
		  CUcontext src_ctx, size_t n),
		 (dst, dst_ctx, src, src_ctx, n))
{
	if (!two_contexts(dst_ctx, src_ctx))
		return CUDA_ERROR_INVALID_CONTEXT;
	return linear(pt, NULL, true, dst, CU_MEMORYTYPE_DEVICE, src,
		      CU_MEMORYTYPE_DEVICE, n);
}

SOFT_STREAM_API(cuMemcpyPeerAsync,
		(CUdeviceptr dst, CUcontext dst_ctx, CUdeviceptr src,
		 CUcontext src_ctx, size_t n, CUstream s),
		(dst, dst_ctx, src, src_ctx, n, s))
{
	if (!two_contexts(dst_ctx, src_ctx))
		return CUDA_ERROR_INVALID_CONTEXT;
	return linear(pt, s, false, dst, CU_MEMORYTYPE_DEVICE, src,
		      CU_MEMORYTYPE_DEVICE, n);
}

static CUresult cube(bool pt, CUstream handle, bool sync,
		     const CUDA_MEMCPY3D *p)
{
	struct soft_op op;
	CUstream s;
	CUresult res = soft_stream(handle, pt, &s);

	if (!res && !p)
		res = CUDA_ERROR_INVALID_VALUE;
	if (!res)
		res = soft_copy_3d(&op, p);
	return res ? res : soft_copy_submit(s, &op, sync);
}

static CUresult plane(bool pt, CUstream handle, bool sync,
		      const CUDA_MEMCPY2D *p)
{
	CUDA_MEMCPY3D q = {.Depth = 1};

	if (!p)
		return CUDA_ERROR_INVALID_VALUE;
	if ((p->srcPitch && p->srcPitch < p->WidthInBytes) ||
	    (p->dstPitch && p->dstPitch < p->WidthInBytes))
		return CUDA_ERROR_INVALID_VALUE;
	q.srcXInBytes = p->srcXInBytes;
	q.srcY = p->srcY;
	q.srcMemoryType = p->srcMemoryType;
	q.srcHost = p->srcHost;
	q.srcDevice = p->srcDevice;
	q.srcArray = p->srcArray;
	q.srcPitch = p->srcPitch;
	q.dstXInBytes = p->dstXInBytes;
	q.dstY = p->dstY;
	q.dstMemoryType = p->dstMemoryType;
	q.dstHost = p->dstHost;
	q.dstDevice = p->dstDevice;
	q.dstArray = p->dstArray;
	q.dstPitch = p->dstPitch;
	q.WidthInBytes = p->WidthInBytes;
	q.Height = p->Height;
	return cube(pt, handle, sync, &q);
}

SOFT_DEFAULT_API(cuMemcpy2D_v2, (const CUDA_MEMCPY2D *p), (p))
{
	return plane(pt, NULL, true, p);
}

SOFT_DEFAULT_API(cuMemcpy2DUnaligned_v2, (const CUDA_MEMCPY2D *p), (p))
{
	return plane(pt, NULL, true, p);
}

SOFT_STREAM_API(cuMemcpy2DAsync_v2, (const CUDA_MEMCPY2D *p, CUstream s),
		(p, s))
{
	return plane(pt, s, false, p);
}

SOFT_DEFAULT_API(cuMemcpy3D_v2, (const CUDA_MEMCPY3D *p), (p))
{
	return cube(pt, NULL, true, p);
}

SOFT_STREAM_API(cuMemcpy3DAsync_v2, (const CUDA_MEMCPY3D *p, CUstream s),
		(p, s))
{
	return cube(pt, s, false, p);
}

/* The two structures differ in the contexts only, where the other one has
 * reserved words. */
static CUresult peer_cube(bool pt, CUstream handle, bool sync,
			  const CUDA_MEMCPY3D_PEER *p)
{
	if (!p || !two_contexts(p->srcContext, p->dstContext))
		return CUDA_ERROR_INVALID_VALUE;
	return cube(pt, handle, sync, (const CUDA_MEMCPY3D *)p);
}

SOFT_DEFAULT_API(cuMemcpy3DPeer, (const CUDA_MEMCPY3D_PEER *p), (p))
{
	return peer_cube(pt, NULL, true, p);
}

SOFT_STREAM_API(cuMemcpy3DPeerAsync,
		(const CUDA_MEMCPY3D_PEER *p, CUstream s), (p, s))
{
	return peer_cube(pt, s, false, p);
}
