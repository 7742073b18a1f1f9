/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Libraries, kernels that are launched as functions, images that are none,
 * arrays, tensor maps, names of errors.
 */
#include <stdint.h>
#include "testing.h"

static void kernels(CUdeviceptr p)
{
	CUlibrary l;
	CUkernel k, list[8];
	CUfunction f;
	const char *name;
	size_t offset, size;
	unsigned n, v = 0;
	CUmodule m;

	ok(CALL(cuLibraryLoadFromFile)(&l,
				       path_of("softcuda_module",
					       "./mod-basic.so"),
				       NULL, NULL, 0, NULL, NULL, 0));
	ok(CALL(cuLibraryGetKernelCount)(&n, l));
	expect(n == 5);
	ok(CALL(cuLibraryEnumerateKernels)(list, n, l));
	ok(CALL(cuLibraryGetKernel)(&k, l, "add"));
	expect(k == list[0]);
	expect_code(CALL(cuLibraryGetKernel)(&k, l, "no"),
		    CUDA_ERROR_NOT_FOUND);
	ok(CALL(cuKernelGetName)(&name, k));
	expect(!strcmp(name, "add"));
	ok(CALL(cuKernelGetParamInfo)(k, 2, &offset, &size));
	expect(offset == 12 && size == 4);
	ok(CALL(cuKernelGetFunction)(&f, k));
	ok(CALL(cuLibraryGetModule)(&m, l));
	expect(f == function(m, "add"));
	ok(CALL(cuMemsetD32_v2)(p, 1, 1));
	ok(launch_add(f, NULL, p, 1, 2));
	ok(launch_add((CUfunction)(void *)k, NULL, p, 1, 3));
	ok(CALL(cuMemcpyDtoH_v2)(&v, p, 4));
	expect(v == 6);
	ok(CALL(cuLibraryUnload)(l));
	expect_code(launch_add(f, NULL, p, 1, 2), CUDA_ERROR_INVALID_HANDLE);
	expect_code(launch_add((CUfunction)(void *)k, NULL, p, 1, 2),
		    CUDA_ERROR_INVALID_HANDLE);
}

static void images(void)
{
	char junk[128] = "no module at all";
	CUmodule m;

	expect_code(CALL(cuModuleLoadData)(&m, junk), CUDA_ERROR_INVALID_IMAGE);
	expect_code(CALL(cuModuleLoad)(&m, "/nonexistent"),
		    CUDA_ERROR_FILE_NOT_FOUND);
	expect_code(CALL(cuModuleLoad)(&m, "/dev/null"),
		    CUDA_ERROR_INVALID_IMAGE);
	/* a shared object, but no module */
	expect_code(CALL(cuModuleLoad)(&m, path_of("softcuda",
						   "./libcuda.so.1")),
		    CUDA_ERROR_INVALID_IMAGE);
}

static void arrays(CUdeviceptr p)
{
	CUDA_ARRAY3D_DESCRIPTOR d = {0}, got;
	unsigned in[4] = {1, 2, 3, 4}, out[2];
	CUarray a;

	d.Width = 4;
	d.Height = 2;
	d.Format = 0x20; /* floats */
	d.NumChannels = 1;
	ok(CALL(cuArray3DCreate_v2)(&a, &d));
	ok(CALL(cuArray3DGetDescriptor_v2)(&got, a));
	expect(got.Width == 4 && got.Height == 2);
	ok(CALL(cuMemcpyHtoA_v2)(a, 0, in, 16));
	ok(CALL(cuMemcpyAtoH_v2)(out, a, 4, 8));
	expect(out[0] == 2 && out[1] == 3);
	ok(CALL(cuMemcpyAtoD_v2)(p, a, 12, 4));
	ok(CALL(cuMemcpyDtoH_v2)(out, p, 4));
	expect(out[0] == 4);
	ok(CALL(cuArrayDestroy)(a));
	expect_code(CALL(cuArrayDestroy)(a), CUDA_ERROR_INVALID_HANDLE);
}

static void tensor_maps(CUdeviceptr p)
{
	static CUtensorMap a, b;
	cuuint64_t dims[2] = {64, 32}, strides[1] = {256};
	cuuint32_t box[2] = {16, 16}, steps[2] = {1, 1};
	__typeof__(cuTensorMapEncodeTiled) *encode =
		CALL(cuTensorMapEncodeTiled);

	expect(sizeof(a) == 128);
	ok(encode(&a, 7, 2, (void *)p, dims, strides, box, steps, 0, 0, 0, 0));
	ok(encode(&b, 7, 2, (void *)(p + 256), dims, strides, box, steps, 0, 0,
		  0, 0));
	expect(memcmp(&a, &b, sizeof(a)));
	ok(CALL(cuTensorMapReplaceAddress)(&b, (void *)p));
	expect(!memcmp(&a, &b, sizeof(a)));
	box[0] = 8;
	ok(encode(&b, 7, 2, (void *)p, dims, strides, box, steps, 0, 0, 0, 0));
	expect(memcmp(&a, &b, sizeof(a)));
	expect_code(encode(&b, 7, 2, (void *)(p + 4), dims, strides, box, steps,
			   0, 0, 0, 0),
		    CUDA_ERROR_INVALID_VALUE);
}

static void errors(void)
{
	const char *text;

	ok(CALL(cuGetErrorName)(CUDA_ERROR_OUT_OF_MEMORY, &text));
	expect(!strcmp(text, "CUDA_ERROR_OUT_OF_MEMORY"));
	ok(CALL(cuGetErrorString)(CUDA_ERROR_OUT_OF_MEMORY, &text));
	expect(strlen(text) > 0);
	expect_code(CALL(cuGetErrorName)((CUresult)12345, &text),
		    CUDA_ERROR_INVALID_VALUE);
	expect(!text);
}

int main(void)
{
	CUdeviceptr p;

	open_context();
	ok(CALL(cuMemAlloc_v2)(&p, 4096));
	kernels(p);
	images();
	arrays(p);
	tensor_maps(p);
	errors();
	ok(CALL(cuMemFree_v2)(p));
	expect(counters().live_modules == 0);
	expect(counters().live_allocations == 0);
	return 0;
}
