/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the kernel's page table says of one block.
 */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif
#include <errno.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "backend/uffd_abi.h"
#include "base/os.h"
#include "engine/engine.h"

#define PAGES (HZ_BLOCK_SIZE / HZ_PAGE_SIZE)

static enum hz_pages verdict(size_t n)
{
	return n == PAGES ? HZ_PAGES_ALL : n ? HZ_PAGES_SOME : HZ_PAGES_NONE;
}

static enum hz_pages by_mincore(char *addr)
{
	unsigned char there[PAGES];
	int saved = errno;
	size_t n = 0;
	long rc = syscall(SYS_mincore, addr, HZ_BLOCK_SIZE, there);

	errno = saved;
	if (rc < 0)
		return HZ_PAGES_SOME;
	for (unsigned i = 0; i < PAGES; i++)
		n += there[i] & 1;
	return verdict(n);
}

/* /proc/PID/pagemap; see the kernel's admin-guide/mm/pagemap. */
#define PM_PRESENT   (1ull << 63)
#define PM_SWAPPED   (1ull << 62)
#define PM_EXCLUSIVE (1ull << 56)

static bool read_pagemap(const struct hz_engine *e, const char *addr,
			 uint64_t entry[PAGES])
{
	const size_t bytes = PAGES * sizeof(entry[0]);
	off_t at = (off_t)((uintptr_t)addr / HZ_PAGE_SIZE * sizeof(entry[0]));

	return e->pagemap >= 0 && hz_os.pread(e->pagemap, entry, bytes, at) ==
					  (ssize_t)bytes;
}

bool hz_pages_map(const struct hz_engine *e, const char *addr,
		  struct hz_page_map *there)
{
	uint64_t entry[PAGES];

	if (!read_pagemap(e, addr, entry))
		return false;
	*there = (struct hz_page_map){{0}};
	for (unsigned i = 0; i < PAGES; i++)
		if (entry[i] & (PM_PRESENT | PM_SWAPPED))
			hz_pmap_add(there, i);
	return true;
}

/* How many pages are in RAM and mapped by another process too; -1: it cannot
 * be read. */
static int count_shared(const struct hz_engine *e, const char *addr)
{
	uint64_t entry[PAGES];
	int n = 0;

	if (!read_pagemap(e, addr, entry))
		return -1;
	for (unsigned i = 0; i < PAGES; i++)
		n += (entry[i] & (PM_PRESENT | PM_EXCLUSIVE)) == PM_PRESENT;
	return n;
}

bool hz_pages_shared(const struct hz_engine *e, const char *addr)
{
	return count_shared(e, addr) == (int)PAGES;
}

bool hz_pages_alone(const struct hz_engine *e, const char *addr)
{
	return count_shared(e, addr) == 0;
}

enum hz_pages hz_pages_at(const struct hz_engine *e, char *addr, bool huge)
{
	struct page_region r;
	struct pm_scan_arg a = {
		.size = sizeof(a),
		.start = (uintptr_t)addr,
		.end = (uintptr_t)addr + HZ_BLOCK_SIZE,
		.vec = (uintptr_t)&r,
		.vec_len = 1,
		/* nothing is returned by kind: one region for the block */
		.category_anyof_mask =
			huge ? PAGE_IS_HUGE : PAGE_IS_PRESENT | PAGE_IS_SWAPPED,
	};
	int n = -ENOENT;

	if (e->pagemap >= 0)
		n = hz_os.ioctl(e->pagemap, PAGEMAP_SCAN, &a);
	if (n < 0)
		return huge ? HZ_PAGES_ALL : by_mincore(addr);
	return n ? verdict((r.end - r.start) / HZ_PAGE_SIZE) : HZ_PAGES_NONE;
}
