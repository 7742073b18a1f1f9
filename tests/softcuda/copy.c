/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What every copy and memset passes: is each side in bounds of one live
 * allocation, of the kind that the call says, and how much must the caller
 * wait. Pageable memory is read before an asynchronous call returns (small
 * copies through a staging buffer), and written before it returns.
 */
#include <stdlib.h>
#include <string.h>
#include "array.h"

#define STAGED ((size_t)64 << 10)

static CUresult out_of_bounds(void)
{
	soft_count(bad_ranges, 1);
	return CUDA_ERROR_INVALID_VALUE;
}

/* Mappings of the VMM calls are one range where they touch. */
static bool covers(const struct soft_alloc *a, uintptr_t addr, size_t len)
{
	while (addr + len > a->base + a->size) {
		const struct soft_alloc *next;

		if (a->kind != SOFT_MEM_VMM)
			return false;
		next = soft_map_find(a->base + a->size);
		if (!next || next->kind != SOFT_MEM_VMM)
			return false;
		a = next;
	}
	return true;
}

CUresult soft_range_check(uintptr_t addr, size_t len, unsigned type,
			  enum soft_place *out)
{
	const struct soft_alloc *a;

	if (!addr || addr + len < addr)
		return out_of_bounds();
	soft_guard(soft_map_lock);
	a = soft_map_find(addr);
	if (!a) {
		if (type == CU_MEMORYTYPE_DEVICE || soft_va_is_device(addr) ||
		    soft_map_overlap(addr, len))
			return out_of_bounds();
		*out = SOFT_PAGEABLE;
		return CUDA_SUCCESS;
	}
	if (!covers(a, addr, len) || a->freeing)
		return out_of_bounds();
	if (type == CU_MEMORYTYPE_HOST && soft_on_device(a) &&
	    a->kind != SOFT_MEM_MANAGED)
		return out_of_bounds();
	if (a->kind == SOFT_MEM_MANAGED && type == CU_MEMORYTYPE_HOST)
		*out = SOFT_LOCKED;
	else
		*out = soft_on_device(a) ? SOFT_DEVICE : SOFT_LOCKED;
	return CUDA_SUCCESS;
}

/* From the first byte to the last. */
static bool extent(const struct soft_side *side, size_t width, size_t height,
		   size_t depth, size_t *len)
{
	size_t rows, slices;

	return !__builtin_mul_overflow(height - 1, side->pitch, &rows) &&
	       !__builtin_mul_overflow(depth - 1, side->slice, &slices) &&
	       !__builtin_add_overflow(rows, slices, &rows) &&
	       !__builtin_add_overflow(rows, width, len);
}

static CUresult side_check(const struct soft_side *side, size_t width,
			   size_t height, size_t depth, enum soft_place *place)
{
	size_t len;

	if ((height > 1 && side->pitch < width) ||
	    (depth > 1 && side->slice < (height - 1) * side->pitch + width) ||
	    !extent(side, width, height, depth, &len))
		return out_of_bounds();
	return soft_range_check(side->addr, len, side->type, place);
}

CUresult soft_copy_prepare(struct soft_op *op, struct soft_side dst,
			   struct soft_side src, size_t width, size_t height,
			   size_t depth)
{
	enum soft_place to = SOFT_PAGEABLE, from = SOFT_PAGEABLE;
	struct soft_copy *c = &op->copy;
	CUresult res = CUDA_SUCCESS;

	*op = (struct soft_op){.kind = SOFT_OP_COPY};
	if (width && height && depth) {
		res = side_check(&dst, width, height, depth, &to);
		if (!res)
			res = side_check(&src, width, height, depth, &from);
	} else {
		width = height = depth = 0;
	}
	if (res)
		return res;
	c->dst = (char *)dst.addr;
	c->src = (const char *)src.addr;
	c->dst_pitch = dst.pitch;
	c->dst_slice = dst.slice;
	c->src_pitch = src.pitch;
	c->src_slice = src.slice;
	c->width = width;
	c->height = height;
	c->depth = depth;
	c->dir = (uint8_t)((from == SOFT_DEVICE) * 2 + (to == SOFT_DEVICE));
	c->pageable = width && (to == SOFT_PAGEABLE || from == SOFT_PAGEABLE);
	return CUDA_SUCCESS;
}

