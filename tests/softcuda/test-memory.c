/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Native memory: capacity, bounds, frees of what is not there, the kinds of
 * pointers, copies of every form.
 */
#include "testing.h"

#define MIB ((size_t)1 << 20)

static size_t free_bytes(void)
{
	size_t n;

	ok(CALL(cuMemGetInfo_v2)(&n, NULL));
	return n;
}

static void capacity(void)
{
	CUdeviceptr a, b;
	size_t total, before = free_bytes();

	ok(CALL(cuDeviceTotalMem_v2)(&total, 0));
	expect(total == 64 * MIB && before == total);
	ok(CALL(cuMemAlloc_v2)(&a, 40 * MIB));
	expect(free_bytes() == 24 * MIB);
	expect_code(CALL(cuMemAlloc_v2)(&b, 25 * MIB),
		    CUDA_ERROR_OUT_OF_MEMORY);
	expect_code(CALL(cuMemAlloc_v2)(&b, (size_t)1 << 60),
		    CUDA_ERROR_OUT_OF_MEMORY);
	ok(CALL(cuMemAlloc_v2)(&b, 24 * MIB));
	expect(free_bytes() == 0);
	ok(CALL(cuMemFree_v2)(a));
	ok(CALL(cuMemFree_v2)(b));
	expect(free_bytes() == before);
	expect_code(CALL(cuMemAlloc_v2)(&a, 0), CUDA_ERROR_INVALID_VALUE);
	ok(CALL(cuMemFree_v2)(0));
}

static void bounds(void)
{
	static char host[2048];
	CUdeviceptr p, freed, base;
	size_t size;

	ok(CALL(cuMemAlloc_v2)(&p, 1000));
	ok(CALL(cuMemAlloc_v2)(&freed, 3 * MIB));
	expect(p % 256 == 0);
	ok(CALL(cuMemcpyHtoD_v2)(p + 999, host, 1));
	expect_code(CALL(cuMemcpyHtoD_v2)(p + 999, host, 2),
		    CUDA_ERROR_INVALID_VALUE);
	expect_code(CALL(cuMemsetD8_v2)(p, 0, 1001), CUDA_ERROR_INVALID_VALUE);
	expect_code(CALL(cuMemsetD32_v2)(p + 2, 0, 1),
		    CUDA_ERROR_INVALID_VALUE);
	ok(CALL(cuMemGetAddressRange_v2)(&base, &size, p + 500));
	expect(base == p && size == 1000);
	expect_code(CALL(cuMemFree_v2)(p + 8), CUDA_ERROR_INVALID_VALUE);
	ok(CALL(cuMemFree_v2)(freed));
	expect_code(CALL(cuMemcpyDtoH_v2)(host, freed, 8),
		    CUDA_ERROR_INVALID_VALUE);
	expect_code(CALL(cuMemcpy)((CUdeviceptr)host, freed, 8),
		    CUDA_ERROR_INVALID_VALUE);
	ok(CALL(cuMemFree_v2)(p));
	expect(counters().bad_frees == 1);
	expect(counters().bad_ranges == 4);
}

static void planes(void)
{
	static unsigned char in[6][10], out[6][10];
	CUDA_MEMCPY2D c = {0};
	CUDA_MEMCPY3D d = {0};
	CUdeviceptr p;
	size_t pitch;

	for (unsigned i = 0; i < sizeof(in); i++)
		((unsigned char *)in)[i] = (unsigned char)i;
	ok(CALL(cuMemAllocPitch_v2)(&p, &pitch, 10, 6, 4));
	expect(pitch >= 10 && pitch % 512 == 0);
	c.srcMemoryType = CU_MEMORYTYPE_HOST;
	c.srcHost = in;
	c.srcPitch = 10;
	c.dstMemoryType = CU_MEMORYTYPE_DEVICE;
	c.dstDevice = p;
	c.dstPitch = pitch;
	c.WidthInBytes = 10;
	c.Height = 6;
	ok(CALL(cuMemcpy2D_v2)(&c));
	/* columns 3 to 8 of rows 1 to 4 back */
	d.srcMemoryType = CU_MEMORYTYPE_DEVICE;
	d.srcDevice = p;
	d.srcPitch = pitch;
	d.srcXInBytes = 3;
	d.srcY = 1;
	d.dstMemoryType = CU_MEMORYTYPE_HOST;
	d.dstHost = out;
	d.dstPitch = 10;
	d.dstXInBytes = 3;
	d.dstY = 1;
	d.WidthInBytes = 6;
	d.Height = 4;
	d.Depth = 1;
	ok(CALL(cuMemcpy3D_v2)(&d));
	for (unsigned y = 0; y < 6; y++)
		for (unsigned x = 0; x < 10; x++)
			expect(out[y][x] == (y >= 1 && y < 5 && x >= 3 && x < 9
						     ? in[y][x]
						     : 0));
	c.Height = 7;
	expect_code(CALL(cuMemcpy2D_v2)(&c), CUDA_ERROR_INVALID_VALUE);
	c.Height = 6;
	c.dstPitch = 4;
	expect_code(CALL(cuMemcpy2D_v2)(&c), CUDA_ERROR_INVALID_VALUE);
	ok(CALL(cuMemsetD2D16_v2)(p, pitch, 0x1234, 5, 6));
	ok(CALL(cuMemcpyDtoH_v2)(out, p + 2 * pitch, 10));
	expect(out[0][0] == 0x34 && out[0][1] == 0x12 && out[0][9] == 0x12);
	ok(CALL(cuMemFree_v2)(p));
}

