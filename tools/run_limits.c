/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How much memory there is: MemTotal and the memory cgroup, version 1 or 2,
 * with every limit from our group up to the mount; and what of it is the RAM
 * budget.
 */
#include "config.h"
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "base/knobs.h"
#include "base/log.h"
#include "base/os.h"
#include "base/util.h"
#include "run.h"

/* One line of /proc/self/mountinfo, in place. */
struct mount {
	char *root, *point, *type, *super;
};

/* The kernel writes blanks in paths as \040 and the like. */
static void unescape(char *s)
{
	char *to = s;

	while (*s) {
		if (s[0] == '\\' && s[1] >= '0' && s[1] <= '3' && s[2] &&
		    s[3]) {
			*to++ = (char)((s[1] - '0') * 64 + (s[2] - '0') * 8 +
				       (s[3] - '0'));
			s += 4;
		} else {
			*to++ = *s++;
		}
	}
	*to = '\0';
}

/* "36 35 98:0 /root /point opts [tags...] - type source super" */
static bool parse_mount(char *line, struct mount *m)
{
	char *save = NULL, *word = strtok_r(line, " \n", &save);

	for (int field = 1; word && field <= 5; field++) {
		if (field == 4)
			m->root = word;
		if (field == 5)
			m->point = word;
		word = strtok_r(NULL, " \n", &save);
	}
	while (word && strcmp(word, "-"))
		word = strtok_r(NULL, " \n", &save);
	m->type = strtok_r(NULL, " \n", &save);
	strtok_r(NULL, " \n", &save);
	m->super = strtok_r(NULL, " \n", &save);
	if (!word || !m->type || !m->super)
		return false;
	unescape(m->root);
	unescape(m->point);
	return true;
}

typedef void mount_visit(const struct mount *m, void *arg);

static void each_mount(mount_visit *visit, void *arg)
{
	FILE *f = fopen("/proc/self/mountinfo", "re");
	struct mount m;
	char *line = NULL;
	size_t room = 0;

	if (!f)
		return;
	while (getline(&line, &room, f) > 0)
		if (parse_mount(line, &m))
			visit(&m, arg);
	free(line);
	fclose(f);
}

/* ---- file system type ---- */

struct type_search {
	const char *path;
	char *type;
	size_t len, best; /* length of the longest mount point so far */
};

static void match_type(const struct mount *m, void *arg)
{
	struct type_search *s = arg;
	size_t n = strlen(m->point);

	if (!strcmp(m->point, "/"))
		n = 0;
	if (strncmp(m->point, s->path, n) ||
	    (n && s->path[n] && s->path[n] != '/') || n < s->best)
		return;
	s->best = n; /* of equals the later one lies on top */
	snprintf(s->type, s->len, "%s", m->type);
}

void run_fs_type(const char *path, char *type, size_t len)
{
	char *real = realpath(path, NULL);
	struct type_search s = {.path = real, .type = type, .len = len};

	snprintf(type, len, "unknown");
	if (real)
		each_mount(match_type, &s);
	free(real);
}

/* ---- memory cgroup ---- */

/* Of "v1 lines hold the controller's name, v2's is 0::/path": our group. */
static bool own_group(int version, char *path, size_t len)
{
	FILE *f = fopen("/proc/self/cgroup", "re");
	char line[PATH_MAX + 64];
	bool found = false;

	while (f && !found && fgets(line, sizeof(line), f)) {
		char *names = strchr(line, ':');
		char *group = names ? strchr(names + 1, ':') : NULL;

		if (!group)
			continue;
		*names++ = ',';
		*group++ = '\0';
		group[strcspn(group, "\n")] = '\0';
		found = version == 2 ? !*names && !strncmp(line, "0,", 2)
				     : strstr(names, "memory") != NULL;
		if (found)
			snprintf(path, len, "%s", group);
	}
	if (f)
		fclose(f);
	return found;
}

/* "max", or v1's number near 2^63, is no limit. */
static void take_limit(struct run_memory *m, int version, const char *dir,
		       const char *file)
{
	char path[PATH_MAX + 32], text[64];
	uint64_t limit;

	snprintf(path, sizeof(path), "%s/%s", dir, file);
	if (hz_os_slurp(path, text, sizeof(text)) <= 0 || *text < '0' ||
	    *text > '9')
		return;
	limit = strtoull(text, NULL, 10);
	if (limit >= (uint64_t)1 << 60 || limit >= m->limit)
		return;
	m->limit = limit;
	m->version = version;
}

static void take_limits(struct run_memory *m, int version, const char *dir)
{
	if (version == 1) {
		take_limit(m, version, dir, "memory.limit_in_bytes");
	} else {
		take_limit(m, version, dir, "memory.max");
		take_limit(m, version, dir, "memory.high");
	}
}

/* From our group up to where the hierarchy is mounted. Inside a container
 * the group's path starts with what the mount shows as its root. */
static void climb(struct run_memory *m, int version, const struct mount *mnt)
{
	char group[PATH_MAX], dir[2 * PATH_MAX];
	size_t root = strlen(mnt->root), top = strlen(mnt->point);
	const char *below = group;

	if (!own_group(version, group, sizeof(group)))
		return;
	if (root > 1 && !strncmp(group, mnt->root, root))
		below += root;
	snprintf(dir, sizeof(dir), "%s%s", mnt->point, below);
	while (strlen(dir) >= top) {
		char *slash = strrchr(dir, '/');

		take_limits(m, version, dir);
		if (strlen(dir) == top || !slash)
			break;
		*slash = '\0';
	}
}

static void visit_cgroup(const struct mount *mnt, void *arg)
{
	if (!strcmp(mnt->type, "cgroup2"))
		climb(arg, 2, mnt);
	else if (!strcmp(mnt->type, "cgroup") && strstr(mnt->super, "memory"))
		climb(arg, 1, mnt);
}

static uint64_t meminfo(const char *text, const char *name)
{
	const char *at = strstr(text, name);

	return at ? strtoull(at + strlen(name), NULL, 10) * 1024 : 0;
}

void run_memory(struct run_memory *m)
{
	char text[4096];

	memset(m, 0, sizeof(*m));
	m->limit = UINT64_MAX;
	if (hz_os_slurp("/proc/meminfo", text, sizeof(text)) > 0) {
		m->total = meminfo(text, "MemTotal:");
		m->swap = meminfo(text, "SwapTotal:");
	}
	each_mount(visit_cgroup, m);
	m->whole = hz_min(m->limit, m->total ? m->total : m->limit);
}

uint64_t run_spare(const struct run_memory *m)
{
	uint64_t room;

	if (m->limit == UINT64_MAX)
		return UINT64_MAX;
	room = hz_size_resolve(hz_knobs.headroom, m->limit);
	if (room == HZ_SIZE_AUTO)
		room = hz_max((uint64_t)64 << 20, m->limit / 100 * 3);
	return m->limit > room ? m->limit - room : 0;
}

uint64_t run_budget(const struct run_memory *m)
{
	uint64_t ram = hz_size_resolve(hz_knobs.ram, m->whole);

	return hz_min(ram, run_spare(m));
}

const char *run_ram_here(const char *knob)
{
	static char text[64];
	struct run_memory m;

	if (strcmp(knob, "ram") || !hz_knobs.ram.percent)
		return "";
	run_memory(&m);
	hz_format(text, sizeof(text), ", %B here", run_budget(&m));
	return text;
}
