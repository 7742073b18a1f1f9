/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Stream-ordered memory. An address is given at once, and counts as used from
 * then on; freed memory goes back to its pool when the stream comes there, and
 * from the pool to the device at the next synchronisation, down to the pool's
 * release threshold. soft_map_lock holds the pools' accounts.
 */
#include <stdlib.h>
#include <string.h>
#include "graph.h"

#define MAX_POOLS 64
#define FLAGS_OFF 3 /* the three switches are attributes 1 to 3 */

struct CUmemPoolHandle_st {
	struct soft_object o;
	struct soft_device *dev;
	bool own; /* made by the program */
	bool imported; /* gives no memory of its own */
	CUmemPoolProps props;
	uint64_t threshold, used, used_high, reserved, reserved_high;
	int switches[FLAGS_OFF];
	unsigned access[SOFT_MAX_DEVICES];
	TAILQ_HEAD(spare_list, spare) spares;
};
/* Reserved memory that is not in use. */
struct spare {
	TAILQ_ENTRY(spare) link;
	struct soft_alloc *a;
};
static CUmemoryPool pools[MAX_POOLS];

static CUmemoryPool pool_make(struct soft_device *dev, bool own)
{
	CUmemoryPool p = soft_new(SOFT_POOL, sizeof(*p));
	unsigned i = 0;

	if (!p)
		return NULL;
	p->dev = dev;
	p->own = own;
	p->props.allocType = CU_MEM_ALLOCATION_TYPE_PINNED;
	p->props.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
	p->props.location.id = dev->index;
	for (unsigned k = 0; k < FLAGS_OFF; k++)
		p->switches[k] = 1;
	TAILQ_INIT(&p->spares);
	soft_guard(soft_map_lock);
	while (i < MAX_POOLS && pools[i])
		i++;
	if (i < MAX_POOLS)
		pools[i] = p;
	return p;
}

CUmemoryPool soft_pool_default(struct soft_device *dev)
{
	static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

	soft_guard(lock);
	if (!dev->default_pool)
		dev->default_pool = pool_make(dev, false);
	return dev->default_pool;
}

static CUmemoryPool pool_current(struct soft_device *dev)
{
	return dev->pool ? dev->pool : soft_pool_default(dev);
}

static void raise(uint64_t *high, uint64_t v)
{
	if (v > *high)
		*high = v;
}

/* A spare piece of just this size, or NULL. */
static struct soft_alloc *spare_take(CUmemoryPool p, size_t span)
{
	struct spare *s;

	TAILQ_FOREACH(s, &p->spares, link) {
		struct soft_alloc *a = s->a;

		if (a->span != span)
			continue;
		TAILQ_REMOVE(&p->spares, s, link);
		free(s);
		return a;
	}
	return NULL;
}

static size_t span_of(size_t bytes)
{
	return soft_round_up(bytes, bytes < (size_t)1 << 20 ? (size_t)512
							    : SOFT_BLOCK);
}

CUresult soft_pool_alloc(CUmemoryPool p, CUcontext ctx, size_t bytes,
			 enum soft_mem kind, struct soft_alloc **out)
{
	struct soft_alloc *a;
	CUresult res;

	pthread_mutex_lock(&soft_map_lock);
	a = spare_take(p, span_of(bytes));
	if (a) {
		a->size = bytes;
		a->ctx = ctx;
		soft_map_add(a);
		soft_count(device_bytes, bytes);
	}
	pthread_mutex_unlock(&soft_map_lock);
	if (!a) {
		res = soft_device_alloc(ctx, p->dev, bytes, kind, &a);
		if (res)
			return res;
		pthread_mutex_lock(&soft_map_lock);
		p->reserved += a->span;
		pthread_mutex_unlock(&soft_map_lock);
	}
	soft_guard(soft_map_lock);
	a->pool = p;
	p->used += a->span;
	raise(&p->used_high, p->used);
	raise(&p->reserved_high, p->reserved);
	*out = a;
	return CUDA_SUCCESS;
}

