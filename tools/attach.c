/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The search through /proc and the list of living processes.
 */
#include "config.h"
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include "attach.h"
#include "base/log.h"
#include "base/os.h"
#include "report.h"

#define MEMFD_LINK   "/memfd:" HZ_STATS_NAME
#define ENGINE_COMM  "hz-"
#define WRAPPER_COMM "horizon-run"

/* Call `visit` for every entry of `dir` that is a number. -errno when the
 * directory cannot be read. */
typedef int entry_visit(struct attach *a, const char *dir, uint32_t number);

static int each_number(struct attach *a, const char *dir, entry_visit *visit)
{
	DIR *d = opendir(dir);
	struct dirent *e;
	int err = 0;

	if (!d)
		return -errno;
	while (!err && (e = readdir(d))) {
		char *end;
		unsigned long n = strtoul(e->d_name, &end, 10);

		if (end != e->d_name && !*end)
			err = visit(a, dir, (uint32_t)n);
	}
	closedir(d);
	return err;
}

/* ---- segments ---- */

static int add_segment(struct attach *a, const struct stat *st,
		       const struct hz_stats_segment *map)
{
	size_t bytes = (a->segment_count + 1) * sizeof(*a->segments);
	struct attach_segment *grown = realloc(a->segments, bytes);

	if (!grown)
		return -ENOMEM;
	a->segments = grown;
	grown[a->segment_count++] = (struct attach_segment){.dev = st->st_dev,
							    .ino = st->st_ino,
							    .map = map,
							    .found = true};
	return 0;
}

static struct attach_segment *known_segment(struct attach *a,
					    const struct stat *st)
{
	for (unsigned i = 0; i < a->segment_count; i++)
		if (a->segments[i].dev == st->st_dev &&
		    a->segments[i].ino == st->st_ino)
			return &a->segments[i];
	return NULL;
}

/* PID of "/proc/PID/...". */
static uint32_t pid_of(const char *path)
{
	return (uint32_t)strtoul(path + strlen("/proc/"), NULL, 10);
}

static int take_segment(struct attach *a, const char *path)
{
	const struct hz_stats_segment *map;
	struct attach_segment *known;
	struct stat st;
	int err, fd = open(path, O_RDONLY | O_CLOEXEC);

	if (fd < 0)
		return 0; /* it ended, or is another user's */
	if (fstat(fd, &st)) {
		close(fd);
		return 0;
	}
	known = known_segment(a, &st);
	map = known ? NULL : hz_stats_map(fd, &err);
	close(fd);
	if (known)
		known->found = true;
	else if (map)
		return add_segment(a, &st, map);
	else if (err == -EPROTO)
		a->foreign = pid_of(path);
	return 0;
}

static int visit_fd(struct attach *a, const char *dir, uint32_t number)
{
	char path[128], link[sizeof(MEMFD_LINK)];

	hz_format(path, sizeof(path), "%s/%u", dir, number);
	if (readlink(path, link, sizeof(link)) < (ssize_t)sizeof(link) - 1 ||
	    memcmp(link, MEMFD_LINK, sizeof(MEMFD_LINK) - 1))
		return 0;
	return take_segment(a, path);
}

static bool may_hold_segment(const char *task)
{
	char path[128], comm[32];

	hz_format(path, sizeof(path), "%s/comm", task);
	if (hz_os_slurp(path, comm, sizeof(comm)) <= 0)
		return false;
	comm[strcspn(comm, "\n")] = '\0';
	return !strncmp(comm, ENGINE_COMM, strlen(ENGINE_COMM)) ||
	       !strcmp(comm, WRAPPER_COMM);
}

static int visit_fds(struct attach *a, const char *owner)
{
	char fds[80];

	hz_format(fds, sizeof(fds), "%s/fd", owner);
	return each_number(a, fds, visit_fd);
}

static int visit_task(struct attach *a, const char *dir, uint32_t number)
{
	char task[64];
	int err;

	hz_format(task, sizeof(task), "%s/%u", dir, number);
	if (!may_hold_segment(task))
		return 0;
	a->engine = true;
	err = visit_fds(a, task);
	if (err == -EACCES || err == -EPERM)
		a->denied = true;
	return err == -ENOMEM ? err : 0;
}

static bool named(const struct attach *a, uint32_t pid)
{
	for (unsigned i = 0; i < a->pid_count; i++)
		if (a->pids[i] == pid)
			return true;
	return false;
}

/* Engine threads have a descriptor table of their own; where they could not
 * get one, or there are none since only a GPU is watched, the segment is in
 * the program's, which is looked into if it is to be shown. That we may not
 * says something only where there is reason to expect a segment. */
static int visit_process(struct attach *a, const char *dir, uint32_t number)
{
	char process[32], tasks[64];
	bool expected;
	int err;

	hz_format(process, sizeof(process), "%s/%u", dir, number);
	hz_format(tasks, sizeof(tasks), "%s/task", process);
	a->engine = false;
	err = each_number(a, tasks, visit_task);
	if (err == -ENOMEM)
		return err;
	expected = a->engine || named(a, number);
	if (!expected && a->pid_count)
		return 0;
	err = visit_fds(a, process);
	if (expected && (err == -EACCES || err == -EPERM))
		a->denied = true;
	return err == -ENOMEM ? err : 0;
}

