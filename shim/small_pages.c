/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Address space of the small allocator.
 *
 * A range is reserved without access and opened piece by piece: so it counts
 * neither as committed memory nor against RLIMIT_DATA, and mlockall() has
 * nothing to populate. Pieces are cut off in turn and never come back: the
 * allocator keeps (retains) what it has, and 64 GiB of addresses cost nothing.
 * Cutting is one compare-and-swap; there is no lock that a fork could catch
 * held.
 */
#include "small_pages.h"

#include <errno.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include "base/os.h"
#include "small.h"

#define RANGE_SIZE ((size_t)64 << 30)

struct hz_small_range hz_small_range[HZ_SMALL_RANGES];
unsigned hz_small_ranges;

/* Bytes cut off from each range, atomic. */
static size_t used[HZ_SMALL_RANGES];

bool hz_small_owns_more(uintptr_t a)
{
	unsigned n = __atomic_load_n(&hz_small_ranges, __ATOMIC_ACQUIRE);

	for (unsigned i = 1; i < n && i < HZ_SMALL_RANGES; i++)
		if (a - hz_small_range[i].base < hz_small_range[i].len)
			return true;
	return false;
}

static void *cut(unsigned i, size_t len)
{
	size_t end = __atomic_load_n(&hz_small_range[i].len, __ATOMIC_ACQUIRE);
	size_t at = __atomic_load_n(&used[i], __ATOMIC_RELAXED);

	do {
		if (at >= end || len > end - at)
			return NULL;
	} while (!__atomic_compare_exchange_n(&used[i], &at, at + len, true,
	                                      __ATOMIC_RELAXED,
	                                      __ATOMIC_RELAXED));
	return (void *)(hz_small_range[i].base + at);
}

/* The kernel refused access: undo cut() if nobody cut since. */
static void uncut(void *p, size_t len)
{
	uintptr_t a = (uintptr_t)p;

	for (unsigned i = 0; i < HZ_SMALL_RANGES; i++) {
		size_t at = a - hz_small_range[i].base, end = at + len;

		if (at < hz_small_range[i].len)
			__atomic_compare_exchange_n(&used[i], &end, at, false,
						    __ATOMIC_RELAXED,
						    __ATOMIC_RELAXED);
	}
}

/* Under a limit on addresses a range is a small part of it: the rest is the
 * program's. */
static size_t wanted_size(size_t least)
{
	struct rlimit as;
	size_t want = RANGE_SIZE;

	if (!getrlimit(RLIMIT_AS, &as) && as.rlim_cur != RLIM_INFINITY)
		want = hz_min(want, (size_t)as.rlim_cur / 16);
	return hz_max(hz_align_down(want, HZ_BLOCK_SIZE), least);
}

static long reserve(size_t len)
{
	return hz_os.mmap(NULL, len, PROT_NONE,
	                  MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
}

/* Reserve a range of at least `len` bytes and cut the first `len` off it. Two
 * threads may both do this; then there are two ranges. */
static void *add_range(size_t len)
{
	size_t size = wanted_size(len);
	long at = reserve(size + HZ_BLOCK_SIZE);
	unsigned i;

	while (at < 0 && size > len) {
		size = hz_max(hz_align_down(size / 4, HZ_BLOCK_SIZE), len);
		at = reserve(size + HZ_BLOCK_SIZE);
	}
	if (at < 0)
		return NULL;
	i = __atomic_fetch_add(&hz_small_ranges, 1, __ATOMIC_ACQ_REL);
	if (i >= HZ_SMALL_RANGES) {
		__atomic_fetch_sub(&hz_small_ranges, 1, __ATOMIC_ACQ_REL);
		hz_os.munmap((void *)at, size + HZ_BLOCK_SIZE);
		return NULL;
	}
	used[i] = len;
	hz_small_range[i].base = hz_align_up((uintptr_t)at, HZ_BLOCK_SIZE);
	__atomic_store_n(&hz_small_range[i].len, size, __ATOMIC_RELEASE);
	return (void *)hz_small_range[i].base;
}

static void *take(size_t len)
{
	unsigned n = __atomic_load_n(&hz_small_ranges, __ATOMIC_ACQUIRE);
	void *p = NULL;

	for (unsigned i = 0; i < n && i < HZ_SMALL_RANGES && !p; i++)
		p = cut(i, len);
	return p ? p : add_range(len);
}

/* MAP_FIXED is the allocator committing or decommitting its own pages; an
 * address without it is a wish that is seldom fulfilled, and it copes. */
void *hz_je_mmap(void *addr, size_t len, int prot, int flags, int fd, off_t off)
{
	size_t whole = hz_align_up(len, HZ_BLOCK_SIZE);
	void *p;

	if (flags & MAP_FIXED) {
		long r = hz_os.mmap(addr, len, prot, flags, fd, off);

		return r < 0 ? MAP_FAILED : (void *)r;
	}
	if (addr || !len || whole < len)
		return MAP_FAILED;
	p = take(whole);
	if (!p)
		return MAP_FAILED;
	if (hz_os.mprotect(p, whole, prot) < 0) {
		uncut(p, whole);
		return MAP_FAILED;
	}
	return p;
}

/* Locked memory cannot be given back, which is no error here. */
int hz_je_munmap(void *addr, size_t len)
{
	hz_os.madvise(addr, len, MADV_DONTNEED);
	return 0;
}

int hz_je_mprotect(void *addr, size_t len, int prot)
{
	return hz_os.mprotect(addr, len, prot) < 0 ? -1 : 0;
}

int hz_je_madvise(void *addr, size_t len, int advice)
{
	return hz_os.madvise(addr, len, advice) < 0 ? -1 : 0;
}

void *hz_je_sbrk(intptr_t more)
{
	return (void *)-1;
}
