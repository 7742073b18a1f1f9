/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Arrays: device memory with a shape of its own. Here the layout is rows; a
 * program only gets at it by copies.
 */
#include "soft.h"

static size_t format_bytes(unsigned format)
{
	switch (format) {
	case 0x01: /* unsigned and signed bytes */
	case 0x08:
		return 1;
	case 0x02: /* 16 bits, and half floats */
	case 0x09:
	case 0x10:
		return 2;
	case 0x03: /* 32 bits, and floats */
	case 0x0a:
	case 0x20:
		return 4;
	default:
		return 0;
	}
}

static CUresult make(CUarray *out, const CUDA_ARRAY3D_DESCRIPTOR *d)
{
	size_t element = format_bytes((unsigned)d->Format) * d->NumChannels;
	size_t rows = d->Height ? d->Height : 1;
	size_t slices = d->Depth ? d->Depth : 1;
	CUcontext ctx;
	CUarray a;
	CUresult res = soft_current(&ctx);

	if (!res)
		res = soft_capture_unsafe();
	if (res)
		return res;
	if (!out || !element || !d->Width ||
	    (d->NumChannels != 1 && d->NumChannels != 2 &&
	     d->NumChannels != 4))
		return CUDA_ERROR_INVALID_VALUE;
	a = soft_new(SOFT_ARRAY, sizeof(*a));
	if (!a)
		return CUDA_ERROR_OUT_OF_MEMORY;
	a->desc = *d;
	a->element = element;
	a->pitch = soft_round_up(d->Width * element, (size_t)512);
	a->slice = a->pitch * rows;
	res = soft_device_alloc(ctx, ctx->dev, a->slice * slices,
				SOFT_MEM_DEVICE, &a->memory);
	if (res)
		soft_delete(a);
	else
		*out = a;
	return res;
}

SOFT_API(cuArrayCreate_v2, (CUarray * out, const CUDA_ARRAY_DESCRIPTOR *d),
	 (out, d))
{
	CUDA_ARRAY3D_DESCRIPTOR full = {0};

	if (!d)
		return CUDA_ERROR_INVALID_VALUE;
	full.Width = d->Width;
	full.Height = d->Height;
	full.Format = d->Format;
	full.NumChannels = d->NumChannels;
	return make(out, &full);
}

SOFT_API(cuArray3DCreate_v2, (CUarray * out, const CUDA_ARRAY3D_DESCRIPTOR *d),
	 (out, d))
{
	if (!d || d->Flags)
		return CUDA_ERROR_INVALID_VALUE;
	return make(out, d);
}

SOFT_API(cuArrayDestroy, (CUarray a), (a))
{
	CUcontext ctx;
	CUresult res = soft_check(a, SOFT_ARRAY);

	if (!res)
		res = soft_current(&ctx);
	if (res)
		return res;
	soft_ctx_sync(ctx);
	pthread_mutex_lock(&soft_map_lock);
	soft_map_remove(a->memory);
	pthread_mutex_unlock(&soft_map_lock);
	soft_alloc_destroy(a->memory);
	soft_delete(a);
	return CUDA_SUCCESS;
}

SOFT_API(cuArray3DGetDescriptor_v2, (CUDA_ARRAY3D_DESCRIPTOR * out, CUarray a),
	 (out, a))
{
	CUresult res = soft_check(a, SOFT_ARRAY);

	if (!res && !out)
		res = CUDA_ERROR_INVALID_VALUE;
	if (!res)
		*out = a->desc;
	return res;
}

SOFT_API(cuArrayGetDescriptor_v2, (CUDA_ARRAY_DESCRIPTOR * out, CUarray a),
	 (out, a))
{
	CUresult res = soft_check(a, SOFT_ARRAY);

	if (!res && !out)
		res = CUDA_ERROR_INVALID_VALUE;
	if (res)
		return res;
	out->Width = a->desc.Width;
	out->Height = a->desc.Height;
	out->Format = a->desc.Format;
	out->NumChannels = a->desc.NumChannels;
	return CUDA_SUCCESS;
}
