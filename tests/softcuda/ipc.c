/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Memory of another process: a handle names a process, its file of device
 * memory and a place in it. Only memory of cuMemAlloc can be exported, and it
 * cannot be opened where it came from. A context that opens it again gets the
 * same address, and has to close it as often.
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
	uint64_t offset, size, span, inside;
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
	e.size = a->size;
	e.span = a->span;
	e.inside = p - a->base;
	a->exported = true;
	memset(out, 0, sizeof(*out));
	memcpy(out, &e, sizeof(e));
	return CUDA_SUCCESS;
}

void *soft_map_foreign(int pid, int fd, uint64_t offset, size_t span,
		       size_t *lead)
{
	char path[64];
	void *at;

	snprintf(path, sizeof(path), "/proc/%d/fd/%d", pid, fd);
	fd = open(path, O_RDWR | O_CLOEXEC);
	if (fd < 0)
		return MAP_FAILED;
	*lead = offset % 4096;
	at = mmap(NULL, span + *lead, PROT_READ | PROT_WRITE, MAP_SHARED, fd,
		  (off_t)(offset - *lead));
	close(fd);
	return at;
}

/* Another process may have the number of one that has ended; what it exports
 * lies in another file then. */
static uint64_t token_of(const struct exported *e)
{
	return ((uint64_t)(uint32_t)e->pid << 40) ^
	       ((uint64_t)(uint32_t)e->fd << 56) ^ e->offset;
}

struct wanted {
	uint64_t token;
	CUcontext ctx;
	struct soft_alloc *found;
};

static bool is_open(struct soft_alloc *a, void *arg)
{
	struct wanted *w = arg;

	if (a->kind == SOFT_MEM_IPC && a->token == w->token && a->ctx == w->ctx)
		w->found = a;
	return false;
}

/* Opened before by this context? Then once more. */
static bool open_again(CUdeviceptr *out, const struct exported *e,
		       CUcontext ctx)
{
	struct wanted w = {token_of(e), ctx, NULL};

	soft_guard(soft_map_lock);
	soft_map_each(is_open, &w);
	if (!w.found)
		return false;
	w.found->opens++;
	*out = w.found->base + e->inside;
	return true;
}

static CUresult open_first(CUdeviceptr *out, const struct exported *e,
			   CUcontext ctx)
{
	struct soft_alloc *a;
	size_t lead;
	void *at = soft_map_foreign(e->pid, e->fd, e->offset, e->span, &lead);

	if (at == MAP_FAILED)
		return CUDA_ERROR_MAP_FAILED;
	a = soft_alloc_new(SOFT_MEM_IPC, (uintptr_t)at + lead, e->size, e->dev,
			   ctx);
	if (!a) {
		munmap(at, e->span + lead);
		return CUDA_ERROR_OUT_OF_MEMORY;
	}
	a->span = e->span + lead;
	a->token = token_of(e);
	a->opens = 1;
	soft_guard(soft_map_lock);
	soft_map_add(a);
	*out = a->base + e->inside;
	return CUDA_SUCCESS;
}

static CUresult open_handle(CUdeviceptr *out, const CUipcMemHandle *handle,
			    unsigned flags)
{
	struct exported e;
	CUcontext ctx;
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
	return open_again(out, &e, ctx) ? CUDA_SUCCESS
					: open_first(out, &e, ctx);
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

/* Takes it out of the map with the last close. */
static struct soft_alloc *close_one(CUdeviceptr p, bool *known)
{
	struct soft_alloc *a;

	soft_guard(soft_map_lock);
	a = soft_map_find(p);
	*known = a && a->kind == SOFT_MEM_IPC;
	if (!*known || --a->opens)
		return NULL;
	soft_map_remove(a);
	return a;
}

SOFT_API(cuIpcCloseMemHandle, (CUdeviceptr p), (p))
{
	struct soft_alloc *a;
	bool known;
	CUcontext ctx;
	CUresult res = soft_current(&ctx);

	if (res)
		return res;
	soft_ctx_sync(ctx);
	a = close_one(p, &known);
	if (!known) {
		soft_count(bad_frees, 1);
		return CUDA_ERROR_INVALID_VALUE;
	}
	if (a)
		soft_alloc_destroy(a);
	return CUDA_SUCCESS;
}