/* On the stream's thread, or with the context idle. */
void soft_async_free(struct soft_alloc *a)
{
	CUmemoryPool p = a->pool;
	struct spare *s = malloc(sizeof(*s));

	if (a->kind == SOFT_MEM_GRAPH) {
		free(s);
		soft_graph_memory_give(a);
		return;
	}
	if (a->kind == SOFT_MEM_EXTERNAL) {
		free(s);
		pthread_mutex_lock(&soft_map_lock);
		soft_map_remove(a);
		pthread_mutex_unlock(&soft_map_lock);
		soft_alloc_destroy(a);
		return;
	}
	if (!s)
		abort();
	soft_guard(soft_map_lock);
	soft_map_remove(a);
	soft_uncount(device_bytes, a->size);
	a->freeing = false;
	a->pool = NULL;
	s->a = a;
	p->used -= a->span;
	TAILQ_INSERT_TAIL(&p->spares, s, link);
}

/* Give back what is spare above a limit; soft_map_lock is not held. */
static void trim(CUmemoryPool p, uint64_t keep)
{
	for (;;) {
		struct spare *s;

		pthread_mutex_lock(&soft_map_lock);
		s = p->reserved > keep ? TAILQ_FIRST(&p->spares) : NULL;
		if (s) {
			TAILQ_REMOVE(&p->spares, s, link);
			p->reserved -= s->a->span;
			/* its bytes were counted off when it was freed */
			soft_count(device_bytes, s->a->size);
		}
		pthread_mutex_unlock(&soft_map_lock);
		if (!s)
			return;
		soft_alloc_destroy(s->a);
		free(s);
	}
}

void soft_pool_trim_all(struct soft_device *dev)
{
	for (unsigned i = 0; i < MAX_POOLS; i++)
		if (pools[i] && pools[i]->dev == dev)
			trim(pools[i], pools[i]->threshold);
}

/* A pool's piece that was freed by cuMemFree, already out of the map. */
void soft_pool_forget(struct soft_alloc *a)
{
	soft_guard(soft_map_lock);
	a->pool->used -= a->span;
	a->pool->reserved -= a->span;
}

/* ---- allocation ---- */

static CUresult alloc_async(CUdeviceptr *out, size_t bytes, CUmemoryPool given,
			    CUstream s)
{
	struct soft_op op = {.kind = SOFT_OP_ALLOC};
	struct soft_alloc *a;
	CUresult res;

	if (!out || (given && (soft_check(given, SOFT_POOL) ||
			       given->imported)))
		return CUDA_ERROR_INVALID_VALUE;
	if (!bytes) {
		*out = 0;
		return CUDA_SUCCESS;
	}
	if (s->capture) {
		res = soft_graph_memory_new(s->ctx->dev->index, bytes, &a);
		op.alloc = a;
		if (!res)
			res = soft_submit(s, &op, NULL);
	} else {
		soft_exclusively();
		res = soft_pool_alloc(given ? given : pool_current(s->ctx->dev),
				      s->ctx, bytes, SOFT_MEM_ASYNC, &a);
	}
	if (!res)
		*out = a->base;
	return res;
}

SOFT_STREAM_API(cuMemAllocAsync,
		(CUdeviceptr * out, size_t bytes, CUstream handle),
		(out, bytes, handle))
{
	CUstream s;
	CUresult res = soft_stream(handle, pt, &s);

	return res ? res : alloc_async(out, bytes, NULL, s);
}

SOFT_STREAM_API(cuMemAllocFromPoolAsync,
		(CUdeviceptr * out, size_t bytes, CUmemoryPool pool,
		 CUstream handle),
		(out, bytes, pool, handle))
{
	CUstream s;
	CUresult res = soft_stream(handle, pt, &s);

	if (!res && !pool)
		res = CUDA_ERROR_INVALID_VALUE;
	return res ? res : alloc_async(out, bytes, pool, s);
}

/* Only once; memory of cuMemAlloc is not taken. */
static struct soft_alloc *mark_freeing(CUdeviceptr p, bool capturing)
{
	struct soft_alloc *a;

