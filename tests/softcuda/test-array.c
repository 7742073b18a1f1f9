/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Arrays: their memory, levels, copies, and what textures and surfaces are
 * made of.
 */
#include "testing.h"

#define FLOAT	 0x20
#define BYTES	 0x01
#define LAYERED	 0x01
#define CUBEMAP	 0x04
#define DEFERRED 0x80

static CUDA_ARRAY3D_DESCRIPTOR desc(size_t w, size_t h, size_t d,
				    unsigned format, unsigned channels,
				    unsigned flags)
{
	return (CUDA_ARRAY3D_DESCRIPTOR){w, h, d, format, channels, flags};
}

static uint64_t now(void)
{
	return counters().device_bytes;
}

/* What was asked for is what counts, and all of it comes back. */
static void sizes(void)
{
	static const struct {
		CUDA_ARRAY3D_DESCRIPTOR d;
		size_t bytes;
	} rows[] = {
		{{100, 0, 0, FLOAT, 1, 0}, 400},
		{{30, 20, 0, BYTES, 4, 0}, 2400},
		{{8, 4, 3, FLOAT, 2, 0}, 768},
		{{16, 0, 5, BYTES, 1, LAYERED}, 80},
		{{16, 16, 6, FLOAT, 1, CUBEMAP}, 6144},
		{{4, 4, 12, BYTES, 1, CUBEMAP | LAYERED}, 192},
		{{64, 64, 0, FLOAT, 1, DEFERRED}, 0},
	};
	uint64_t live = counters().live_allocations;

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		uint64_t before = now();
		CUarray a;

		ok(CALL(cuArray3DCreate_v2)(&a, &rows[i].d));
		expect(now() == before + rows[i].bytes);
		ok(CALL(cuArrayDestroy)(a));
		expect(now() == before);
	}
	expect(counters().live_allocations == live);
}

static void refusals(void)
{
	static const CUDA_ARRAY3D_DESCRIPTOR bad[] = {
		{0, 4, 0, FLOAT, 1, 0},	      {4, 4, 0, 0x77, 1, 0},
		{4, 4, 0, FLOAT, 3, 0},	      {4, 0, 4, FLOAT, 1, 0},
		{4, 5, 6, FLOAT, 1, CUBEMAP}, {4, 4, 12, FLOAT, 1, CUBEMAP},
		{4, 4, 0, FLOAT, 1, LAYERED}, {4, 4, 0, FLOAT, 1, 1u << 20},
	};
	CUDA_ARRAY3D_DESCRIPTOR huge = desc(1 << 20, 1 << 20, 0, FLOAT, 4, 0);
	uint64_t before = now();
	CUmipmappedArray m;
	CUarray a;

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		expect_code(CALL(cuArray3DCreate_v2)(&a, &bad[i]),
			    CUDA_ERROR_INVALID_VALUE);
		expect_code(CALL(cuMipmappedArrayCreate)(&m, &bad[i], 1),
			    CUDA_ERROR_INVALID_VALUE);
	}
	expect_code(CALL(cuArray3DCreate_v2)(&a, &huge),
		    CUDA_ERROR_OUT_OF_MEMORY);
	expect_code(CALL(cuMipmappedArrayCreate)(&m, &huge, 20),
		    CUDA_ERROR_OUT_OF_MEMORY);
	expect(now() == before);
}

/* Many of them fill the device; then there is room again. */
static void until_full(void)
{
	CUDA_ARRAY_DESCRIPTOR d = {1 << 12, 1 << 12, FLOAT, 1}; /* 64 MiB */
	CUarray a[64];
	unsigned n = 0;
	CUresult rc;

	while (n < 64 && !(rc = CALL(cuArrayCreate_v2)(&a[n], &d)))
		n++;
	expect(n > 0 && n < 64);
	expect(rc == CUDA_ERROR_OUT_OF_MEMORY);
	ok(CALL(cuArrayDestroy)(a[--n]));
	ok(CALL(cuArrayCreate_v2)(&a[n], &d));
	for (unsigned i = 0; i <= n; i++)
		ok(CALL(cuArrayDestroy)(a[i]));
	expect(now() == 0);
}

static void copy_in(CUarray a, const unsigned *from, size_t w, size_t h)
{
	CUDA_MEMCPY2D c = {.srcMemoryType = CU_MEMORYTYPE_HOST,
			   .srcHost = from,
			   .srcPitch = w * 4,
			   .dstMemoryType = CU_MEMORYTYPE_ARRAY,
			   .dstArray = a,
			   .WidthInBytes = w * 4,
			   .Height = h};

	ok(CALL(cuMemcpy2D_v2)(&c));
}

