/* SPDX-License-Identifier: Apache-2.0 */
/*
 * NUMA: from which nodes our threads take the program's pages, and where they
 * run themselves. With one node nothing at all is done.
 *
 * Pages are placed by the policy of the thread that has them cleared, never by
 * mbind(2): a policy of its own would keep a part of the frames from being one
 * mapping with the rest, and UFFDIO_MOVE wants source and destination inside
 * one each.
 *
 * Raw system calls, not libnuma: to load it takes the loader's lock and the
 * allocator. The thread that starts the engine may wait inside a dlopen(3) of
 * the program, and our threads allocate nothing. Of libnuma's own functions
 * the three that matter are the bare system calls, and the rest fills bit
 * masks that come from malloc. horizon-run --check, which may do both, asks
 * libnuma what only it knows.
 *
 * numa_choose.c is pure. Nodes above 63 exist for the kernel, but get nothing
 * from us.
 */
#ifndef HZ_NUMA_H
#define HZ_NUMA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define HZ_NODES 64u
#define HZ_CPUS	 8192u /* the most that Linux is built for */

/* set_mempolicy(2); its header comes with libnuma. */
enum hz_mpol {
	HZ_MPOL_DEFAULT,
	HZ_MPOL_PREFERRED,
	HZ_MPOL_BIND,
	HZ_MPOL_INTERLEAVE,
	HZ_MPOL_LOCAL,
};

/* What a choice rests on; sets of nodes are bit masks. */
struct hz_numa_facts {
	uint64_t memory; /* nodes with memory that the process may use */
	uint64_t cpus;	 /* nodes with processors */
	uint64_t full;	 /* nodes with next to no free memory */
	int policy;	 /* enum hz_mpol or a younger one, without flags */
	uint64_t policy_nodes;
	uint32_t threads[HZ_NODES]; /* of the program, last seen there */
};

struct hz_numa_choice {
	uint64_t nodes; /* one: preferred, more: interleaved, 0: inherited */
	uint64_t run;	/* our threads keep to these; 0: where they may */
};

/* ---- numa_choose.c ---- */

/* `how` is the value of the knob numa. */
struct hz_numa_choice hz_numa_choose(int how, const struct hz_numa_facts *f);

/* Call fn for each range of "0-3,8,10-11". */
void hz_numa_list(const char *text,
		  void (*fn)(void *arg, unsigned first, unsigned last),
		  void *arg);
/* The same as a mask of nodes. */
uint64_t hz_numa_mask(const char *text);

/* Of a line of /proc/PID/task/TID/stat: the processor it ran on last, or -1
 * when the line is broken or the thread's name begins with `ours`. */
int hz_numa_last_cpu(const char *stat, const char *ours);

/* Of /sys/devices/system/node/nodeN/meminfo: less than 1/64 is free, file
 * pages that nobody uses counted as free. */
bool hz_numa_is_full(const char *meminfo);

/* ---- numa_read.c ---- */

/* The kernel's side, replaceable as hz_os is. -errno, and errno is kept. */
struct hz_numa_sys {
	long (*get_mempolicy)(int *mode, unsigned long *mask,
			      unsigned long bits, unsigned long flags);
	long (*set_mempolicy)(int mode, const unsigned long *mask,
			      unsigned long bits);
	/* Of the calling thread; get returns the bytes filled. */
	long (*getaffinity)(unsigned long *mask, size_t len);
	long (*setaffinity)(const unsigned long *mask, size_t len);
	long (*getdents)(int fd, void *buf, size_t len);
};
extern struct hz_numa_sys hz_numa_sys;

/* What the machine has, whoever may use it. False where the kernel does not
 * say; then it counts as one node. */
bool hz_numa_nodes(uint64_t *online, uint64_t *cpus, uint64_t *memory);

/* The node of each processor; HZ_NODES: none that counts. */
void hz_numa_cpus(uint64_t online, uint8_t node_of[HZ_CPUS]);
/* f->full of f->memory; f->threads. */
void hz_numa_memory(struct hz_numa_facts *f);
void hz_numa_threads(struct hz_numa_facts *f, const uint8_t node_of[HZ_CPUS]);

/* ---- numa.c ---- */

/* Before our other threads exist, in the one that makes them: choose, and
 * follow; they inherit both. False with one node, or with `how` off. */
bool hz_numa_start(int how);
/* Choose again if the last time was a second ago. One thread only. */
void hz_numa_look(void);
/* The calling thread, one of ours, follows the choice in force. A load and a
 * compare where that is not a new one. */
void hz_numa_follow(void);

#endif
