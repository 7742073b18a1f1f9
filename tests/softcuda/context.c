/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Contexts: each thread has a stack of them. A primary context is one object
 * a device for ever; it lives while it is retained. soft_lock.
 */
#include <stdlib.h>
#include <string.h>
#include "soft.h"

#define STACK 32

static __thread CUcontext stack[STACK];
static __thread unsigned depth;

static CUcontext top(void)
{
	return depth ? stack[depth - 1] : NULL;
}

CUcontext soft_ctx_or_null(void)
{
	CUcontext ctx = top();

	return ctx && soft_is(ctx, SOFT_CTX) ? ctx : NULL;
}

CUresult soft_current(CUcontext *out)
{
	CUcontext ctx = top();

	if (soft_in_callback)
		return CUDA_ERROR_NOT_PERMITTED;
	if (!ctx)
		return CUDA_ERROR_INVALID_CONTEXT;
	if (!soft_is(ctx, SOFT_CTX))
		return CUDA_ERROR_CONTEXT_IS_DESTROYED;
	*out = ctx;
	return CUDA_SUCCESS;
}

void soft_ctx_kill(CUcontext ctx, CUresult why)
{
	int none = 0;

	if (!atomic_compare_exchange_strong(&ctx->sticky, &none, (int)why))
		return;
	soft_count(sticky_errors, 1);
	soft_gate_sticky();
}

static CUcontext ctx_make(struct soft_device *dev, unsigned flags)
{
	static _Atomic uint64_t ids;
	CUcontext ctx = soft_new(SOFT_CTX, sizeof(*ctx));

	if (!ctx)
		return NULL;
	ctx->dev = dev;
	ctx->flags = flags;
	ctx->api_version = 3020;
	ctx->id = atomic_fetch_add(&ids, 1) + 1;
	ctx->limits[CU_LIMIT_STACK_SIZE] = 1024;
	ctx->limits[CU_LIMIT_PRINTF_FIFO_SIZE] = 1 << 20;
	ctx->limits[CU_LIMIT_MALLOC_HEAP_SIZE] = 8 << 20;
	LIST_INIT(&ctx->streams);
	ctx->legacy = soft_stream_make(ctx, 0, 0);
	ctx->legacy->legacy = true;
	soft_fault_arm();
	soft_count(live_contexts, 1);
	return ctx;
}

/* What is to be freed with a context; soft_map_lock is held. */
static bool owned(struct soft_alloc *a, void *arg)
{
	return a->ctx == arg && a->kind != SOFT_MEM_VMM &&
	       a->kind != SOFT_MEM_GLOBAL;
}

static void ctx_unmake(CUcontext ctx)
{
	CUstream s;

	soft_ctx_sync(ctx);
	while ((s = LIST_FIRST(&ctx->streams)))
		soft_stream_retire(s);
	soft_stream_retire(ctx->legacy);
	soft_modules_of_ctx_drop(ctx);
	soft_map_drop(owned, ctx);
	soft_uncount(live_contexts, 1);
	soft_delete(ctx);
}

static CUresult create(CUcontext *out, unsigned flags, CUdevice handle)
{
	struct soft_device *dev;
	CUresult res;

	if (!out || (flags & ~(unsigned)CU_CTX_FLAGS_MASK))
		return CUDA_ERROR_INVALID_VALUE;
	res = soft_device(handle, &dev);
	if (res)
		return res;
	if (depth == STACK)
		return CUDA_ERROR_OUT_OF_MEMORY;
	*out = ctx_make(dev, flags);
	if (!*out)
		return CUDA_ERROR_OUT_OF_MEMORY;
	stack[depth++] = *out;
	return CUDA_SUCCESS;
}

SOFT_API(cuCtxCreate_v2, (CUcontext * out, unsigned int flags, CUdevice dev),
	 (out, flags, dev))
{
	return create(out, flags, dev);
}

SOFT_API(cuCtxCreate_v4,
	 (CUcontext * out, CUctxCreateParams *params, unsigned int flags,
	  CUdevice dev),
	 (out, params, flags, dev))
{
	if (params && (params->numExecAffinityParams || params->cigParams))
		return CUDA_ERROR_NOT_SUPPORTED;
	return create(out, flags, dev);
}

SOFT_API(cuCtxDestroy_v2, (CUcontext ctx), (ctx))
{
	CUresult res = soft_check(ctx, SOFT_CTX);

	if (res || ctx->primary)
		return CUDA_ERROR_INVALID_CONTEXT;
	if (top() == ctx)
		depth--;
	ctx_unmake(ctx);
	return CUDA_SUCCESS;
}

SOFT_API(cuCtxPushCurrent_v2, (CUcontext ctx), (ctx))
{
	if (!soft_is(ctx, SOFT_CTX))
		return CUDA_ERROR_INVALID_CONTEXT;
	if (depth == STACK)
		return CUDA_ERROR_OUT_OF_MEMORY;
	stack[depth++] = ctx;
	return CUDA_SUCCESS;
}

SOFT_API(cuCtxPopCurrent_v2, (CUcontext * out), (out))
{
	if (!depth)
		return CUDA_ERROR_INVALID_CONTEXT;
	depth--;
	if (out)
		*out = stack[depth];
	return CUDA_SUCCESS;
}

SOFT_API(cuCtxSetCurrent, (CUcontext ctx), (ctx))
{
	if (ctx && !soft_is(ctx, SOFT_CTX))
		return CUDA_ERROR_INVALID_CONTEXT;
	if (!ctx)
		depth -= depth > 0;
	else if (depth)
		stack[depth - 1] = ctx;
	else
		stack[depth++] = ctx;
	return CUDA_SUCCESS;
}

