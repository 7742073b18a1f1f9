/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Memory that comes by a descriptor: pools of another process and what lies
 * in them, and objects that are not the driver's at all. None of it is
 * charged here; who made it has it.
 */
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include "soft.h"

#define POOL_MARK    0x50f7c0da1bc00002ull
#define POINTER_MARK 0x50f7c0da1bc00003ull

struct shared_pool {
	uint64_t mark;
	int32_t pid, dev;
};

struct shared_pointer {
	uint64_t mark;
	int32_t pid, fd;
	uint64_t offset, size, span;
};
_Static_assert(sizeof(struct shared_pointer) <= sizeof(CUmemPoolPtrExportData),
	       "fits");

struct CUextMemory_st {
	struct soft_object o;
	int fd;
	uint64_t size;
};

/* ---- pools ---- */

static CUresult handle_check(const void *out, unsigned type,
			     unsigned long long flags)
{
	return !out || flags || type != CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR
		       ? CUDA_ERROR_INVALID_VALUE
		       : CUDA_SUCCESS;
}

SOFT_API(cuMemPoolExportToShareableHandle,
	 (void *out, CUmemoryPool p, CUmemAllocationHandleType type,
	  unsigned long long flags),
	 (out, p, type, flags))
{
	struct shared_pool s = {POOL_MARK, (int32_t)getpid(), 0};
	CUresult res = handle_check(out, type, flags);
	int fd;

	if (!res && (soft_check(p, SOFT_POOL) || !soft_pool_shows(p, type)))
		res = CUDA_ERROR_INVALID_VALUE;
	if (res)
		return res;
	fd = memfd_create("softcuda-pool", MFD_CLOEXEC);
	if (fd < 0 || pwrite(fd, &s, sizeof(s), 0) != sizeof(s)) {
		if (fd >= 0)
			close(fd);
		return CUDA_ERROR_OPERATING_SYSTEM;
	}
	*(int *)out = fd;
	return CUDA_SUCCESS;
}

SOFT_API(cuMemPoolImportFromShareableHandle,
	 (CUmemoryPool * out, void *handle, CUmemAllocationHandleType type,
	  unsigned long long flags),
	 (out, handle, type, flags))
{
	int fd = (int)(intptr_t)handle;
	struct shared_pool s;
	struct soft_device *dev;
	CUresult res = handle_check(out, type, flags);

	if (!res &&
	    (pread(fd, &s, sizeof(s), 0) != sizeof(s) || s.mark != POOL_MARK))
		res = CUDA_ERROR_INVALID_VALUE;
	if (!res)
		res = soft_device(s.dev, &dev);
	if (res)
		return res;
	*out = soft_pool_import(dev);
	return *out ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

SOFT_API(cuMemPoolExportPointer, (CUmemPoolPtrExportData * out, CUdeviceptr p),
	 (out, p))
{
	struct shared_pointer s = {.mark = POINTER_MARK};
	struct soft_alloc *a;

	soft_guard(soft_map_lock);
	a = soft_map_find(p);
	if (!out || !a || a->kind != SOFT_MEM_ASYNC || a->base != p ||
	    a->freeing || !a->pool ||
	    !soft_pool_shows(a->pool, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR))
		return CUDA_ERROR_INVALID_VALUE;
	s.pid = (int32_t)getpid();
	s.fd = soft_va_file(a->base, &s.offset);
	s.size = a->size;
	s.span = a->span;
	a->exported = true;
	memset(out, 0, sizeof(*out));
	memcpy(out, &s, sizeof(s));
	return CUDA_SUCCESS;
}

/* A mapping of foreign bytes. */
static CUresult mapped(CUdeviceptr *out, char *at, size_t lead, size_t size,
		       size_t span, CUcontext ctx, CUmemoryPool pool)
{
	struct soft_alloc *a;

	a = soft_alloc_new(SOFT_MEM_EXTERNAL, (uintptr_t)at + lead, size,
			   ctx->dev->index, ctx);
	if (!a) {
		munmap(at, span);
		return CUDA_ERROR_OUT_OF_MEMORY;
	}
	a->span = span;
	a->pool = pool;
	soft_guard(soft_map_lock);
	soft_map_add(a);
	*out = a->base;
	return CUDA_SUCCESS;
}

SOFT_API(cuMemPoolImportPointer,
	 (CUdeviceptr * out, CUmemoryPool pool, CUmemPoolPtrExportData *data),
	 (out, pool, data))
{
	struct shared_pointer s;
	size_t lead;
	CUcontext ctx;
	char *at;
	CUresult res = soft_current(&ctx);

	if (!res && (!out || !data || soft_check(pool, SOFT_POOL)))
		res = CUDA_ERROR_INVALID_VALUE;
	if (res)
		return res;
	memcpy(&s, data, sizeof(s));
	if (s.mark != POINTER_MARK || s.pid == getpid())
		return CUDA_ERROR_INVALID_VALUE;
	at = soft_map_foreign(s.pid, s.fd, s.offset, s.span, &lead);
	return at == MAP_FAILED ? CUDA_ERROR_MAP_FAILED
				: mapped(out, at, lead, s.size, s.span + lead,
					 ctx, pool);
}

/* ---- external memory ---- */

/* From now on the descriptor is ours. */
SOFT_API(cuImportExternalMemory,
	 (CUexternalMemory * out, const CUDA_EXTERNAL_MEMORY_HANDLE_DESC *d),
	 (out, d))
{
	CUexternalMemory m;
	CUcontext ctx;
	CUresult res = soft_current(&ctx);

	if (!res &&
	    (!out || !d ||
	     d->type != CU_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_FD || !d->size ||
	     d->flags > 1 || lseek(d->handle.fd, 0, SEEK_END) < (off_t)d->size))
		res = CUDA_ERROR_INVALID_VALUE;
	if (res)
		return res;
	m = soft_new(SOFT_EXTERNAL, sizeof(*m));
	if (!m)
		return CUDA_ERROR_OUT_OF_MEMORY;
	m->fd = d->handle.fd;
	m->size = d->size;
	soft_count(live_externals, 1);
	*out = m;
	return CUDA_SUCCESS;
}

SOFT_API(cuExternalMemoryGetMappedBuffer,
	 (CUdeviceptr * out, CUexternalMemory m,
	  const CUDA_EXTERNAL_MEMORY_BUFFER_DESC *d),
	 (out, m, d))
{
	CUcontext ctx;
	CUresult res = soft_check(m, SOFT_EXTERNAL);
	char *at;

	if (!res)
		res = soft_current(&ctx);
	if (!res && (!out || !d || !d->size || d->flags || d->offset % 4096 ||
		     d->size > m->size || d->offset > m->size - d->size))
		res = CUDA_ERROR_INVALID_VALUE;
	if (res)
		return res;
	at = mmap(NULL, d->size, PROT_READ | PROT_WRITE, MAP_SHARED, m->fd,
		  (off_t)d->offset);
	return at == MAP_FAILED
		       ? CUDA_ERROR_MAP_FAILED
		       : mapped(out, at, 0, d->size, d->size, ctx, NULL);
}

SOFT_API(cuDestroyExternalMemory, (CUexternalMemory m), (m))
{
	CUresult res = soft_check(m, SOFT_EXTERNAL);

	if (res)
		return res;
	close(m->fd);
	soft_delete(m);
	soft_uncount(live_externals, 1);
	return CUDA_SUCCESS;
}