static void levels(void)
{
	CUDA_ARRAY3D_DESCRIPTOR d = desc(8, 4, 0, FLOAT, 1, 0), got;
	unsigned in[32], out[2];
	uint64_t before = now();
	CUarray l[4], again;
	CUmipmappedArray m;

	/* 8x4 4x2 2x1 1x1; more than there can be are not made */
	ok(CALL(cuMipmappedArrayCreate)(&m, &d, 9));
	expect(now() == before + (32 + 8 + 2 + 1) * 4);
	for (unsigned i = 0; i < 4; i++)
		ok(CALL(cuMipmappedArrayGetLevel)(&l[i], m, i));
	expect_code(CALL(cuMipmappedArrayGetLevel)(&again, m, 4),
		    CUDA_ERROR_INVALID_VALUE);
	ok(CALL(cuMipmappedArrayGetLevel)(&again, m, 1));
	expect(again == l[1]);
	ok(CALL(cuArray3DGetDescriptor_v2)(&got, l[1]));
	expect(got.Width == 4 && got.Height == 2);
	for (unsigned i = 0; i < 32; i++)
		in[i] = i;
	copy_in(l[0], in, 8, 4);
	copy_in(l[1], in + 10, 4, 2);
	ok(CALL(cuMemcpyHtoA_v2)(l[3], 0, in + 30, 4));
	ok(CALL(cuMemcpyAtoH_v2)(out, l[0], 24, 8));
	expect(out[0] == 6 && out[1] == 7);
	ok(CALL(cuMemcpyAtoA_v2)(l[2], 0, l[1], 8, 8));
	ok(CALL(cuMemcpyAtoH_v2)(out, l[2], 0, 8));
	expect(out[0] == 12 && out[1] == 13);
	ok(CALL(cuMemcpyAtoH_v2)(out, l[3], 0, 4));
	expect(out[0] == 30);
	expect_code(CALL(cuMemcpyAtoH_v2)(out, l[3], 4, 4),
		    CUDA_ERROR_INVALID_VALUE);
	expect_code(CALL(cuArrayDestroy)(l[0]), CUDA_ERROR_INVALID_HANDLE);
	ok(CALL(cuMipmappedArrayDestroy)(m));
	expect(now() == before);
	expect_code(CALL(cuMemcpyHtoA_v2)(l[3], 0, in, 4),
		    CUDA_ERROR_INVALID_HANDLE);
	expect_code(CALL(cuMipmappedArrayDestroy)(m),
		    CUDA_ERROR_INVALID_HANDLE);
}

static void layers_have_all_levels(void)
{
	CUDA_ARRAY3D_DESCRIPTOR d = desc(4, 4, 3, BYTES, 1, LAYERED);
	uint64_t before = now();
	CUmipmappedArray m;

	ok(CALL(cuMipmappedArrayCreate)(&m, &d, 2));
	expect(now() == before + (16 + 4) * 3);
	ok(CALL(cuMipmappedArrayDestroy)(m));
}

/* What is captured says which array, or level, it is for. */
static void captured(void)
{
	CUDA_ARRAY3D_DESCRIPTOR d = desc(8, 4, 0, FLOAT, 1, 0);
	static unsigned in[4];
	CUDA_MEMCPY3D got;
	CUmipmappedArray m;
	CUgraphNode node;
	CUarray to[2];
	CUgraph g;
	CUstream s;
	size_t n = 1;

	ok(CALL(cuStreamCreate)(&s, CU_STREAM_NON_BLOCKING));
	ok(CALL(cuArray3DCreate_v2)(&to[0], &d));
	ok(CALL(cuMipmappedArrayCreate)(&m, &d, 3));
	ok(CALL(cuMipmappedArrayGetLevel)(&to[1], m, 1));
	for (unsigned i = 0; i < 2; i++) {
		ok(CALL(cuStreamBeginCapture_v2)(
			s, CU_STREAM_CAPTURE_MODE_RELAXED));
		ok(CALL(cuMemcpyHtoAAsync_v2)(to[i], 8, in, 8, s));
		ok(CALL(cuStreamEndCapture)(s, &g));
		ok(CALL(cuGraphGetNodes)(g, &node, &n));
		ok(CALL(cuGraphMemcpyNodeGetParams)(node, &got));
		expect(got.dstMemoryType == CU_MEMORYTYPE_ARRAY);
		expect(got.dstArray == to[i] && got.dstXInBytes == 8);
		expect(!got.dstY && !got.dstZ && !got.srcArray);
		ok(CALL(cuGraphDestroy)(g));
	}
	ok(CALL(cuMipmappedArrayDestroy)(m));
	ok(CALL(cuArrayDestroy)(to[0]));
	ok(CALL(cuStreamDestroy_v2)(s));
}

