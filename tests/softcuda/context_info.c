/* SPDX-License-Identifier: Apache-2.0 */
/* What a program may ask of and set in a context, and access among peers. */
#include "soft.h"

SOFT_API(cuCtxGetFlags, (unsigned int *out), (out))
{
	CUcontext ctx;
	CUresult res = soft_current(&ctx);

	if (!res && !out)
		res = CUDA_ERROR_INVALID_VALUE;
	if (!res)
		*out = ctx->flags;
	return res;
}

SOFT_API(cuCtxSetFlags, (unsigned int flags), (flags))
{
	CUcontext ctx;
	CUresult res = soft_current(&ctx);

	if (!res && (flags & ~(unsigned)CU_CTX_FLAGS_MASK))
		res = CUDA_ERROR_INVALID_VALUE;
	if (!res)
		ctx->flags = flags;
	return res;
}

SOFT_API(cuCtxGetId, (CUcontext given, unsigned long long *out), (given, out))
{
	CUcontext ctx = given;
	CUresult res = given ? CUDA_SUCCESS : soft_current(&ctx);

	if (!res && !soft_is(ctx, SOFT_CTX))
		res = CUDA_ERROR_CONTEXT_IS_DESTROYED;
	if (!res && !out)
		res = CUDA_ERROR_INVALID_VALUE;
	if (!res)
		*out = ctx->id;
	return res;
}

SOFT_API(cuCtxGetApiVersion, (CUcontext given, unsigned int *out), (given, out))
{
	CUcontext ctx = given;
	CUresult res = given ? CUDA_SUCCESS : soft_current(&ctx);

	if (!res && !soft_is(ctx, SOFT_CTX))
		res = CUDA_ERROR_INVALID_CONTEXT;
	if (!res && !out)
		res = CUDA_ERROR_INVALID_VALUE;
	if (!res)
		*out = ctx->api_version;
	return res;
}

SOFT_API(cuCtxGetLimit, (size_t *out, CUlimit limit), (out, limit))
{
	CUcontext ctx;
	CUresult res = soft_current(&ctx);

	if (!res && !out)
		res = CUDA_ERROR_INVALID_VALUE;
	if (!res && (unsigned)limit >= soft_len(ctx->limits))
		res = CUDA_ERROR_UNSUPPORTED_LIMIT;
	if (!res)
		*out = ctx->limits[limit];
	return res;
}

SOFT_API(cuCtxSetLimit, (CUlimit limit, size_t value), (limit, value))
{
	CUcontext ctx;
	CUresult res = soft_current(&ctx);

	if (!res && (unsigned)limit >= soft_len(ctx->limits))
		res = CUDA_ERROR_UNSUPPORTED_LIMIT;
	if (!res)
		ctx->limits[limit] = value;
	return res;
}

SOFT_API(cuCtxGetStreamPriorityRange, (int *least, int *greatest),
	 (least, greatest))
{
	CUcontext ctx;
	CUresult res = soft_current(&ctx);

	if (res)
		return res;
	if (least)
		*least = 0;
	if (greatest)
		*greatest = -5;
	return CUDA_SUCCESS;
}

SOFT_API(cuCtxGetCacheConfig, (CUfunc_cache * out), (out))
{
	CUcontext ctx;
	CUresult res = soft_current(&ctx);

	if (!res && !out)
		res = CUDA_ERROR_INVALID_VALUE;
	if (!res)
		*out = (CUfunc_cache)ctx->cache_config;
	return res;
}

SOFT_API(cuCtxSetCacheConfig, (CUfunc_cache config), (config))
{
	CUcontext ctx;
	CUresult res = soft_current(&ctx);

	if (!res && (unsigned)config > 3)
		res = CUDA_ERROR_INVALID_VALUE;
	if (!res)
		ctx->cache_config = config;
	return res;
}

SOFT_API(cuCtxGetSharedMemConfig, (CUsharedconfig * out), (out))
{
	CUcontext ctx;
	CUresult res = soft_current(&ctx);

	if (!res && !out)
		res = CUDA_ERROR_INVALID_VALUE;
	if (!res)
		*out = (CUsharedconfig)ctx->shared_config;
	return res;
}

SOFT_API(cuCtxSetSharedMemConfig, (CUsharedconfig config), (config))
{
	CUcontext ctx;
	CUresult res = soft_current(&ctx);

	if (!res)
		ctx->shared_config = config;
	return res;
}

SOFT_API(cuCtxResetPersistingL2Cache, (void), ())
{
	CUcontext ctx;

	return soft_current(&ctx);
}

SOFT_API(cuProfilerStart, (void), ())
{
	CUcontext ctx;

	return soft_current(&ctx);
}

SOFT_API(cuProfilerStop, (void), ())
{
	CUcontext ctx;

	return soft_current(&ctx);
}

/* ---- peers: access from the current context to another's memory ---- */

SOFT_API(cuCtxEnablePeerAccess, (CUcontext peer, unsigned int flags),
	 (peer, flags))
{
	CUcontext ctx;
	CUresult res = soft_current(&ctx);

	if (res)
		return res;
	if (flags)
		return CUDA_ERROR_INVALID_VALUE;
	if (!soft_is(peer, SOFT_CTX) || peer->dev == ctx->dev)
		return CUDA_ERROR_INVALID_DEVICE;
	if (ctx->peers & 1u << peer->dev->index)
		return CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED;
	ctx->peers |= 1u << peer->dev->index;
	return CUDA_SUCCESS;
}

SOFT_API(cuCtxDisablePeerAccess, (CUcontext peer), (peer))
{
	CUcontext ctx;
	CUresult res = soft_current(&ctx);

	if (res)
		return res;
	if (!soft_is(peer, SOFT_CTX) ||
	    !(ctx->peers & 1u << peer->dev->index))
		return CUDA_ERROR_PEER_ACCESS_NOT_ENABLED;
	ctx->peers &= ~(1u << peer->dev->index);
	return CUDA_SUCCESS;
}
