/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which mappings are taken: a plain big array is; whatever a runtime would
 * manage itself is not. A taken mapping lies in the region, whose addresses
 * stay reserved after munmap; and it behaves as any other.
 */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif
#include <sys/mman.h>
#include <unistd.h>
#include "both.h"

#define MIB       ((size_t)1 << 20)
#define LEN       (16 * MIB)
#define PLAIN     (MAP_PRIVATE | MAP_ANONYMOUS)
#define READWRITE (PROT_READ | PROT_WRITE)

static bool reserved(void *p)
{
	unsigned char in_core;

	return !mincore(p, 1, &in_core);
}

static bool taken(void *addr, size_t len, int prot, int flags, int fd)
{
	char *p = mmap(addr, len, prot, flags, fd, 0);

	CHECK(p != MAP_FAILED);
	if (prot == READWRITE) {
		CHECK(all_zero(p, len < MIB ? len : MIB));
		p[len - 1] = 1;
	}
	CHECK(!munmap(p, len));
	return reserved(p);
}

static void not_taken(void)
{
	void *hint = mmap(NULL, LEN, PROT_NONE, PLAIN | MAP_NORESERVE, -1, 0);
	char name[] = "/tmp/mmap_capture-XXXXXX";
	int fd = mkstemp(name);

	CHECK(hint != MAP_FAILED && fd >= 0);
	CHECK(!unlink(name) && !ftruncate(fd, (off_t)LEN));
	CHECK(!taken(hint, LEN, READWRITE, PLAIN | MAP_FIXED, -1));
	CHECK(!taken(hint, LEN, READWRITE, PLAIN, -1));
	CHECK(!taken(NULL, LEN, READWRITE, PLAIN | MAP_NORESERVE, -1));
	CHECK(!taken(NULL, LEN, READWRITE, PLAIN | MAP_STACK, -1));
	CHECK(!taken(NULL, LEN, READWRITE, PLAIN | MAP_LOCKED, -1) ||
	      !preloaded);
	CHECK(!taken(NULL, LEN, READWRITE, MAP_SHARED | MAP_ANONYMOUS, -1));
	CHECK(!taken(NULL, LEN, READWRITE, MAP_PRIVATE, fd));
	CHECK(!taken(NULL, LEN, PROT_NONE, PLAIN, -1));
	CHECK(!taken(NULL, LEN, PROT_READ, PLAIN, -1));
	CHECK(!taken(NULL, LEN, READWRITE | PROT_EXEC, PLAIN, -1));
	CHECK(!taken(NULL, MIB, READWRITE, PLAIN, -1));
	CHECK(!taken(NULL, 4096, READWRITE, PLAIN, -1));
	close(fd);
}

static void errors(void)
{
	errno = 0;
	CHECK(mmap(NULL, 0, READWRITE, PLAIN, -1, 0) == MAP_FAILED);
	CHECK(errno == EINVAL);
	errno = 0;
	CHECK(mmap(NULL, SIZE_MAX, READWRITE, PLAIN, -1, 0) == MAP_FAILED);
	CHECK(errno == ENOMEM);
	errno = 0;
	CHECK(mmap(NULL, LEN, READWRITE, PLAIN, -1, 1) == MAP_FAILED);
	CHECK(errno == EINVAL);
	errno = 0;
	CHECK(munmap((void *)1, LEN) == -1 && errno == EINVAL);
}

/* What a program may do to its own mapping. */
static void behaves(void)
{
	char *p = mmap(NULL, LEN, READWRITE, PLAIN, -1, 0), *q;

	CHECK(p != MAP_FAILED);
	fill(p, LEN, 1);
	CHECK(!madvise(p + MIB, MIB, MADV_DONTNEED));
	CHECK(all_zero(p + MIB, MIB));
	fill(p, LEN, 2);
	CHECK(!posix_madvise(p, LEN, POSIX_MADV_DONTNEED));
	CHECK(!madvise(p, LEN, MADV_HUGEPAGE) || errno == EINVAL);
	CHECK(!msync(p, LEN, MS_SYNC));
	CHECK(!mlock(p, 4096) || errno == ENOMEM || errno == EPERM);
	CHECK(!munlock(p, 4096));
	CHECK(!mprotect(p, LEN, PROT_READ));
	CHECK(filled(p, LEN, 2));
	CHECK(!mprotect(p, LEN, READWRITE));
	q = mremap(p, LEN, 2 * LEN, MREMAP_MAYMOVE);
	CHECK(q != MAP_FAILED && filled(q, LEN, 2));
	CHECK(all_zero(q + LEN, LEN));
	CHECK(!munmap(q + LEN, LEN));
	CHECK(filled(q, LEN, 2));
	errno = 0;
	p = mmap(q + 1, MIB, READWRITE, PLAIN | MAP_FIXED, -1, 0);
	CHECK(p == MAP_FAILED && errno == EINVAL && filled(q, LEN, 2));
	p = mmap(q, MIB, READWRITE, PLAIN | MAP_FIXED, -1, 0);
	CHECK(p == q && all_zero(p, MIB));
	CHECK(!munmap(q, LEN));
	errno = 0;
	CHECK(munmap(q, 0) == -1 && errno == EINVAL);
}

int run(void)
{
	errors();
	not_taken();
	behaves();
	if (preloaded != taken(NULL, LEN, READWRITE, PLAIN, -1)) {
		fprintf(stderr, "nothing is tiered on this machine\n");
		return SKIP;
	}
	CHECK(taken(NULL, LEN, READWRITE, PLAIN | MAP_POPULATE, -1) ==
	      preloaded);
	CHECK(taken(NULL, LEN + 5, READWRITE, PLAIN, -1) == preloaded);
	return 0;
}
