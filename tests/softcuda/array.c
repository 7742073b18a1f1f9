/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Arrays: device memory with a shape of its own. Here the layout is rows
 * without gaps, one level of a mipmapped one behind the other; a program only
 * gets at it by copies. The object ends with its memory, which a context may
 * end too.
 */
#include "array.h"

#define LEVELS 32u
#define PAGE   ((size_t)64 << 10) /* what a later mapping would be made of */
/* Of a descriptor. */
#define LAYERED	 0x01u
#define CUBEMAP	 0x04u
#define SPARSE	 0x40u
#define DEFERRED 0x80u

struct CUmipmappedArray_st {
	struct soft_object o;
	struct soft_alloc *memory;
	CUDA_ARRAY3D_DESCRIPTOR desc;
	unsigned levels;
	CUarray level[LEVELS];
};

size_t soft_format_bytes(unsigned format)
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

/* ---- shapes ---- */

static size_t extent_at(size_t extent, unsigned level)
{
	return extent >> level ? extent >> level : extent != 0;
}

static CUDA_ARRAY3D_DESCRIPTOR desc_at(CUDA_ARRAY3D_DESCRIPTOR d,
				       unsigned level)
{
	d.Width = extent_at(d.Width, level);
	d.Height = extent_at(d.Height, level);
	if (!(d.Flags & (LAYERED | CUBEMAP)))
		d.Depth = extent_at(d.Depth, level);
	return d;
}

static void shape(CUarray a)
{
	a->element = soft_format_bytes(a->desc.Format) * a->desc.NumChannels;
	a->pitch = a->desc.Width * a->element;
	a->slice = a->pitch * (a->desc.Height ? a->desc.Height : 1);
}

static bool is_cube(const CUDA_ARRAY3D_DESCRIPTOR *d)
{
	return d->Width == d->Height && d->Depth && d->Depth % 6 == 0 &&
	       (d->Depth == 6 || d->Flags & LAYERED);
}

static CUresult desc_check(const CUDA_ARRAY3D_DESCRIPTOR *d)
{
	if (!d || !d->Width || !soft_format_bytes(d->Format) ||
	    (d->NumChannels != 1 && d->NumChannels != 2 &&
	     d->NumChannels != 4) ||
	    d->Flags & ~0xffu || (d->Flags & CUBEMAP && !is_cube(d)) ||
	    (d->Flags & LAYERED && !d->Depth) ||
	    (!d->Height && d->Depth && !(d->Flags & LAYERED)))
		return CUDA_ERROR_INVALID_VALUE;
	return CUDA_SUCCESS;
}

/* Of all levels together; false if that is no number. */
static bool bytes_of(const CUDA_ARRAY3D_DESCRIPTOR *d, unsigned levels,
		     size_t *bytes)
{
	size_t element = soft_format_bytes(d->Format) * d->NumChannels;

	*bytes = 0;
	for (unsigned i = 0; i < levels; i++) {
		CUDA_ARRAY3D_DESCRIPTOR l = desc_at(*d, i);
		size_t n = element;

		if (__builtin_mul_overflow(n, l.Width, &n) ||
		    __builtin_mul_overflow(n, l.Height ? l.Height : 1, &n) ||
		    __builtin_mul_overflow(n, l.Depth ? l.Depth : 1, &n) ||
		    __builtin_add_overflow(*bytes, n, bytes))
			return false;
	}
	return true;
}

/* ---- memory ---- */

static CUresult may_make(CUcontext *ctx)
{
	CUresult res = soft_current(ctx);

	return res ? res : soft_capture_unsafe();
}

static bool is_later(const CUDA_ARRAY3D_DESCRIPTOR *d)
{
	return d->Flags & (SPARSE | DEFERRED);
}

/* None for what is to be mapped later. */
static CUresult take_memory(CUcontext ctx, const CUDA_ARRAY3D_DESCRIPTOR *d,
			    unsigned levels, void *object,
			    struct soft_alloc **out)
{
	size_t bytes;
	CUresult res;

