/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A device in use: its context, its stream, the kernels of a module. The
 * first call that fails is told on stderr and keeps its error; what is issued
 * after it does nothing, so that whoever issues need not look every time.
 */
#ifndef GPU_RUN_H
#define GPU_RUN_H

#include <stdbool.h>
#include "cuda-driver.h"

enum kernel_id {
#define K(name_, kind_) K_##name_,
#include "kernels.def"
#undef K
	KERNELS
};

struct gpu {
	struct driver call;
	CUdevice device;
	int processors; /* that run blocks */
	CUcontext context;
	CUstream stream;
	CUmodule module;
	CUmemoryPool pool; /* or NULL */
	CUfunction kernel[KERNELS];
	int err; /* -errno of the first failure */
};

struct grid {
	unsigned x, y, z;
};

/* path: a module, or NULL: gpt.fatbin or gpt.cpu.so beside the executable. */
int gpu_open(struct gpu *, const char *path);
void gpu_close(struct gpu *);

/* True where the call went well; else told once. */
bool gpu_check(struct gpu *, const char *what, CUresult);
#define GPU(gpu_, name_, ...) \
	((gpu_)->err ? false  \
	             : gpu_check(gpu_, #name_, (gpu_)->call.name_(__VA_ARGS__)))

/* Arguments by their addresses: what PTR, INT and so on make. */
void gpu_launch(struct gpu *, enum kernel_id, struct grid grid,
                struct grid block, void **args);
#define PTR(v_)  (&(CUdeviceptr){v_})
#define INT(v_)  (&(int){v_})
#define LONG(v_) (&(long long){v_})
#define REAL(v_) (&(float){v_})
#define ARGS(...) ((void *[]){__VA_ARGS__})

/* Memory, by --alloc: one allocation, 0 where there was an error. */
enum way { BY_ARENA, BY_TENSOR, BY_POOL, BY_MANAGED };
CUdeviceptr gpu_alloc(struct gpu *, enum way, size_t bytes);
void gpu_free(struct gpu *, enum way, CUdeviceptr);

void gpu_put(struct gpu *, CUdeviceptr to, const void *from, size_t bytes);
void gpu_get(struct gpu *, void *to, CUdeviceptr from, size_t bytes);
/* Waits for all that was issued; its errors come up here. */
int gpu_wait(struct gpu *);

#endif
