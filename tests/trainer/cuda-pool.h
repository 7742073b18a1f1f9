/* SPDX-License-Identifier: Apache-2.0 */
/*
 * CUmemPoolProps, alone: cuda-prototypes.c holds it against the toolkit's.
 */
#ifndef CUDA_POOL_H
#define CUDA_POOL_H

#include <stddef.h>

struct pool_properties {
	int allocation, handles;
	struct {
		int type, id;
	} location;
	void *security;
	size_t max_size;
	unsigned short usage;
	unsigned char reserved[54];
};

#endif