	*out = NULL;
	if (is_later(d))
		return CUDA_SUCCESS;
	if (!bytes_of(d, levels, &bytes))
		return CUDA_ERROR_OUT_OF_MEMORY;
	soft_exclusively();
	res = soft_device_alloc(ctx, ctx->dev, bytes, SOFT_MEM_ARRAY, out);
	if (!res)
		(*out)->object = object;
	return res;
}

static void free_memory(struct soft_alloc *memory)
{
	pthread_mutex_lock(&soft_map_lock);
	soft_map_remove(memory);
	pthread_mutex_unlock(&soft_map_lock);
	soft_alloc_destroy(memory);
}

static void mipmap_gone(CUmipmappedArray m)
{
	for (unsigned i = 0; i < m->levels; i++)
		if (m->level[i])
			soft_delete(m->level[i]);
	soft_delete(m);
}

void soft_array_gone(void *object)
{
	if (soft_is(object, SOFT_MIPMAP))
		mipmap_gone(object);
	else
		soft_delete(object);
}

uintptr_t soft_array_at(CUarray a)
{
	return a->memory ? a->memory->base + a->at : 0;
}

static CUresult requirements(CUDA_ARRAY_MEMORY_REQUIREMENTS *out,
			     const CUDA_ARRAY3D_DESCRIPTOR *d, unsigned levels,
			     CUdevice handle)
{
	struct soft_device *dev;
	size_t bytes;
	CUresult res = soft_device(handle, &dev);

	if (res)
		return res;
	if (!out || !is_later(d) || !bytes_of(d, levels, &bytes))
		return CUDA_ERROR_INVALID_VALUE;
	*out = (CUDA_ARRAY_MEMORY_REQUIREMENTS){
		.size = soft_round_up(bytes, PAGE), .alignment = PAGE};
	return CUDA_SUCCESS;
}

/* ---- arrays ---- */

static CUresult may_make_of(const void *out, const CUDA_ARRAY3D_DESCRIPTOR *d,
			    CUcontext *ctx)
{
	CUresult res = may_make(ctx);

	if (res)
		return res;
	return out ? desc_check(d) : CUDA_ERROR_INVALID_VALUE;
}

static CUresult make(CUarray *out, const CUDA_ARRAY3D_DESCRIPTOR *d)
{
	CUcontext ctx;
	CUarray a;
	CUresult res = may_make_of(out, d, &ctx);

	if (res)
		return res;
	a = soft_new(SOFT_ARRAY, sizeof(*a));
	if (!a)
		return CUDA_ERROR_OUT_OF_MEMORY;
	a->desc = *d;
	shape(a);
	res = take_memory(ctx, d, 1, a, &a->memory);
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
	return make(out, d);
}

