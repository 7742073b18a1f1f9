/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The VMM calls: sizes, offset 0, exact unmaps, access, what a handle lives
 * as long as, two mappings of one handle, memory of the host, and a kernel
 * that touches what was unmapped.
 */
#include <unistd.h>
#include "testing.h"

#define BLOCK ((size_t)2 << 20)

static CUmemAllocationProp on_device = {
	.type = CU_MEM_ALLOCATION_TYPE_PINNED,
	.location = {CU_MEM_LOCATION_TYPE_DEVICE, 0},
};
static CUmemAllocationProp on_host = {
	.type = CU_MEM_ALLOCATION_TYPE_PINNED,
	.location = {CU_MEM_LOCATION_TYPE_HOST_NUMA, 0},
};
static CUmemAccessDesc by_device = {{CU_MEM_LOCATION_TYPE_DEVICE, 0},
				    CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
static CUmemAccessDesc by_host = {{CU_MEM_LOCATION_TYPE_HOST, 0},
				  CU_MEM_ACCESS_FLAGS_PROT_READWRITE};

static size_t free_bytes(void)
{
	size_t n;

	ok(CALL(cuMemGetInfo_v2)(&n, NULL));
	return n;
}

static CUmemGenericAllocationHandle create(size_t size)
{
	CUmemGenericAllocationHandle h;

	ok(CALL(cuMemCreate)(&h, size, &on_device, 0));
	return h;
}

static void sizes(void)
{
	CUmemGenericAllocationHandle h;
	CUmemAllocationProp bad = on_host;
	CUdeviceptr va;
	size_t granularity;

	ok(CALL(cuMemGetAllocationGranularity)(
		&granularity, &on_device, CU_MEM_ALLOC_GRANULARITY_MINIMUM));
	expect(granularity == BLOCK);
	expect_code(CALL(cuMemCreate)(&h, BLOCK + 4096, &on_device, 0),
		    CUDA_ERROR_INVALID_VALUE);
	expect_code(CALL(cuMemCreate)(&h, (size_t)1 << 40, &on_device, 0),
		    CUDA_ERROR_OUT_OF_MEMORY);
	bad.location.id = 7;
	expect_code(CALL(cuMemCreate)(&h, BLOCK, &bad, 0),
		    CUDA_ERROR_INVALID_VALUE);
	bad.location.type = CU_MEM_LOCATION_TYPE_HOST_NUMA_CURRENT;
	expect_code(CALL(cuMemCreate)(&h, BLOCK, &bad, 0),
		    CUDA_ERROR_INVALID_VALUE);
	expect_code(CALL(cuMemAddressReserve)(&va, 4096, 0, 0, 0),
		    CUDA_ERROR_INVALID_VALUE);
}

static void map_rules(void)
{
	CUmemGenericAllocationHandle h = create(2 * BLOCK), small;
	size_t before = free_bytes();
	unsigned long long access;
	CUdeviceptr va;
	unsigned v = 5;

	ok(CALL(cuMemAddressReserve)(&va, 8 * BLOCK, 0, 0, 0));
	expect_code(CALL(cuMemMap)(va, BLOCK, 0, h, 0),
		    CUDA_ERROR_INVALID_VALUE); /* not all of it */
	expect_code(CALL(cuMemMap)(va, 2 * BLOCK, BLOCK, h, 0),
		    CUDA_ERROR_INVALID_VALUE); /* not from 0 */
	expect_code(CALL(cuMemMap)(va + 7 * BLOCK, 2 * BLOCK, 0, h, 0),
		    CUDA_ERROR_INVALID_VALUE); /* not inside */
	ok(CALL(cuMemMap)(va, 2 * BLOCK, 0, h, 0));
	expect_code(CALL(cuMemMap)(va, 2 * BLOCK, 0, h, 0),
		    CUDA_ERROR_INVALID_VALUE); /* there already */
	small = create(BLOCK);
	ok(CALL(cuMemMap)(va + 2 * BLOCK, BLOCK, 0, small, 0));
	expect_code(CALL(cuMemSetAccess)(va, BLOCK, &by_device, 1),
		    CUDA_ERROR_INVALID_VALUE); /* half of a mapping */
	expect_code(CALL(cuMemSetAccess)(va, 3 * BLOCK, &by_host, 1),
		    CUDA_ERROR_INVALID_VALUE); /* no host access to it */
	ok(CALL(cuMemSetAccess)(va, 3 * BLOCK, &by_device, 1));
	ok(CALL(cuMemGetAccess)(&access, &by_device.location, va));
	expect(access == CU_MEM_ACCESS_FLAGS_PROT_READWRITE);
	/* one copy over both mappings */
	ok(CALL(cuMemcpyHtoD_v2)(va + 2 * BLOCK - 2, &v, 4));
	v = 0;
	ok(CALL(cuMemcpyDtoH_v2)(&v, va + 2 * BLOCK - 2, 4));
	expect(v == 5);
	/* a released handle lives on in its mapping */
	ok(CALL(cuMemRelease)(h));
	ok(CALL(cuMemRelease)(small));
	expect_code(CALL(cuMemRelease)(h), CUDA_ERROR_INVALID_VALUE);
	expect(free_bytes() == before - BLOCK);
	ok(CALL(cuMemcpyDtoH_v2)(&v, va, 4));
	expect_code(CALL(cuMemUnmap)(va, BLOCK), CUDA_ERROR_INVALID_VALUE);
	expect_code(CALL(cuMemAddressFree)(va, 8 * BLOCK),
		    CUDA_ERROR_INVALID_VALUE);
	ok(CALL(cuMemUnmap)(va, 3 * BLOCK));
	expect(free_bytes() == before + 2 * BLOCK);
	ok(CALL(cuMemAddressFree)(va, 8 * BLOCK));
}

static void aliases(void)
{
	CUmemGenericAllocationHandle h = create(BLOCK), again;
	CUdeviceptr a, b;
	unsigned v = 7;

	ok(CALL(cuMemAddressReserve)(&a, BLOCK, 0, 0, 0));
	ok(CALL(cuMemAddressReserve)(&b, BLOCK, 0, 0, 0));
	ok(CALL(cuMemMap)(a, BLOCK, 0, h, 0));
	ok(CALL(cuMemMap)(b, BLOCK, 0, h, 0));
	ok(CALL(cuMemSetAccess)(a, BLOCK, &by_device, 1));
	ok(CALL(cuMemSetAccess)(b, BLOCK, &by_device, 1));
	ok(CALL(cuMemcpyHtoD_v2)(a + 64, &v, 4));
	v = 0;
	ok(CALL(cuMemcpyDtoH_v2)(&v, b + 64, 4));
	expect(v == 7);
	ok(CALL(cuMemRetainAllocationHandle)(&again, (void *)b));
	expect(again == h);
	ok(CALL(cuMemRelease)(h));
	ok(CALL(cuMemUnmap)(a, BLOCK));
	ok(CALL(cuMemUnmap)(b, BLOCK));
	expect(counters().live_handles == 1);
	ok(CALL(cuMemRelease)(again));
	expect(counters().live_handles == 0);
	ok(CALL(cuMemAddressFree)(a, BLOCK));
	ok(CALL(cuMemAddressFree)(b, BLOCK));
}

/* The program may touch it; it costs the device nothing. */
static void host_side(void)
{
	CUmemGenericAllocationHandle h;
	CUmemAccessDesc both[2] = {by_device, by_host};
	size_t before = free_bytes();
	CUdeviceptr va;

	ok(CALL(cuMemCreate)(&h, BLOCK, &on_host, 0));
	expect(counters().soft_host_bytes == BLOCK);
	expect(free_bytes() == before);
	ok(CALL(cuMemAddressReserve)(&va, 2 * BLOCK, 0, 0, 0));
	ok(CALL(cuMemMap)(va, BLOCK, 0, h, 0));
	ok(CALL(cuMemSetAccess)(va, BLOCK, both, 2));
	ok(CALL(cuMemsetD32_v2)(va, 9, 4));
	ok(CALL(cuCtxSynchronize)());
	expect(((unsigned *)va)[3] == 9);
	ok(CALL(cuMemRelease)(h));
	h = create(BLOCK);
	ok(CALL(cuMemMap)(va + BLOCK, BLOCK, 0, h, 0)); /* mixed */
	ok(CALL(cuMemRelease)(h));
	ok(CALL(cuMemUnmap)(va, 2 * BLOCK));
	ok(CALL(cuMemAddressFree)(va, 2 * BLOCK));
	expect(counters().soft_host_bytes == 0);
}

static void descriptors(void)
{
	CUmemAllocationProp p = on_device;
	CUmemGenericAllocationHandle h, other;
	int fd;

	h = create(BLOCK);
	expect_code(CALL(cuMemExportToShareableHandle)(
			    &fd, h, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR,
			    0),
		    CUDA_ERROR_INVALID_VALUE); /* was not asked for */
	ok(CALL(cuMemRelease)(h));
	p.requestedHandleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
	ok(CALL(cuMemCreate)(&h, BLOCK, &p, 0));
	ok(CALL(cuMemExportToShareableHandle)(
		&fd, h, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0));
	ok(CALL(cuMemImportFromShareableHandle)(
		&other, (void *)(intptr_t)fd,
		CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR));
	close(fd);
	ok(CALL(cuMemRelease)(h));
	ok(CALL(cuMemRelease)(other));
}

/* An unmapped range is loud, and an unmap waits for nothing. */
static void stray(CUmodule m)
{
	CUfunction add = function(m, "add"), hold = function(m, "hold");
	CUmemGenericAllocationHandle h = create(BLOCK);
	CUdeviceptr va, flag;
	void *host, *args[] = {&flag};

	ok(CALL(cuMemAllocHost_v2)(&host, 4));
	ok(CALL(cuMemHostGetDevicePointer_v2)(&flag, host, 0));
	*(unsigned *)host = 0;
	ok(CALL(cuMemAddressReserve)(&va, BLOCK, 0, 0, 0));
	ok(CALL(cuMemMap)(va, BLOCK, 0, h, 0));
	ok(CALL(cuMemSetAccess)(va, BLOCK, &by_device, 1));
	ok(CALL(cuLaunchKernel)(hold, 1, 1, 1, 1, 1, 1, 0, NULL, args, NULL));
	ok(launch_add(add, NULL, va, 1, 1));
	ok(CALL(cuMemUnmap)(va, BLOCK));
	expect(counters().busy_frees == 1);
	__atomic_store_n((unsigned *)host, 1, __ATOMIC_RELEASE);
	expect_code(CALL(cuCtxSynchronize)(), CUDA_ERROR_ILLEGAL_ADDRESS);
	expect(counters().stray_accesses == 1);
}

int main(void)
{
	setenv("SOFTCUDA_VRAM", "256M", 1);
	open_context();
	sizes();
	map_rules();
	aliases();
	host_side();
	descriptors();
	expect(counters().live_handles == 0);
	expect(counters().live_reservations == 0);
	expect(counters().live_allocations == 0);
	stray(open_module());
	return 0;
}
