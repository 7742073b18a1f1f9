/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Two devices of different size, contexts and their stack, access among
 * peers, attributes as the environment sets them.
 */
#include "testing.h"

#define MIB ((size_t)1 << 20)

static int attribute(int which, CUdevice dev)
{
	int v;

	ok(CALL(cuDeviceGetAttribute)(&v, (CUdevice_attribute)which, dev));
	return v;
}

static void facts(void)
{
	CUuuid a, b;
	char id[32];
	size_t bytes;
	CUdevice dev;
	int n;

	ok(CALL(cuDeviceGetCount)(&n));
	expect(n == 2);
	ok(CALL(cuDeviceTotalMem_v2)(&bytes, 0));
	expect(bytes == 32 * MIB);
	ok(CALL(cuDeviceTotalMem_v2)(&bytes, 1));
	expect(bytes == 1536 * 1024);
	expect(attribute(88, 0) == 1 && attribute(88, 1) == 0);
	expect(attribute(89, 0) == 1 && attribute(89, 1) == 0);
	expect(attribute(100, 0) == 0 && attribute(101, 0) == 0);
	expect_code(CALL(cuDeviceGetAttribute)(&n, 100000, 0),
		    CUDA_ERROR_INVALID_VALUE);
	ok(CALL(cuDeviceGetUuid_v2)(&a, 0));
	ok(CALL(cuDeviceGetUuid_v2)(&b, 1));
	expect(memcmp(&a, &b, sizeof(a)));
	ok(CALL(cuDeviceGetPCIBusId)(id, sizeof(id), 1));
	ok(CALL(cuDeviceGetByPCIBusId)(&dev, id));
	expect(dev == 1);
}

static void stack(void)
{
	CUcontext a, b, got;
	CUdevice dev;

	ok(CALL(cuCtxCreate_v2)(&a, 0, 0));
	ok(CALL(cuCtxCreate_v4)(&b, NULL, 0, 1));
	ok(CALL(cuCtxGetCurrent)(&got));
	expect(got == b);
	ok(CALL(cuCtxGetDevice)(&dev));
	expect(dev == 1);
	ok(CALL(cuCtxGetDevice_v2)(&dev, a));
	expect(dev == 0);
	ok(CALL(cuCtxPopCurrent_v2)(&got));
	expect(got == b);
	ok(CALL(cuCtxGetCurrent)(&got));
	expect(got == a);
	ok(CALL(cuCtxDestroy_v2)(b));
	expect_code(CALL(cuCtxDestroy_v2)(b), CUDA_ERROR_INVALID_CONTEXT);
	expect_code(CALL(cuCtxSetCurrent)(b), CUDA_ERROR_INVALID_CONTEXT);
	ok(CALL(cuCtxDestroy_v2)(a));
	ok(CALL(cuCtxGetCurrent)(&got));
	expect(!got);
	expect_code(CALL(cuCtxPopCurrent_v2)(&got),
		    CUDA_ERROR_INVALID_CONTEXT);
}

static void primary(void)
{
	CUcontext a, b;
	unsigned flags;
	int active;

	ok(CALL(cuDevicePrimaryCtxGetState)(0, &flags, &active));
	expect(!active);
	ok(CALL(cuDevicePrimaryCtxRetain)(&a, 0));
	ok(CALL(cuDevicePrimaryCtxRetain)(&b, 0));
	expect(a == b);
	ok(CALL(cuDevicePrimaryCtxRelease_v2)(0));
	ok(CALL(cuDevicePrimaryCtxGetState)(0, &flags, &active));
	expect(active);
	expect_code(CALL(cuCtxDestroy_v2)(a), CUDA_ERROR_INVALID_CONTEXT);
	ok(CALL(cuDevicePrimaryCtxRelease_v2)(0));
	expect_code(CALL(cuDevicePrimaryCtxRelease_v2)(0),
		    CUDA_ERROR_INVALID_CONTEXT);
}

static void peers(void)
{
	CUcontext a, b;
	CUdeviceptr p, q;
	unsigned v = 6;
	int can;

	ok(CALL(cuDeviceCanAccessPeer)(&can, 0, 1));
	expect(can);
	ok(CALL(cuDevicePrimaryCtxRetain)(&a, 0));
	ok(CALL(cuDevicePrimaryCtxRetain)(&b, 1));
	ok(CALL(cuCtxSetCurrent)(b));
	expect_code(CALL(cuMemAlloc_v2)(&q, 2 * MIB),
		    CUDA_ERROR_OUT_OF_MEMORY);
	ok(CALL(cuMemAlloc_v2)(&q, 4));
	ok(CALL(cuCtxSetCurrent)(a));
	ok(CALL(cuMemAlloc_v2)(&p, 4));
	ok(CALL(cuCtxEnablePeerAccess)(b, 0));
	expect_code(CALL(cuCtxEnablePeerAccess)(b, 0),
		    CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED);
	ok(CALL(cuMemcpyHtoD_v2)(p, &v, 4));
	ok(CALL(cuMemcpyPeer)(q, b, p, a, 4));
	v = 0;
	ok(CALL(cuMemcpyDtoH_v2)(&v, q, 4));
	expect(v == 6);
	ok(CALL(cuCtxDisablePeerAccess)(b));
	expect_code(CALL(cuCtxDisablePeerAccess)(b),
		    CUDA_ERROR_PEER_ACCESS_NOT_ENABLED);
	ok(CALL(cuDevicePrimaryCtxReset_v2)(1)); /* frees q */
	expect_code(CALL(cuMemcpyDtoH_v2)(&v, q, 4), CUDA_ERROR_INVALID_VALUE);
	ok(CALL(cuMemFree_v2)(p));
	ok(CALL(cuDevicePrimaryCtxRelease_v2)(0));
}

/* A device without concurrent access takes no part in the batch calls. */
static void without_concurrent_access(void)
{
	CUmemLocation l = {CU_MEM_LOCATION_TYPE_DEVICE, 1};
	size_t len = 2 * MIB;
	CUdeviceptr p;
	CUcontext a;
	CUstream s;

	ok(CALL(cuDevicePrimaryCtxRetain)(&a, 0));
	ok(CALL(cuCtxSetCurrent)(a));
	ok(CALL(cuStreamCreate)(&s, CU_STREAM_NON_BLOCKING));
	ok(CALL(cuMemAllocManaged)(&p, len, CU_MEM_ATTACH_GLOBAL));
	expect_code(CALL(cuMemPrefetchAsync_v2)(p, len, l, 0, s),
		    CUDA_ERROR_INVALID_DEVICE);
	expect_code(CALL(cuMemDiscardBatchAsync)(&p, &len, 1, 0, s),
		    CUDA_ERROR_NOT_SUPPORTED);
	l.id = 0;
	ok(CALL(cuMemPrefetchAsync_v2)(p, len, l, 0, s));
	ok(CALL(cuDevicePrimaryCtxReset_v2)(0));
}

int main(void)
{
	setenv("SOFTCUDA_DEVICES", "2", 1);
	setenv("SOFTCUDA_VRAM", "32M,1.5M", 1);
	setenv("SOFTCUDA_CMA", "10", 1);
	setenv("SOFTCUDA_PAGEABLE", "10", 1);
	open_driver();
	ok(CALL(cuInit)(0));
	facts();
	stack();
	primary();
	peers();
	without_concurrent_access();
	expect(counters().live_contexts == 0);
	expect(counters().live_allocations == 0);
	return 0;
}
