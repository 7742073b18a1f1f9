/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The virtual memory calls: address ranges, physical handles (a stretch of a
 * file, so that two mappings of one are the same bytes), mappings and access.
 * An unmapped or inaccessible address faults, which kills the context of a
 * kernel that touches it. soft_map_lock holds all of it.
 */
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>
#include "vmm.h"

struct range {
	LIST_ENTRY(range) link;
	uintptr_t base;
	size_t size;
};
static LIST_HEAD(handle_list, soft_handle) handles =
	LIST_HEAD_INITIALIZER(handles);
static LIST_HEAD(range_list, range) ranges = LIST_HEAD_INITIALIZER(ranges);

static bool aligned(uint64_t v)
{
	return !(v % SOFT_BLOCK);
}

/* ---- address ranges ---- */

SOFT_API(cuMemAddressReserve,
	 (CUdeviceptr * out, size_t size, size_t align, CUdeviceptr want,
	  unsigned long long flags),
	 (out, size, align, want, flags))
{
	struct range *r;
	void *at;

	if (!out || !size || !aligned(size) || flags ||
	    (align & (align - 1)))
		return CUDA_ERROR_INVALID_VALUE;
	r = calloc(1, sizeof(*r));
	at = want && aligned(want)
		     ? soft_va_get(SOFT_ARENA_RESERVE, size, align, want)
		     : NULL;
	if (!at) /* the wish is only a hint */
		at = soft_va_get(SOFT_ARENA_RESERVE, size, align, 0);
	if (!r || !at) {
		free(r);
		return CUDA_ERROR_OUT_OF_MEMORY;
	}
	r->base = (uintptr_t)at;
	r->size = size;
	soft_guard(soft_map_lock);
	LIST_INSERT_HEAD(&ranges, r, link);
	soft_count(live_reservations, 1);
	*out = r->base;
	return CUDA_SUCCESS;
}

static struct range *range_of(uintptr_t at, size_t size)
{
	struct range *r;

	LIST_FOREACH(r, &ranges, link)
		if (at >= r->base && at - r->base < r->size &&
		    size <= r->size - (at - r->base))
			return r;
	return NULL;
}

SOFT_API(cuMemAddressFree, (CUdeviceptr at, size_t size), (at, size))
{
	struct range *r;

	soft_guard(soft_map_lock);
	r = range_of(at, size);
	if (!r || r->base != at || r->size != size ||
	    soft_map_overlap(at, size)) {
		soft_count(bad_frees, 1);
		return CUDA_ERROR_INVALID_VALUE;
	}
	LIST_REMOVE(r, link);
	soft_va_put(SOFT_ARENA_RESERVE, (void *)r->base, r->size);
	soft_uncount(live_reservations, 1);
	free(r);
	return CUDA_SUCCESS;
}

/* ---- physical handles ---- */

/* HOST needs 13.0, HOST_NUMA 12.2 and a node that exists; the current node is
 * not a place to create. */
static CUresult place(const CUmemAllocationProp *p, int *dev)
{
	*dev = -1;
	switch ((int)p->location.type) {
	case CU_MEM_LOCATION_TYPE_DEVICE:
		*dev = p->location.id;
		return *dev < 0 || (unsigned)*dev >= soft_set.devices
			       ? CUDA_ERROR_INVALID_DEVICE
			       : CUDA_SUCCESS;
	case CU_MEM_LOCATION_TYPE_HOST:
		return soft_set.driver >= 13000 ? CUDA_SUCCESS
						: CUDA_ERROR_INVALID_VALUE;
	case CU_MEM_LOCATION_TYPE_HOST_NUMA:
		return soft_set.driver >= 12020 && !p->location.id
			       ? CUDA_SUCCESS
			       : CUDA_ERROR_INVALID_VALUE;
	default:
		return CUDA_ERROR_INVALID_VALUE;
	}
}

static CUresult prop_check(const CUmemAllocationProp *p, int *dev)
{
	if (!p || p->type != CU_MEM_ALLOCATION_TYPE_PINNED)
		return CUDA_ERROR_INVALID_VALUE;
	if ((unsigned)p->requestedHandleTypes &
	    ~(unsigned)CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR)
		return CUDA_ERROR_NOT_SUPPORTED;
	return place(p, dev);
}