SOFT_API(cuCtxGetCurrent, (CUcontext * out), (out))
{
	if (!out)
		return CUDA_ERROR_INVALID_VALUE;
	*out = top();
	return CUDA_SUCCESS;
}

static CUresult ctx_or_current(CUcontext given, CUcontext *out)
{
	if (!given)
		return soft_current(out);
	*out = given;
	return soft_is(given, SOFT_CTX) ? CUDA_SUCCESS
					: CUDA_ERROR_INVALID_CONTEXT;
}

static CUresult device_of(CUdevice *out, CUcontext given)
{
	CUcontext ctx;
	CUresult res = ctx_or_current(given, &ctx);

	if (!out)
		return CUDA_ERROR_INVALID_VALUE;
	if (!res)
		*out = ctx->dev->index;
	return res;
}

SOFT_API(cuCtxGetDevice, (CUdevice * out), (out))
{
	return device_of(out, NULL);
}

SOFT_API(cuCtxGetDevice_v2, (CUdevice * out, CUcontext ctx), (out, ctx))
{
	return device_of(out, ctx);
}

/* Where all streams end now; an array to be freed. Rings outlive streams. */
static struct soft_dep *ends(CUcontext ctx, unsigned *n)
{
	struct soft_dep *all;
	CUstream s;

	soft_guard(soft_lock);
	*n = 1;
	LIST_FOREACH(s, &ctx->streams, link)
		++*n;
	all = calloc(*n, sizeof(*all));
	if (!all)
		abort();
	*n = 0;
	all[(*n)++] = (struct soft_dep){ctx->legacy,
					atomic_load(&ctx->legacy->tail)};
	LIST_FOREACH(s, &ctx->streams, link)
		all[(*n)++] = (struct soft_dep){s, atomic_load(&s->tail)};
	return all;
}

CUresult soft_ctx_sync(CUcontext ctx)
{
	unsigned n;
	struct soft_dep *all = ends(ctx, &n);

	for (unsigned i = 0; i < n; i++)
		soft_stream_wait(all[i].stream, all[i].seq);
	free(all);
	soft_pool_trim_all(ctx->dev);
	soft_phys_host_waited();
	return (CUresult)atomic_load(&ctx->sticky);
}

static CUresult synchronize(CUcontext given)
{
	CUcontext ctx;
	CUresult res = ctx_or_current(given, &ctx);

	if (!res)
		res = soft_capture_ctx_sync(ctx);
	return res ? res : soft_ctx_sync(ctx);
}

SOFT_API(cuCtxSynchronize, (void), ())
{
	return synchronize(NULL);
}

SOFT_API(cuCtxSynchronize_v2, (CUcontext ctx), (ctx))
{
	return synchronize(ctx);
}

/* ---- primary contexts ---- */

SOFT_API(cuDevicePrimaryCtxRetain, (CUcontext * out, CUdevice handle),
	 (out, handle))
{
	struct soft_device *dev;
	CUresult res = soft_device(handle, &dev);
	static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

	if (res)
		return res;
	if (!out)
		return CUDA_ERROR_INVALID_VALUE;
	soft_guard(lock);
	if (!dev->primary_refs) {
		dev->primary = ctx_make(dev, dev->primary_flags);
		if (!dev->primary)
			return CUDA_ERROR_OUT_OF_MEMORY;
		dev->primary->primary = true;
	}
	dev->primary_refs++;
	*out = dev->primary;
	return CUDA_SUCCESS;
}

static CUresult primary_drop(CUdevice handle, bool reset)
{
	struct soft_device *dev;
	CUresult res = soft_device(handle, &dev);

	if (res)
		return res;
	if (!dev->primary_refs)
		return reset ? CUDA_SUCCESS : CUDA_ERROR_INVALID_CONTEXT;
	dev->primary_refs = reset ? 0 : dev->primary_refs - 1;
	if (!dev->primary_refs) {
		ctx_unmake(dev->primary);
		dev->primary = NULL;
	}
	return CUDA_SUCCESS;
}

SOFT_API(cuDevicePrimaryCtxRelease, (CUdevice dev), (dev))
{
	return primary_drop(dev, false);
}

SOFT_API(cuDevicePrimaryCtxRelease_v2, (CUdevice dev), (dev))
{
	return primary_drop(dev, false);
}

SOFT_API(cuDevicePrimaryCtxReset, (CUdevice dev), (dev))
{
	return primary_drop(dev, true);
}

SOFT_API(cuDevicePrimaryCtxReset_v2, (CUdevice dev), (dev))
{
	return primary_drop(dev, true);
}

static CUresult primary_flags(CUdevice handle, unsigned flags)
{
	struct soft_device *dev;
	CUresult res = soft_device(handle, &dev);

	if (res)
		return res;
	if (flags & ~(unsigned)CU_CTX_FLAGS_MASK)
		return CUDA_ERROR_INVALID_VALUE;
	dev->primary_flags = flags;
	if (dev->primary)
		dev->primary->flags = flags;
	return CUDA_SUCCESS;
}

SOFT_API(cuDevicePrimaryCtxSetFlags, (CUdevice dev, unsigned int flags),
	 (dev, flags))
{
	return primary_flags(dev, flags);
}

SOFT_API(cuDevicePrimaryCtxSetFlags_v2, (CUdevice dev, unsigned int flags),
	 (dev, flags))
{
	return primary_flags(dev, flags);
}

SOFT_API(cuDevicePrimaryCtxGetState,
	 (CUdevice handle, unsigned int *flags, int *active),
	 (handle, flags, active))
{
	struct soft_device *dev;
	CUresult res = soft_device(handle, &dev);

	if (res)
		return res;
	if (!flags || !active)
		return CUDA_ERROR_INVALID_VALUE;
	*flags = dev->primary_flags;
	*active = dev->primary_refs > 0;
	return CUDA_SUCCESS;
}
