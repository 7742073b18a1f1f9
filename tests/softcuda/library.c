/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The context-free calls: a library is a module that is loaded when it is
 * first needed, here at once, and its kernels are handles that a launch takes
 * for functions.
 */
#include <stdlib.h>
#include <string.h>
#include "soft.h"

struct CUlib_st {
	struct soft_object o;
	CUmodule module;
	CUkernel kernels; /* an array, kept for ever as the functions are */
};

static CUresult from_module(CUresult res, CUmodule m, CUlibrary *out)
{
	CUlibrary l;

	if (res)
		return res;
	l = soft_new(SOFT_LIBRARY, sizeof(*l));
	if (!l)
		return CUDA_ERROR_OUT_OF_MEMORY;
	l->module = m;
	l->kernels = calloc(m->table->n_kernels + 1, sizeof(*l->kernels));
	if (!l->kernels)
		return CUDA_ERROR_OUT_OF_MEMORY;
	for (uint32_t i = 0; i < m->table->n_kernels; i++) {
		l->kernels[i].o.kind = SOFT_KERNEL;
		l->kernels[i].library = l;
		l->kernels[i].function = &m->functions[i];
	}
	*out = l;
	return CUDA_SUCCESS;
}

SOFT_API(cuLibraryLoadData,
	 (CUlibrary * out, const void *image, CUjit_option *jit,
	  void **jit_values, unsigned int n_jit, CUlibraryOption *options,
	  void **values, unsigned int n),
	 (out, image, jit, jit_values, n_jit, options, values, n))
{
	CUmodule m = NULL;
	CUresult res = soft_capture_unsafe();

	if (!res && !out)
		res = CUDA_ERROR_INVALID_VALUE;
	if (!res)
		res = soft_module_load(image, &m);
	return from_module(res, m, out);
}

SOFT_API(cuLibraryLoadFromFile,
	 (CUlibrary * out, const char *path, CUjit_option *jit,
	  void **jit_values, unsigned int n_jit, CUlibraryOption *options,
	  void **values, unsigned int n),
	 (out, path, jit, jit_values, n_jit, options, values, n))
{
	CUmodule m = NULL;
	CUresult res = soft_capture_unsafe();

	if (!res && !out)
		res = CUDA_ERROR_INVALID_VALUE;
	if (!res)
		res = soft_module_load_file(path, &m);
	return from_module(res, m, out);
}

SOFT_API(cuLibraryUnload, (CUlibrary l), (l))
{
	CUresult res = soft_check(l, SOFT_LIBRARY);

	if (!res)
		res = soft_capture_unsafe();
	if (res)
		return res;
	soft_ctx_sync(l->module->ctx);
	for (uint32_t i = 0; i < l->module->table->n_kernels; i++)
		l->kernels[i].o.kind = SOFT_DEAD;
	soft_module_unload(l->module);
	soft_delete(l);
	return CUDA_SUCCESS;
}

SOFT_API(cuLibraryGetModule, (CUmodule * out, CUlibrary l), (out, l))
{
	CUresult res = soft_check(l, SOFT_LIBRARY);

	if (!res && !out)
		res = CUDA_ERROR_INVALID_VALUE;
	if (!res)
		*out = l->module;
	return res;
}

SOFT_API(cuLibraryGetKernel, (CUkernel * out, CUlibrary l, const char *name),
	 (out, l, name))
{
	CUresult res = soft_check(l, SOFT_LIBRARY);

	if (res)
		return res;
	if (!out || !name)
		return CUDA_ERROR_INVALID_VALUE;
	for (uint32_t i = 0; i < l->module->table->n_kernels; i++) {
		if (strcmp(l->module->table->kernels[i].name, name))
			continue;
		*out = &l->kernels[i];
		return CUDA_SUCCESS;
	}
	return CUDA_ERROR_NOT_FOUND;
}

SOFT_API(cuLibraryGetKernelCount, (unsigned int *out, CUlibrary l), (out, l))
{
	CUresult res = soft_check(l, SOFT_LIBRARY);

	if (!res && !out)
		res = CUDA_ERROR_INVALID_VALUE;
	if (!res)
		*out = l->module->table->n_kernels;
	return res;
}

SOFT_API(cuLibraryEnumerateKernels,
	 (CUkernel * out, unsigned int n, CUlibrary l), (out, n, l))
{
	CUresult res = soft_check(l, SOFT_LIBRARY);

	if (!res && !out)
		res = CUDA_ERROR_INVALID_VALUE;
	for (uint32_t i = 0; !res && i < n && i < l->module->table->n_kernels;
	     i++)
		out[i] = &l->kernels[i];
	return res;
}

SOFT_API(cuLibraryGetGlobal,
	 (CUdeviceptr * out, size_t *bytes, CUlibrary l, const char *name),
	 (out, bytes, l, name))
{
	CUresult res = soft_check(l, SOFT_LIBRARY);

	return res ? res : soft_module_global(l->module, out, bytes, name);
}

SOFT_API(cuKernelGetFunction, (CUfunction * out, CUkernel k), (out, k))
{
	CUresult res = soft_check(k, SOFT_KERNEL);

	if (!res && !out)
		res = CUDA_ERROR_INVALID_VALUE;
	if (!res)
		*out = k->function;
	return res;
}

SOFT_API(cuKernelGetLibrary, (CUlibrary * out, CUkernel k), (out, k))
{
	CUresult res = soft_check(k, SOFT_KERNEL);

	if (!res && !out)
		res = CUDA_ERROR_INVALID_VALUE;
	if (!res)
		*out = k->library;
	return res;
}

SOFT_API(cuKernelGetName, (const char **out, CUkernel k), (out, k))
{
	CUresult res = soft_check(k, SOFT_KERNEL);

	if (!res && !out)
		res = CUDA_ERROR_INVALID_VALUE;
	if (!res)
		*out = k->function->kernel->name;
	return res;
}

SOFT_API(cuKernelGetAttribute,
	 (int *out, CUfunction_attribute attr, CUkernel k, CUdevice dev),
	 (out, attr, k, dev))
{
	CUresult res = soft_check(k, SOFT_KERNEL);

	return res ? res : soft_function_attr(k->function, attr, out);
}

SOFT_API(cuKernelSetAttribute,
	 (CUfunction_attribute attr, int value, CUkernel k, CUdevice dev),
	 (attr, value, k, dev))
{
	CUresult res = soft_check(k, SOFT_KERNEL);

	return res ? res : soft_function_set(k->function, attr, value);
}

SOFT_API(cuKernelSetCacheConfig,
	 (CUkernel k, CUfunc_cache config, CUdevice dev), (k, config, dev))
{
	return soft_check(k, SOFT_KERNEL);
}
