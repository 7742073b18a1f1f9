/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The operating system as a replaceable struct.
 *
 * Every system call of the library goes through `hz_os`, for two reasons:
 * a unit test can refuse or fake each call, and the default table issues raw
 * system calls, so nothing here can recurse into a function that the shim
 * interposes (mmap, munmap, madvise, close, ...).
 *
 * All members return >= 0 or -errno and leave `errno` alone. Thread-safe.
 * `hz_os` is written only before the first thread starts (or by a test).
 */
#ifndef HZ_OS_H
#define HZ_OS_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <time.h>

struct hz_os_ops {
	/* mmap returns the address, or -errno as a negative long. */
	long (*mmap)(void *addr, size_t len, int prot, int flags, int fd,
		     off_t off);
	int (*munmap)(void *addr, size_t len);
	int (*mprotect)(void *addr, size_t len, int prot);
	int (*madvise)(void *addr, size_t len, int advice);
	int (*open)(const char *path, int flags, int mode);
	int (*close)(int fd);
	ssize_t (*read)(int fd, void *buf, size_t len);
	ssize_t (*write)(int fd, const void *buf, size_t len);
	ssize_t (*pread)(int fd, void *buf, size_t len, off_t off);
	ssize_t (*pwrite)(int fd, const void *buf, size_t len, off_t off);
	int (*ioctl)(int fd, unsigned long req, void *arg);
	int (*eventfd)(unsigned init, int flags);
	int (*close_range)(unsigned first, unsigned last, unsigned flags);
	int (*pidfd_open)(int pid);
	int (*pidfd_getfd)(int pidfd, int fd);
	int (*userfaultfd)(int flags);
	/* Nanoseconds of CLOCK_MONOTONIC. */
	uint64_t (*now)(void);
};

extern const struct hz_os_ops hz_os_linux; /* raw system calls */
extern struct hz_os_ops hz_os;		   /* in use; starts as hz_os_linux */

/* A moment of CLOCK_MONOTONIC, so many ns from now. */
struct timespec hz_os_after(uint64_t ns);

/* Read a whole small file (/proc, /sys) into buf, NUL-terminated, cut at
 * len - 1. Returns the bytes read or -errno. Never allocates. */
ssize_t hz_os_slurp(const char *path, char *buf, size_t len);

/* Private anonymous zeroed memory of `len` bytes, page-aligned, NORESERVE,
 * never touched until used; NULL if the kernel refuses. For metadata. */
void *hz_os_reserve(size_t len);

/* Address space of `len` bytes, PROT_READ|WRITE, NORESERVE, aligned to
 * `align` (a power of two); NULL if refused. */
void *hz_os_reserve_aligned(size_t len, size_t align);

/* Give the pages of [addr, addr + len) back to the kernel; it reads as zeros
 * afterwards, locked (mlock) or not. 0 or -errno. */
int hz_os_discard(void *addr, size_t len);

#endif
