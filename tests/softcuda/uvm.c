/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The calls on managed memory. None of them has a node in a graph: they are
 * refused while the stream captures, and the capture goes on. Work behind a
 * busy stream is left to the stream's thread; on an idle one the caller does
 * it, and waits for it.
 */
#include "physics.h"

/* A location as every call means it: a device, or SOFT_HOST. */
static CUresult place(CUmemLocation l, int *out)
{
	switch ((int)l.type) {
	case CU_MEM_LOCATION_TYPE_DEVICE:
		if (l.id < 0 || (unsigned)l.id >= soft_set.devices)
			return CUDA_ERROR_INVALID_DEVICE;
		*out = l.id;
		return CUDA_SUCCESS;
	case CU_MEM_LOCATION_TYPE_HOST:
	case CU_MEM_LOCATION_TYPE_HOST_NUMA_CURRENT:
		*out = SOFT_HOST;
		return CUDA_SUCCESS;
	case CU_MEM_LOCATION_TYPE_HOST_NUMA:
		*out = SOFT_HOST;
		return l.id ? CUDA_ERROR_INVALID_DEVICE : CUDA_SUCCESS;
	default:
		return CUDA_ERROR_INVALID_VALUE;
	}
}

static CUmemLocation from_device(CUdevice dev)
{
	CUmemLocation l = {.type = CU_MEM_LOCATION_TYPE_DEVICE, .id = dev};

	if (dev == CU_DEVICE_CPU)
		l.type = CU_MEM_LOCATION_TYPE_HOST;
	return l;
}

/* In one managed allocation; the VA is rounded out to pages by the callers'
 * own rules, here it only has to be inside. */
static CUresult managed_range(CUdeviceptr p, size_t len)
{
	struct soft_alloc *a;

	soft_guard(soft_map_lock);
	a = soft_map_find(p);
	if (!len || !a || a->kind != SOFT_MEM_MANAGED ||
	    p + len > a->base + a->span || p + len < p)
		return CUDA_ERROR_INVALID_VALUE;
	return CUDA_SUCCESS;
}

static bool all_concurrent(void)
{
	for (unsigned i = 0; i < soft_set.devices; i++)
		if (!soft_set.concurrent[i])
			return false;
	return true;
}

/* ---- advice ---- */

static void advise_block(struct soft_block *b, unsigned advice, int to)
{
	uint32_t bit = to >= 0 ? 1u << to : 0;

	switch (advice) {
	case CU_MEM_ADVISE_SET_READ_MOSTLY:
		b->read_mostly = true;
		break;
	case CU_MEM_ADVISE_UNSET_READ_MOSTLY:
		b->read_mostly = b->host_copy = false;
		break;
	case CU_MEM_ADVISE_SET_PREFERRED_LOCATION:
		b->preferred = (int8_t)to;
		break;
	case CU_MEM_ADVISE_UNSET_PREFERRED_LOCATION:
		b->preferred = SOFT_NOWHERE;
		break;
	case CU_MEM_ADVISE_SET_ACCESSED_BY:
		b->accessed_by |= bit;
		break;
	default:
		b->accessed_by &= ~bit;
		break;
	}
}

static CUresult advise(CUdeviceptr p, size_t len, unsigned advice,
		       CUmemLocation location)
{
	bool needs_place = advice == CU_MEM_ADVISE_SET_PREFERRED_LOCATION ||
			   advice == CU_MEM_ADVISE_SET_ACCESSED_BY ||
			   advice == CU_MEM_ADVISE_UNSET_ACCESSED_BY;
	int to = SOFT_NOWHERE;
	CUcontext ctx;
	CUresult res = soft_current(&ctx);

	if (!res)
		res = soft_capture_unsafe();
	if (!res && (!advice || advice > CU_MEM_ADVISE_UNSET_ACCESSED_BY))
		res = CUDA_ERROR_INVALID_VALUE;
	if (!res && needs_place)
		res = place(location, &to);
	if (!res && to >= 0 && !soft_set.concurrent[to])
		res = CUDA_ERROR_INVALID_DEVICE;
	if (!res)
		res = managed_range(p, len);
	if (res)
		return res;
	soft_exclusively();
	soft_guard(soft_phys_lock);
	for (uintptr_t at = p & ~(SOFT_BLOCK - 1); at < p + len;
	     at += SOFT_BLOCK) {
		struct soft_block *b = soft_block_at(at);

		if (!b)
			continue;
		soft_block_border(b, p, p + len);
		advise_block(b, advice, to);
	}
	return CUDA_SUCCESS;
}

