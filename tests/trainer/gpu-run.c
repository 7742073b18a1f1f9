/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A device in use: opening it, launches, memory.
 */
#include "gpu-run.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static const char *const kernel_names[KERNELS] = {
#define K(name_, kind_) #name_,
#include "kernels.def"
#undef K
};

bool gpu_check(struct gpu *g, const char *what, CUresult err)
{
	if (!err)
		return true;
	fprintf(stderr, "gpt-train: %s: %s (%d)\n", what,
	        driver_error(&g->call, err), err);
	g->err = err == ERROR_OUT_OF_MEMORY ? -ENOMEM : -EIO;
	return false;
}

/* The path of name in the executable's folder. */
static int beside(char path[PATH_MAX], const char *name)
{
	ssize_t len = readlink("/proc/self/exe", path, PATH_MAX);
	char *end;

	if (len < 0 || len == PATH_MAX)
		return -ENAMETOOLONG;
	path[len] = '\0';
	end = strrchr(path, '/') + 1;
	if (end + strlen(name) >= path + PATH_MAX)
		return -ENAMETOOLONG;
	strcpy(end, name);
	return 0;
}

/* The fatbin where the driver takes it: a software driver does not. */
static void load_default(struct gpu *g)
{
	static const char *const names[] = {"gpt.fatbin", "gpt.cpu.so"};
	char path[PATH_MAX];
	CUresult err = 0;

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		g->err = beside(path, names[i]);
		if (g->err)
			return;
		err = g->call.cuModuleLoad(&g->module, path);
		if (!err)
			return;
		g->module = NULL;
	}
	fprintf(stderr,
	        "gpt-train: neither gpt.fatbin nor gpt.cpu.so beside the "
	        "executable suits this driver: name a --module (%s)\n",
	        driver_error(&g->call, err));
	g->err = -ENOEXEC;
}

static void load(struct gpu *g, const char *path)
{
	CUresult err;

	if (!path) {
		load_default(g);
	} else {
		err = g->call.cuModuleLoad(&g->module, path);
		if (err) {
			fprintf(stderr, "gpt-train: --module %s: %s (%d)\n",
			        path, driver_error(&g->call, err), err);
			g->err = -ENOEXEC;
		}
	}
	for (int i = 0; i < KERNELS && !g->err; i++) {
		err = g->call.cuModuleGetFunction(&g->kernel[i], g->module,
		                                  kernel_names[i]);
		gpu_check(g, kernel_names[i], err);
	}
}

int gpu_open(struct gpu *g, const char *path)
{
	*g = (struct gpu){0};
	g->err = driver_open(&g->call);
	if (g->err)
		return g->err;
	GPU(g, cuInit, 0);
	GPU(g, cuDeviceGet, &g->device, 0);
	GPU(g, cuDeviceGetAttribute, &g->processors, ATTRIBUTE_PROCESSORS,
	    g->device);
	GPU(g, cuDevicePrimaryCtxRetain, &g->context, g->device);
	GPU(g, cuCtxSetCurrent, g->context);
	GPU(g, cuStreamCreate, &g->stream, STREAM_NON_BLOCKING);
	if (!g->err)
		load(g, path);
	return g->err;
}

/* What fails now is of no interest. */
void gpu_close(struct gpu *g)
{
	if (g->stream)
		g->call.cuStreamSynchronize(g->stream);
	if (g->pool)
		g->call.cuMemPoolDestroy(g->pool);
	if (g->module)
		g->call.cuModuleUnload(g->module);
	if (g->stream)
		g->call.cuStreamDestroy(g->stream);
	if (g->context)
		g->call.cuDevicePrimaryCtxRelease(g->device);
	driver_close(&g->call);
	*g = (struct gpu){0};
}

void gpu_launch(struct gpu *g, enum kernel_id id, struct grid grid,
                struct grid block, void **args)
{
	CUresult err;

	if (g->err)
		return;
	err = g->call.cuLaunchKernel(g->kernel[id], grid.x, grid.y, grid.z,
	                             block.x, block.y, block.z, 0, g->stream,
	                             args, NULL);
	gpu_check(g, kernel_names[id], err);
}

static void open_pool(struct gpu *g)
{
	struct pool_properties p = {
	        .allocation = ALLOCATION_PINNED,
	        .location = {LOCATION_DEVICE, g->device},
	};

	GPU(g, cuMemPoolCreate, &g->pool, &p);
}

CUdeviceptr gpu_alloc(struct gpu *g, enum way way, size_t bytes)
{
	CUdeviceptr at = 0;

	if (way == BY_POOL && !g->pool)
		open_pool(g);
	switch (way) {
	case BY_ARENA:
	case BY_TENSOR:
		GPU(g, cuMemAlloc, &at, bytes);
		break;
	case BY_POOL:
		GPU(g, cuMemAllocFromPoolAsync, &at, bytes, g->pool,
		    g->stream);
		break;
	case BY_MANAGED:
		GPU(g, cuMemAllocManaged, &at, bytes, MEM_ATTACH_GLOBAL);
	}
	return g->err ? 0 : at;
}

/* Also after an error, as far as the driver still goes along. */
void gpu_free(struct gpu *g, enum way way, CUdeviceptr at)
{
	if (!at)
		return;
	if (way == BY_POOL)
		g->call.cuMemFreeAsync(at, g->stream);
	else
		g->call.cuMemFree(at);
}

void gpu_put(struct gpu *g, CUdeviceptr to, const void *from, size_t bytes)
{
	GPU(g, cuMemcpyHtoDAsync, to, from, bytes, g->stream);
}

void gpu_get(struct gpu *g, void *to, CUdeviceptr from, size_t bytes)
{
	GPU(g, cuMemcpyDtoHAsync, to, from, bytes, g->stream);
}

int gpu_wait(struct gpu *g)
{
	GPU(g, cuStreamSynchronize, g->stream);
	return g->err;
}