/* The source's bytes as they are now. */
static bool stage(struct soft_copy *c)
{
	size_t bytes = c->width * c->height * c->depth;
	char *at;

	if (c->dir != SOFT_H2D || bytes > STAGED)
		return false;
	at = c->staged = malloc(bytes);
	if (!at)
		return false;
	for (size_t z = 0; z < c->depth; z++)
		for (size_t y = 0; y < c->height; y++, at += c->width)
			memcpy(at, c->src + z * c->src_slice + y * c->src_pitch,
			       c->width);
	c->src = c->staged;
	c->src_pitch = c->width;
	c->src_slice = c->width * c->height;
	return true;
}

CUresult soft_copy_submit(CUstream s, struct soft_op *op, bool sync)
{
	struct soft_copy *c = &op->copy;
	CUresult res;

	if (sync) {
		res = soft_capture_sync(s);
		if (res)
			return res;
		return c->dir == SOFT_D2D ? soft_submit(s, op, NULL)
					  : soft_submit_wait(s, op);
	}
	if (!c->pageable || s->capture || stage(c))
		return soft_submit(s, op, NULL);
	return soft_submit_wait(s, op);
}

static CUresult side_3d(struct soft_side *out, CUmemorytype type,
			const void *host, CUdeviceptr dev, CUarray array,
			const size_t at[3], size_t pitch, size_t height)
{
	size_t slice = pitch * height;

	switch ((int)type) {
	case CU_MEMORYTYPE_HOST:
		*out = (struct soft_side){(uintptr_t)host, pitch, slice, type};
		break;
	case CU_MEMORYTYPE_DEVICE:
	case CU_MEMORYTYPE_UNIFIED:
		*out = (struct soft_side){dev, pitch, slice, type};
		break;
	case CU_MEMORYTYPE_ARRAY:
		if (soft_check(array, SOFT_ARRAY))
			return CUDA_ERROR_INVALID_HANDLE;
		*out = (struct soft_side){soft_array_at(array), array->pitch,
					  array->slice, CU_MEMORYTYPE_DEVICE};
		break;
	default:
		return CUDA_ERROR_INVALID_VALUE;
	}
	if (!out->addr)
		return CUDA_ERROR_INVALID_VALUE;
	out->addr += at[0] + at[1] * out->pitch + at[2] * out->slice;
	return CUDA_SUCCESS;
}

CUresult soft_copy_3d(struct soft_op *op, const CUDA_MEMCPY3D *p)
{
	size_t src_at[3] = {p->srcXInBytes, p->srcY, p->srcZ};
	size_t dst_at[3] = {p->dstXInBytes, p->dstY, p->dstZ};
	size_t sp = p->srcPitch ? p->srcPitch : p->WidthInBytes;
	size_t dp = p->dstPitch ? p->dstPitch : p->WidthInBytes;
	struct soft_side src, dst;
	CUresult res;

	if (p->srcLOD || p->dstLOD)
		return CUDA_ERROR_INVALID_VALUE;
	res = side_3d(&src, p->srcMemoryType, p->srcHost, p->srcDevice,
		      p->srcArray, src_at, sp,
		      p->srcHeight ? p->srcHeight : p->Height);
	if (!res)
		res = side_3d(&dst, p->dstMemoryType, p->dstHost, p->dstDevice,
			      p->dstArray, dst_at, dp,
			      p->dstHeight ? p->dstHeight : p->Height);
	return res ? res
		   : soft_copy_prepare(op, dst, src, p->WidthInBytes, p->Height,
				       p->Depth);
}

CUresult soft_set_prepare(struct soft_op *op, CUdeviceptr dst, size_t pitch,
			  uint32_t value, unsigned elem, size_t width,
			  size_t height)
{
	struct soft_side side = {dst, pitch, 0, CU_MEMORYTYPE_DEVICE};
	enum soft_place place;
	size_t bytes;

	*op = (struct soft_op){.kind = SOFT_OP_SET};
	if (elem != 1 && elem != 2 && elem != 4)
		return CUDA_ERROR_INVALID_VALUE;
	if (!width || !height) {
		op->set.elem = elem;
		return CUDA_SUCCESS;
	}
	if (dst % elem || (height > 1 && pitch % elem) ||
	    __builtin_mul_overflow(width, elem, &bytes))
		return CUDA_ERROR_INVALID_VALUE;
	op->set.dst = (char *)dst;
	op->set.pitch = pitch;
	op->set.width = width;
	op->set.height = height;
	op->set.value = value;
	op->set.elem = elem;
	return side_check(&side, bytes, height, 1, &place);
}
