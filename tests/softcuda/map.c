/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The map of allocations by address, of every family, and what a device is
 * charged for them. soft_map_lock is held by the callers of soft_map_*, but
 * for soft_map_drop, and is taken by the others.
 */
#include <search.h>
#include <stdlib.h>
#include "soft.h"

static void *root;

/* Two ranges that overlap are the same key. */
static int compare(const void *pa, const void *pb)
{
	const struct soft_alloc *a = pa, *b = pb;

	if (a->base + a->size <= b->base)
		return -1;
	return b->base + b->size <= a->base;
}

struct soft_alloc *soft_map_overlap(uintptr_t addr, size_t len)
{
	struct soft_alloc key = {.base = addr, .size = len};
	struct soft_alloc **found = tfind(&key, &root, compare);

	return found ? *found : NULL;
}

struct soft_alloc *soft_map_find(uintptr_t addr)
{
	return soft_map_overlap(addr, 1);
}

int soft_map_add(struct soft_alloc *a)
{
	struct soft_alloc **at = tsearch(a, &root, compare);

	if (!at || *at != a)
		return -1;
	if (a->kind != SOFT_MEM_GLOBAL)
		soft_count(live_allocations, 1);
	return 0;
}

void soft_map_remove(struct soft_alloc *a)
{
	tdelete(a, &root, compare);
	if (a->kind != SOFT_MEM_GLOBAL)
		soft_uncount(live_allocations, 1);
}

struct walk {
	bool (*fn)(struct soft_alloc *a, void *arg);
	void *arg;
	struct soft_alloc *hit;
};

static void visit(const void *node, VISIT which, void *arg)
{
	struct walk *w = arg;
	struct soft_alloc *a = *(struct soft_alloc *const *)node;

	if ((which == postorder || which == leaf) && !w->hit &&
	    w->fn(a, w->arg))
		w->hit = a;
}

/* The first that fn is true of. */
static struct soft_alloc *first(bool (*fn)(struct soft_alloc *a, void *arg),
				void *arg)
{
	struct walk w = {fn, arg, NULL};

	twalk_r(root, visit, &w);
	return w.hit;
}

void soft_map_each(bool (*fn)(struct soft_alloc *a, void *arg), void *arg)
{
	first(fn, arg);
}

void soft_map_drop(bool (*which)(struct soft_alloc *a, void *arg), void *arg)
{
	struct soft_alloc *a;

	for (;;) {
		pthread_mutex_lock(&soft_map_lock);
		a = first(which, arg);
		if (a)
			soft_map_remove(a);
		pthread_mutex_unlock(&soft_map_lock);
		if (!a)
			return;
		soft_alloc_destroy(a);
	}
}

struct soft_alloc *soft_alloc_new(enum soft_mem kind, uintptr_t base,
				  size_t size, int dev, CUcontext ctx)
{
	static _Atomic uint64_t ids;
	struct soft_alloc *a = calloc(1, sizeof(*a));

	if (!a)
		return NULL;
	a->base = base;
	a->size = a->span = size;
	a->kind = kind;
	a->dev = dev;
	a->ctx = ctx;
	a->id = atomic_fetch_add(&ids, 1) + 1;
	return a;
}

bool soft_on_device(const struct soft_alloc *a)
{
	return a->kind != SOFT_MEM_HOST && a->kind != SOFT_MEM_REGISTERED &&
	       !(a->kind == SOFT_MEM_VMM && a->dev < 0);
}

/* ---- charges ---- */

uint64_t soft_device_free_bytes(struct soft_device *dev)
{
	uint64_t used = __atomic_load_n(&dev->native, __ATOMIC_RELAXED) +
			__atomic_load_n(&dev->attached, __ATOMIC_RELAXED);

	return used < dev->capacity ? dev->capacity - used : 0;
}

static void peak(struct soft_device *dev)
{
	soft_highest(device_peak_bytes,
		     __atomic_load_n(&dev->native, __ATOMIC_RELAXED) +
			     __atomic_load_n(&dev->attached, __ATOMIC_RELAXED));
}

/* Native memory pushes managed blocks out, never the other way round. */
CUresult soft_charge(struct soft_device *dev, uint64_t bytes)
{
	soft_guard(soft_phys_lock);
	if (bytes > dev->capacity ||
	    (soft_device_free_bytes(dev) < bytes &&
	     !soft_phys_make_room(dev, bytes))) {
		soft_count(out_of_memory, 1);
		return CUDA_ERROR_OUT_OF_MEMORY;
	}
	__atomic_add_fetch(&dev->native, bytes, __ATOMIC_RELAXED);
	soft_count(device_charged_bytes, bytes);
	peak(dev);
	return CUDA_SUCCESS;
}

void soft_uncharge(struct soft_device *dev, uint64_t bytes)
{
	__atomic_sub_fetch(&dev->native, bytes, __ATOMIC_RELAXED);
	soft_uncount(device_charged_bytes, bytes);
}

#define SMALL ((size_t)1 << 20)

/* Native memory of a device, charged and in the map. */
CUresult soft_device_alloc(CUcontext ctx, struct soft_device *dev, size_t bytes,
			   enum soft_mem kind, struct soft_alloc **out)
{
	bool small = bytes < SMALL;
	size_t span;
	struct soft_alloc *a;
	void *at;
	CUresult res;

	if (bytes > dev->capacity) {
		soft_count(out_of_memory, 1);
		return CUDA_ERROR_OUT_OF_MEMORY;
	}
	span = soft_round_up(bytes, small ? (size_t)512 : SOFT_BLOCK);
	res = soft_charge(dev, span);
	if (res)
		return res;
	at = soft_va_get(small ? SOFT_ARENA_SMALL : SOFT_ARENA_LARGE, span, 0,
			 0);
	a = at ? soft_alloc_new(kind, (uintptr_t)at, bytes, dev->index, ctx)
	       : NULL;
	if (!a) {
		soft_uncharge(dev, span);
		return CUDA_ERROR_OUT_OF_MEMORY;
	}
	a->span = a->charged = span;
	soft_guard(soft_map_lock);
	soft_map_add(a);
	soft_count(device_bytes, bytes);
	*out = a;
	return CUDA_SUCCESS;
}