SOFT_API(cuMemAdvise,
	 (CUdeviceptr p, size_t len, CUmem_advise advice, CUdevice dev),
	 (p, len, advice, dev))
{
	return advise(p, len, (unsigned)advice, from_device(dev));
}

SOFT_API(cuMemAdvise_v2,
	 (CUdeviceptr p, size_t len, CUmem_advise advice,
	  CUmemLocation location),
	 (p, len, advice, location))
{
	return advise(p, len, (unsigned)advice, location);
}

/* ---- work on ranges ---- */

static bool idle(CUstream s)
{
	return atomic_load(&s->head) == atomic_load(&s->tail) && !s->legacy;
}

static CUresult move(CUstream s, uintptr_t p, size_t len, int to)
{
	struct soft_op op = {.kind = SOFT_OP_PREFETCH,
			     .move = {.addr = p, .len = len, .to = to}};

	if (idle(s)) {
		soft_phys_prefetch(p, len, to);
		return CUDA_SUCCESS;
	}
	soft_count(prefetches_deferred, 1);
	return soft_submit(s, &op, NULL);
}

static CUresult drop(CUstream s, uintptr_t p, size_t len)
{
	struct soft_op op = {.kind = SOFT_OP_DISCARD,
			     .move = {.addr = p, .len = len}};

	if (!idle(s))
		return soft_submit(s, &op, NULL);
	soft_phys_discard(p, len);
	return CUDA_SUCCESS;
}

static CUresult prefetch(bool pt, CUdeviceptr p, size_t len,
			 CUmemLocation location, unsigned flags,
			 CUstream handle)
{
	CUstream s;
	int to;
	CUresult res = soft_stream(handle, pt, &s);

	if (!res && flags)
		res = CUDA_ERROR_INVALID_VALUE;
	if (!res)
		res = soft_capture_absent(s);
	if (!res)
		res = place(location, &to);
	if (!res && (!soft_set.concurrent[s->ctx->dev->index] ||
		     (to >= 0 && !soft_set.concurrent[to])))
		res = CUDA_ERROR_INVALID_DEVICE;
	if (!res)
		res = managed_range(p, len);
	return res ? res : move(s, p, len, to);
}

SOFT_STREAM_API(cuMemPrefetchAsync,
		(CUdeviceptr p, size_t len, CUdevice dev, CUstream s),
		(p, len, dev, s))
{
	return prefetch(pt, p, len, from_device(dev), 0, s);
}

SOFT_STREAM_API(cuMemPrefetchAsync_v2,
		(CUdeviceptr p, size_t len, CUmemLocation location,
		 unsigned int flags, CUstream s),
		(p, len, location, flags, s))
{
	return prefetch(pt, p, len, location, flags, s);
}

static CUresult batch_valid(bool pt, CUstream handle, CUdeviceptr *ps,
			    size_t *lens, size_t n, unsigned long long flags,
			    CUstream *s)
{
	CUresult res = soft_stream(handle, pt, s);

	if (res)
		return res;
	res = soft_capture_absent(*s);
	if (res)
		return res;
	if (!n || !ps || !lens || flags || (*s)->legacy)
		return CUDA_ERROR_INVALID_VALUE;
	if (!all_concurrent())
		return CUDA_ERROR_NOT_SUPPORTED;
	for (size_t i = 0; !res && i < n; i++)
		res = managed_range(ps[i], lens[i]);
	return res;
}

