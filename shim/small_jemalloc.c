/* SPDX-License-Identifier: Apache-2.0 */
/*
 * jemalloc as the small allocator: how it is configured, and what it must not
 * reach. Its functions carry the names of small.h.
 *
 * A program's own MALLOC_CONF or /etc/malloc.conf is meant for another
 * jemalloc, so it sees neither. The profiler and the background threads are
 * off below, and no call can turn them on: the functions that only those two
 * need answer "no" here, which saves every process libm and libgcc_s.
 */
#include <errno.h>
#include <stddef.h>
#include <sys/syscall.h>
#include <unistd.h>
#include "base/util.h"
#include "hooks.h"
#include "small.h"
#include "small_pages.h"

extern const char *hz_je_malloc_conf;
const char *hz_je_malloc_conf = "retain:true,dss:disabled,"
                                "background_thread:false,"
                                "metadata_thp:disabled,"
                                "prof:false,"
                                "stats_print:false,"
                                "abort_conf:false";

void hz_small_start(void)
{
	hz_small_free(hz_small_malloc(16));
}

/* The allocator's own diagnostics and profile dumps. */
int hz_je_open(const char *path, int flags, ...)
{
	return -1;
}

int hz_je_creat(const char *path, mode_t mode)
{
	return -1;
}

int hz_je_close(int fd)
{
	return -1;
}

ssize_t hz_je_readlink(const char *path, char *buf, size_t len)
{
	return -1;
}

char *hz_je_secure_getenv(const char *name)
{
	return NULL;
}

/* Leaves errno alone. */
static long raw(long nr, long a, long b, long c)
{
	int saved = errno;
	long r = syscall(nr, a, b, c);

	errno = saved;
	return r;
}

/* Asked for under the allocator's locks. Another library may stand in front of
 * the C library's, and allocate in there. */
int hz_je_clock_gettime(clockid_t id, struct timespec *ts)
{
	return raw(SYS_clock_gettime, id, (long)ts, 0) < 0 ? -1 : 0;
}

/* The size of a page, or how many processors there are: those of this process
 * for all three questions that jemalloc has about them. */
long hz_je_sysconf(int name)
{
	unsigned long set[128] = {0};
	long n = 0;

	if (name == _SC_PAGESIZE)
		return HZ_PAGE_SIZE;
	raw(SYS_sched_getaffinity, 0, sizeof(set), (long)set);
	for (unsigned i = 0; i < hz_array_len(set); i++)
		n += __builtin_popcountl(set[i]);
	return hz_max(n, 1);
}

/* The order of fork handlers is ours; see fork.c. */
int hz_je_pthread_atfork(void (*prepare)(void), void (*parent)(void),
			 void (*child)(void))
{
	return hz_fork_small(prepare, parent, child);
}

/* Asked for pthread_create by the background threads. */
void *hz_je_dlsym(void *handle, const char *name)
{
	return NULL;
}

/* Profiler: no frame to be seen, no sample to be weighed. */
int hz_je_unwind(void *visit, void *arg)
{
	return 5; /* end of stack */
}

uintptr_t hz_je_unwind_ip(void *context)
{
	return 0;
}

double hz_je_exp(double x)
{
	return x;
}

double hz_je_log(double x)
{
	return x;
}

double hz_je_round(double x)
{
	return x;
}
