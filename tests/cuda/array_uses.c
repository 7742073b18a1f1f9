/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A program to look at: arrays that are used by copies of every family, also
 * by their levels and by a graph, and memory behind textures; "ready", and it
 * ends with its input. The sizes of the arrays tell them apart.
 */
#include <string.h>
#include "driver.h"

#define FLOAT 0x20
#define KIB   ((size_t)1024)

static CUdeviceptr device;
static float host[256 * 16];

static CUarray array(size_t width, size_t height)
{
	CUDA_ARRAY3D_DESCRIPTOR d = {width, height, 0, FLOAT, 1, 0};
	CUarray a;

	ok(SYM(cuArray3DCreate_v2)(&a, &d));
	return a;
}

/* In and out of an array, by 1D copies: 14. */
static void lines(CUarray a, CUstream s)
{
	ok(SYM(cuMemcpyHtoA_v2)(a, 0, host, 64));
	ok(SYM(cuMemcpyHtoA_v2_ptds)(a, 0, host, 64));
	ok(SYM(cuMemcpyAtoH_v2)(host, a, 0, 64));
	ok(SYM(cuMemcpyAtoH_v2_ptds)(host, a, 0, 64));
	ok(SYM(cuMemcpyDtoA_v2)(a, 0, device, 64));
	ok(SYM(cuMemcpyDtoA_v2_ptds)(a, 0, device, 64));
	ok(SYM(cuMemcpyAtoD_v2)(device, a, 0, 64));
	ok(SYM(cuMemcpyAtoD_v2_ptds)(device, a, 0, 64));
	ok(SYM(cuMemcpyHtoAAsync_v2)(a, 0, host, 64, s));
	ok(SYM(cuMemcpyHtoAAsync_v2_ptsz)(a, 0, host, 64, s));
	ok(SYM(cuMemcpyAtoHAsync_v2)(host, a, 0, 64, s));
	ok(SYM(cuMemcpyAtoHAsync_v2_ptsz)(host, a, 0, 64, s));
	/* From one place to another of the same: both ends are uses. */
	ok(SYM(cuMemcpyAtoA_v2)(a, 64, a, 0, 64));
}

/* 2D and 3D: 4 uses. */
static void planes(CUarray a)
{
	CUDA_MEMCPY2D two = {.srcMemoryType = CU_MEM_HOST,
			     .srcHost = host,
			     .srcPitch = KIB,
			     .dstMemoryType = CU_MEM_ARRAY,
			     .dstArray = a,
			     .WidthInBytes = KIB,
			     .Height = 4};
	CUDA_MEMCPY3D three = {.srcMemoryType = CU_MEM_ARRAY,
			       .srcArray = a,
			       .dstMemoryType = CU_MEM_HOST,
			       .dstHost = host,
			       .dstPitch = KIB,
			       .dstHeight = 4,
			       .WidthInBytes = KIB,
			       .Height = 4,
			       .Depth = 1};

	ok(SYM(cuMemcpy2D_v2)(&two));
	ok(SYM(cuMemcpy2DUnaligned_v2)(&two));
	ok(SYM(cuMemcpy3D_v2)(&three));
	ok(SYM(cuMemcpy3D_v2_ptds)(&three));
}

/* Each of three levels once. */
static void levels(CUmipmappedArray m)
{
	for (unsigned i = 0; i < 3; i++) {
		CUarray level;

		ok(SYM(cuMipmappedArrayGetLevel)(&level, m, i));
		ok(SYM(cuMemcpyHtoA_v2)(level, 0, host, 16));
	}
}

/* A captured copy to an array, launched five times. */
static void graph(CUarray a)
{
	CUresult (*create)(CUstream *, unsigned) =
		driver_get("cuStreamCreate", 2000, 0);
	CUgraphExec exec;
	CUgraph g;
	CUstream s;

	ok(create(&s, 1));
	ok(SYM(cuStreamBeginCapture_v2)(s, 0));
	ok(SYM(cuMemcpyHtoAAsync_v2)(a, 0, host, 64, s));
	ok(SYM(cuStreamEndCapture)(s, &g));
	ok(SYM(cuGraphInstantiateWithFlags)(&exec, g, 0));
	for (int i = 0; i < 5; i++)
		ok(SYM(cuGraphLaunch)(exec, s));
	ok(SYM(cuStreamSynchronize)(s));
}

/* What a texture or a surface was made of stays where it is. */
static void textures(CUarray a, CUmipmappedArray m)
{
	CUresult (*make)(CUtexObject *, const CUDA_RESOURCE_DESC *,
			 const void *, const void *) =
		driver_get("cuTexObjectCreate", 5000, 0);
	struct {
		CUdeviceptr p;
		int format;
		unsigned channels;
		size_t bytes;
	} linear = {0, FLOAT, 1, 512 * KIB};
	int texture[26] = {0};
	CUDA_RESOURCE_DESC r = {.resType = CU_RESOURCE_ARRAY, .res.array = a};
	CUtexObject t;
	CUsurfObject s;

	ok(make(&t, &r, texture, NULL));
	ok(SYM(cuSurfObjectCreate)(&s, &r));
	r.resType = CU_RESOURCE_MIPMAP;
	r.res.mipmap = m;
	ok(make(&t, &r, texture, NULL));
	r.resType = CU_RESOURCE_LINEAR;
	ok(SYM(cuMemAlloc_v2)(&linear.p, linear.bytes));
	memcpy(&r.res, &linear, sizeof(linear));
	ok(make(&t, &r, texture, NULL));
}

int main(void)
{
	CUDA_ARRAY3D_DESCRIPTOR d = {32, 32, 0, FLOAT, 1, 0};
	CUmipmappedArray m;

	driver_start();
	ok(SYM(cuMemAlloc_v2)(&device, KIB));
	lines(array(256, 2), NULL);
	planes(array(256, 4));
	graph(array(256, 6));
	ok(SYM(cuMipmappedArrayCreate)(&m, &d, 3));
	levels(m);
	textures(array(256, 8), m);
	ok(SYM(cuCtxSynchronize)());
	driver_show();
	driver_end();
	return 0;
}
