/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the machine and the memory cgroup allow. Pure readers of /proc and
 * /sys; thread-safe but for hz_budget_start(), which is called once, before
 * the engine's threads run.
 */
#ifndef HZ_BUDGET_H
#define HZ_BUDGET_H

#include <stdbool.h>
#include <stdint.h>

struct hz_cgroup {
	bool v1;
	char path[256];	/* the level whose limit is the lowest */
	uint64_t limit; /* bytes; 1 << 60 when there is none */
};

/* The group of this process with a limit; false when there is no limit. */
bool hz_cgroup_find(struct hz_cgroup *g);
/* Bytes used in the group, page cache not counted. */
uint64_t hz_cgroup_usage(const struct hz_cgroup *g);
/* Has the group of this process, or one above, a quota of CPU time? */
bool hz_cgroup_has_quota(void);
/* MemTotal in bytes. */
uint64_t hz_budget_machine(void);
/* A quarter of RLIMIT_AS, UINT64_MAX when it is unlimited: the most that one
 * reservation of ours may take of the address space. */
uint64_t hz_budget_address_space(void);
/* Is there a cgroup limit to be watched? */
bool hz_budget_watched(void);
/* Find the group; bytes of the knob `ram`, resolved. */
uint64_t hz_budget_start(void);

#endif
