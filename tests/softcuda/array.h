/* SPDX-License-Identifier: Apache-2.0 */
/* Arrays (array.c): their layout, for copies. */
#ifndef SOFTCUDA_ARRAY_H
#define SOFTCUDA_ARRAY_H

#include "soft.h"

/* Rows without gaps, one level behind the other. Levels are arrays too. */
struct CUarray_st {
	struct soft_object o;
	struct soft_alloc *memory; /* NULL: it would be mapped later */
	CUDA_ARRAY3D_DESCRIPTOR desc;
	size_t element, pitch, slice;
	size_t at; /* in the memory, of a level */
	bool level;
};
/* Its first byte, 0 if it has no memory. */
uintptr_t soft_array_at(CUarray a);
/* The array, or the level, that has the byte at addr; NULL if none has. */
CUarray soft_array_with(uintptr_t addr, size_t *inside);
/* Its memory went. */
void soft_array_gone(void *object);
/* In bytes; 0 for a format that there is not. */
size_t soft_format_bytes(unsigned format);
/* A copy that was described by addresses: those that are in arrays become
 * places in them. soft_lock is held. (memcpy_array.c) */
void soft_array_sides(CUDA_MEMCPY3D *c);

#endif
