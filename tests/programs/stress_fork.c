/* SPDX-License-Identifier: Apache-2.0 */
/*
 * stress_shadow: children and their children read right data, change what is
 * theirs alone, and end; programs are started.
 */
#include <spawn.h>
#include <sys/uio.h>
#include <unistd.h>
#include "stress.h"

extern char **environ;

static void ended_well(pid_t pid, const char *who)
{
	int status;

	NEED(pid > 0);
	status = status_of(pid);
	if (!status)
		return;
	fprintf(stderr, "stress: status %d of %s\n", status, who);
	_Exit(1);
}

static void verify_some(struct worker *w, const char *what)
{
	for (int i = 0; i < ARRAYS; i++)
		if (w->a[i].p && below(w, 2))
			verify(w, &w->a[i], what);
	rows_verify_some(w);
}

/* What the parent does not touch while it waits, evicted or not. */
static void read_parent(struct worker *w)
{
	struct array *a = &w->a[1 + below(w, ARRAYS - 1)];
	size_t n = a->pattern < FILE_BYTES ? a->pattern : FILE_BYTES;
	struct iovec here = {w->bounce, n}, there = {a->p, n};

	if (!a->p || !n)
		return;
	errno = 0;
	if (process_vm_readv(getppid(), &here, 1, &there, 1, 0) != (ssize_t)n) {
		if (errno != EPERM) /* a security module's */
			wrong(w, a, "the parent's memory cannot be read");
		return;
	}
	if (!filled(w->bounce, n, a->seed))
		wrong(w, a, "the parent's memory differs");
}

/* Memory of its own comes and goes. */
static void allocate(struct worker *w)
{
	struct array mine = {0};

	w->total = 0;
	create(w, &mine);
	if (!mine.p)
		return;
	evict(mine.p, mine.len);
	verify(w, &mine, "allocated by a child");
	release(w, &mine);
}

static void change_some(struct worker *w)
{
	for (int i = 0; i < ARRAYS; i++) {
		struct array *a = &w->a[i];

		if (!a->p || below(w, 3))
			continue;
		change(w, a);
		evict(a->p, a->len);
		verify(w, a, "changed in a child");
		if (below(w, 4) == 0 && a != w->pinned)
			release(w, a);
	}
}

static _Noreturn void child(struct worker *w)
{
	alarm(600);
	w->doing = "child";
	verify_some(w, "in a child");
	if (below(w, 2))
		read_parent(w);
	allocate(w);
	change_some(w);
	if (below(w, 3) == 0) {
		pid_t pid = fork();

		if (!pid) {
			w->doing = "grandchild";
			verify_some(w, "in a grandchild");
			_exit(0);
		}
		change_some(w);
		ended_well(pid, "a grandchild");
	}
	verify_some(w, "in a child, at its end");
	_exit(0);
}

void in_child(struct worker *w, struct array *a)
{
	pid_t pid = fork();

	(void)a;
	if (!pid)
		child(w);
	if (below(w, 2) && w->a[0].p)
		change(w, &w->a[0]);
	ended_well(pid, "a child");
}

/* With the preload library and without. */
void spawn(struct worker *w, struct array *a)
{
	static char name[] = "true", *const argv[] = {name, NULL};
	static char *const none[] = {NULL};
	pid_t pid;

	evict(a->p, a->len);
	NEED(!posix_spawnp(&pid, "true", NULL, NULL, argv,
			   below(w, 2) ? environ : none));
	ended_well(pid, "true");
	verify(w, a, "a program was started");
}
