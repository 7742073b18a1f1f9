/* SPDX-License-Identifier: Apache-2.0 */
/* The cuModule*, cuFunc* and parameter calls. */
#include <string.h>
#include "soft.h"

SOFT_API(cuModuleLoad, (CUmodule * out, const char *path), (out, path))
{
	CUresult res = soft_capture_unsafe();

	return res ? res : soft_module_load_file(path, out);
}

SOFT_API(cuModuleLoadData, (CUmodule * out, const void *image), (out, image))
{
	CUresult res = soft_capture_unsafe();

	return res ? res : soft_module_load(image, out);
}

SOFT_API(cuModuleLoadDataEx,
	 (CUmodule * out, const void *image, unsigned int n,
	  CUjit_option *options, void **values),
	 (out, image, n, options, values))
{
	CUresult res = soft_capture_unsafe();

	return res ? res : soft_module_load(image, out);
}

SOFT_API(cuModuleLoadFatBinary, (CUmodule * out, const void *image),
	 (out, image))
{
	CUresult res = soft_capture_unsafe();

	return res ? res : soft_module_load(image, out);
}

SOFT_API(cuModuleUnload, (CUmodule m), (m))
{
	CUresult res = soft_check(m, SOFT_MODULE);

	if (!res)
		res = soft_capture_unsafe();
	if (res)
		return res;
	soft_ctx_sync(m->ctx);
	soft_module_unload(m);
	return CUDA_SUCCESS;
}

SOFT_API(cuModuleGetLoadingMode, (CUmoduleLoadingMode * out), (out))
{
	if (!out)
		return CUDA_ERROR_INVALID_VALUE;
	*out = CU_MODULE_LAZY_LOADING;
	return CUDA_SUCCESS;
}

SOFT_API(cuModuleGetFunction, (CUfunction * out, CUmodule m, const char *name),
	 (out, m, name))
{
	CUresult res = soft_check(m, SOFT_MODULE);

	if (res)
		return res;
	if (!out || !name)
		return CUDA_ERROR_INVALID_VALUE;
	for (uint32_t i = 0; i < m->table->n_kernels; i++) {
		if (strcmp(m->table->kernels[i].name, name))
			continue;
		*out = &m->functions[i];
		return CUDA_SUCCESS;
	}
	return CUDA_ERROR_NOT_FOUND;
}

SOFT_API(cuModuleGetFunctionCount, (unsigned int *out, CUmodule m), (out, m))
{
	CUresult res = soft_check(m, SOFT_MODULE);

	if (!res && !out)
		res = CUDA_ERROR_INVALID_VALUE;
	if (!res)
		*out = m->table->n_kernels;
	return res;
}

SOFT_API(cuModuleEnumerateFunctions,
	 (CUfunction * out, unsigned int n, CUmodule m), (out, n, m))
{
	CUresult res = soft_check(m, SOFT_MODULE);

	if (!res && !out)
		res = CUDA_ERROR_INVALID_VALUE;
	for (uint32_t i = 0; !res && i < n && i < m->table->n_kernels; i++)
		out[i] = &m->functions[i];
	return res;
}

CUresult soft_module_global(CUmodule m, CUdeviceptr *out, size_t *bytes,
			    const char *name)
{
	if (!name)
		return CUDA_ERROR_INVALID_VALUE;
	for (uint32_t i = 0; i < m->table->n_globals; i++) {
		const struct softcuda_global *g = &m->table->globals[i];

		if (strcmp(g->name, name))
			continue;
		if (out)
			*out = (uintptr_t)g->address;
		if (bytes)
			*bytes = g->bytes;
		return CUDA_SUCCESS;
	}
	return CUDA_ERROR_NOT_FOUND;
}

SOFT_API(cuModuleGetGlobal_v2,
	 (CUdeviceptr * out, size_t *bytes, CUmodule m, const char *name),
	 (out, bytes, m, name))
{
	CUresult res = soft_check(m, SOFT_MODULE);

	return res ? res : soft_module_global(m, out, bytes, name);
}

/* ---- functions ---- */

SOFT_API(cuFuncGetModule, (CUmodule * out, CUfunction handle), (out, handle))
{
	CUfunction f;
	CUresult res = soft_function(handle, &f);

	if (!res && !out)
		res = CUDA_ERROR_INVALID_VALUE;
	if (!res)
		*out = f->module;
	return res;
}

SOFT_API(cuFuncGetName, (const char **out, CUfunction handle), (out, handle))
{
	CUfunction f;
	CUresult res = soft_function(handle, &f);

	if (!res && !out)
		res = CUDA_ERROR_INVALID_VALUE;
	if (!res)
		*out = f->kernel->name;
	return res;
}