SOFT_API(cuMemGetAllocationGranularity,
	 (size_t *out, const CUmemAllocationProp *prop,
	  CUmemAllocationGranularity_flags option),
	 (out, prop, option))
{
	int dev;
	CUresult res = prop_check(prop, &dev);

	if (!res && (!out || (unsigned)option > 1))
		res = CUDA_ERROR_INVALID_VALUE;
	if (!res)
		*out = SOFT_BLOCK;
	return res;
}

struct soft_handle *soft_handle_new(const CUmemAllocationProp *prop, int dev,
				    size_t size)
{
	static uint64_t names = 0x5000;
	struct soft_handle *h = calloc(1, sizeof(*h));

	if (!h)
		return NULL;
	h->fd = memfd_create("softcuda-vmm", MFD_CLOEXEC);
	if (h->fd < 0 || ftruncate(h->fd, (off_t)size)) {
		if (h->fd >= 0)
			close(h->fd);
		free(h);
		return NULL;
	}
	h->prop = *prop;
	h->dev = dev;
	h->size = size;
	h->refs = h->held = 1;
	soft_guard(soft_map_lock);
	h->name = names += 16;
	LIST_INSERT_HEAD(&handles, h, link);
	soft_count(live_handles, 1);
	return h;
}

/* No context is needed. */
SOFT_API(cuMemCreate,
	 (CUmemGenericAllocationHandle * out, size_t size,
	  const CUmemAllocationProp *prop, unsigned long long flags),
	 (out, size, prop, flags))
{
	struct soft_handle *h;
	int dev;
	CUresult res = prop_check(prop, &dev);

	if (!res && (!out || !size || flags || !aligned(size)))
		res = CUDA_ERROR_INVALID_VALUE;
	if (res)
		return res;
	soft_exclusively();
	if (dev >= 0)
		res = soft_charge(&soft_devices[dev], size);
	if (res)
		return res;
	h = soft_handle_new(prop, dev, size);
	if (!h) {
		if (dev >= 0)
			soft_uncharge(&soft_devices[dev], size);
		return CUDA_ERROR_OUT_OF_MEMORY;
	}
	if (dev < 0)
		soft_count(soft_host_bytes, size);
	*out = h->name;
	return CUDA_SUCCESS;
}

/* ---- soft_map_lock is held from here on ---- */

struct soft_handle *soft_handle_by_name(uint64_t name)
{
	struct soft_handle *h;

	LIST_FOREACH(h, &handles, link)
		if (h->name == name && h->held)
			return h;
	return NULL;
}

/* Physical memory lives as long as a handle or a mapping. */
static void handle_put(struct soft_handle *h)
{
	if (--h->refs)
		return;
	LIST_REMOVE(h, link);
	close(h->fd);
	if (h->dev >= 0)
		soft_uncharge(&soft_devices[h->dev], h->size);
	else
		soft_uncount(soft_host_bytes, h->size);
	soft_uncount(live_handles, 1);
	free(h);
}

SOFT_API(cuMemRelease, (CUmemGenericAllocationHandle name), (name))
{
	struct soft_handle *h;

	soft_exclusively();
	soft_guard(soft_map_lock);
	h = soft_handle_by_name(name);
	if (!h) {
		soft_count(bad_frees, 1);
		return CUDA_ERROR_INVALID_VALUE;
	}
	h->held--;
	handle_put(h);
	return CUDA_SUCCESS;
}

SOFT_API(cuMemRetainAllocationHandle,
	 (CUmemGenericAllocationHandle * out, void *addr), (out, addr))
{
	struct soft_alloc *a;

	soft_guard(soft_map_lock);
	a = soft_map_find((uintptr_t)addr);
	if (!out || !a || a->kind != SOFT_MEM_VMM)
		return CUDA_ERROR_INVALID_VALUE;
	a->handle->refs++;
	a->handle->held++;
	*out = a->handle->name;
	return CUDA_SUCCESS;
}

