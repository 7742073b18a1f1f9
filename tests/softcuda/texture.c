/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Texture and surface objects: what they were made of can be asked for, and
 * is checked; no kernel here reads by them.
 */
#include "array.h"

enum { ARRAY, MIPMAP, LINEAR, PITCH2D }; /* CUresourcetype */
#define LINEAR_ALIGN 512u

struct texture {
	struct soft_object o;
	CUDA_RESOURCE_DESC resource;
	CUDA_TEXTURE_DESC texture;
	CUDA_RESOURCE_VIEW_DESC view;
	bool viewed;
};

static void *object_of(unsigned long long handle)
{
	return (void *)(uintptr_t)handle;
}

static CUresult memory_check(CUdeviceptr p, size_t bytes, unsigned format,
			     unsigned channels)
{
	enum soft_place place;

	if (!bytes || p % LINEAR_ALIGN || !soft_format_bytes(format) ||
	    (channels != 1 && channels != 2 && channels != 4))
		return CUDA_ERROR_INVALID_VALUE;
	return soft_range_check(p, bytes, CU_MEMORYTYPE_DEVICE, &place);
}

static CUresult resource_check(const CUDA_RESOURCE_DESC *r)
{
	if (!r || r->flags)
		return CUDA_ERROR_INVALID_VALUE;
	switch (r->resType) {
	case ARRAY:
		return soft_check(r->res.array.hArray, SOFT_ARRAY);
	case MIPMAP:
		return soft_check(r->res.mipmap.hMipmappedArray, SOFT_MIPMAP);
	case LINEAR:
		return memory_check(
			r->res.linear.devPtr, r->res.linear.sizeInBytes,
			r->res.linear.format, r->res.linear.numChannels);
	case PITCH2D:
		return memory_check(
			r->res.pitch2D.devPtr,
			r->res.pitch2D.pitchInBytes * r->res.pitch2D.height,
			r->res.pitch2D.format, r->res.pitch2D.numChannels);
	default:
		return CUDA_ERROR_INVALID_VALUE;
	}
}

static CUresult make(enum soft_kind kind, const CUDA_RESOURCE_DESC *r,
		     struct texture **out)
{
	CUcontext ctx;
	CUresult res = soft_current(&ctx);

	if (!res)
		res = resource_check(r);
	if (res)
		return res;
	*out = soft_new(kind, sizeof(**out));
	if (!*out)
		return CUDA_ERROR_OUT_OF_MEMORY;
	(*out)->resource = *r;
	soft_count(live_textures, 1);
	return CUDA_SUCCESS;
}

static CUresult destroy(unsigned long long handle, enum soft_kind kind)
{
	CUresult res = soft_check(object_of(handle), kind);

	if (res)
		return res;
	soft_delete(object_of(handle));
	soft_uncount(live_textures, 1);
	return CUDA_SUCCESS;
}

static CUresult find(unsigned long long handle, enum soft_kind kind,
		     const void *out, struct texture **t)
{
	*t = object_of(handle);
	if (!out)
		return CUDA_ERROR_INVALID_VALUE;
	return soft_check(*t, kind);
}

static CUresult resource_of(unsigned long long handle, enum soft_kind kind,
			    CUDA_RESOURCE_DESC *out)
{
	struct texture *t;
	CUresult res = find(handle, kind, out, &t);

	if (!res)
		*out = t->resource;
	return res;
}

SOFT_API(cuTexObjectCreate,
	 (CUtexObject * out, const CUDA_RESOURCE_DESC *r,
	  const CUDA_TEXTURE_DESC *d, const CUDA_RESOURCE_VIEW_DESC *v),
	 (out, r, d, v))
{
	struct texture *t;
	CUresult res = CUDA_ERROR_INVALID_VALUE;

	if (out && d && !(v && r && r->resType > MIPMAP))
		res = make(SOFT_TEXTURE, r, &t);
	if (res)
		return res;
	t->texture = *d;
	if (v) {
		t->view = *v;
		t->viewed = true;
	}
	*out = (uintptr_t)t;
	return CUDA_SUCCESS;
}

SOFT_API(cuTexObjectDestroy, (CUtexObject t), (t))
{
	return destroy(t, SOFT_TEXTURE);
}

SOFT_API(cuTexObjectGetResourceDesc,
	 (CUDA_RESOURCE_DESC * out, CUtexObject handle), (out, handle))
{
	return resource_of(handle, SOFT_TEXTURE, out);
}

SOFT_API(cuTexObjectGetTextureDesc,
	 (CUDA_TEXTURE_DESC * out, CUtexObject handle), (out, handle))
{
	struct texture *t;
	CUresult res = find(handle, SOFT_TEXTURE, out, &t);

	if (!res)
		*out = t->texture;
	return res;
}

SOFT_API(cuTexObjectGetResourceViewDesc,
	 (CUDA_RESOURCE_VIEW_DESC * out, CUtexObject handle), (out, handle))
{
	struct texture *t;
	CUresult res = find(handle, SOFT_TEXTURE, out, &t);

	if (!res && !t->viewed)
		res = CUDA_ERROR_INVALID_VALUE;
	if (!res)
		*out = t->view;
	return res;
}

SOFT_API(cuSurfObjectCreate, (CUsurfObject * out, const CUDA_RESOURCE_DESC *r),
	 (out, r))
{
	struct texture *t;
	CUresult res = CUDA_ERROR_INVALID_VALUE;

	if (out && r && r->resType == ARRAY)
		res = make(SOFT_SURFACE, r, &t);
	if (!res)
		*out = (uintptr_t)t;
	return res;
}

SOFT_API(cuSurfObjectDestroy, (CUsurfObject t), (t))
{
	return destroy(t, SOFT_SURFACE);
}

SOFT_API(cuSurfObjectGetResourceDesc,
	 (CUDA_RESOURCE_DESC * out, CUsurfObject handle), (out, handle))
{
	return resource_of(handle, SOFT_SURFACE, out);
}
