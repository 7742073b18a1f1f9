/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The operating system's table: -errno without errno, and the helpers.
 */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif
#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include "base/os.h"
#include "base/util.h"

static int is_mapped(const void *p)
{
	unsigned char vec;

	return mincore((void *)p, HZ_PAGE_SIZE, &vec) == 0;
}

Test(os, errors_are_returned_and_errno_is_kept)
{
	char buf[4];

	errno = E2BIG;
	cr_expect_eq(hz_os.close(-1), -EBADF);
	cr_expect_eq(hz_os.read(-1, buf, 4), -EBADF);
	cr_expect_eq(hz_os.pwrite(-1, buf, 4, 0), -EBADF);
	cr_expect_eq(hz_os.open("/no/such/file", O_RDONLY, 0), -ENOENT);
	cr_expect_eq(hz_os.ioctl(-1, 0, NULL), -EBADF);
	cr_expect_eq(hz_os.mmap(NULL, 4096, PROT_READ, MAP_PRIVATE, -1, 0),
		     -EBADF);
	cr_expect_eq(errno, E2BIG);
}

Test(os, slurp)
{
	char buf[64];
	ssize_t n = hz_os_slurp("/proc/self/comm", buf, sizeof(buf));

	cr_expect_gt(n, 1);
	cr_expect_eq((size_t)n, strlen(buf));
	cr_expect_eq(buf[n - 1], '\n');
	buf[4] = '#';
	cr_expect_eq(hz_os_slurp("/proc/self/stat", buf, 4), 3);
	cr_expect_eq(buf[3], '\0');
	cr_expect_eq(buf[4], '#');
	cr_expect_eq(hz_os_slurp("/no/such/file", buf, sizeof(buf)), -ENOENT);
	cr_expect_eq(hz_os_slurp("/", buf, sizeof(buf)), -EISDIR);
	cr_expect_eq(hz_os_slurp("/proc/self/comm", buf, 0), -EINVAL);
}

/* Reads three bytes at a time, interrupted before each. */
static ssize_t slow_read(int fd, void *buf, size_t len)
{
	static int turn;

	return turn++ % 2 ? hz_os_linux.read(fd, buf, len < 3 ? len : 3)
			  : -EINTR;
}

Test(os, slurp_goes_on_after_short_reads)
{
	char whole[4096], parts[4096];

	cr_assert_gt(hz_os_slurp("/proc/self/cmdline", whole, sizeof(whole)),
		     3);
	hz_os.read = slow_read;
	hz_os_slurp("/proc/self/cmdline", parts, sizeof(parts));
	cr_expect_str_eq(parts, whole);
}

Test(os, reserve)
{
	char *p = hz_os_reserve((size_t)1 << 40);

	cr_assert_not_null(p);
	p[0] = p[(size_t)1 << 39] = 1;
	cr_expect_eq(p[HZ_PAGE_SIZE], 0);
}

Test(os, reserve_aligned)
{
	for (size_t align = HZ_PAGE_SIZE; align <= (size_t)1 << 30;
	     align <<= 3) {
		size_t len = 3 * HZ_PAGE_SIZE;
		char *p = hz_os_reserve_aligned(len, align);

		cr_assert_not_null(p);
		cr_expect_eq((uintptr_t)p % align, 0);
		p[0] = p[len - 1] = 1;
	}
}

static char *first_base;
static long remember_mmap(void *addr, size_t len, int prot, int flags, int fd,
			  off_t off)
{
	long at = hz_os_linux.mmap(addr, len, prot, flags, fd, off);

	first_base = (char *)at;
	return at;
}

Test(os, reserve_aligned_gives_the_rest_back)
{
	size_t len = 2 * HZ_PAGE_SIZE, align = (size_t)64 << 20;
	char *p;

	hz_os.mmap = remember_mmap;
	p = hz_os_reserve_aligned(len, align);
	cr_assert_not_null(p);
	cr_expect(is_mapped(p) && is_mapped(p + len - HZ_PAGE_SIZE));
	if (p != first_base)
		cr_expect_not(is_mapped(first_base));
	if (p + len < first_base + len + align - HZ_PAGE_SIZE)
		cr_expect_not(is_mapped(p + len));
}

static long refuse_mmap(void *addr, size_t len, int prot, int flags, int fd,
			off_t off)
{
	return -ENOMEM;
}

Test(os, refused_memory_is_null)
{
	hz_os.mmap = refuse_mmap;
	cr_expect_null(hz_os_reserve(4096));
	cr_expect_null(hz_os_reserve_aligned(4096, HZ_BLOCK_SIZE));
	hz_os.mmap = hz_os_linux.mmap;
	cr_expect_null(hz_os_reserve_aligned(SIZE_MAX / 2 + 1, 4096));
	cr_expect_null(hz_os_reserve_aligned(0, 4096));
}

Test(os, time_does_not_go_back)
{
	uint64_t a = hz_os.now(), b = hz_os.now();

	cr_expect_gt(a, 0);
	cr_expect_geq(b, a);
}