static CUresult prefetch_batch(CUstream s, CUdeviceptr *ps, size_t *lens,
			       size_t n, CUmemLocation *places, size_t *first,
			       size_t n_places, bool discard)
{
	CUresult res = CUDA_SUCCESS;
	size_t k = 0;
	int to;

	if (!places || !first || !n_places || n_places > n || first[0])
		return CUDA_ERROR_INVALID_VALUE;
	for (size_t i = 0; i < n_places; i++)
		if (place(places[i], &to) || first[i] >= n ||
		    (i && first[i] <= first[i - 1]))
			return CUDA_ERROR_INVALID_VALUE;
	for (size_t i = 0; !res && i < n; i++) {
		if (k + 1 < n_places && first[k + 1] == i)
			k++;
		place(places[k], &to);
		if (discard)
			res = drop(s, ps[i], lens[i]);
		if (!res)
			res = move(s, ps[i], lens[i], to);
	}
	return res;
}

SOFT_STREAM_API(cuMemPrefetchBatchAsync,
		(CUdeviceptr * ps, size_t *lens, size_t n,
		 CUmemLocation *places, size_t *first, size_t n_places,
		 unsigned long long flags, CUstream handle),
		(ps, lens, n, places, first, n_places, flags, handle))
{
	CUstream s;
	CUresult res = batch_valid(pt, handle, ps, lens, n, flags, &s);

	return res ? res
		   : prefetch_batch(s, ps, lens, n, places, first, n_places,
				    false);
}

SOFT_STREAM_API(cuMemDiscardAndPrefetchBatchAsync,
		(CUdeviceptr * ps, size_t *lens, size_t n,
		 CUmemLocation *places, size_t *first, size_t n_places,
		 unsigned long long flags, CUstream handle),
		(ps, lens, n, places, first, n_places, flags, handle))
{
	CUstream s;
	CUresult res = batch_valid(pt, handle, ps, lens, n, flags, &s);

	return res ? res
		   : prefetch_batch(s, ps, lens, n, places, first, n_places,
				    true);
}

SOFT_STREAM_API(cuMemDiscardBatchAsync,
		(CUdeviceptr * ps, size_t *lens, size_t n,
		 unsigned long long flags, CUstream handle),
		(ps, lens, n, flags, handle))
{
	CUstream s;
	CUresult res = batch_valid(pt, handle, ps, lens, n, flags, &s);

	for (size_t i = 0; !res && i < n; i++)
		res = drop(s, ps[i], lens[i]);
	return res;
}

SOFT_STREAM_API(cuStreamAttachMemAsync,
		(CUstream handle, CUdeviceptr p, size_t len,
		 unsigned int flags),
		(handle, p, len, flags))
{
	CUstream s;
	CUresult res = soft_stream(handle, pt, &s);

	if (!res)
		res = soft_capture_absent(s);
	if (!res && flags != CU_MEM_ATTACH_GLOBAL &&
	    flags != CU_MEM_ATTACH_HOST && flags != CU_MEM_ATTACH_SINGLE)
		res = CUDA_ERROR_INVALID_VALUE;
	return res ? res : managed_range(p, len ? len : 1);
}

/* ---- what was asked for ---- */

static int same(const struct soft_block *b, unsigned attr)
{
	switch (attr) {
	case CU_MEM_RANGE_ATTRIBUTE_READ_MOSTLY:
		return b->read_mostly;
	case CU_MEM_RANGE_ATTRIBUTE_PREFERRED_LOCATION:
	case CU_MEM_RANGE_ATTRIBUTE_PREFERRED_LOCATION_TYPE:
	case CU_MEM_RANGE_ATTRIBUTE_PREFERRED_LOCATION_ID:
		return b->preferred;
	default:
		return b->last_prefetch;
	}
}

