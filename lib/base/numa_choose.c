/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which nodes: pure.
 *
 * A page travels between blocks, so it cannot be on the node of the thread
 * that touched its block first. It comes from the nodes where the program's
 * threads run: one node, when they are together; all of these in turn, when
 * they are not. A policy that the process was given by its user, such as
 * numactl(8)'s, is inherited by our threads and left alone.
 */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif
#include <stdlib.h>
#include <string.h>
#include "base/knobs.h"
#include "base/numa.h"
#include "base/util.h"

/* A node counts when it has this part of the threads. */
#define PART_OF_THREADS 8
#define PART_OF_MEMORY	64

static bool own_policy(const struct hz_numa_facts *f)
{
	if (f->policy == HZ_MPOL_DEFAULT || f->policy == HZ_MPOL_LOCAL)
		return false;
	/* "preferred" without a node is how old kernels say "local". */
	return f->policy != HZ_MPOL_PREFERRED || f->policy_nodes;
}

static uint64_t used_nodes(const struct hz_numa_facts *f)
{
	uint64_t used = 0, total = 0;

	for (unsigned n = 0; n < HZ_NODES; n++)
		total += f->threads[n];
	for (unsigned n = 0; n < HZ_NODES; n++)
		if (f->threads[n] &&
		    (uint64_t)f->threads[n] * PART_OF_THREADS >= total)
			used |= (uint64_t)1 << n;
	return used;
}

static uint64_t busiest_node(const struct hz_numa_facts *f)
{
	unsigned best = 0;

	for (unsigned n = 1; n < HZ_NODES; n++)
		if (f->threads[n] > f->threads[best])
			best = n;
	return f->threads[best] ? (uint64_t)1 << best : 0;
}

/* A strict policy holds also against the knob. */
static uint64_t usable(const struct hz_numa_facts *f)
{
	uint64_t bound = f->memory & f->policy_nodes;

	return f->policy == HZ_MPOL_BIND && bound ? bound : f->memory;
}

struct hz_numa_choice hz_numa_choose(int how, const struct hz_numa_facts *f)
{
	struct hz_numa_choice c = {0};
	uint64_t can = usable(f);

	if (how == HZ_NUMA_OFF || !(f->memory & (f->memory - 1)))
		return c;
	if (how == HZ_NUMA_AUTO && own_policy(f))
		return c;
	if (how == HZ_NUMA_INTERLEAVE) {
		/* Memory without processors is the slow kind. */
		c.nodes = can & f->cpus ? can & f->cpus : can;
	} else {
		c.run = how == HZ_NUMA_LOCAL ? busiest_node(f) : used_nodes(f);
		c.nodes = c.run & can;
	}
	/* Where there is no room the kernel would first reclaim. With none
	 * left its own order serves: from the nearest node on. */
	c.nodes &= ~f->full;
	return c;
}

/* ---- the kernel's texts ---- */

void hz_numa_list(const char *text,
		  void (*fn)(void *arg, unsigned first, unsigned last),
		  void *arg)
{
	while (*text >= '0' && *text <= '9') {
		char *end;
		unsigned long first = strtoul(text, &end, 10), last = first;

		if (*end == '-')
			last = strtoul(end + 1, &end, 10);
		if (first <= last && last < HZ_CPUS)
			fn(arg, (unsigned)first, (unsigned)last);
		text = *end == ',' ? end + 1 : "";
	}
}

static void add_nodes(void *arg, unsigned first, unsigned last)
{
	uint64_t *mask = arg;

	for (unsigned n = first; n <= last && n < HZ_NODES; n++)
		*mask |= (uint64_t)1 << n;
}

uint64_t hz_numa_mask(const char *text)
{
	uint64_t mask = 0;

	hz_numa_list(text, add_nodes, &mask);
	return mask;
}

/* "PID (NAME) S ...": the name may hold anything, `processor` is field 39. */
int hz_numa_last_cpu(const char *stat, const char *ours)
{
	const char *name = strchr(stat, '('), *at = strrchr(stat, ')');

	if (!name || !at || !strncmp(name + 1, ours, strlen(ours)))
		return -1;
	for (int field = 2; at && field < 39; field++)
		at = strchr(at + 1, ' ');
	if (!at || at[1] < '0' || at[1] > '9')
		return -1;
	return atoi(at + 1);
}

static uint64_t kib(const char *meminfo, const char *key)
{
	const char *at = strstr(meminfo, key);

	return at ? strtoull(at + strlen(key), NULL, 10) : 0;
}

bool hz_numa_is_full(const char *meminfo)
{
	uint64_t room =
		kib(meminfo, "MemFree:") + kib(meminfo, "Inactive(file):");

	return room < kib(meminfo, "MemTotal:") / PART_OF_MEMORY;
}