static void host_memory(void)
{
	static char own[8192];
	unsigned flags;
	CUdeviceptr d;
	void *h;

	ok(CALL(cuMemHostAlloc)(&h, 5000, CU_MEMHOSTALLOC_PORTABLE));
	ok(CALL(cuMemHostGetFlags)(&flags, h));
	expect(flags & CU_MEMHOSTALLOC_PORTABLE);
	ok(CALL(cuMemHostGetDevicePointer_v2)(&d, h, 0));
	expect_code(CALL(cuMemHostGetDevicePointer_v2)(&d, own, 0),
		    CUDA_ERROR_INVALID_VALUE);
	expect_code(CALL(cuMemFree_v2)(d), CUDA_ERROR_INVALID_VALUE);
	expect(counters().host_bytes == 5000);
	ok(CALL(cuMemFreeHost)(h));
	expect_code(CALL(cuMemFreeHost)(h), CUDA_ERROR_INVALID_VALUE);
	ok(CALL(cuMemHostRegister_v2)(own, sizeof(own), 0));
	expect_code(CALL(cuMemHostRegister_v2)(own + 4096, 4096, 0),
		    CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED);
	ok(CALL(cuMemHostUnregister)(own));
	expect_code(CALL(cuMemHostUnregister)(own),
		    CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED);
}

static void attributes(void)
{
	CUpointer_attribute attrs[] = {CU_POINTER_ATTRIBUTE_MEMORY_TYPE,
				       CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL};
	unsigned type = 9;
	int ordinal, managed, local;
	void *out[] = {&type, &ordinal};
	CUdeviceptr p, m;
	size_t size;

	ok(CALL(cuMemAlloc_v2)(&p, 100));
	ok(CALL(cuMemAllocManaged)(&m, 100, CU_MEM_ATTACH_GLOBAL));
	ok(CALL(cuPointerGetAttribute)(&managed,
				       CU_POINTER_ATTRIBUTE_IS_MANAGED, p));
	expect(managed == 0);
	ok(CALL(cuPointerGetAttribute)(&managed,
				       CU_POINTER_ATTRIBUTE_IS_MANAGED, m));
	expect(managed == 1);
	ok(CALL(cuPointerGetAttribute)(&size, CU_POINTER_ATTRIBUTE_RANGE_SIZE,
				       p + 9));
	expect(size == 100);
	expect_code(CALL(cuPointerGetAttribute)(
			    &managed, CU_POINTER_ATTRIBUTE_IS_MANAGED,
			    (CUdeviceptr)&local),
		    CUDA_ERROR_INVALID_VALUE);
	ok(CALL(cuPointerGetAttributes)(2, attrs, out, p));
	expect(type == CU_MEMORYTYPE_DEVICE && ordinal == 0);
	ok(CALL(cuPointerGetAttributes)(2, attrs, out, (CUdeviceptr)&local));
	expect(type == 0 && ordinal == CU_DEVICE_INVALID);
	ok(CALL(cuMemFree_v2)(p));
	ok(CALL(cuMemFree_v2)(m));
}

/* Pageable bytes are read before the call returns. */
static void pageable(void)
{
	unsigned v = 41, got;
	CUstream s;
	CUdeviceptr p;

	ok(CALL(cuStreamCreate)(&s, CU_STREAM_NON_BLOCKING));
	ok(CALL(cuMemAlloc_v2)(&p, 4));
	ok(CALL(cuMemcpyHtoDAsync_v2)(p, &v, 4, s));
	v = 0;
	ok(CALL(cuMemcpyDtoHAsync_v2)(&got, p, 4, s));
	expect(got == 41);
	ok(CALL(cuMemFree_v2)(p));
	ok(CALL(cuStreamDestroy_v2)(s));
}

static void batch(void)
{
	unsigned in[2] = {3, 4}, out[2] = {0, 0};
	CUmemcpyAttributes a = {
		.srcAccessOrder = CU_MEMCPY_SRC_ACCESS_ORDER_STREAM};
	CUdeviceptr p, dst[2], src[2], back[2] = {(CUdeviceptr)&out[1],
						  (CUdeviceptr)&out[0]};
	size_t size[2] = {4, 4}, first = 0, fail;
	CUstream s;

	ok(CALL(cuStreamCreate)(&s, 0));
	ok(CALL(cuMemAlloc_v2)(&p, 8));
	for (unsigned i = 0; i < 2; i++) {
		dst[i] = p + 4 * i;
		src[i] = (CUdeviceptr)&in[i];
	}
	expect_code(CALL(cuMemcpyBatchAsync_v2)(dst, src, size, 2, &a, &first,
						1, NULL),
		    CUDA_ERROR_INVALID_VALUE); /* not on the legacy stream */
	ok(CALL(cuMemcpyBatchAsync_v2)(dst, src, size, 2, &a, &first, 1, s));
	ok(CALL(cuMemcpyBatchAsync)(back, dst, size, 2, &a, &first, 1, &fail,
				    s));
	ok(CALL(cuStreamSynchronize)(s));
	expect(out[0] == 4 && out[1] == 3);
	size[1] = 8;
	expect_code(CALL(cuMemcpyBatchAsync)(back, dst, size, 2, &a, &first, 1,
					     &fail, s),
		    CUDA_ERROR_INVALID_VALUE);
	expect(fail == 1);
	ok(CALL(cuMemFree_v2)(p));
	ok(CALL(cuStreamDestroy_v2)(s));
}

int main(void)
{
	setenv("SOFTCUDA_VRAM", "64M", 1);
	open_context();
	capacity();
	bounds();
	planes();
	host_memory();
	attributes();
	pageable();
	batch();
	expect(counters().live_allocations == 0);
	expect(counters().device_bytes == 0);
	expect(counters().device_charged_bytes == 0);
	return 0;
}