SOFT_API(cuFuncIsLoaded, (CUfunctionLoadingState * out, CUfunction handle),
	 (out, handle))
{
	CUfunction f;
	CUresult res = soft_function(handle, &f);

	if (!res && !out)
		res = CUDA_ERROR_INVALID_VALUE;
	if (!res)
		*out = 1;
	return res;
}

SOFT_API(cuFuncLoad, (CUfunction handle), (handle))
{
	CUfunction f;

	return soft_function(handle, &f);
}

static CUresult param_info(CUfunction f, size_t i, size_t *offset, size_t *size)
{
	if (!offset || i >= f->kernel->n_params)
		return CUDA_ERROR_INVALID_VALUE;
	*offset = f->kernel->params[i].offset;
	if (size)
		*size = f->kernel->params[i].size;
	return CUDA_SUCCESS;
}

SOFT_API(cuFuncGetParamInfo,
	 (CUfunction handle, size_t i, size_t *offset, size_t *size),
	 (handle, i, offset, size))
{
	CUfunction f;
	CUresult res = soft_function(handle, &f);

	return res ? res : param_info(f, i, offset, size);
}

SOFT_API(cuKernelGetParamInfo,
	 (CUkernel k, size_t i, size_t *offset, size_t *size),
	 (k, i, offset, size))
{
	CUresult res = soft_check(k, SOFT_KERNEL);

	return res ? res : param_info(k->function, i, offset, size);
}

CUresult soft_function_attr(CUfunction f, CUfunction_attribute attr, int *out)
{
	if (!out || (unsigned)attr > 15)
		return CUDA_ERROR_INVALID_VALUE;
	switch ((int)attr) {
	case CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK:
		*out = (int)f->kernel->max_threads;
		break;
	case CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES:
		*out = (int)f->kernel->static_shared;
		break;
	case CU_FUNC_ATTRIBUTE_NUM_REGS:
		*out = 32;
		break;
	case CU_FUNC_ATTRIBUTE_PTX_VERSION:
	case CU_FUNC_ATTRIBUTE_BINARY_VERSION:
		*out = 90;
		break;
	case CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES:
		*out = (int)f->max_dynamic;
		break;
	default:
		*out = 0;
		break;
	}
	return CUDA_SUCCESS;
}

CUresult soft_function_set(CUfunction f, CUfunction_attribute attr, int value)
{
	switch ((int)attr) {
	case CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES:
		if (value < 0 ||
		    (unsigned)value + f->kernel->static_shared > 232448)
			return CUDA_ERROR_INVALID_VALUE;
		f->max_dynamic = (unsigned)value;
		return CUDA_SUCCESS;
	case CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT:
		f->carveout = (unsigned)value;
		return CUDA_SUCCESS;
	case CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED:
		return CUDA_SUCCESS;
	default:
		return CUDA_ERROR_INVALID_VALUE;
	}
}

SOFT_API(cuFuncGetAttribute,
	 (int *out, CUfunction_attribute attr, CUfunction handle),
	 (out, attr, handle))
{
	CUfunction f;
	CUresult res = soft_function(handle, &f);

	return res ? res : soft_function_attr(f, attr, out);
}

SOFT_API(cuFuncSetAttribute,
	 (CUfunction handle, CUfunction_attribute attr, int value),
	 (handle, attr, value))
{
	CUfunction f;
	CUresult res = soft_function(handle, &f);

	return res ? res : soft_function_set(f, attr, value);
}

SOFT_API(cuFuncSetCacheConfig, (CUfunction handle, CUfunc_cache config),
	 (handle, config))
{
	CUfunction f;

	return soft_function(handle, &f);
}

static CUresult occupancy(int *out, CUfunction handle, int block, size_t shared)
{
	CUfunction f;
	CUresult res = soft_function(handle, &f);
	size_t bytes, by_shared;

	if (res)
		return res;
	if (!out || block <= 0 || block > 1024)
		return CUDA_ERROR_INVALID_VALUE;
	bytes = f->kernel->static_shared + shared + 1024;
	by_shared = 233472 / bytes;
	*out = 2048 / block;
	if ((size_t)*out > by_shared)
		*out = (int)by_shared;
	if (*out > 32)
		*out = 32;
	return CUDA_SUCCESS;
}

SOFT_API(cuOccupancyMaxActiveBlocksPerMultiprocessor,
	 (int *out, CUfunction f, int block, size_t shared),
	 (out, f, block, shared))
{
	return occupancy(out, f, block, shared);
}

SOFT_API(cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags,
	 (int *out, CUfunction f, int block, size_t shared, unsigned int flags),
	 (out, f, block, shared, flags))
{
	return flags > 1 ? CUDA_ERROR_INVALID_VALUE
			 : occupancy(out, f, block, shared);
}
