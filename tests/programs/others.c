/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A library that stands in front of what an allocator uses itself while it
 * starts or holds a lock: files, the clock, the environment, and the mmap
 * family as caches of registered memory watch it. Each hook finds the next
 * function when it is first called, allocates, and takes a lock that nobody
 * may take twice. Run by startup_order.sh.
 */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif
#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#define VISIBLE __attribute__((visibility("default")))

static pthread_mutex_t cache = PTHREAD_MUTEX_INITIALIZER;
static unsigned char seen[64];

/* What each of them does before it goes on; dlsym and malloc may come back
 * here, but never into the lock. */
static void *enter(const char *name, void **next)
{
	static __thread int inside __attribute__((tls_model("initial-exec")));
	char *volatile p;

	if (!*next)
		*next = dlsym(RTLD_NEXT, name);
	if (inside++ == 0) {
		p = malloc(100);
		free(p);
	}
	inside--;
	return *next;
}

#define NEXT(name_)         \
	static void *next_; \
	__typeof__(name_) *next = (__typeof__(name_) *)enter(#name_, &next_)

static int mode_of(int flags, va_list ap)
{
	return flags & (O_CREAT | __O_TMPFILE) ? va_arg(ap, int) : 0;
}

VISIBLE int open(const char *path, int flags, ...)
{
	NEXT(open);
	va_list ap;
	int mode;

	va_start(ap, flags);
	mode = mode_of(flags, ap);
	va_end(ap);
	return next(path, flags, mode);
}

VISIBLE ssize_t read(int fd, void *buf, size_t len)
{
	NEXT(read);

	return next(fd, buf, len);
}

VISIBLE ssize_t readlink(const char *path, char *buf, size_t len)
{
	NEXT(readlink);

	return next(path, buf, len);
}

VISIBLE int close(int fd)
{
	NEXT(close);

	return next(fd);
}

VISIBLE int clock_gettime(clockid_t id, struct timespec *ts)
{
	NEXT(clock_gettime);

	return next(id, ts);
}

VISIBLE char *getenv(const char *name)
{
	NEXT(getenv);

	return next(name);
}

VISIBLE long sysconf(int name)
{
	NEXT(sysconf);

	return next(name);
}

/* ---- as a cache of registered memory has them ---- */

static void forget(const void *addr)
{
	if (pthread_mutex_lock(&cache))
		abort();
	seen[(size_t)addr / 4096 % sizeof(seen)]++;
	free(malloc(3 << 20)); /* its own bookkeeping, large for once */
	pthread_mutex_unlock(&cache);
}

/* Our own allocation above may come back: then the cache knows already. */
static __thread int forgetting __attribute__((tls_model("initial-exec")));

VISIBLE int munmap(void *addr, size_t len)
{
	NEXT(munmap);

	if (forgetting++ == 0)
		forget(addr);
	forgetting--;
	return next(addr, len);
}

VISIBLE int madvise(void *addr, size_t len, int advice)
{
	NEXT(madvise);

	if (forgetting++ == 0)
		forget(addr);
	forgetting--;
	return next(addr, len, advice);
}
