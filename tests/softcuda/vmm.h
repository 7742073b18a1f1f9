/* SPDX-License-Identifier: Apache-2.0 */
/* What the files of the VMM calls share; soft_map_lock. */
#ifndef SOFTCUDA_VMM_H
#define SOFTCUDA_VMM_H

#include "soft.h"

struct soft_handle {
	LIST_ENTRY(soft_handle) link;
	uint64_t name; /* what the program holds */
	CUmemAllocationProp prop;
	int dev; /* -1 host */
	size_t size;
	int fd;
	unsigned refs; /* the program's and one a mapping */
	unsigned held; /* the program's alone */
};

/* The caller has charged the device for it; takes the lock. */
struct soft_handle *soft_handle_new(const CUmemAllocationProp *prop, int dev,
				    size_t size);
struct soft_handle *soft_handle_by_name(uint64_t name);
/* Do mappings fill [at, at + size) with none over a border? */
bool soft_vmm_exactly(uintptr_t at, size_t size);

#endif
