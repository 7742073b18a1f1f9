/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The mmap family: mappings that look like plain big arrays, and private ones
 * of files that may be written, are captured, and
 * calls that meet the region go to the engine. Everything else, and all that
 * Horizon's own code asks for, goes on unseen.
 */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stddef.h>
#include <sys/mman.h>
#include <sys/shm.h>
#include "base/util.h"
#include "guard.h"
#include "next.h"

static bool ours(const void *addr, size_t len)
{
	return hz_unlikely(hz_arena_meets(addr, len)) && !hz_inside;
}

static bool is_plain(int prot, int flags)
{
	return (flags & ~MAP_POPULATE) == (MAP_PRIVATE | MAP_ANONYMOUS) &&
	       prot == (PROT_READ | PROT_WRITE);
}

/* Of a file. Read-only and shared maps are page cache, which the kernel can
 * drop by itself. */
static bool is_of_file(int prot, int flags)
{
	return (flags & ~(MAP_POPULATE | MAP_NORESERVE)) == MAP_PRIVATE &&
	       prot == (PROT_READ | PROT_WRITE);
}

/* Runtimes reserve address space with a hint, NORESERVE or PROT_NONE, and
 * manage it themselves: only what asks for plain memory is taken. */
static bool wanted(void *addr, size_t len, int prot, int flags, off_t off)
{
	return len >= hz_arena_min_map() && !addr && len <= PTRDIFF_MAX &&
	       (is_plain(prot, flags) || is_of_file(prot, flags)) &&
	       !(off % HZ_PAGE_SIZE) && hz_arena_len && !hz_inside;
}

static void *capture(size_t len, int flags, int fd, off_t off)
{
	len = hz_align_up(len, HZ_PAGE_SIZE);
	if (flags & MAP_ANONYMOUS)
		return hz_arena_map(len, flags & MAP_POPULATE);
	return hz_arena_map_file(len, fd, off, flags & MAP_POPULATE);
}

/* 0, or -1 with errno: part of the region could not be given up. What the
 * kernel refuses anyway takes nothing away. */
static int make_way(void *addr, size_t len, bool plain)
{
	if (!len || (uintptr_t)addr % HZ_PAGE_SIZE || !ours(addr, len))
		return 0;
	len = hz_align_up(len, HZ_PAGE_SIZE);
	return (int)hz_sysret(HZ_GUARDED(hz_arena_yield(addr, len, plain)));
}

HZ_EXPORT void *mmap(void *addr, size_t len, int prot, int flags, int fd,
		     off_t off)
{
	void *p = NULL;

	if (wanted(addr, len, prot, flags, off))
		p = HZ_GUARDED(capture(len, flags, fd, off));
	if (p)
		return p;
	if (flags & MAP_FIXED &&
	    make_way(addr, len, is_plain(prot, flags & ~MAP_FIXED)) < 0)
		return MAP_FAILED;
	return hz_next.mmap(addr, len, prot, flags, fd, off);
}

HZ_EXPORT void *mmap64(void *addr, size_t len, int prot, int flags, int fd,
		       off_t off) __attribute__((alias("mmap")));

HZ_EXPORT int munmap(void *addr, size_t len)
{
	if (ours(addr, len))
		return (int)hz_sysret(HZ_GUARDED(hz_arena_munmap(addr, len)));
	return hz_next.munmap(addr, len);
}

HZ_EXPORT void *mremap(void *addr, size_t old_len, size_t len, int flags, ...)
{
	void *to = NULL;
	va_list ap;

	va_start(ap, flags);
	if (flags & MREMAP_FIXED)
		to = va_arg(ap, void *);
	va_end(ap);
	if (ours(addr, old_len))
		return (void *)hz_sysret(HZ_GUARDED(
			hz_arena_mremap(addr, old_len, len, flags, to)));
	if (flags & MREMAP_FIXED && make_way(to, len, false) < 0)
		return MAP_FAILED;
	return hz_next.mremap(addr, old_len, len, flags, to);
}