	soft_guard(soft_map_lock);
	a = soft_map_find(p);
	if (!a || a->base != p || a->freeing ||
	    (a->kind != SOFT_MEM_ASYNC && a->kind != SOFT_MEM_GRAPH &&
	     !(a->kind == SOFT_MEM_EXTERNAL && a->pool)) ||
	    (a->kind == SOFT_MEM_GRAPH && a->idle && !capturing)) {
		soft_count(bad_frees, 1);
		return NULL;
	}
	a->freeing = !capturing;
	return a;
}

SOFT_STREAM_API(cuMemFreeAsync, (CUdeviceptr p, CUstream handle), (p, handle))
{
	struct soft_op op = {.kind = SOFT_OP_FREE};
	CUstream s;
	CUresult res = soft_stream(handle, pt, &s);

	if (res)
		return res;
	op.alloc = mark_freeing(p, s->capture != NULL);
	if (!op.alloc)
		return CUDA_ERROR_INVALID_VALUE;
	return soft_submit(s, &op, NULL);
}

/* ---- pools ---- */

CUmemoryPool soft_pool_import(struct soft_device *dev)
{
	CUmemoryPool p = pool_make(dev, true);

	if (!p)
		return NULL;
	p->imported = true;
	soft_count(live_pools, 1);
	return p;
}

bool soft_pool_shows(CUmemoryPool p, unsigned type)
{
	return p->own && !p->imported && p->props.handleTypes == type;
}

SOFT_API(cuMemPoolCreate, (CUmemoryPool * out, const CUmemPoolProps *props),
	 (out, props))
{
	struct soft_device *dev;
	CUresult res;

	if (!out || !props ||
	    props->allocType != CU_MEM_ALLOCATION_TYPE_PINNED)
		return CUDA_ERROR_INVALID_VALUE;
	if (props->location.type != CU_MEM_LOCATION_TYPE_DEVICE)
		return CUDA_ERROR_NOT_SUPPORTED;
	res = soft_device(props->location.id, &dev);
	if (res)
		return res;
	*out = pool_make(dev, true);
	if (!*out)
		return CUDA_ERROR_OUT_OF_MEMORY;
	(*out)->props = *props;
	soft_count(live_pools, 1);
	return CUDA_SUCCESS;
}

/* With pieces in use it is an error here, so that a test notices. */
SOFT_API(cuMemPoolDestroy, (CUmemoryPool p), (p))
{
	if (soft_check(p, SOFT_POOL) || !p->own || p->used)
		return CUDA_ERROR_INVALID_VALUE;
	trim(p, 0);
	if (p->dev->pool == p)
		p->dev->pool = NULL;
	pthread_mutex_lock(&soft_map_lock);
	for (unsigned i = 0; i < MAX_POOLS; i++)
		if (pools[i] == p)
			pools[i] = NULL;
	pthread_mutex_unlock(&soft_map_lock);
	soft_uncount(live_pools, 1);
	soft_delete(p);
	return CUDA_SUCCESS;
}

SOFT_API(cuMemPoolTrimTo, (CUmemoryPool p, size_t keep), (p, keep))
{
	if (soft_check(p, SOFT_POOL))
		return CUDA_ERROR_INVALID_VALUE;
	trim(p, keep);
	return CUDA_SUCCESS;
}

SOFT_API(cuMemPoolSetAttribute,
	 (CUmemoryPool p, CUmemPool_attribute attr, void *value),
	 (p, attr, value))
{
	if (soft_check(p, SOFT_POOL) || !value)
		return CUDA_ERROR_INVALID_VALUE;
	soft_guard(soft_map_lock);
	switch ((int)attr) {
	case CU_MEMPOOL_ATTR_REUSE_FOLLOW_EVENT_DEPENDENCIES:
	case CU_MEMPOOL_ATTR_REUSE_ALLOW_OPPORTUNISTIC:
	case CU_MEMPOOL_ATTR_REUSE_ALLOW_INTERNAL_DEPENDENCIES:
		p->switches[attr - 1] = *(int *)value;
		return CUDA_SUCCESS;
	case CU_MEMPOOL_ATTR_RELEASE_THRESHOLD:
		p->threshold = *(cuuint64_t *)value;
		return CUDA_SUCCESS;
	case CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH:
	case CU_MEMPOOL_ATTR_USED_MEM_HIGH:
		if (*(cuuint64_t *)value)
			return CUDA_ERROR_INVALID_VALUE;
		if (attr == CU_MEMPOOL_ATTR_USED_MEM_HIGH)
			p->used_high = p->used;
		else
			p->reserved_high = p->reserved;
		return CUDA_SUCCESS;
	default:
		return CUDA_ERROR_INVALID_VALUE;
	}
}