SOFT_API(cuMemGetAllocationPropertiesFromHandle,
	 (CUmemAllocationProp * out, CUmemGenericAllocationHandle name),
	 (out, name))
{
	struct soft_handle *h;

	soft_guard(soft_map_lock);
	h = soft_handle_by_name(name);
	if (!h || !out)
		return CUDA_ERROR_INVALID_VALUE;
	*out = h->prop;
	return CUDA_SUCCESS;
}

/* ---- mappings ---- */

/* Whether another mapping of the range is of the other side. */
static bool mixes(const struct range *r, int dev)
{
	for (uintptr_t at = r->base; at < r->base + r->size; at += SOFT_BLOCK) {
		const struct soft_alloc *a = soft_map_find(at);

		if (a && (a->dev < 0) != (dev < 0))
			return true;
	}
	return false;
}

static CUresult map(uintptr_t at, size_t size, struct soft_handle *h)
{
	struct range *r = range_of(at, size);
	struct soft_alloc *a;

	if (!r || soft_map_overlap(at, size))
		return CUDA_ERROR_INVALID_VALUE;
	if (!soft_set.vmm_mixed && mixes(r, h->dev))
		return CUDA_ERROR_INVALID_VALUE;
	a = soft_alloc_new(SOFT_MEM_VMM, at, size, h->dev, NULL);
	if (!a)
		return CUDA_ERROR_OUT_OF_MEMORY;
	if (mmap((void *)at, size, PROT_NONE, MAP_SHARED | MAP_FIXED, h->fd,
		 0) == MAP_FAILED) {
		free(a);
		return CUDA_ERROR_MAP_FAILED;
	}
	madvise((void *)at, size, MADV_DONTFORK);
	a->handle = h;
	h->refs++;
	soft_map_add(a);
	return CUDA_SUCCESS;
}

/* Of the whole handle only: its size, offset 0. */
SOFT_API(cuMemMap,
	 (CUdeviceptr at, size_t size, size_t offset,
	  CUmemGenericAllocationHandle name, unsigned long long flags),
	 (at, size, offset, name, flags))
{
	struct soft_handle *h;

	soft_exclusively();
	soft_guard(soft_map_lock);
	h = soft_handle_by_name(name);
	if (!h || offset || flags || !aligned(at) || size != h->size)
		return CUDA_ERROR_INVALID_VALUE;
	return map(at, size, h);
}

/* The mappings that fill [at, at + size) exactly; false: there is a hole, or
 * one reaches over a border. */
bool soft_vmm_exactly(uintptr_t at, size_t size)
{
	uintptr_t end = at + size;

	while (at < end) {
		const struct soft_alloc *a = soft_map_find(at);

		if (!a || a->kind != SOFT_MEM_VMM || a->base != at)
			return false;
		at += a->size;
	}
	return at == end && size;
}

static bool any_work(void)
{
	for (unsigned d = 0; d < soft_set.devices; d++) {
		CUcontext ctx = soft_devices[d].primary;
		CUstream s;

		if (!ctx)
			continue;
		LIST_FOREACH(s, &ctx->streams, link)
			if (atomic_load(&s->head) != atomic_load(&s->tail))
				return true;
		if (atomic_load(&ctx->legacy->head) !=
		    atomic_load(&ctx->legacy->tail))
			return true;
	}
	return false;
}

/* It does not wait for anything: work that still names the range faults. */
SOFT_API(cuMemUnmap, (CUdeviceptr at, size_t size), (at, size))
{
	uintptr_t end = at + size;
	bool busy;

	pthread_mutex_lock(&soft_lock);
	busy = any_work();
	pthread_mutex_unlock(&soft_lock);
	soft_exclusively();
	soft_guard(soft_map_lock);
	if (!soft_vmm_exactly(at, size))
		return CUDA_ERROR_INVALID_VALUE;
	if (busy)
		soft_count(busy_frees, 1);
	mmap((void *)at, size, PROT_NONE,
	     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);
	while (at < end) {
		struct soft_alloc *a = soft_map_find(at);

		at += a->size;
		soft_map_remove(a);
		handle_put(a->handle);
		free(a);
	}
	return CUDA_SUCCESS;
}
