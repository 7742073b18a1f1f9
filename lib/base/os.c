/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The Linux side of hz_os: raw system calls that leave errno alone, and the
 * few helpers that every module needs before it can allocate.
 */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif
#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>
#include "base/os.h"
#include "base/raw.h"
#include "base/util.h"

static long linux_mmap(void *addr, size_t len, int prot, int flags, int fd,
		       off_t off)
{
	return hz_syscall(SYS_mmap, addr, len, prot, flags, fd, off);
}

static int linux_munmap(void *addr, size_t len)
{
	return (int)hz_syscall(SYS_munmap, addr, len);
}

static int linux_mprotect(void *addr, size_t len, int prot)
{
	return (int)hz_syscall(SYS_mprotect, addr, len, prot);
}

static int linux_madvise(void *addr, size_t len, int advice)
{
	return (int)hz_syscall(SYS_madvise, addr, len, advice);
}

static int linux_open(const char *path, int flags, int mode)
{
	return (int)hz_syscall(SYS_openat, AT_FDCWD, path, flags, mode);
}

static int linux_close(int fd)
{
	return (int)hz_syscall(SYS_close, fd);
}

static ssize_t linux_read(int fd, void *buf, size_t len)
{
	return hz_syscall(SYS_read, fd, buf, len);
}

static ssize_t linux_write(int fd, const void *buf, size_t len)
{
	return hz_syscall(SYS_write, fd, buf, len);
}

static ssize_t linux_pread(int fd, void *buf, size_t len, off_t off)
{
	return hz_syscall(SYS_pread64, fd, buf, len, off);
}

static ssize_t linux_pwrite(int fd, const void *buf, size_t len, off_t off)
{
	return hz_syscall(SYS_pwrite64, fd, buf, len, off);
}

static int linux_ioctl(int fd, unsigned long req, void *arg)
{
	return (int)hz_syscall(SYS_ioctl, fd, req, arg);
}

static int linux_eventfd(unsigned init, int flags)
{
	return (int)hz_syscall(SYS_eventfd2, init, flags);
}

static int linux_close_range(unsigned first, unsigned last, unsigned flags)
{
	return (int)hz_syscall(SYS_close_range, first, last, flags);
}

static int linux_pidfd_open(int pid)
{
	return (int)hz_syscall(SYS_pidfd_open, pid, 0);
}

static int linux_pidfd_getfd(int pidfd, int fd)
{
	return (int)hz_syscall(SYS_pidfd_getfd, pidfd, fd, 0);
}

static int linux_userfaultfd(int flags)
{
	return (int)hz_syscall(SYS_userfaultfd, flags);
}

/* The vDSO answers without a system call. */
static uint64_t linux_now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

#define LINUX_OPS                                                             \
	{                                                                     \
		.mmap = linux_mmap, .munmap = linux_munmap,                   \
		.mprotect = linux_mprotect, .madvise = linux_madvise,         \
		.open = linux_open, .close = linux_close, .read = linux_read, \
		.write = linux_write, .pread = linux_pread,                   \
		.pwrite = linux_pwrite, .ioctl = linux_ioctl,                 \
		.eventfd = linux_eventfd, .userfaultfd = linux_userfaultfd,   \
		.close_range = linux_close_range,                             \
		.pidfd_open = linux_pidfd_open,                               \
		.pidfd_getfd = linux_pidfd_getfd, .now = linux_now,           \
	}

const struct hz_os_ops hz_os_linux = LINUX_OPS;
struct hz_os_ops hz_os = LINUX_OPS;

struct timespec hz_os_after(uint64_t ns)
{
	uint64_t at = hz_os.now() + ns;

	return (struct timespec){.tv_sec = (time_t)(at / 1000000000),
				 .tv_nsec = (long)(at % 1000000000)};
}

ssize_t hz_os_slurp(const char *path, char *buf, size_t len)
{
	int fd = hz_os.open(path, O_RDONLY | O_CLOEXEC, 0);
	size_t got = 0;
	ssize_t n = 0;

	if (!len)
		n = -EINVAL;
	if (fd < 0)
		return fd;
	while (n >= 0 && got < len - 1) {
		n = hz_os.read(fd, buf + got, len - 1 - got);
		if (n == -EINTR)
			n = 0;
		else if (n <= 0)
			break;
		got += (size_t)n;
	}
	hz_os.close(fd);
	if (n < 0)
		return n;
	buf[got] = '\0';
	return (ssize_t)got;
}

/* NULL where the kernel refuses. -errno is in the last page of the address
 * space, where no mapping can be. */
static char *map_noreserve(size_t len)
{
	long at =
		hz_os.mmap(NULL, len, PROT_READ | PROT_WRITE,
			   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	return at < 0 ? NULL : (char *)at;
}

void *hz_os_reserve(size_t len)
{
	return map_noreserve(hz_align_up(len, HZ_PAGE_SIZE));
}

/* Reserve `align` too much, then give back what lies outside. */
void *hz_os_reserve_aligned(size_t len, size_t align)
{
	size_t slack = align > HZ_PAGE_SIZE ? align - HZ_PAGE_SIZE : 0;
	char *base, *start;
	size_t head;

	len = hz_align_up(len, HZ_PAGE_SIZE);
	if (!len || len > SIZE_MAX - slack)
		return NULL;
	base = map_noreserve(len + slack);
	if (!base)
		return NULL;
	start = (char *)hz_align_up((uintptr_t)base, align);
	head = (size_t)(start - base);
	if (head)
		hz_os.munmap(base, head);
	if (slack - head)
		hz_os.munmap(start + len, slack - head);
	return start;
}

#ifndef MADV_DONTNEED_LOCKED
#define MADV_DONTNEED_LOCKED 24 /* Linux 5.18 */
#endif

int hz_os_discard(void *addr, size_t len)
{
	int rc = hz_os.madvise(addr, len, MADV_DONTNEED);

	return rc == -EINVAL ? hz_os.madvise(addr, len, MADV_DONTNEED_LOCKED) :
			       rc;
}
