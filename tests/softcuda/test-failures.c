/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Failures that were asked for come at the call they were asked for, and
 * leave nothing behind. A kernel that touches what is not mapped kills its
 * context: the error comes later, at any call, and stays.
 */
#include "testing.h"

static void injected(void)
{
	CUdeviceptr a, b;

	ok(CALL(cuMemAlloc_v2)(&a, 16));
	expect_code(CALL(cuMemAlloc_v2)(&b, 16), CUDA_ERROR_OUT_OF_MEMORY);
	ok(CALL(cuMemAlloc_v2)(&b, 16));
	expect(counters().live_allocations == 2);
	expect_code(CALL(cuMemFree_v2)(a), 999);
	ok(CALL(cuMemFree_v2)(a));
	ok(CALL(cuMemFree_v2)(b));
	expect(CALL(softcuda_fail)("cuNoSuchName:1") == -1);
	expect(CALL(softcuda_fail)("cuMemAlloc") == -1);
	expect(CALL(softcuda_fail)("cuStreamCreate:1:46") == 0);
	expect_code(CALL(cuStreamCreate)((CUstream[1]){0}, 0), 46);
	expect(counters().injected_failures == 3);
}

/* Running out of memory does not stick, an illegal address does. */
static void stray(CUmodule m)
{
	CUfunction add = function(m, "add");
	unsigned v;
	CUdeviceptr p;
	CUcontext ctx;

	expect_code(CALL(cuMemAlloc_v2)(&p, (size_t)1 << 50),
		    CUDA_ERROR_OUT_OF_MEMORY);
	ok(CALL(cuMemAlloc_v2)(&p, (size_t)4 << 20));
	ok(CALL(cuMemFree_v2)(p));
	ok(launch_add(add, NULL, p, 1, 1)); /* accepted; it fails later */
	expect_code(CALL(cuCtxSynchronize)(), CUDA_ERROR_ILLEGAL_ADDRESS);
	expect_code(CALL(cuMemAlloc_v2)(&p, 16), CUDA_ERROR_ILLEGAL_ADDRESS);
	expect_code(launch_add(add, NULL, p, 1, 1),
		    CUDA_ERROR_ILLEGAL_ADDRESS);
	expect_code(CALL(cuMemcpyDtoH_v2)(&v, p, 4),
		    CUDA_ERROR_ILLEGAL_ADDRESS);
	ok(CALL(cuCtxGetCurrent)(&ctx));
	expect(counters().sticky_errors == 1);
	expect(counters().stray_accesses == 1);
}

/* Another context goes on. */
static void other_context(void)
{
	CUcontext ctx, popped;
	CUdeviceptr p;

	ok(CALL(cuCtxCreate_v2)(&ctx, 0, 0));
	ok(CALL(cuMemAlloc_v2)(&p, 16));
	ok(CALL(cuMemsetD8_v2)(p, 1, 16));
	ok(CALL(cuCtxSynchronize)());
	ok(CALL(cuCtxPopCurrent_v2)(&popped));
	expect(popped == ctx);
	expect_code(CALL(cuMemAlloc_v2)(&p, 16), CUDA_ERROR_ILLEGAL_ADDRESS);
	ok(CALL(cuCtxPushCurrent_v2)(ctx));
	ok(CALL(cuCtxDestroy_v2)(ctx)); /* with its memory */
	expect_code(CALL(cuCtxPushCurrent_v2)(ctx), CUDA_ERROR_INVALID_CONTEXT);
	expect(counters().live_allocations == 0);
}

int main(void)
{
	setenv("SOFTCUDA_FAIL", "cuMemAlloc:2,cuMemFree_v2:1:999", 1);
	open_context();
	injected();
	stray(open_module());
	other_context();
	ok(CALL(cuDevicePrimaryCtxReset_v2)(0));
	expect(counters().live_contexts == 0 && counters().live_modules == 0);
	return 0;
}
