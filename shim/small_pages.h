/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the small allocator gets instead of the C library: pages from ranges
 * that small.h can tell by address, and an environment in which nothing is
 * configured. jemalloc-rename.txt is the list.
 *
 * None of these allocates, takes a lock, or changes errno, so they may run
 * under any lock of the allocator and on either side of a fork.
 */
#ifndef HZ_SMALL_PAGES_H
#define HZ_SMALL_PAGES_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <time.h>

void *hz_je_mmap(void *addr, size_t len, int prot, int flags, int fd,
                 off_t off);
int hz_je_munmap(void *addr, size_t len);
int hz_je_mprotect(void *addr, size_t len, int prot);
int hz_je_madvise(void *addr, size_t len, int advice);

void *hz_je_sbrk(intptr_t more);
int hz_je_open(const char *path, int flags, ...);
int hz_je_creat(const char *path, mode_t mode);
int hz_je_close(int fd);
ssize_t hz_je_readlink(const char *path, char *buf, size_t len);
int hz_je_clock_gettime(clockid_t id, struct timespec *ts);
long hz_je_sysconf(int name);
char *hz_je_secure_getenv(const char *name);
void *hz_je_dlsym(void *handle, const char *name);
int hz_je_unwind(void *visit, void *arg);
uintptr_t hz_je_unwind_ip(void *context);
double hz_je_exp(double x);
double hz_je_log(double x);
double hz_je_round(double x);

int hz_je_pthread_atfork(void (*prepare)(void), void (*parent)(void),
			 void (*child)(void));

#endif
