/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Older versions of calls whose arguments have not changed. Those of the time
 * of 32-bit device pointers are not served.
 */
#include "soft.h"

SOFT_API(cuStreamDestroy, (CUstream s), (s))
{
	return cuStreamDestroy_v2(s);
}

SOFT_API(cuEventDestroy, (CUevent e), (e))
{
	return cuEventDestroy_v2(e);
}

SOFT_API(cuCtxDestroy, (CUcontext ctx), (ctx))
{
	return cuCtxDestroy_v2(ctx);
}

SOFT_API(cuCtxPushCurrent, (CUcontext ctx), (ctx))
{
	return cuCtxPushCurrent_v2(ctx);
}

SOFT_API(cuCtxPopCurrent, (CUcontext * out), (out))
{
	return cuCtxPopCurrent_v2(out);
}

SOFT_API(cuCtxCreate, (CUcontext * out, unsigned int flags, CUdevice dev),
	 (out, flags, dev))
{
	return cuCtxCreate_v2(out, flags, dev);
}