/* The value that all blocks have, or that of none. */
static int common(uintptr_t p, size_t len, unsigned attr)
{
	int none = attr == CU_MEM_RANGE_ATTRIBUTE_READ_MOSTLY ? 0
							      : SOFT_NOWHERE;
	int value = none;
	bool first = true;

	for (uintptr_t at = p & ~(SOFT_BLOCK - 1); at < p + len;
	     at += SOFT_BLOCK) {
		const struct soft_block *b = soft_block_at(at);

		if (!b || (!first && same(b, attr) != value))
			return none;
		value = same(b, attr);
		first = false;
	}
	return value;
}

static void accessed_by(uintptr_t p, size_t len, int *out, size_t n)
{
	uint32_t all = UINT32_MAX;
	size_t k = 0;

	for (uintptr_t at = p & ~(SOFT_BLOCK - 1); at < p + len;
	     at += SOFT_BLOCK) {
		const struct soft_block *b = soft_block_at(at);

		all &= b ? b->accessed_by : 0;
	}
	for (unsigned d = 0; d < soft_set.devices && k < n; d++)
		if (all & 1u << d)
			out[k++] = (int)d;
	while (k < n)
		out[k++] = CU_DEVICE_INVALID;
}

static int as_type(int place)
{
	if (place == SOFT_NOWHERE)
		return CU_MEM_LOCATION_TYPE_INVALID;
	return place == SOFT_HOST ? CU_MEM_LOCATION_TYPE_HOST
				  : CU_MEM_LOCATION_TYPE_DEVICE;
}

static CUresult range_attribute(void *out, size_t bytes, unsigned attr,
				CUdeviceptr p, size_t len)
{
	CUresult res = managed_range(p, len);
	int value;

	if (res || !out || bytes < 4 || bytes % 4 || !attr || attr > 8)
		return CUDA_ERROR_INVALID_VALUE;
	soft_guard(soft_phys_lock);
	if (attr == CU_MEM_RANGE_ATTRIBUTE_ACCESSED_BY) {
		accessed_by(p, len, out, bytes / 4);
		return CUDA_SUCCESS;
	}
	if (bytes != 4)
		return CUDA_ERROR_INVALID_VALUE;
	value = common(p, len, attr);
	switch (attr) {
	case CU_MEM_RANGE_ATTRIBUTE_PREFERRED_LOCATION_TYPE:
	case CU_MEM_RANGE_ATTRIBUTE_LAST_PREFETCH_LOCATION_TYPE:
		value = as_type(value);
		break;
	case CU_MEM_RANGE_ATTRIBUTE_PREFERRED_LOCATION_ID:
	case CU_MEM_RANGE_ATTRIBUTE_LAST_PREFETCH_LOCATION_ID:
		value = value < 0 ? 0 : value;
		break;
	default: /* SOFT_HOST and SOFT_NOWHERE are the driver's own */
		break;
	}
	*(int *)out = value;
	return CUDA_SUCCESS;
}

SOFT_API(cuMemRangeGetAttribute,
	 (void *out, size_t bytes, CUmem_range_attribute attr, CUdeviceptr p,
	  size_t len),
	 (out, bytes, attr, p, len))
{
	return range_attribute(out, bytes, (unsigned)attr, p, len);
}

SOFT_API(cuMemRangeGetAttributes,
	 (void **out, size_t *bytes, CUmem_range_attribute *attrs, size_t n,
	  CUdeviceptr p, size_t len),
	 (out, bytes, attrs, n, p, len))
{
	CUresult res = CUDA_SUCCESS;

	if (!out || !bytes || !attrs || !n)
		return CUDA_ERROR_INVALID_VALUE;
	for (size_t i = 0; !res && i < n; i++)
		res = range_attribute(out[i], bytes[i], (unsigned)attrs[i], p,
				      len);
	return res;
}
