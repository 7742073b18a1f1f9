/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Who may touch a mapping, and handles that go to other processes.
 */
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>
#include "vmm.h"

/* ---- access, by location: the last entry is the host's ---- */

static int access_index(CUmemLocation l)
{
	if (l.type == CU_MEM_LOCATION_TYPE_DEVICE)
		return l.id >= 0 && (unsigned)l.id < soft_set.devices ? l.id
								      : -1;
	return l.type == CU_MEM_LOCATION_TYPE_HOST ||
			       (l.type == CU_MEM_LOCATION_TYPE_HOST_NUMA &&
				!l.id)
		       ? SOFT_MAX_DEVICES
		       : -1;
}

static void protect(const struct soft_alloc *a)
{
	unsigned all = 0;

	for (unsigned i = 0; i <= SOFT_MAX_DEVICES; i++)
		all |= a->access[i];
	mprotect((void *)a->base, a->size,
		 all == CU_MEM_ACCESS_FLAGS_PROT_READWRITE
			 ? PROT_READ | PROT_WRITE
		 : all ? PROT_READ
		       : PROT_NONE);
}

static CUresult access_check(const CUmemAccessDesc *d, size_t n)
{
	if (!d || !n)
		return CUDA_ERROR_INVALID_VALUE;
	for (size_t i = 0; i < n; i++) {
		if (access_index(d[i].location) < 0)
			return CUDA_ERROR_INVALID_DEVICE;
		if (d[i].flags != CU_MEM_ACCESS_FLAGS_PROT_NONE &&
		    d[i].flags != CU_MEM_ACCESS_FLAGS_PROT_READ &&
		    d[i].flags != CU_MEM_ACCESS_FLAGS_PROT_READWRITE)
			return CUDA_ERROR_INVALID_VALUE;
	}
	return CUDA_SUCCESS;
}

/* The host has no access to memory of a device. */
static bool host_on_device(const struct soft_alloc *a, const CUmemAccessDesc *d)
{
	return a->dev >= 0 &&
	       access_index(d->location) == SOFT_MAX_DEVICES && d->flags;
}

SOFT_API(cuMemSetAccess,
	 (CUdeviceptr at, size_t size, const CUmemAccessDesc *d, size_t n),
	 (at, size, d, n))
{
	CUresult res = access_check(d, n);
	struct soft_alloc *a;

	if (res)
		return res;
	soft_exclusively();
	soft_guard(soft_map_lock);
	if (!soft_vmm_exactly(at, size))
		return CUDA_ERROR_INVALID_VALUE;
	for (uintptr_t p = at; p < at + size; p += a->size) {
		a = soft_map_find(p);
		for (size_t i = 0; i < n; i++)
			if (host_on_device(a, &d[i]))
				return CUDA_ERROR_INVALID_VALUE;
	}
	for (uintptr_t p = at; p < at + size; p += a->size) {
		a = soft_map_find(p);
		for (size_t i = 0; i < n; i++)
			a->access[access_index(d[i].location)] = d[i].flags;
		protect(a);
	}
	return CUDA_SUCCESS;
}

SOFT_API(cuMemGetAccess,
	 (unsigned long long *out, const CUmemLocation *l, CUdeviceptr at),
	 (out, l, at))
{
	struct soft_alloc *a;

	if (!out || !l || access_index(*l) < 0)
		return CUDA_ERROR_INVALID_VALUE;
	soft_guard(soft_map_lock);
	a = soft_map_find(at);
	if (!a || a->kind != SOFT_MEM_VMM)
		return CUDA_ERROR_INVALID_VALUE;
	*out = a->access[access_index(*l)];
	return CUDA_SUCCESS;
}

/* ---- to other processes, by a descriptor ---- */

SOFT_API(cuMemExportToShareableHandle,
	 (void *out, CUmemGenericAllocationHandle name,
	  CUmemAllocationHandleType type, unsigned long long flags),
	 (out, name, type, flags))
{
	struct soft_handle *h;
	int fd;

	soft_guard(soft_map_lock);
	h = soft_handle_by_name(name);
	if (!out || flags || !h ||
	    type != CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR ||
	    h->prop.requestedHandleTypes != type)
		return CUDA_ERROR_INVALID_VALUE;
	fd = fcntl(h->fd, F_DUPFD_CLOEXEC, 0);
	if (fd < 0)
		return CUDA_ERROR_OPERATING_SYSTEM;
	*(int *)out = fd;
	return CUDA_SUCCESS;
}

SOFT_API(cuMemImportFromShareableHandle,
	 (CUmemGenericAllocationHandle * out, void *os_handle,
	  CUmemAllocationHandleType type),
	 (out, os_handle, type))
{
	CUmemAllocationProp prop = {
		.type = CU_MEM_ALLOCATION_TYPE_PINNED,
		.requestedHandleTypes = type,
		.location = {CU_MEM_LOCATION_TYPE_DEVICE, 0},
	};
	int fd = (int)(intptr_t)os_handle;
	struct soft_handle *h;
	off_t size = lseek(fd, 0, SEEK_END);

	if (!out || type != CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR ||
	    size <= 0 || size % (off_t)SOFT_BLOCK)
		return CUDA_ERROR_INVALID_VALUE;
	/* where it came from is not in it: the device is taken to be 0 */
	if (soft_charge(&soft_devices[0], (uint64_t)size))
		return CUDA_ERROR_OUT_OF_MEMORY;
	h = soft_handle_new(&prop, 0, (size_t)size);
	if (!h || dup3(fd, h->fd, O_CLOEXEC) < 0) {
		soft_uncharge(&soft_devices[0], (uint64_t)size);
		return CUDA_ERROR_OUT_OF_MEMORY;
	}
	*out = h->name;
	return CUDA_SUCCESS;
}
