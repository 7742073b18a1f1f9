/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Stream-ordered memory: in use from the call on, back in the pool when the
 * stream comes to the free, back on the device at a synchronisation.
 */
#include "testing.h"

#define MIB ((size_t)1 << 20)

static CUstream s;

static unsigned long long attribute(CUmemoryPool pool, CUmemPool_attribute a)
{
	cuuint64_t v;

	ok(CALL(cuMemPoolGetAttribute)(pool, a, &v));
	return v;
}

static void ordered(CUmodule m)
{
	CUfunction hold = function(m, "hold");
	CUmemoryPool pool;
	CUdeviceptr p, flag;
	void *host, *args[] = {&flag};

	ok(CALL(cuDeviceGetDefaultMemPool)(&pool, 0));
	ok(CALL(cuMemAllocHost_v2)(&host, 4));
	ok(CALL(cuMemHostGetDevicePointer_v2)(&flag, host, 0));
	*(unsigned *)host = 0;
	ok(CALL(cuMemAllocAsync)(&p, 4 * MIB, s));
	ok(CALL(cuMemsetD8Async)(p, 1, 4 * MIB, s));
	ok(CALL(cuLaunchKernel)(hold, 1, 1, 1, 1, 1, 1, 0, s, args, NULL));
	ok(CALL(cuMemFreeAsync)(p, s));
	expect_code(CALL(cuMemFreeAsync)(p, s), CUDA_ERROR_INVALID_VALUE);
	expect_code(CALL(cuMemsetD8Async)(p, 1, 1, s),
		    CUDA_ERROR_INVALID_VALUE);
	expect(attribute(pool, CU_MEMPOOL_ATTR_USED_MEM_CURRENT) == 4 * MIB);
	__atomic_store_n((unsigned *)host, 1, __ATOMIC_RELEASE);
	ok(CALL(cuStreamSynchronize)(s));
	expect(attribute(pool, CU_MEMPOOL_ATTR_USED_MEM_CURRENT) == 0);
	expect(attribute(pool, CU_MEMPOOL_ATTR_USED_MEM_HIGH) == 4 * MIB);
	expect(counters().device_bytes == 0);
	ok(CALL(cuCtxSynchronize)());
	expect(attribute(pool, CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT) == 0);
	expect(counters().device_charged_bytes == 0);
	ok(CALL(cuMemFreeHost)(host));
}

static void own_pool(void)
{
	CUmemPoolProps props = {
		.allocType = CU_MEM_ALLOCATION_TYPE_PINNED,
		.location = {CU_MEM_LOCATION_TYPE_DEVICE, 0},
	};
	cuuint64_t keep = UINT64_MAX;
	CUmemoryPool pool, of;
	CUdeviceptr p, q;

	ok(CALL(cuMemPoolCreate)(&pool, &props));
	ok(CALL(cuMemPoolSetAttribute)(
		pool, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD, &keep));
	ok(CALL(cuMemAllocFromPoolAsync)(&p, 3 * MIB, pool, s));
	ok(CALL(cuPointerGetAttribute)(
		&of, CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE, p));
	expect(of == pool);
	expect_code(CALL(cuMemPoolDestroy)(pool), CUDA_ERROR_INVALID_VALUE);
	ok(CALL(cuMemFreeAsync)(p, s));
	ok(CALL(cuCtxSynchronize)());
	/* kept, and given out again */
	expect(attribute(pool, CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT) ==
	       4 * MIB);
	ok(CALL(cuMemAllocFromPoolAsync)(&q, 3 * MIB, pool, s));
	expect(q == p);
	ok(CALL(cuMemFree_v2)(q)); /* by the other family */
	expect(attribute(pool, CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT) == 0);
	ok(CALL(cuMemPoolTrimTo)(pool, 0));
	ok(CALL(cuMemPoolDestroy)(pool));
	expect(counters().live_pools == 0);
}

static void wrong_family(void)
{
	CUdeviceptr p;

	ok(CALL(cuMemAlloc_v2)(&p, 16));
	expect_code(CALL(cuMemFreeAsync)(p, s), CUDA_ERROR_INVALID_VALUE);
	ok(CALL(cuMemFree_v2)(p));
	expect_code(CALL(cuMemAllocAsync)(&p, (size_t)1 << 50, s),
		    CUDA_ERROR_OUT_OF_MEMORY);
}

int main(void)
{
	CUmodule m;

	open_context();
	m = open_module();
	ok(CALL(cuStreamCreate)(&s, CU_STREAM_NON_BLOCKING));
	ordered(m);
	own_pool();
	wrong_family();
	expect(counters().live_allocations == 0);
	expect(counters().device_bytes == 0);
	expect(counters().device_charged_bytes == 0);
	return 0;
}
