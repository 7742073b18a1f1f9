/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The one-dimensional copies to and from arrays: an offset in bytes into a
 * row, one row only.
 */
#include "array.h"

static CUresult array_side(struct soft_side *out, CUarray a, size_t offset,
			   size_t n)
{
	if (soft_check(a, SOFT_ARRAY))
		return CUDA_ERROR_INVALID_HANDLE;
	if (!a->memory || offset > a->pitch || n > a->pitch - offset) {
		soft_count(bad_ranges, 1);
		return CUDA_ERROR_INVALID_VALUE;
	}
	*out = (struct soft_side){soft_array_at(a) + offset, n, n,
				  CU_MEMORYTYPE_DEVICE};
	return CUDA_SUCCESS;
}

static struct soft_side plain(uintptr_t addr, size_t n, unsigned type)
{
	return (struct soft_side){addr, n, n, type};
}

static CUresult copy(bool pt, CUstream handle, bool sync, CUresult res,
		     struct soft_side to, struct soft_side from, size_t n)
{
	struct soft_op op;
	CUstream s;

	if (!res)
		res = soft_stream(handle, pt, &s);
	if (!res)
		res = soft_copy_prepare(&op, to, from, n, 1, 1);
	return res ? res : soft_copy_submit(s, &op, sync);
}

SOFT_DEFAULT_API(cuMemcpyDtoA_v2,
		 (CUarray dst, size_t offset, CUdeviceptr src, size_t n),
		 (dst, offset, src, n))
{
	struct soft_side to = {0};
	CUresult res = array_side(&to, dst, offset, n);

	return copy(pt, NULL, true, res, to,
		    plain(src, n, CU_MEMORYTYPE_DEVICE), n);
}

SOFT_DEFAULT_API(cuMemcpyAtoD_v2,
		 (CUdeviceptr dst, CUarray src, size_t offset, size_t n),
		 (dst, src, offset, n))
{
	struct soft_side from = {0};
	CUresult res = array_side(&from, src, offset, n);

	return copy(pt, NULL, true, res, plain(dst, n, CU_MEMORYTYPE_DEVICE),
		    from, n);
}

SOFT_DEFAULT_API(cuMemcpyHtoA_v2,
		 (CUarray dst, size_t offset, const void *src, size_t n),
		 (dst, offset, src, n))
{
	struct soft_side to = {0};
	CUresult res = array_side(&to, dst, offset, n);

	return copy(pt, NULL, true, res, to,
		    plain((uintptr_t)src, n, CU_MEMORYTYPE_HOST), n);
}

SOFT_DEFAULT_API(cuMemcpyAtoH_v2,
		 (void *dst, CUarray src, size_t offset, size_t n),
		 (dst, src, offset, n))
{
	struct soft_side from = {0};
	CUresult res = array_side(&from, src, offset, n);

	return copy(pt, NULL, true, res,
		    plain((uintptr_t)dst, n, CU_MEMORYTYPE_HOST), from, n);
}

SOFT_STREAM_API(cuMemcpyHtoAAsync_v2,
		(CUarray dst, size_t offset, const void *src, size_t n,
		 CUstream s),
		(dst, offset, src, n, s))
{
	struct soft_side to = {0};
	CUresult res = array_side(&to, dst, offset, n);

	return copy(pt, s, false, res, to,
		    plain((uintptr_t)src, n, CU_MEMORYTYPE_HOST), n);
}

SOFT_STREAM_API(cuMemcpyAtoHAsync_v2,
		(void *dst, CUarray src, size_t offset, size_t n, CUstream s),
		(dst, src, offset, n, s))
{
	struct soft_side from = {0};
	CUresult res = array_side(&from, src, offset, n);

	return copy(pt, s, false, res,
		    plain((uintptr_t)dst, n, CU_MEMORYTYPE_HOST), from, n);
}

SOFT_DEFAULT_API(cuMemcpyAtoA_v2,
		 (CUarray dst, size_t dst_offset, CUarray src,
		  size_t src_offset, size_t n),
		 (dst, dst_offset, src, src_offset, n))
{
	struct soft_side to = {0}, from = {0};
	CUresult res = array_side(&to, dst, dst_offset, n);

	if (!res)
		res = array_side(&from, src, src_offset, n);
	return copy(pt, NULL, true, res, to, from, n);
}

/* ---- in a graph ---- */

/* One side of it, where that is an array. */
static void side_of(uintptr_t addr, CUmemorytype *type, CUarray *array,
		       size_t at[3])
{
	size_t inside;
	CUarray a = soft_array_with(addr, &inside);

	if (!a)
		return;
	*type = CU_MEMORYTYPE_ARRAY;
	*array = a;
	at[2] = inside / a->slice;
	at[1] = inside % a->slice / a->pitch;
	at[0] = inside % a->pitch;
}

void soft_array_sides(CUDA_MEMCPY3D *c)
{
	size_t to[3] = {0}, from[3] = {0};

	side_of(c->dstDevice, &c->dstMemoryType, &c->dstArray, to);
	side_of(c->srcDevice, &c->srcMemoryType, &c->srcArray, from);
	c->dstXInBytes = to[0];
	c->dstY = to[1];
	c->dstZ = to[2];
	c->srcXInBytes = from[0];
	c->srcY = from[1];
	c->srcZ = from[2];
}
