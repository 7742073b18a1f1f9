/* SPDX-License-Identifier: Apache-2.0 */
/* Init, a context, memory, copies, a module, launches in each form. */
#include "testing.h"

#define N 5000u

static void before_init(void)
{
	CUcontext ctx;
	CUdevice dev;
	int version, count;

	expect_code(CALL(cuDeviceGet)(&dev, 0), CUDA_ERROR_NOT_INITIALIZED);
	expect_code(CALL(cuCtxGetCurrent)(&ctx), CUDA_ERROR_NOT_INITIALIZED);
	ok(CALL(cuDriverGetVersion)(&version));
	expect(version == 13000);
	expect_code(CALL(cuInit)(1), CUDA_ERROR_INVALID_VALUE);
	ok(CALL(cuInit)(0));
	ok(CALL(cuDeviceGetCount)(&count));
	expect(count == 1);
	expect_code(CALL(cuDeviceGet)(&dev, 1), CUDA_ERROR_INVALID_DEVICE);
	ok(CALL(cuCtxGetCurrent)(&ctx));
	expect(!ctx);
}

static void no_context(void)
{
	CUdeviceptr p;

	expect_code(CALL(cuMemAlloc_v2)(&p, 1), CUDA_ERROR_INVALID_CONTEXT);
}

/* The same three numbers from each way of giving arguments. */
static void launches(CUmodule m, CUdeviceptr p, unsigned *host)
{
	CUfunction f = function(m, "add");
	unsigned n = N, v = 5;
	struct {
		CUdeviceptr p;
		unsigned n, v;
	} packed = {p, n, v};
	size_t bytes = sizeof(packed);
	void *extra[] = {CU_LAUNCH_PARAM_BUFFER_POINTER, &packed,
			 CU_LAUNCH_PARAM_BUFFER_SIZE, &bytes,
			 CU_LAUNCH_PARAM_END};
	void *args[] = {&p, &n, &v};
	CUlaunchConfig c = {.gridDimX = (N + 255) / 256,
			    .gridDimY = 1,
			    .gridDimZ = 1,
			    .blockDimX = 256,
			    .blockDimY = 1,
			    .blockDimZ = 1};

	ok(CALL(cuMemsetD32_v2)(p, 7, N));
	ok(launch_add(f, NULL, p, N, 5));
	ok(CALL(cuLaunchKernel)(f, c.gridDimX, 1, 1, 256, 1, 1, 0, NULL, NULL,
				extra));
	ok(CALL(cuLaunchKernelEx)(&c, f, args, NULL));
	ok(CALL(cuLaunchCooperativeKernel)(f, c.gridDimX, 1, 1, 256, 1, 1, 0,
					   NULL, args));
	ok(CALL(cuLaunchKernel_ptsz)(f, c.gridDimX, 1, 1, 256, 1, 1, 0,
				     CU_STREAM_LEGACY, args, NULL));
	ok(CALL(cuMemcpyDtoH_v2)(host, p, N * 4));
	for (unsigned i = 0; i < N; i++)
		expect(host[i] == 32);
	expect_code(CALL(cuLaunchKernel)(f, 1, 1, 1, 256, 1, 1, 0, NULL, args,
					 extra),
		    CUDA_ERROR_INVALID_VALUE);
	expect_code(CALL(cuLaunchKernel)(f, 0, 1, 1, 256, 1, 1, 0, NULL, args,
					 NULL),
		    CUDA_ERROR_INVALID_VALUE);
	expect_code(CALL(cuLaunchKernel)(f, 1, 1, 1, 2048, 1, 1, 0, NULL, args,
					 NULL),
		    CUDA_ERROR_INVALID_VALUE);
	expect_code(CALL(cuLaunchKernel)(f, 1, 1, 1, 256, 1, 1, 60000, NULL,
					 args, NULL),
		    CUDA_ERROR_INVALID_VALUE);
	expect_code(CALL(cuLaunchKernel)(function(m, "scale"), 1, 1, 1, 512, 1,
					 1, 0, NULL, args, NULL),
		    CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES);
}

static void parameters(CUmodule m)
{
	CUfunction f = function(m, "add");
	size_t offset, size;

	ok(CALL(cuFuncGetParamInfo)(f, 0, &offset, &size));
	expect(offset == 0 && size == 8);
	ok(CALL(cuFuncGetParamInfo)(f, 2, &offset, &size));
	expect(offset == 12 && size == 4);
	ok(CALL(cuFuncGetParamInfo)(f, 1, &offset, NULL));
	expect_code(CALL(cuFuncGetParamInfo)(f, 3, &offset, &size),
		    CUDA_ERROR_INVALID_VALUE);
}

/* 1032 bytes of arguments do not fit into an entry. */
static void large_argument(CUmodule m, CUdeviceptr out)
{
	unsigned words[256];
	unsigned long long sum;
	void *args[] = {words, &out};

	for (unsigned i = 0; i < 256; i++)
		words[i] = i;
	ok(CALL(cuLaunchKernel)(function(m, "big"), 1, 1, 1, 1, 1, 1, 0, NULL,
				args, NULL));
	memset(words, 0, sizeof(words)); /* they were copied */
	ok(CALL(cuMemcpyDtoH_v2)(&sum, out, 8));
	expect(sum == 255 * 128);
}

/* Each load is an instance with own variables. */
static void globals(CUmodule m, CUdeviceptr p)
{
	CUmodule other = open_module();
	unsigned ten = 10, got;
	unsigned long long one = 1;
	CUdeviceptr a, b;
	size_t bytes;
	void *args[] = {&p, &one};

	ok(CALL(cuModuleGetGlobal_v2)(&a, &bytes, m, "scale_by"));
	ok(CALL(cuModuleGetGlobal_v2)(&b, NULL, other, "scale_by"));
	expect(bytes == 4 && a != b);
	expect_code(CALL(cuModuleGetGlobal_v2)(&a, NULL, m, "no"),
		    CUDA_ERROR_NOT_FOUND);
	ok(CALL(cuMemcpyHtoD_v2)(a, &ten, 4));
	expect_code(CALL(cuMemcpyHtoD_v2)(a, &ten, 8),
		    CUDA_ERROR_INVALID_VALUE);
	ok(CALL(cuMemsetD32_v2)(p, 2, 1));
	ok(CALL(cuLaunchKernel)(function(m, "scale"), 1, 1, 1, 1, 1, 1, 0, NULL,
				args, NULL));
	ok(CALL(cuLaunchKernel)(function(other, "scale"), 1, 1, 1, 1, 1, 1, 0,
				NULL, args, NULL));
	ok(CALL(cuMemcpyDtoH_v2)(&got, p, 4));
	expect(got == 60);
	ok(CALL(cuModuleUnload)(other));
	expect_code(CALL(cuModuleUnload)(other), CUDA_ERROR_INVALID_HANDLE);
}

int main(void)
{
	static unsigned host[N];
	CUdeviceptr p;
	CUmodule m;

	open_driver();
	before_init();
	no_context();
	open_context();
	m = open_module();
	ok(CALL(cuMemAlloc_v2)(&p, N * 4));
	launches(m, p, host);
	parameters(m);
	large_argument(m, p);
	globals(m, p);
	ok(CALL(cuMemFree_v2)(p));
	expect_code(CALL(cuMemFree_v2)(p), CUDA_ERROR_INVALID_VALUE);
	expect(counters().live_allocations == 0);
	ok(CALL(cuModuleUnload)(m));
	ok(CALL(cuDevicePrimaryCtxRelease_v2)(0));
	expect(counters().live_contexts == 0);
	expect(counters().live_modules == 0);
	return 0;
}
