/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The whole engine on a machine that seems to have two nodes: its threads keep
 * to the processors of the program's node, and no page is cleared before the
 * thread that clears it has taken the policy in force; also a later one.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <unistd.h>
#include "base/numa.h"
#include "base/os.h"
#include "engine_check.h"
#include "horizon.h"

#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23
#endif

#define BLOCK ((size_t)2 << 20)
#define NODE  "/sys/devices/system/node/"

/* All processors that there are are node 0's. */
static const struct {
	const char *path, *text;
} files[] = {
	{NODE "online", "0-1\n"},
	{NODE "has_cpu", "0-1\n"},
	{NODE "has_memory", "0-1\n"},
	{NODE "node0/cpulist", "0-4095\n"},
	{NODE "node1/cpulist", "4096\n"},
	{NODE "node1/meminfo", "MemTotal: 100 kB\nMemFree: 90 kB\n"},
};
static const char room[] = "MemTotal: 100 kB\nMemFree: 90 kB\n";
static const char full[] = "MemTotal: 900 kB\nMemFree: 1 kB\n";

/* Written by the engine's threads, looked at when they are known to be past
 * it; what they share with main() is atomic. */
static bool is_full;   /* atomic: node 0 */
static uint64_t later; /* atomic: ns that the clock is ahead */
static __thread int policy = -1;
static __thread unsigned long affinity;
static unsigned aux_placed, aux_kept, populated, default_populated;

static bool in(const char *thread)
{
	char name[16];

	prctl(PR_GET_NAME, name);
	return !strcmp(name, thread);
}

/* A descriptor from which `text` can be read. */
static int text_file(const char *text)
{
	int ends[2];

	CHECK(pipe2(ends, O_CLOEXEC) == 0);
	CHECK(write(ends[1], text, strlen(text)) == (ssize_t)strlen(text));
	close(ends[1]);
	return ends[0];
}

static int open_fake(const char *path, int flags, int mode)
{
	for (unsigned i = 0; i < sizeof(files) / sizeof(files[0]); i++)
		if (!strcmp(path, files[i].path))
			return text_file(files[i].text);
	if (!strcmp(path, NODE "node0/meminfo"))
		return text_file(__atomic_load_n(&is_full, __ATOMIC_RELAXED)
					 ? full
					 : room);
	return hz_os_linux.open(path, flags, mode);
}

static uint64_t now(void)
{
	return hz_os_linux.now() + __atomic_load_n(&later, __ATOMIC_RELAXED);
}

static long get_mempolicy(int *mode, unsigned long *mask, unsigned long bits,
			  unsigned long flags)
{
	*mask = flags ? 3 : 0;
	if (mode)
		*mode = 0;
	return 0;
}

static long set_mempolicy(int mode, const unsigned long *mask,
			  unsigned long bits)
{
	CHECK(mode == HZ_MPOL_DEFAULT ||
	      (mode == HZ_MPOL_PREFERRED && mask[0] == 1));
	policy = mode;
	aux_placed += in("hz-aux");
	return 0;
}

/* Processors 0 and 1, and the one of node 1. */
static long getaffinity(unsigned long *mask, size_t len)
{
	CHECK(len > 4096 / 8);
	mask[0] = affinity ? affinity : 3;
	mask[4096 / 64] = affinity ? 0 : 1;
	return (long)len;
}

static long setaffinity(const unsigned long *mask, size_t len)
{
	CHECK(mask[0] == 3 && !mask[4096 / 64]);
	affinity = mask[0];
	aux_kept += in("hz-aux");
	return 0;
}

static int advise(void *addr, size_t len, int advice)
{
	if (advice == MADV_POPULATE_WRITE && in("hz-engine")) {
		bool fallen = __atomic_load_n(&is_full, __ATOMIC_RELAXED);

		CHECK(policy >= 0 && affinity);
		__atomic_fetch_add(&populated, 1, __ATOMIC_RELAXED);
		if (policy == HZ_MPOL_DEFAULT)
			__atomic_fetch_add(&default_populated, 1,
					   __ATOMIC_RELAXED);
		CHECK(fallen || policy == HZ_MPOL_PREFERRED);
	}
	return hz_os_linux.madvise(addr, len, advice);
}

static char *touch(size_t blocks)
{
	char *p = horizon_alloc(blocks * BLOCK);

	CHECK(p && horizon_owns(p));
	for (size_t i = 0; i < blocks; i++)
		p[i * BLOCK] = 1;
	return p;
}

int main(void)
{
	unsigned before;
	char *a, *b;

	setenv("HORIZON_RAM", "128M", 1);
	setenv("HORIZON_STORE_SIZE", "128M", 1);
	setenv("HORIZON_NUMA", "auto", 1);
	hz_os.open = open_fake;
	hz_os.now = now;
	hz_os.madvise = advise;
	hz_numa_sys.get_mempolicy = get_mempolicy;
	hz_numa_sys.set_mempolicy = set_mempolicy;
	hz_numa_sys.getaffinity = getaffinity;
	hz_numa_sys.setaffinity = setaffinity;
	if (horizon_start())
		return 77;
	CHECK(aux_placed == 1 && aux_kept == 1);
	a = touch(4);
	before = __atomic_load_n(&populated, __ATOMIC_RELAXED);
	CHECK(before && !default_populated);

	/* Node 0 has no room any more: the kernel's own order. */
	__atomic_store_n(&is_full, true, __ATOMIC_RELAXED);
	__atomic_store_n(&later, 2000000000, __ATOMIC_RELAXED);
	b = touch(24);
	CHECK(__atomic_load_n(&populated, __ATOMIC_RELAXED) > before);
	CHECK(__atomic_load_n(&default_populated, __ATOMIC_RELAXED));
	horizon_free(a);
	horizon_free(b);
	return 0;
}
