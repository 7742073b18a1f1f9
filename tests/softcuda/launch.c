/* SPDX-License-Identifier: Apache-2.0 */
/* Launches: the limits, the arguments copied when the call is made. */
#include <stdlib.h>
#include <string.h>
#include "soft.h"

static CUresult shape(const struct softcuda_kernel *k, const unsigned d[6])
{
	uint64_t threads = (uint64_t)d[3] * d[4] * d[5];

	for (unsigned i = 0; i < 6; i++)
		if (!d[i])
			return CUDA_ERROR_INVALID_VALUE;
	if (d[0] > INT32_MAX || d[1] > 65535 || d[2] > 65535 || d[3] > 1024 ||
	    d[4] > 1024 || d[5] > 64 || threads > 1024)
		return CUDA_ERROR_INVALID_VALUE;
	if (threads > k->max_threads)
		return CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES;
	return CUDA_SUCCESS;
}

/* extra[]: pairs up to an end mark. */
static CUresult extra_args(const struct softcuda_kernel *k, void **extra,
			   void *to)
{
	const void *buffer = NULL;
	size_t bytes = 0;

	for (; *extra != CU_LAUNCH_PARAM_END; extra += 2) {
		if (extra[0] == CU_LAUNCH_PARAM_BUFFER_POINTER)
			buffer = extra[1];
		else if (extra[0] == CU_LAUNCH_PARAM_BUFFER_SIZE)
			bytes = *(const size_t *)extra[1];
		else
			return CUDA_ERROR_INVALID_VALUE;
	}
	if (bytes < k->params_bytes || (bytes && !buffer))
		return CUDA_ERROR_INVALID_VALUE;
	if (k->params_bytes)
		memcpy(to, buffer, k->params_bytes);
	return CUDA_SUCCESS;
}

static CUresult arguments(const struct softcuda_kernel *k, void **params,
			  void **extra, char *to)
{
	if (params && extra)
		return CUDA_ERROR_INVALID_VALUE;
	if (extra)
		return extra_args(k, extra, to);
	if (k->n_params && !params)
		return CUDA_ERROR_INVALID_VALUE;
	for (uint32_t i = 0; i < k->n_params; i++) {
		if (!params[i])
			return CUDA_ERROR_INVALID_VALUE;
		memcpy(to + k->params[i].offset, params[i], k->params[i].size);
	}
	return CUDA_SUCCESS;
}

/* Fills in the entry, the caller queues it. */
CUresult soft_launch_prepare(struct soft_op *op, CUfunction handle,
			     const unsigned d[6], unsigned shared,
			     void **params, void **extra)
{
	struct soft_launch *l = &op->launch;
	CUfunction f;
	char *to;
	CUresult res = soft_function(handle, &f);

	op->kind = SOFT_OP_KERNEL;
	op->n_deps = 0;
	op->deps = NULL;
	l->params = NULL;
	if (!res)
		res = shape(f->kernel, d);
	if (res)
		return res;
	if (shared > f->max_dynamic)
		return CUDA_ERROR_INVALID_VALUE;
	l->f = f;
	l->kernel = f->kernel;
	l->grid = (struct softcuda_dim3){d[0], d[1], d[2]};
	l->block = (struct softcuda_dim3){d[3], d[4], d[5]};
	l->shared = shared;
	l->cooperative = false;
	to = (char *)l->inline_params;
	if (f->kernel->params_bytes > SOFT_INLINE_PARAMS) {
		to = l->params = malloc(f->kernel->params_bytes);
		if (!to)
			return CUDA_ERROR_OUT_OF_MEMORY;
	}
	res = arguments(f->kernel, params, extra, to);
	if (res) {
		free(l->params);
		l->params = NULL;
	}
	return res;
}

static CUresult launch(bool pt, CUfunction f, const unsigned d[6],
		       unsigned shared, CUstream handle, void **params,
		       void **extra, bool cooperative)
{
	struct soft_op op;
	CUstream s;
	CUresult res = soft_stream(handle, pt, &s);

	if (!res)
		res = soft_launch_prepare(&op, f, d, shared, params, extra);
	if (res)
		return res;
	if (op.launch.f->module->ctx != s->ctx) {
		soft_op_release(&op);
		return CUDA_ERROR_INVALID_HANDLE;
	}
	op.launch.cooperative = cooperative;
	if (cooperative && (uint64_t)d[0] * d[1] * d[2] > 8u * 32) {
		soft_op_release(&op);
		return CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE;
	}
	return soft_submit(s, &op, NULL);
}

SOFT_STREAM_API(cuLaunchKernel,
		(CUfunction f, unsigned int gx, unsigned int gy,
		 unsigned int gz, unsigned int bx, unsigned int by,
		 unsigned int bz, unsigned int shared, CUstream s,
		 void **params, void **extra),
		(f, gx, gy, gz, bx, by, bz, shared, s, params, extra))
{
	const unsigned d[6] = {gx, gy, gz, bx, by, bz};

	return launch(pt, f, d, shared, s, params, extra, false);
}

SOFT_STREAM_API(cuLaunchCooperativeKernel,
		(CUfunction f, unsigned int gx, unsigned int gy,
		 unsigned int gz, unsigned int bx, unsigned int by,
		 unsigned int bz, unsigned int shared, CUstream s,
		 void **params),
		(f, gx, gy, gz, bx, by, bz, shared, s, params))
{
	const unsigned d[6] = {gx, gy, gz, bx, by, bz};

	return launch(pt, f, d, shared, s, params, NULL, true);
}

static CUresult attributes(const CUlaunchConfig *c, bool *cooperative)
{
	for (unsigned i = 0; i < c->numAttrs; i++) {
		const CUlaunchAttribute *a = &c->attrs[i];

		switch ((int)a->id) {
		case CU_LAUNCH_ATTRIBUTE_COOPERATIVE:
			*cooperative = a->value.cooperative;
			break;
		case CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION:
			if (a->value.clusterDim.x * a->value.clusterDim.y *
				    a->value.clusterDim.z >
			    1)
				return CUDA_ERROR_NOT_SUPPORTED;
			break;
		default: /* hints */
			break;
		}
	}
	return CUDA_SUCCESS;
}

SOFT_STREAM_API(cuLaunchKernelEx,
		(const CUlaunchConfig *c, CUfunction f, void **params,
		 void **extra),
		(c, f, params, extra))
{
	bool cooperative = false;
	CUresult res;

	if (!c || (c->numAttrs && !c->attrs))
		return CUDA_ERROR_INVALID_VALUE;
	res = attributes(c, &cooperative);
	if (res)
		return res;
	return launch(pt, f,
		      (unsigned[6]){c->gridDimX, c->gridDimY, c->gridDimZ,
				    c->blockDimX, c->blockDimY, c->blockDimZ},
		      c->sharedMemBytes, c->hStream, params, extra,
		      cooperative);
}
