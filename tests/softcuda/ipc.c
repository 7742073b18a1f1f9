/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Memory of another process: a handle names a process, its file of device
 * memory and a place in it. Only memory of cuMemAlloc can be exported, and it
 * cannot be opened where it came from.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include "soft.h"

#define MARK 0x50f7c0da1bc00001ull

struct exported {
	uint64_t mark;
	int32_t pid, fd, dev, unused;
	uint64_t offset, size, inside;
};
_Static_assert(sizeof(struct exported) <= sizeof(CUipcMemHandle),
	       "fits into a handle");

SOFT_API(cuIpcGetMemHandle, (CUipcMemHandle * out, CUdeviceptr p), (out, p))
{
	struct exported e = {.mark = MARK};
	struct soft_alloc *a;
	CUcontext ctx;
	CUresult res = soft_current(&ctx);

	if (res)
		return res;
	soft_guard(soft_map_lock);
	a = soft_map_find(p);
	if (!out || !a || a->kind != SOFT_MEM_DEVICE)
		return CUDA_ERROR_INVALID_VALUE;
	e.pid = (int32_t)getpid();
	e.fd = soft_va_file(a->base, &e.offset);
	e.dev = a->dev;
	e.size = a->span;
	e.inside = p - a->base;
	a->exported = true;
	memset(out, 0, sizeof(*out));
	memcpy(out, &e, sizeof(e));
	return CUDA_SUCCESS;
}

static void *map_foreign(const struct exported *e, size_t *lead)
{
	char path[64];
	void *at;
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/fd/%d", e->pid, e->fd);
	fd = open(path, O_RDWR | O_CLOEXEC);
	if (fd < 0)
		return MAP_FAILED;
	*lead = e->offset % 4096;
	at = mmap(NULL, e->size + *lead, PROT_READ | PROT_WRITE, MAP_SHARED, fd,
		  (off_t)(e->offset - *lead));
	close(fd);
	return at;
}

static CUresult open_handle(CUdeviceptr *out, const CUipcMemHandle *handle,
			    unsigned flags)
{
	struct exported e;
	struct soft_alloc *a;
	size_t lead;
	CUcontext ctx;
	void *at;
	CUresult res = soft_current(&ctx);

	if (res)
		return res;
	memcpy(&e, handle, sizeof(e));
	if (!out || flags != CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS)
		return CUDA_ERROR_INVALID_VALUE;
	if (e.mark != MARK)
		return CUDA_ERROR_INVALID_HANDLE;
	if (e.pid == getpid())
		return CUDA_ERROR_INVALID_CONTEXT;
	at = map_foreign(&e, &lead);
	if (at == MAP_FAILED)
		return CUDA_ERROR_MAP_FAILED;
	a = soft_alloc_new(SOFT_MEM_IPC, (uintptr_t)at, e.size + lead, e.dev,
			   ctx);
	if (!a) {
		munmap(at, e.size + lead);
		return CUDA_ERROR_OUT_OF_MEMORY;
	}
	soft_guard(soft_map_lock);
	soft_map_add(a);
	*out = (uintptr_t)at + lead + e.inside;
	return CUDA_SUCCESS;
}

SOFT_API(cuIpcOpenMemHandle_v2,
	 (CUdeviceptr * out, CUipcMemHandle handle, unsigned int flags),
	 (out, handle, flags))
{
	return open_handle(out, &handle, flags);
}

SOFT_API(cuIpcOpenMemHandle,
	 (CUdeviceptr * out, CUipcMemHandle handle, unsigned int flags),
	 (out, handle, flags))
{
	return open_handle(out, &handle, flags);
}

SOFT_API(cuIpcCloseMemHandle, (CUdeviceptr p), (p))
{
	struct soft_alloc *a;
	CUcontext ctx;
	CUresult res = soft_current(&ctx);

	if (res)
		return res;
	soft_ctx_sync(ctx);
	pthread_mutex_lock(&soft_map_lock);
	a = soft_map_find(p);
	if (a && a->kind == SOFT_MEM_IPC)
		soft_map_remove(a);
	else
		a = NULL;
	pthread_mutex_unlock(&soft_map_lock);
	if (!a) {
		soft_count(bad_frees, 1);
		return CUDA_ERROR_INVALID_VALUE;
	}
	soft_alloc_destroy(a);
	return CUDA_SUCCESS;
}
