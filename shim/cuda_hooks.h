/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the rows of cuda_hooks.def call. Each function is called after the
 * driver's success unless it says otherwise, on the program's thread, with no
 * lock held; it may call the driver.
 */
#ifndef HZ_CUDA_HOOKS_H
#define HZ_CUDA_HOOKS_H

#include <stdbool.h>
#include "cuda_abi.h"
#include "cuda_real.h"
#include "cuda_sigs.h"
#include "engine/gpu.h"

#define HZ_PTR(p_)     ((CUdeviceptr)(uintptr_t)(p_))
#define HZ_CONTEXT(p_) ((CUcontext)(uintptr_t)(p_))
#define HZ_ARRAY(p_)   (HZ_PTR(p_) | HZ_GPU_BY_HANDLE)
#define HZ_AS_3D(p_)   ((const CUDA_MEMCPY3D *)(const void *)(p_))

/* ---- cuda_hooks.c ---- */
CUresult hz_cu_get_proc_address HZ_SIG_cuGetProcAddress;
CUresult hz_cu_get_proc_address_v2 HZ_SIG_cuGetProcAddress_v2;
/* How many captures are open, and in which streams. */
void hz_cu_capture_begin(CUstream stream);
/* Whatever the answer was. */
void hz_cu_capture_end(CUstream stream, CUresult rc);
/* Before the call that ends the stream, or all streams of the context: how
 * many captures end with it. */
int hz_cu_captures_in(CUstream stream);
int hz_cu_captures_of(CUcontext context);
/* The same, and forgets the kernels and our events. */
int hz_cu_ending(CUcontext context);

/* ---- cuda_memory.c ---- */
void hz_cu_alloc(CUdeviceptr p, size_t bytes, enum hz_gpu_origin origin);
/* Is a capture of this stream open? */
bool hz_cu_capturing(CUstream stream, bool own);
/* On a stream; `own` says which default stream 0 is. */
void hz_cu_alloc_on(CUdeviceptr p, size_t bytes, enum hz_gpu_origin origin,
		    CUstream stream, bool own);
/* Before the call. */
void hz_cu_free_on(struct hz_gpu_taken *taken, CUdeviceptr p, CUstream stream,
		   bool own);
/* It came from elsewhere, and only the driver knows its size. */
void hz_cu_imported(CUdeviceptr p);
void hz_cu_global(const CUdeviceptr *p, const size_t *bytes,
		  const void *module);
/* Before the call: handles of the module's functions may come again. */
void hz_cu_unload(const void *module);
/* Its kernels were forgotten before. */
void hz_cu_gone(uint64_t context);
/* The device's primary context, 0 if there is none. Before the call. */
uint64_t hz_cu_primary(CUdevice dev);
void hz_cu_primary_gone(CUdevice dev, uint64_t context);

void hz_cu_copy_2d(const CUDA_MEMCPY2D *c);
void hz_cu_copy_3d(const CUDA_MEMCPY3D *c);
void hz_cu_copy_batch(const CUdeviceptr *to, const CUdeviceptr *from,
		      const size_t *bytes, size_t n);
void hz_cu_copy_3d_batch(size_t n, const CUDA_MEMCPY3D_BATCH_OP *op);
/* The first byte that a side of the copy touches, or the array. */
CUdeviceptr hz_cu_copy_3d_to(const CUDA_MEMCPY3D *c);
CUdeviceptr hz_cu_copy_3d_from(const CUDA_MEMCPY3D *c);

/* ---- cuda_array.c ---- */
void hz_cu_array(CUarray a, const CUDA_ARRAY_DESCRIPTOR *d);
void hz_cu_array_3d(const void *array, const CUDA_ARRAY3D_DESCRIPTOR *d,
		    unsigned levels);
void hz_cu_array_v1(CUarray a, const CUDA_ARRAY_DESCRIPTOR_v1 *d);
void hz_cu_array_3d_v1(CUarray a, const CUDA_ARRAY3D_DESCRIPTOR_v1 *d);
/* An object stands for it. */
void hz_cu_bound(const CUDA_RESOURCE_DESC *d);

/* ---- cuda_func.c: what is known of a kernel ---- */
struct hz_cu_func {
	CUfunction f;
	uint32_t generation; /* of all modules, when it was right; atomic */
	uint32_t refused;    /* in this one it has no right answer; atomic */
	uint32_t kernel;     /* its number */
	uint16_t n;	     /* arguments */
	bool known;	     /* n and param are right */
	bool large;	     /* one could hold a descriptor */
	uint32_t words;	     /* of all arguments */
	struct hz_cu_param {
		uint32_t offset, size;
		/* Aligned words in it, behind `skip` bytes: the alignment is
		 * that of all arguments together. */
		uint32_t skip, words;
	} param[];
};
/* The driver may be asked about a kernel that was just launched, but not about
 * one that it may still have to load while a capture is open. NULL: nothing
 * may be known now. */
const struct hz_cu_func *hz_cu_func(CUfunction f, bool may_ask);
/* Before the call that ends handles: they may come again at once. */
void hz_cu_func_forget(void);

/* ---- cuda_launch.c ---- */
/* In a capture nothing is launched: the graph's nodes are read later. */
void hz_cu_launch_on(CUstream stream, bool own, CUfunction f, void **params,
		     void **extra);
void hz_cu_launch_many(const CUDA_LAUNCH_PARAMS *list, unsigned n);

/* ---- cuda_time.c: how long one in 64 launches takes ---- */
struct hz_cu_timed {
	struct hz_cu_pair *pair; /* NULL: it is not timed */
	struct hz_cu_pool *pool;
	CUstream stream;
	bool own;
};
/* Would events around it leave the launch as it is? Before the call. */
bool hz_cu_may_time(const CUlaunchConfig *config);
/* Before the call, after it, and after the trace was told. */
void hz_cu_time_begin(struct hz_cu_timed *t, CUstream stream, bool own);
void hz_cu_time_end(struct hz_cu_timed *t, CUresult rc);
void hz_cu_time_told(struct hz_cu_timed *t);

/* ---- cuda_events.c ---- */
/* The program waited: a moment to read times and to write rows. */
void hz_cu_waited(void);
/* Before the call that ends it, or may. */
void hz_cu_time_drop(CUcontext context);

/* Words of arguments that may be addresses, handed on in portions. */
struct hz_cu_words {
	void (*full)(struct hz_cu_words *w);
	const void *exec; /* for a graph */
	uint32_t kernel;  /* for a launch */
	bool first;
	uint32_t n;
	struct hz_gpu_key key;
	const int8_t *near; /* which words may be addresses */
	uint64_t word[512];
};
/* False if the arguments cannot be read. What is left in w->word was not
 * handed on yet. */
bool hz_cu_gather(struct hz_cu_words *w, CUfunction f, void **params,
		  void **extra);

/* ---- cuda_graph.c ---- */
void hz_cu_graph_made(CUgraphExec exec, CUgraph graph);
void hz_cu_graph_add(CUgraphExec exec, CUgraph graph);
void hz_cu_graph_node(const CUgraphNodeParams *p);
void hz_cu_graph_params(CUgraphExec exec, const CUgraphNodeParams *p);
void hz_cu_graph_kernel(CUgraphExec exec, CUfunction f, void **params,
			void **extra);
void hz_cu_graph_copy(CUgraphExec exec, const CUDA_MEMCPY3D *c);

#endif