/* ---- processes ---- */

static struct attach_proc *find_proc(struct attach *a,
				     const struct hz_stats_proc *slot,
				     const struct hz_stats_proc *copy)
{
	for (unsigned i = 0; i < a->proc_count; i++) {
		struct attach_proc *p = &a->procs[i];

		if (p->slot == slot && p->now->pid == copy->pid &&
		    p->now->start_ns == copy->start_ns)
			return p;
	}
	return NULL;
}

static struct attach_proc *
add_proc(struct attach *a, const struct hz_stats_proc *slot, uint64_t start_ns)
{
	size_t bytes = (a->proc_count + 1) * sizeof(*a->procs);
	struct attach_proc *grown = realloc(a->procs, bytes), *p;

	if (!grown)
		return NULL;
	a->procs = grown;
	p = &grown[a->proc_count];
	*p = (struct attach_proc){.slot = slot, .now_ns = start_ns};
	/* most of these is ranges that are never touched */
	p->now = calloc(1, sizeof(*p->now));
	p->before = calloc(1, sizeof(*p->before));
	if (!p->now || !p->before) {
		free(p->now);
		free(p->before);
		return NULL;
	}
	a->proc_count++;
	return p;
}

static bool wanted(const struct attach *a, uint32_t pid)
{
	return !a->pid_count || named(a, pid);
}

/* After an exec a process has two slots; the younger is what it is now. */
static bool replaced(const struct attach_segment *seg,
		     const struct hz_stats_proc *copy)
{
	for (unsigned i = 0; i < HZ_STATS_PROCS; i++) {
		const struct hz_stats_proc *p = &seg->map->proc[i];

		if (__atomic_load_n(&p->pid, __ATOMIC_RELAXED) == copy->pid &&
		    __atomic_load_n(&p->start_ns, __ATOMIC_RELAXED) >
			    copy->start_ns)
			return true;
	}
	return false;
}

static int take_slot(struct attach *a, const struct attach_segment *seg,
		     const struct hz_stats_proc *slot,
		     struct hz_stats_proc *copy)
{
	struct hz_stats_proc *old;
	struct attach_proc *p;

	if (!hz_stats_snapshot(slot, copy) || !wanted(a, copy->pid) ||
	    !report_alive(copy) || replaced(seg, copy))
		return 0;
	p = find_proc(a, slot, copy);
	if (!p)
		p = add_proc(a, slot, copy->start_ns);
	if (!p)
		return -ENOMEM;
	old = p->before;
	p->before = p->now;
	p->now = old;
	p->before_ns = p->now_ns;
	p->now_ns = hz_os.now();
	memcpy(p->now, copy, offsetof(struct hz_stats_proc, range));
	p->alive = true;
	return 0;
}

static int take_processes(struct attach *a)
{
	struct hz_stats_proc *copy = calloc(1, sizeof(*copy));
	int err = copy ? 0 : -ENOMEM;

	for (unsigned s = 0; !err && s < a->segment_count; s++)
		for (unsigned i = 0; !err && i < HZ_STATS_PROCS; i++)
			err = take_slot(a, &a->segments[s],
					&a->segments[s].map->proc[i], copy);
	free(copy);
	return err;
}

static void drop_ended(struct attach *a)
{
	unsigned kept = 0;

	for (unsigned i = 0; i < a->proc_count; i++) {
		if (a->procs[i].alive) {
			a->procs[kept++] = a->procs[i];
			continue;
		}
		free(a->procs[i].now);
		free(a->procs[i].before);
	}
	a->proc_count = kept;
}

static bool in_use(const struct attach *a, const struct attach_segment *seg)
{
	for (unsigned i = 0; i < a->proc_count; i++)
		if (a->procs[i].slot >= seg->map->proc &&
		    a->procs[i].slot < seg->map->proc + HZ_STATS_PROCS)
			return true;
	return seg->found;
}

/* Our mapping must not keep the memory of a job that is over. */
static void drop_segments(struct attach *a)
{
	unsigned kept = 0;

	for (unsigned i = 0; i < a->segment_count; i++) {
		if (in_use(a, &a->segments[i]))
			a->segments[kept++] = a->segments[i];
		else
			munmap((void *)a->segments[i].map,
			       sizeof(*a->segments[i].map));
	}
	a->segment_count = kept;
}

static int by_pid(const void *x, const void *y)
{
	uint32_t a = ((const struct attach_proc *)x)->now->pid;
	uint32_t b = ((const struct attach_proc *)y)->now->pid;

	return (a > b) - (a < b);
}

int attach_scan(struct attach *a)
{
	int err;

	a->denied = false;
	a->foreign = 0;
	for (unsigned i = 0; i < a->segment_count; i++)
		a->segments[i].found = false;
	for (unsigned i = 0; i < a->proc_count; i++)
		a->procs[i].alive = false;
	err = each_number(a, "/proc", visit_process);
	if (!err)
		err = take_processes(a);
	if (err)
		return err;
	drop_ended(a);
	drop_segments(a);
	if (a->proc_count)
		qsort(a->procs, a->proc_count, sizeof(*a->procs), by_pid);
	return 0;
}
