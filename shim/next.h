/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The functions that a program would have without Horizon.
 *
 * Usable from the first instruction: until hz_next_resolve() the malloc family
 * is glibc's by its second names and the rest are system calls, so no hook
 * ever has to look a symbol up (dlsym allocates).
 */
#ifndef HZ_NEXT_H
#define HZ_NEXT_H

#include <stddef.h>
#include <sys/types.h>
#include <sys/uio.h>

struct hz_next {
	void *(*malloc)(size_t size);
	void *(*calloc)(size_t n, size_t size);
	void *(*realloc)(void *p, size_t size);
	void *(*memalign)(size_t align, size_t size);
	void (*free)(void *p);
	size_t (*malloc_usable_size)(void *p);

	void *(*mmap)(void *addr, size_t len, int prot, int flags, int fd,
	              off_t off);
	int (*munmap)(void *addr, size_t len);
	void *(*mremap)(void *addr, size_t old_len, size_t len, int flags, ...);
	int (*mprotect)(void *addr, size_t len, int prot);
	int (*madvise)(void *addr, size_t len, int advice);
	int (*mlock)(const void *addr, size_t len);
	int (*mlock2)(const void *addr, size_t len, unsigned flags);
	int (*munlock)(const void *addr, size_t len);
	int (*mlockall)(int flags);
	int (*munlockall)(void);
	int (*msync)(void *addr, size_t len, int flags);
	void *(*shmat)(int id, const void *addr, int flags);
	ssize_t (*vmsplice)(int fd, const struct iovec *iov, size_t n,
	                    unsigned flags);
};

/* Written once, by the constructor. */
extern struct hz_next hz_next;

/* Ask the loader who comes after us. Constructor only. */
void hz_next_resolve(void);

#endif
