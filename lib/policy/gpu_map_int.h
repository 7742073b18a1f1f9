/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the files of the GPU map share.
 */
#ifndef HZ_GPU_MAP_INT_H
#define HZ_GPU_MAP_INT_H

#include "policy/gpu_map.h"

/* A leaf is for 16 GiB of addresses. */
#define HZ_GPU_LEAF   8192u
#define HZ_GPU_ROOT   ((size_t)1 << (HZ_GPU_VA_BITS - HZ_BLOCK_SHIFT - 13))
#define HZ_GPU_STARTS (1u << 18)
/* Of arrays. */
#define HZ_GPU_HANDLE_HEADS 4096u
#define HZ_GPU_PARTS	    2048u

static inline uint64_t hz_gpu_block(uint64_t addr)
{
	return addr >> HZ_BLOCK_SHIFT;
}

/* Entry of the radix, index + 1; NULL where there is no leaf. */
uint32_t *hz_gpu_head(struct hz_gpu_map *m, uint64_t block);
/* Blocks [first, last] begin with tensor t, or with none (HZ_NONE). */
void hz_gpu_set_heads(struct hz_gpu_map *m, uint64_t first, uint64_t last,
		      uint32_t t);
/* An empty entry, or HZ_NONE. */
uint32_t hz_gpu_new_tensor(struct hz_gpu_map *m);
/* Tensor t can be found by its first byte. */
void hz_gpu_remember(struct hz_gpu_map *m, uint32_t t);

/* ---- gpu_arrays.c ---- */
void hz_gpu_array_insert(struct hz_gpu_map *m, uint32_t t);
void hz_gpu_array_take_out(struct hz_gpu_map *m, uint32_t t);
/* The array with this handle, or that this is a part of, or HZ_NONE. */
uint32_t hz_gpu_array_find(const struct hz_gpu_map *m, uint64_t handle);

#endif
