/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A CPU module: what the software driver loads where a GPU takes a cubin. It is
 * a shared object that exports one symbol, softcuda_module; cuModuleLoad takes
 * its path, cuModuleLoadData its bytes. Kernels are compiled from the same .cu
 * source that nvcc compiles, by cuda_cpu.h, which also writes the table.
 *
 * The driver owns the launch: it copies the arguments, decides which of its
 * threads runs which block, and calls run_block once a block. A module keeps no
 * state between blocks beyond its globals, and is entered by many threads.
 */
#ifndef SOFTCUDA_MODULE_H
#define SOFTCUDA_MODULE_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define SOFTCUDA_MODULE_ABI 1

struct softcuda_dim3 {
	uint32_t x, y, z;
};

/* Of one block, valid for the time of run_block. */
struct softcuda_block {
	struct softcuda_dim3 grid, block, index;
	uint32_t dynamic_shared;	/* bytes asked for by the launch */
	/* The arguments, laid out as softcuda_param says. */
	const void *params;
};

/* One argument: where it lies in params, in bytes. */
struct softcuda_param {
	uint32_t offset, size;
};

struct softcuda_kernel {
	const char *name;
	const struct softcuda_param *params;
	uint32_t n_params;
	uint32_t params_bytes;
	uint32_t max_threads;		/* a block's limit, 1024 at most */
	uint32_t static_shared;		/* bytes, 0 where it is not known */
	/* All threads of one block, to their end. */
	void (*run_block)(const struct softcuda_block *block);
};

/* A __device__ or __constant__ variable. */
struct softcuda_global {
	const char *name;
	void *address;
	size_t bytes;
};

struct softcuda_module {
	uint32_t abi;			/* SOFTCUDA_MODULE_ABI */
	uint32_t n_kernels, n_globals;
	const struct softcuda_kernel *kernels;
	const struct softcuda_global *globals;
};

/* The symbol of this type that a module exports. */
#define SOFTCUDA_MODULE_SYMBOL "softcuda_module"

#ifdef __cplusplus
}
#endif
#endif