HZ_EXPORT int mprotect(void *addr, size_t len, int prot)
{
	if (ours(addr, len))
		return (int)hz_sysret(
			HZ_GUARDED(hz_arena_mprotect(addr, len, prot)));
	return hz_next.mprotect(addr, len, prot);
}

HZ_EXPORT int madvise(void *addr, size_t len, int advice)
{
	if (ours(addr, len))
		return (int)hz_sysret(
			HZ_GUARDED(hz_arena_madvise(addr, len, advice)));
	return hz_next.madvise(addr, len, advice);
}

/* The error is the value; errno stays. POSIX's DONTNEED loses no data. */
HZ_EXPORT int posix_madvise(void *addr, size_t len, int advice)
{
	int saved = errno, r;

	if (advice == POSIX_MADV_DONTNEED)
		return 0;
	r = madvise(addr, len, advice) < 0 ? errno : 0;
	errno = saved;
	return r;
}

HZ_EXPORT int mlock(const void *addr, size_t len)
{
	if (ours(addr, len))
		return (int)hz_sysret(
			HZ_GUARDED(hz_arena_mlock((void *)addr, len, true)));
	return hz_next.mlock(addr, len);
}

HZ_EXPORT int mlock2(const void *addr, size_t len, unsigned flags)
{
	if (ours(addr, len) && !(flags & ~MLOCK_ONFAULT))
		return mlock(addr, len);
	return hz_next.mlock2(addr, len, flags);
}

HZ_EXPORT int munlock(const void *addr, size_t len)
{
	if (ours(addr, len))
		return (int)hz_sysret(
			HZ_GUARDED(hz_arena_mlock((void *)addr, len, false)));
	return hz_next.munlock(addr, len);
}

static int lock_region(bool lock)
{
	return HZ_GUARDED(
		hz_arena_mlock((void *)hz_arena_base, hz_arena_len, lock));
}

/* The region is a reservation far larger than memory: the engine makes what is
 * in use resident (and says that tiering stops), then the rest of the process
 * is locked as it is touched. */
HZ_EXPORT int mlockall(int flags)
{
	int r;

	if (!hz_arena_len || hz_inside)
		return hz_next.mlockall(flags);
	if (lock_region(true) < 0)
		return (int)hz_sysret(-ENOMEM);
	r = hz_next.mlockall(flags | MCL_ONFAULT);
	if (r < 0)
		lock_region(false);
	return r;
}

HZ_EXPORT int munlockall(void)
{
	if (hz_arena_len && !hz_inside)
		lock_region(false);
	return hz_next.munlockall();
}

HZ_EXPORT int msync(void *addr, size_t len, int flags)
{
	if (ours(addr, len))
		return (int)hz_sysret(
			HZ_GUARDED(hz_arena_msync(addr, len, flags)));
	return hz_next.msync(addr, len, flags);
}

/* Only SHM_REMAP may cover what is there. */
HZ_EXPORT void *shmat(int id, const void *addr, int flags)
{
	struct shmid_ds ds;

	if (flags & SHM_REMAP && addr && hz_arena_len &&
	    !shmctl(id, IPC_STAT, &ds)) {
		uintptr_t at = (uintptr_t)addr;

		if (flags & SHM_RND)
			at = hz_align_down(at, (uintptr_t)SHMLBA);
		if (make_way((void *)at, ds.shm_segsz, false) < 0)
			return (void *)-1;
	}
	return hz_next.shmat(id, addr, flags);
}

/* A pipe refers to pages without pinning them: to UFFDIO_MOVE they look free,
 * and the frame that such a page becomes would be used again under the pipe's
 * reader. */
HZ_EXPORT ssize_t vmsplice(int fd, const struct iovec *iov, size_t n,
                           unsigned flags)
{
	for (size_t i = 0; i < n && n <= IOV_MAX; i++)
		if (ours(iov[i].iov_base, iov[i].iov_len)) {
			hz_inside++;
			hz_arena_keep(iov[i].iov_base, iov[i].iov_len);
			hz_inside--;
		}
	return hz_next.vmsplice(fd, iov, n, flags);
}
