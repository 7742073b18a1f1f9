/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the programs of this folder share: they reach the driver as a runtime
 * library does (dlopen, cuGetProcAddress_v2, a version, flags) and end at the
 * first thing that is not as it should be.
 *
 * run-cuda.sh runs each of them on the software driver alone, behind the
 * preload library, and behind it with gpu=off, and compares what they print.
 */
#ifndef TEST_CUDA_DRIVER_H
#define TEST_CUDA_DRIVER_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include "cuda_abi.h"
#include "cuda_sigs.h"

#define PER_THREAD	     2 /* flag of cuGetProcAddress */
#define ERROR_OUT_OF_MEMORY  2
#define ERROR_NOT_SUPPORTED  801

#define expect(cond_)                                                     \
	do {                                                              \
		if (!(cond_))                                             \
			driver_fail(__FILE__, __LINE__, #cond_, 0);       \
	} while (0)
#define ok(call_)                                                         \
	do {                                                              \
		CUresult rc_ = (call_);                                   \
		if (rc_)                                                  \
			driver_fail(__FILE__, __LINE__, #call_, rc_);     \
	} while (0)

_Noreturn void driver_fail(const char *file, int line, const char *what,
			   CUresult rc);

/* The handle of dlopen("libcuda.so.1"). */
void *driver_open(void);
/* By cuGetProcAddress_v2; the test fails where there is none. */
void *driver_get(const char *name, int version, cuuint64_t flags);
/* By dlsym under the exported name. */
void *driver_symbol(const char *name);
/* A function by its exported name, with its type. */
#define SYM(name_) ((CUresult(*) HZ_SIG_##name_)driver_symbol(#name_))

/* cuInit, a context on device 0 that is current, the module. */
void driver_start(void);
CUfunction driver_kernel(const char *name);
/* Say "ready", and wait for the end of the input. */
void driver_show(void);
/* A file of `bytes`, imported as memory of another interface. */
CUresult driver_import(CUexternalMemory *m, int fd, uint64_t bytes);
/* Destroys what driver_start made. */
void driver_end(void);

/* A counter of horizon-stats(5); `otherwise` when nobody counts. */
uint64_t counted(const char *name, uint64_t otherwise);
/* Is the preload library there, and watching? */
bool watched(void);

/* Of the software driver: calls of an exported symbol so far; live
 * allocations; bytes of device memory, as they were asked for; failures to
 * come. */
uint64_t soft_calls(const char *symbol);
uint64_t soft_live(void);
uint64_t soft_bytes(void);
void soft_fail(const char *rules);

/* Launch one block on a stream. */
void driver_launch(CUfunction f, CUstream s, void **params);

#endif