static uint64_t pool_value(CUmemoryPool p, unsigned attr)
{
	switch (attr) {
	case CU_MEMPOOL_ATTR_RELEASE_THRESHOLD:
		return p->threshold;
	case CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT:
		return p->reserved;
	case CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH:
		return p->reserved_high;
	case CU_MEMPOOL_ATTR_USED_MEM_CURRENT:
		return p->used;
	default:
		return p->used_high;
	}
}

SOFT_API(cuMemPoolGetAttribute,
	 (CUmemoryPool p, CUmemPool_attribute attr, void *value),
	 (p, attr, value))
{
	if (soft_check(p, SOFT_POOL) || !value || !(unsigned)attr ||
	    (unsigned)attr > CU_MEMPOOL_ATTR_USED_MEM_HIGH)
		return CUDA_ERROR_INVALID_VALUE;
	soft_guard(soft_map_lock);
	if ((unsigned)attr <= FLAGS_OFF)
		*(int *)value = p->switches[attr - 1];
	else
		*(cuuint64_t *)value = pool_value(p, (unsigned)attr);
	return CUDA_SUCCESS;
}

SOFT_API(cuMemPoolSetAccess,
	 (CUmemoryPool p, const CUmemAccessDesc *map, size_t n), (p, map, n))
{
	if (soft_check(p, SOFT_POOL) || (n && !map))
		return CUDA_ERROR_INVALID_VALUE;
	for (size_t i = 0; i < n; i++) {
		CUdevice d = map[i].location.id;

		if (map[i].location.type != CU_MEM_LOCATION_TYPE_DEVICE ||
		    d < 0 || (unsigned)d >= soft_set.devices ||
		    (d == p->dev->index && !map[i].flags))
			return CUDA_ERROR_INVALID_DEVICE;
		p->access[d] = map[i].flags;
	}
	return CUDA_SUCCESS;
}

SOFT_API(cuMemPoolGetAccess,
	 (CUmemAccess_flags * out, CUmemoryPool p, CUmemLocation *l),
	 (out, p, l))
{
	if (!out || !l || soft_check(p, SOFT_POOL) ||
	    l->type != CU_MEM_LOCATION_TYPE_DEVICE || l->id < 0 ||
	    (unsigned)l->id >= soft_set.devices)
		return CUDA_ERROR_INVALID_VALUE;
	*out = (CUmemAccess_flags)(l->id == p->dev->index
					   ? CU_MEM_ACCESS_FLAGS_PROT_READWRITE
					   : p->access[l->id]);
	return CUDA_SUCCESS;
}

static CUresult pool_of(CUmemoryPool *out, CUdevice handle, bool fixed)
{
	struct soft_device *dev;
	CUresult res = soft_device(handle, &dev);

	if (!res && !out)
		res = CUDA_ERROR_INVALID_VALUE;
	if (!res)
		*out = fixed ? soft_pool_default(dev) : pool_current(dev);
	return res;
}

SOFT_API(cuDeviceGetDefaultMemPool, (CUmemoryPool * out, CUdevice dev),
	 (out, dev))
{
	return pool_of(out, dev, true);
}

SOFT_API(cuDeviceGetMemPool, (CUmemoryPool * out, CUdevice dev), (out, dev))
{
	return pool_of(out, dev, false);
}

SOFT_API(cuDeviceSetMemPool, (CUdevice handle, CUmemoryPool p), (handle, p))
{
	struct soft_device *dev;
	CUresult res = soft_device(handle, &dev);

	if (!res && (soft_check(p, SOFT_POOL) || p->dev != dev))
		res = CUDA_ERROR_INVALID_VALUE;
	if (!res)
		dev->pool = p;
	return res;
}