static void requirements(void)
{
	CUDA_ARRAY3D_DESCRIPTOR later = desc(100, 10, 0, FLOAT, 1, DEFERRED);
	CUDA_ARRAY3D_DESCRIPTOR d = desc(100, 10, 0, FLOAT, 1, 0);
	CUDA_ARRAY_MEMORY_REQUIREMENTS r;
	unsigned v = 1;
	CUmipmappedArray m;
	CUarray a;

	ok(CALL(cuArray3DCreate_v2)(&a, &d));
	expect_code(CALL(cuArrayGetMemoryRequirements)(&r, a, 0),
		    CUDA_ERROR_INVALID_VALUE);
	ok(CALL(cuArrayDestroy)(a));
	ok(CALL(cuArray3DCreate_v2)(&a, &later));
	ok(CALL(cuArrayGetMemoryRequirements)(&r, a, 0));
	expect(r.size >= 4000 && r.alignment && r.size % r.alignment == 0);
	expect_code(CALL(cuMemcpyHtoA_v2)(a, 0, &v, 4),
		    CUDA_ERROR_INVALID_VALUE); /* there is nothing yet */
	ok(CALL(cuArrayDestroy)(a));
	ok(CALL(cuMipmappedArrayCreate)(&m, &later, 3));
	ok(CALL(cuMipmappedArrayGetMemoryRequirements)(&r, m, 0));
	expect(r.size >= 4000);
	ok(CALL(cuMipmappedArrayDestroy)(m));
}

static void textures(void)
{
	CUDA_ARRAY3D_DESCRIPTOR d = desc(8, 8, 0, FLOAT, 1, 0);
	CUDA_RESOURCE_DESC r = {0}, got;
	CUDA_TEXTURE_DESC t = {.maxAnisotropy = 3}, t_got;
	CUDA_RESOURCE_VIEW_DESC view = {.width = 8}, v_got;
	CUtexObject tex;
	CUsurfObject surf;
	CUdeviceptr p;
	CUarray a;

	ok(CALL(cuArray3DCreate_v2)(&a, &d));
	r.res.array.hArray = a;
	ok(CALL(cuTexObjectCreate)(&tex, &r, &t, &view));
	ok(CALL(cuSurfObjectCreate)(&surf, &r));
	expect(counters().live_textures == 2);
	ok(CALL(cuTexObjectGetResourceDesc)(&got, tex));
	expect(got.res.array.hArray == a);
	ok(CALL(cuTexObjectGetTextureDesc)(&t_got, tex));
	expect(t_got.maxAnisotropy == 3);
	ok(CALL(cuTexObjectGetResourceViewDesc)(&v_got, tex));
	expect(v_got.width == 8);
	ok(CALL(cuSurfObjectGetResourceDesc)(&got, surf));
	expect_code(CALL(cuTexObjectDestroy)(surf), CUDA_ERROR_INVALID_HANDLE);
	ok(CALL(cuSurfObjectDestroy)(surf));
	ok(CALL(cuTexObjectDestroy)(tex));
	expect_code(CALL(cuTexObjectDestroy)(tex), CUDA_ERROR_INVALID_HANDLE);
	ok(CALL(cuArrayDestroy)(a));
	expect_code(CALL(cuTexObjectCreate)(&tex, &r, &t, NULL),
		    CUDA_ERROR_INVALID_HANDLE); /* no such array any more */
	ok(CALL(cuMemAlloc_v2)(&p, 4096));
	r = (CUDA_RESOURCE_DESC){.resType = 2};
	r.res.linear.devPtr = p;
	r.res.linear.format = FLOAT;
	r.res.linear.numChannels = 1;
	r.res.linear.sizeInBytes = 8192;
	expect_code(CALL(cuTexObjectCreate)(&tex, &r, &t, NULL),
		    CUDA_ERROR_INVALID_VALUE); /* more than there is */
	r.res.linear.sizeInBytes = 4096;
	ok(CALL(cuTexObjectCreate)(&tex, &r, &t, NULL));
	ok(CALL(cuTexObjectDestroy)(tex));
	ok(CALL(cuMemFree_v2)(p));
	expect(counters().live_textures == 0);
}

/* A context takes its arrays with it. */
static void with_the_context(void)
{
	CUDA_ARRAY3D_DESCRIPTOR d = desc(8, 8, 0, FLOAT, 1, 0);
	CUmipmappedArray m;
	CUcontext ctx;
	CUarray a;

	ok(CALL(cuCtxCreate_v2)(&ctx, 0, 0));
	ok(CALL(cuArray3DCreate_v2)(&a, &d));
	ok(CALL(cuMipmappedArrayCreate)(&m, &d, 4));
	ok(CALL(cuCtxDestroy_v2)(ctx));
	expect(now() == 0 && counters().live_allocations == 0);
	open_context();
	expect_code(CALL(cuArrayDestroy)(a), CUDA_ERROR_INVALID_HANDLE);
	expect_code(CALL(cuMipmappedArrayDestroy)(m),
		    CUDA_ERROR_INVALID_HANDLE);
}

int main(void)
{
	setenv("SOFTCUDA_VRAM", "1G", 1);
	open_context();
	sizes();
	refusals();
	until_full();
	levels();
	layers_have_all_levels();
	captured();
	requirements();
	textures();
	with_the_context();
	return 0;
}
