/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An area of some thousand tensors, so that a memset of it is long in the map;
 * by a driver that does nothing itself.
 */
#ifndef TEST_CUDA_PIECES_H
#define TEST_CUDA_PIECES_H

#include <dlfcn.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PIECES 4096u
#define PIECE  256u

static int (*driver_memset)(uint64_t p, unsigned char value, size_t bytes);
static uint64_t area;

/* False: there is no driver. */
static inline bool make_pieces(void)
{
	void *driver = dlopen("libcuda.so.1", RTLD_NOW);
	int (*alloc)(uint64_t *, size_t);

	if (!driver)
		return false;
	alloc = (int (*)(uint64_t *, size_t))dlsym(driver, "cuMemAlloc_v2");
	driver_memset = (int (*)(uint64_t, unsigned char, size_t))dlsym(
		driver, "cuMemsetD8_v2");
	alloc(&area, PIECES * PIECE);
	for (unsigned i = 0; i < PIECES; i++)
		driver_memset(area + i * PIECE, 0, 1);
	return true;
}

#endif
