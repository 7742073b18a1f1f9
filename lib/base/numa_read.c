/* SPDX-License-Identifier: Apache-2.0 */
/*
 * NUMA: what the kernel says.
 *
 * The program's threads are found in /proc/self/task: a fault does not say who
 * waits for it. Nothing here allocates.
 */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif
#include "base/numa.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>
#include "base/log.h"
#include "base/os.h"
#include "base/raw.h"
#include "base/util.h"

#define SYS_NODE   "/sys/devices/system/node/"
#define MAX_LOOKED 128u /* threads looked at: 15 us each */

static long linux_get_mempolicy(int *mode, unsigned long *mask,
				unsigned long bits, unsigned long flags)
{
	return hz_syscall(SYS_get_mempolicy, mode, mask, bits, NULL, flags);
}

static long linux_set_mempolicy(int mode, const unsigned long *mask,
				unsigned long bits)
{
	return hz_syscall(SYS_set_mempolicy, mode, mask, bits);
}

static long linux_getaffinity(unsigned long *mask, size_t len)
{
	return hz_syscall(SYS_sched_getaffinity, 0, len, mask);
}

static long linux_setaffinity(const unsigned long *mask, size_t len)
{
	return hz_syscall(SYS_sched_setaffinity, 0, len, mask);
}

static long linux_getdents(int fd, void *buf, size_t len)
{
	return hz_syscall(SYS_getdents64, fd, buf, len);
}

struct hz_numa_sys hz_numa_sys = {
	.get_mempolicy = linux_get_mempolicy,
	.set_mempolicy = linux_set_mempolicy,
	.getaffinity = linux_getaffinity,
	.setaffinity = linux_setaffinity,
	.getdents = linux_getdents,
};

/* ---- what there is ---- */

static bool read_mask(const char *name, uint64_t *mask)
{
	char path[96], text[1024];

	hz_format(path, sizeof(path), SYS_NODE "%s", name);
	if (hz_os_slurp(path, text, sizeof(text)) <= 0)
		return false;
	*mask = hz_numa_mask(text);
	return true;
}

bool hz_numa_nodes(uint64_t *online, uint64_t *cpus, uint64_t *memory)
{
	if (!read_mask("online", online))
		return false;
	if (!read_mask("has_cpu", cpus))
		*cpus = *online;
	if (!read_mask("has_memory", memory))
		*memory = *online;
	return true;
}

struct filling {
	uint8_t *node_of, node;
};

static void add_cpus(void *arg, unsigned first, unsigned last)
{
	struct filling *f = arg;

	for (unsigned c = first; c <= last; c++)
		f->node_of[c] = f->node;
}

void hz_numa_cpus(uint64_t online, uint8_t node_of[HZ_CPUS])
{
	char path[96], text[4096];

	memset(node_of, HZ_NODES, HZ_CPUS);
	for (uint8_t n = 0; n < HZ_NODES; n++) {
		struct filling f = {.node_of = node_of, .node = n};

		if (!(online >> n & 1))
			continue;
		hz_format(path, sizeof(path), SYS_NODE "node%u/cpulist", n);
		if (hz_os_slurp(path, text, sizeof(text)) > 0)
			hz_numa_list(text, add_cpus, &f);
	}
}

void hz_numa_memory(struct hz_numa_facts *f)
{
	char path[96], text[4096];

	f->full = 0;
	for (unsigned n = 0; n < HZ_NODES; n++) {
		if (!(f->memory >> n & 1))
			continue;
		hz_format(path, sizeof(path), SYS_NODE "node%u/meminfo", n);
		if (hz_os_slurp(path, text, sizeof(text)) > 0 &&
		    hz_numa_is_full(text))
			f->full |= (uint64_t)1 << n;
	}
}

/* ---- where the program's threads are ---- */

struct entry { /* of getdents64(2) */
	uint64_t ino, off;
	uint16_t len;
	uint8_t type;
	char name[];
};

static void look_at_thread(struct hz_numa_facts *f,
			   const uint8_t node_of[HZ_CPUS], const char *tid)
{
	char path[96], text[1024];
	int cpu;

	hz_format(path, sizeof(path), "/proc/self/task/%s/stat", tid);
	if (hz_os_slurp(path, text, sizeof(text)) <= 0)
		return;
	cpu = hz_numa_last_cpu(text, "hz-");
	if (cpu >= 0 && (unsigned)cpu < HZ_CPUS && node_of[cpu] < HZ_NODES)
		f->threads[node_of[cpu]]++;
}

void hz_numa_threads(struct hz_numa_facts *f, const uint8_t node_of[HZ_CPUS])
{
	_Alignas(struct entry) char buf[4096];
	int fd = hz_os.open("/proc/self/task",
			    O_RDONLY | O_DIRECTORY | O_CLOEXEC, 0);
	unsigned seen = 0;
	long n = 0;

	memset(f->threads, 0, sizeof(f->threads));
	if (fd < 0)
		return;
	do {
		n = hz_numa_sys.getdents(fd, buf, sizeof(buf));
		for (long at = 0; at < n && seen < MAX_LOOKED;) {
			struct entry *d = (void *)(buf + at);

			at += d->len;
			if (d->name[0] != '.') {
				look_at_thread(f, node_of, d->name);
				seen++;
			}
		}
	} while (n > 0 && seen < MAX_LOOKED);
	hz_os.close(fd);
}
