/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The driver API as far as the trainer uses it, by public names and without
 * the toolkit's header, so that every build has it.
 */
#ifndef CUDA_DRIVER_H
#define CUDA_DRIVER_H

#include <stddef.h>
#include <stdint.h>
#include "cuda-pool.h"

typedef int CUresult, CUdevice;
typedef unsigned long long CUdeviceptr;
typedef struct CUctx_st *CUcontext;
typedef struct CUstream_st *CUstream;
typedef struct CUmod_st *CUmodule;
typedef struct CUfunc_st *CUfunction;
typedef struct CUmemPoolHandle_st *CUmemoryPool;
typedef struct CUgraph_st *CUgraph;
typedef struct CUgraphExec_st *CUgraphExec;

enum {
	ERROR_OUT_OF_MEMORY = 2,
	STREAM_NON_BLOCKING = 1,
	MEM_ATTACH_GLOBAL = 1,
	CAPTURE_THREAD_LOCAL = 1,
	LOCATION_DEVICE = 1,
	ALLOCATION_PINNED = 1,
	ATTRIBUTE_PROCESSORS = 16,
};

struct driver {
	void *library;
#define F(name_, version_, args_) CUresult(*name_) args_;
#include "cuda-driver.def"
#undef F
};

/* Opens libcuda.so.1; says on stderr what is missing. -errno */
int driver_open(struct driver *);
void driver_close(struct driver *);

/* The error's name, for messages. */
const char *driver_error(const struct driver *, CUresult);

#endif