/* A level ends with its mipmapped array. */
SOFT_API(cuArrayDestroy, (CUarray a), (a))
{
	CUcontext ctx;
	CUresult res = soft_check(a, SOFT_ARRAY);

	if (!res && a->level)
		res = CUDA_ERROR_INVALID_HANDLE;
	if (!res)
		res = soft_current(&ctx);
	if (res)
		return res;
	soft_ctx_sync(ctx);
	if (a->memory)
		free_memory(a->memory);
	else
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

SOFT_API(cuArrayGetMemoryRequirements,
	 (CUDA_ARRAY_MEMORY_REQUIREMENTS * out, CUarray a, CUdevice dev),
	 (out, a, dev))
{
	CUresult res = soft_check(a, SOFT_ARRAY);

	return res ? res : requirements(out, &a->desc, 1, dev);
}

/* ---- mipmapped ones ---- */

static unsigned clamp_levels(const CUDA_ARRAY3D_DESCRIPTOR *d, unsigned levels)
{
	unsigned most = 1;

	for (unsigned i = 1; i < LEVELS; i++) {
		CUDA_ARRAY3D_DESCRIPTOR l = desc_at(*d, i - 1);

		if (l.Width <= 1 && l.Height <= 1 &&
		    (l.Depth <= 1 || d->Flags & (LAYERED | CUBEMAP)))
			break;
		most = i + 1;
	}
	if (!levels)
		levels = 1;
	return levels < most ? levels : most;
}

SOFT_API(cuMipmappedArrayCreate,
	 (CUmipmappedArray * out, const CUDA_ARRAY3D_DESCRIPTOR *d,
	  unsigned int levels),
	 (out, d, levels))
{
	CUmipmappedArray m;
	CUcontext ctx;
	CUresult res = may_make_of(out, d, &ctx);

	if (res)
		return res;
	m = soft_new(SOFT_MIPMAP, sizeof(*m));
	if (!m)
		return CUDA_ERROR_OUT_OF_MEMORY;
	m->desc = *d;
	m->levels = clamp_levels(d, levels);
	res = take_memory(ctx, d, m->levels, m, &m->memory);
	if (res)
		soft_delete(m);
	else
		*out = m;
	return res;
}

SOFT_API(cuMipmappedArrayDestroy, (CUmipmappedArray m), (m))
{
	CUcontext ctx;
	CUresult res = soft_check(m, SOFT_MIPMAP);

	if (!res)
		res = soft_current(&ctx);
	if (res)
		return res;
	soft_ctx_sync(ctx);
	if (m->memory)
		free_memory(m->memory);
	else
		mipmap_gone(m);
	return CUDA_SUCCESS;
}

static CUarray level_make(CUmipmappedArray m, unsigned level)
{
	CUarray a = soft_new(SOFT_ARRAY, sizeof(*a));

	if (!a)
		return NULL;
	a->desc = desc_at(m->desc, level);
	a->memory = m->memory;
	a->level = true;
	bytes_of(&m->desc, level, &a->at);
	shape(a);
	return a;
}

static CUarray level_of(CUmipmappedArray m, unsigned level)
{
	if (!m->level[level])
		m->level[level] = level_make(m, level);
	return m->level[level];
}

static CUarray level_with(CUmipmappedArray m, size_t at)
{
	CUarray found = NULL;

	for (unsigned i = 0; i < m->levels; i++) {
		CUarray a = level_of(m, i);

		if (!a || a->at > at)
			break;
		found = a;
	}
	return found;
}

/* soft_lock is held. */
CUarray soft_array_with(uintptr_t addr, size_t *inside)
{
	struct soft_alloc *memory;
	CUarray a;

	soft_guard(soft_map_lock);
	memory = soft_map_find(addr);
	if (!memory || memory->kind != SOFT_MEM_ARRAY)
		return NULL;
	*inside = addr - memory->base;
	if (soft_is(memory->object, SOFT_ARRAY))
		return memory->object;
	a = level_with(memory->object, *inside);
	if (a)
		*inside -= a->at;
	return a;
}

SOFT_API(cuMipmappedArrayGetLevel,
	 (CUarray * out, CUmipmappedArray m, unsigned int level),
	 (out, m, level))
{
	CUresult res = soft_check(m, SOFT_MIPMAP);

	if (!res && (!out || level >= m->levels))
		res = CUDA_ERROR_INVALID_VALUE;
	if (res)
		return res;
	soft_guard(soft_lock);
	*out = level_of(m, level);
	return *out ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

SOFT_API(cuMipmappedArrayGetMemoryRequirements,
	 (CUDA_ARRAY_MEMORY_REQUIREMENTS * out, CUmipmappedArray m,
	  CUdevice dev),
	 (out, m, dev))
{
	CUresult res = soft_check(m, SOFT_MIPMAP);

	return res ? res : requirements(out, &m->desc, m->levels, dev);
}
