/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The budget of RAM, in pages.
 *
 * Crossing a memory cgroup's limit is SIGKILL, never ENOMEM: the budget is
 * kept below it, whatever else in the group grows. Limits are read up the
 * tree, of the unified hierarchy (memory.max, memory.high) and of version 1
 * (memory.limit_in_bytes); see cgroups(7). The kernel reclaims page cache by
 * itself, so usage is counted without it.
 */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/sysinfo.h>

#include "base/knobs.h"
#include "base/log.h"
#include "base/os.h"
#include "base/stats.h"
#include "engine/budget.h"
#include "engine/engine.h"
#include "engine/leftovers.h"
#include "policy/tier.h"

#define POLL_NS	  50000000ull /* at most this often */
#define HURRY_NS  10000000ull
#define RETRY_NS  1000000000ull
#define UNLIMITED (1ull << 60)

/* The number behind `key` in a file of "key value" lines, or UNLIMITED. */
static uint64_t keyed(const char *path, const char *key)
{
	char buf[8192];
	const char *p;

	if (hz_os_slurp(path, buf, sizeof(buf)) <= 0)
		return UNLIMITED;
	p = strstr(buf, key);
	return p ? strtoull(p + strlen(key), NULL, 10) : UNLIMITED;
}

static uint64_t number(const char *path)
{
	char buf[64];

	if (hz_os_slurp(path, buf, sizeof(buf)) <= 0 || buf[0] == 'm')
		return UNLIMITED; /* "max" */
	return strtoull(buf, NULL, 10);
}

uint64_t hz_budget_machine(void)
{
	uint64_t kib = keyed("/proc/meminfo", "MemTotal:");
	struct sysinfo info;

	/* A container's /proc may know better than the kernel, but there may
	 * be none. */
	if (kib != UNLIMITED)
		return kib << 10;
	return sysinfo(&info) ? UNLIMITED
			      : (uint64_t)info.totalram * info.mem_unit;
}

uint64_t hz_budget_address_space(void)
{
	struct rlimit lim;

	if (getrlimit(RLIMIT_AS, &lim) < 0 || lim.rlim_cur == RLIM_INFINITY)
		return UINT64_MAX;
	return lim.rlim_cur / 4;
}

/* ---- the memory cgroup ---- */

/* Is it one of "cpu,cpuacct"? */
static bool names(const char *list, const char *controller)
{
	size_t len = strlen(controller);

	while (strncmp(list, controller, len) ||
	       (list[len] != ',' && list[len] != ':')) {
		list += strcspn(list, ",:");
		if (*list++ != ',')
			return false;
	}
	return true;
}

/* Where this process's group is: the line "N:...memory...:/path" (version 1)
 * or "0::/path". */
static bool find_group(struct hz_cgroup *g, const char *controller)
{
	char buf[4096], *line, *save = NULL;
	const char *v1 = NULL, *v2 = NULL;

	if (hz_os_slurp("/proc/self/cgroup", buf, sizeof(buf)) <= 0)
		return false;
	for (line = strtok_r(buf, "\n", &save); line;
	     line = strtok_r(NULL, "\n", &save)) {
		char *list = strchr(line, ':');
		char *path = list ? strchr(list + 1, ':') : NULL;

		if (!path)
			continue;
		if (path == list + 1)
			v2 = path + 1;
		else if (names(list + 1, controller))
			v1 = path + 1;
	}
	g->v1 = v1 != NULL;
	v1 = v1 ? v1 : v2 ? v2 : "/";
	hz_format(g->path, sizeof(g->path), "%s", strcmp(v1, "/") ? v1 : "");
	return g->v1 || v2;
}

/* In a container the path may be the host's: the root of the mount is then our
 * group, and it is looked at last. False: that was it. */
static bool go_up(char *path)
{
	char *slash = strrchr(path, '/');

	if (slash)
		*slash = '\0';
	return slash;
}

static void file_in(const struct hz_cgroup *g, const char *controller,
		    const char *path, const char *name, char *out, size_t len)
{
	hz_format(out, len, "/sys/fs/cgroup%s%s%s/%s", g->v1 ? "/" : "",
		  g->v1 ? controller : "", path, name);
}

static uint64_t limit_at(const struct hz_cgroup *g, const char *path)
{
	char file[512];
	uint64_t max, high;

	file_in(g, "memory", path,
		g->v1 ? "memory.limit_in_bytes" : "memory.max", file,
		sizeof(file));
	max = number(file);
	if (g->v1)
		return max;
	file_in(g, "memory", path, "memory.high", file, sizeof(file));
	high = number(file);
	return hz_min(max, high);
}

bool hz_cgroup_find(struct hz_cgroup *g)
{
	char path[sizeof(g->path)];
	uint64_t best = UNLIMITED;

	g->limit = UNLIMITED;
	if (!find_group(g, "memory"))
		return false;
	hz_format(path, sizeof(path), "%s", g->path);
	do {
		uint64_t limit = limit_at(g, path);

		if (limit < best) {
			best = limit;
			hz_format(g->path, sizeof(g->path), "%s", path);
		}
	} while (go_up(path));
	g->limit = best >= UNLIMITED ? UNLIMITED : best;
	return g->limit != UNLIMITED;
}

static const char *const v1_cache[] = {"total_inactive_file ",
				       "total_active_file "};
static const char *const v2_cache[] = {"\ninactive_file ", "\nactive_file "};

