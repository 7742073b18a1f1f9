/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Copies in batches. They have no node: refused on a capturing stream, which
 * goes on capturing. The version of 12.8 has one argument more.
 */
#include <stdlib.h>
#include "array.h"

/* The attributes of copy i: the last set that begins at or before it. */
static bool attributes_valid(const CUmemcpyAttributes *attrs,
			     const size_t *first, size_t n_attrs, size_t n)
{
	if (!attrs || !first || !n_attrs || n_attrs > n || first[0])
		return false;
	for (size_t i = 0; i < n_attrs; i++)
		if (first[i] >= n || (i && first[i] <= first[i - 1]) ||
		    !attrs[i].srcAccessOrder ||
		    attrs[i].srcAccessOrder > CU_MEMCPY_SRC_ACCESS_ORDER_ANY)
			return false;
	return true;
}

static CUresult stream_of(bool pt, CUstream handle, CUstream *s)
{
	CUresult res = soft_stream(handle, pt, s);

	if (!res)
		res = soft_capture_absent(*s);
	if (!res && (*s)->legacy)
		res = CUDA_ERROR_INVALID_VALUE;
	return res;
}

/* All are checked before the first is queued. */
static CUresult run(CUstream s, struct soft_op *ops, size_t n, CUresult res,
		    size_t bad, size_t *fail)
{
	if (res) {
		if (fail)
			*fail = bad;
		free(ops);
		return res;
	}
	for (size_t i = 0; !res && i < n; i++)
		res = soft_copy_submit(s, &ops[i], false);
	free(ops);
	return res;
}

static CUresult linear(bool pt, CUdeviceptr *dsts, CUdeviceptr *srcs,
		       size_t *sizes, size_t n, CUmemcpyAttributes *attrs,
		       size_t *first, size_t n_attrs, size_t *fail,
		       CUstream handle)
{
	struct soft_op *ops;
	size_t i;
	CUstream s;
	CUresult res = stream_of(pt, handle, &s);

	if (fail)
		*fail = SIZE_MAX;
	if (res)
		return res;
	if (!n || !dsts || !srcs || !sizes ||
	    !attributes_valid(attrs, first, n_attrs, n))
		return CUDA_ERROR_INVALID_VALUE;
	ops = calloc(n, sizeof(*ops));
	if (!ops)
		return CUDA_ERROR_OUT_OF_MEMORY;
	for (i = 0; i < n; i++) {
		struct soft_side to = {dsts[i], sizes[i], sizes[i],
				       CU_MEMORYTYPE_UNIFIED};
		struct soft_side from = {srcs[i], sizes[i], sizes[i],
					 CU_MEMORYTYPE_UNIFIED};

		res = soft_copy_prepare(&ops[i], to, from, sizes[i], 1, 1);
		if (res)
			break;
	}
	return run(s, ops, n, res, i, fail);
}

SOFT_STREAM_API(cuMemcpyBatchAsync,
		(CUdeviceptr * dsts, CUdeviceptr *srcs, size_t *sizes,
		 size_t n, CUmemcpyAttributes *attrs, size_t *first,
		 size_t n_attrs, size_t *fail, CUstream s),
		(dsts, srcs, sizes, n, attrs, first, n_attrs, fail, s))
{
	return linear(pt, dsts, srcs, sizes, n, attrs, first, n_attrs, fail,
		      s);
}

SOFT_STREAM_API(cuMemcpyBatchAsync_v2,
		(CUdeviceptr * dsts, CUdeviceptr *srcs, size_t *sizes,
		 size_t n, CUmemcpyAttributes *attrs, size_t *first,
		 size_t n_attrs, CUstream s),
		(dsts, srcs, sizes, n, attrs, first, n_attrs, s))
{
	return linear(pt, dsts, srcs, sizes, n, attrs, first, n_attrs, NULL,
		      s);
}

static CUresult operand(struct soft_side *out, const CUmemcpy3DOperand *o,
			const CUextent3D *e)
{
	if (o->type == CU_MEMCPY_OPERAND_TYPE_POINTER) {
		size_t row = o->op.ptr.rowLength ? o->op.ptr.rowLength
						 : e->width;
		size_t rows = o->op.ptr.layerHeight ? o->op.ptr.layerHeight
						    : e->height;

		*out = (struct soft_side){o->op.ptr.ptr, row, row * rows,
					  CU_MEMORYTYPE_UNIFIED};
		return CUDA_SUCCESS;
	}
	if (o->type != CU_MEMCPY_OPERAND_TYPE_ARRAY ||
	    soft_check(o->op.array.array, SOFT_ARRAY) ||
	    !o->op.array.array->memory)
		return CUDA_ERROR_INVALID_VALUE;
	*out = (struct soft_side){
		soft_array_at(o->op.array.array) +
			o->op.array.offset.x * o->op.array.array->element +
			o->op.array.offset.y * o->op.array.array->pitch +
			o->op.array.offset.z * o->op.array.array->slice,
		o->op.array.array->pitch, o->op.array.array->slice,
		CU_MEMORYTYPE_DEVICE};
	return CUDA_SUCCESS;
}

static CUresult cubes(bool pt, size_t n, CUDA_MEMCPY3D_BATCH_OP *list,
		      size_t *fail, unsigned long long flags, CUstream handle)
{
	struct soft_op *ops;
	size_t i;
	CUstream s;
	CUresult res = stream_of(pt, handle, &s);

	if (fail)
		*fail = SIZE_MAX;
	if (res)
		return res;
	if (!n || !list || flags)
		return CUDA_ERROR_INVALID_VALUE;
	ops = calloc(n, sizeof(*ops));
	if (!ops)
		return CUDA_ERROR_OUT_OF_MEMORY;
	for (i = 0; i < n; i++) {
		const CUextent3D *e = &list[i].extent;
		struct soft_side to = {0}, from = {0};

		res = operand(&to, &list[i].dst, e);
		if (!res)
			res = operand(&from, &list[i].src, e);
		if (!res)
			res = soft_copy_prepare(&ops[i], to, from, e->width,
						e->height, e->depth);
		if (res)
			break;
	}
	return run(s, ops, n, res, i, fail);
}

SOFT_STREAM_API(cuMemcpy3DBatchAsync,
		(size_t n, CUDA_MEMCPY3D_BATCH_OP *list, size_t *fail,
		 unsigned long long flags, CUstream s),
		(n, list, fail, flags, s))
{
	return cubes(pt, n, list, fail, flags, s);
}

SOFT_STREAM_API(cuMemcpy3DBatchAsync_v2,
		(size_t n, CUDA_MEMCPY3D_BATCH_OP *list,
		 unsigned long long flags, CUstream s),
		(n, list, flags, s))
{
	return cubes(pt, n, list, NULL, flags, s);
}