uint64_t hz_cgroup_usage(const struct hz_cgroup *g)
{
	char file[512];
	uint64_t used, cache = 0;

	file_in(g, "memory", g->path,
		g->v1 ? "memory.usage_in_bytes" : "memory.current", file,
		sizeof(file));
	used = number(file);
	file_in(g, "memory", g->path, "memory.stat", file, sizeof(file));
	/* Not "file": that counts shared memory, which cannot be dropped. */
	for (unsigned i = 0; i < 2; i++) {
		const char *key = g->v1 ? v1_cache[i] : v2_cache[i];
		uint64_t n = keyed(file, key);

		cache += n == UNLIMITED ? 0 : n;
	}
	return used > cache ? used - cache : 0;
}

bool hz_cgroup_has_quota(void)
{
	struct hz_cgroup g;
	char file[512], text[64];

	if (!find_group(&g, "cpu"))
		return true; /* nobody knows */
	do {
		file_in(&g, "cpu", g.path,
			g.v1 ? "cpu.cfs_quota_us" : "cpu.max", file,
			sizeof(file));
		/* "max 100000" or -1: none */
		if (hz_os_slurp(file, text, sizeof(text)) > 0 &&
		    text[0] >= '0' && text[0] <= '9')
			return true;
	} while (go_up(g.path));
	return false;
}

/* ---- the engine's budget ---- */

static struct hz_cgroup group;
static bool grouped;

static uint64_t ram_knob(void)
{
	uint64_t whole = grouped ? group.limit : hz_budget_machine();

	return hz_size_resolve(hz_knobs.ram, whole);
}

uint64_t hz_budget_start(void)
{
	grouped = hz_cgroup_find(&group);
	return ram_knob();
}

bool hz_budget_watched(void)
{
	return grouped;
}

static uint64_t headroom(void)
{
	uint64_t room = hz_size_resolve(hz_knobs.headroom, group.limit);

	return room == HZ_SIZE_AUTO ? hz_tier_headroom(group.limit) : room;
}

static uint64_t allowed(uint64_t ours)
{
	uint64_t ram = ram_knob(), used;

	if (!grouped)
		return ram;
	used = hz_cgroup_usage(&group);
	return hz_tier_budget(ram, group.limit, used > ours ? used - ours : 0,
			      headroom());
}

bool hz_budget_leaves(uint64_t bytes)
{
	return !grouped || hz_cgroup_usage(&group) + bytes + headroom() / 2 <=
				   group.limit;
}

uint64_t hz_budget_spare(void)
{
	return grouped ? hz_tier_spare(headroom()) : 0;
}

uint64_t hz_budget_packed(void)
{
	return hz_budget_spare() ? hz_tier_packed(group.limit) : 0;
}

/* Below this the engine cannot move anything. */
#define LEAST_PAGES 8u

void hz_budget_lost(struct hz_engine *e)
{
	e->cap -= e->cap > LEAST_PAGES;
	e->cap_lost = true;
}

/* Page tables of huge pages: one deposited table of 4 KiB a block, charged
 * to the group (review of Linux 6.18: 2 KiB a MiB). */
#define PAGE_COST (HZ_BLOCK_SIZE + HZ_PAGE_SIZE)

/* What relatives keep is given back one by one, and somebody waits for it. */
static uint64_t interval(const struct hz_engine *e)
{
	if (e->totals.guarded)
		return e->waiting ? HURRY_NS : POLL_NS;
	return grouped ? POLL_NS : RETRY_NS;
}

/* How much of the budget is kept free, and how much the plan may fill. */
static void divide(struct hz_engine *e)
{
	uint32_t knob = (uint32_t)hz_knobs.free_frames;
	uint32_t free =
		hz_plan_follows(e->plan)
			? hz_tier_free_follow(e->cap, e->depth, knob)
			: hz_tier_free_target(e->cap, e->read_ahead, e->depth,
					      knob);

	if (free == e->free_target && e->cap == e->divided)
		return;
	e->free_target = free;
	e->divided = e->cap;
	hz_plan_capacity(e->plan, e->cap - hz_min(e->cap / 2, free));
}

static void ask_group(struct hz_engine *e, bool force)
{
	uint64_t now = hz_os.now(), bytes, packed;
	uint32_t cap;

	/* Without a group only a cap that the kernel has refused to fill is
	 * looked at again; see hz_frames_grow(). */
	if (!force && now - e->budget_checked < interval(e))
		return;
	e->budget_checked = now;
	packed = hz_leftovers_packed();
	bytes = (uint64_t)e->pages * PAGE_COST + packed;
	hz_unlock(&e->lock);
	bytes = allowed(bytes);
	hz_lock(&e->lock);
	bytes -= hz_min(bytes, packed);
	cap = (uint32_t)hz_min(bytes / PAGE_COST, (uint64_t)e->frames);
	/* The group's usage knows what relatives keep; nobody else does. */
	if (!grouped)
		cap -= hz_min(cap, hz_board_held(e, true));
	if (cap < LEAST_PAGES)
		hz_leftovers_give_up();
	cap = hz_max(cap, LEAST_PAGES);
	if (cap == e->cap && !e->cap_lost)
		return;
	e->cap_lost = false;
	e->cap = cap;
	hz_stat_gauge(HZ_STAT_ram_capacity, HZ_STAT_ram_capacity,
		      (uint64_t)cap << HZ_BLOCK_SHIFT);
}

void hz_budget_poll(struct hz_engine *e, bool force)
{
	ask_group(e, force);
	divide(e);
}
