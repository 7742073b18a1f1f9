/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Becoming the command, or running it and writing the report.
 *
 * The segment's descriptor stays here: the command opens it through
 * /proc/<our pid>/fd, so a killed command leaves its counters with us and
 * nothing on disk.
 */
#include "config.h"
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include "base/knobs.h"
#include "base/log.h"
#include "base/os.h"
#include "base/util.h"
#include "report.h"
#include "run.h"

static int exec_status(const char *command, int err)
{
	int status = err == ENOENT ? RUN_NOT_FOUND : RUN_NOT_EXECUTABLE;

	cli_warn(&run_cli, "%s: %m", command, -err);
	return status;
}

int run_exec(char **command)
{
	execvp(command[0], command);
	return exec_status(command[0], errno);
}

/* ---- the child ---- */

/* The signals whose handling we change, and what they were. */
static const int signals[] = {SIGINT, SIGQUIT, SIGTERM, SIGHUP};
static struct sigaction before[hz_array_len(signals)];

static volatile sig_atomic_t child;

static void forward(int sig)
{
	if (child > 0)
		kill((pid_t)child, sig);
}

/* INT and QUIT come from the terminal and reach the command by themselves:
 * we only outlive them. TERM and HUP are sent to us and meant for it. What
 * was ignored when we started stays so. */
static void hold_signals(void)
{
	for (unsigned i = 0; i < hz_array_len(signals); i++) {
		struct sigaction act = {.sa_flags = SA_RESTART};

		act.sa_handler = i < 2 ? SIG_IGN : forward;
		sigaction(signals[i], NULL, &before[i]);
		if (before[i].sa_handler != SIG_IGN)
			sigaction(signals[i], &act, NULL);
	}
}

static _Noreturn void be_child(char **command, int error_fd,
			       const sigset_t *mask)
{
	int err;

	for (unsigned i = 0; i < hz_array_len(signals); i++)
		sigaction(signals[i], &before[i], NULL);
	sigprocmask(SIG_SETMASK, mask, NULL);
	execvp(command[0], command);
	err = errno;
	if (write(error_fd, &err, sizeof(err)) != sizeof(err))
		_exit(RUN_FAILED);
	_exit(RUN_NOT_FOUND);
}

/* Fork and exec; *exec_error is the errno of an exec that failed, else 0. A
 * signal that arrives before `child` is set is held back until it is. */
static void start(char **command, int *exec_error)
{
	sigset_t all, old;
	int fd[2];
	pid_t pid;

	if (pipe2(fd, O_CLOEXEC))
		cli_die(&run_cli, RUN_FAILED, "pipe: %m", -errno);
	sigfillset(&all);
	sigprocmask(SIG_BLOCK, &all, &old);
	hold_signals();
	pid = fork();
	if (pid < 0)
		cli_die(&run_cli, RUN_FAILED, "fork: %m", -errno);
	child = pid;
	if (!pid)
		be_child(command, fd[1], &old);
	sigprocmask(SIG_SETMASK, &old, NULL);
	close(fd[1]);
	*exec_error = 0;
	while (read(fd[0], exec_error, sizeof(*exec_error)) < 0 &&
	       errno == EINTR)
		;
	close(fd[0]);
}

/* The command's status as a shell gives it. */
static int wait_for_child(void)
{
	int status;

	while (waitpid((pid_t)child, &status, 0) < 0)
		if (errno != EINTR)
			cli_die(&run_cli, RUN_FAILED, "waitpid: %m", -errno);
	return WIFSIGNALED(status) ? 128 + WTERMSIG(status)
				   : WEXITSTATUS(status);
}

/* ---- the report ---- */

struct run_times {
	uint64_t start, end;
};

/* The command's own slot: its pid; after an exec there is one for each
 * program that it was, and the last is it. -1 when it never attached. */
static int main_slot(const struct hz_stats_segment *seg,
		     struct hz_stats_proc *p)
{
	uint64_t latest = 0;
	int slot = -1;

	for (int i = 0; i < HZ_STATS_PROCS; i++) {
		if (!hz_stats_snapshot(&seg->proc[i], p) ||
		    p->pid != (uint32_t)child || p->start_ns < latest)
			continue;
		latest = p->start_ns;
		slot = i;
	}
	return slot;
}

/* A process that never reached its first tiered allocation. */
static void blank(struct hz_stats_proc *p, const char *command)
{
	const char *slash = strrchr(command, '/');

	memset(p, 0, sizeof(*p));
	p->pid = (uint32_t)child;
	snprintf(p->command, sizeof(p->command), "%s",
		 slash ? slash + 1 : command);
}

static const char *blank_reason(int exec_error)
{
	if (exec_error)
		return "the command could not be run";
	if (!hz_knobs.enable)
		return "the knob enable is 0";
	return "no allocation reached min_size";
}

static void put_others(struct json *j, const struct hz_stats_segment *seg,
		       int own, uint64_t end, struct hz_stats_proc *p)
{
	struct report_extra extra = {.exit_status = -1};

	json_open(j, "processes", '[');
	for (int i = 0; i < HZ_STATS_PROCS; i++) {
		if (i == own || !hz_stats_snapshot(&seg->proc[i], p))
			continue;
		if (!p->end_ns)
			p->end_ns = end; /* nobody noted its own end */
		json_open(j, NULL, '{');
		report_members(j, p, &extra);
		json_close(j, '}');
	}
	json_close(j, ']');
}

static void put_report(FILE *out, const struct hz_stats_segment *seg,
		       const char *command, const struct run_times *t,
		       int exec_error, int status)
{
	struct report_extra extra = {.exit_status = status};
	struct json j = {.out = out, .pretty = true};
	struct hz_stats_proc *p = calloc(1, sizeof(*p));
	int slot;

	if (!p)
		cli_die(&run_cli, RUN_FAILED, "out of memory");
	slot = main_slot(seg, p);
	if (slot < 0) {
		blank(p, command);
		extra.reason = blank_reason(exec_error);
	} else {
		hz_stats_snapshot(&seg->proc[slot], p);
	}
	p->start_ns = t->start;
	p->end_ns = t->end;
	json_open(&j, NULL, '{');
	report_members(&j, p, &extra);
	put_others(&j, seg, slot, t->end, p);
	json_close(&j, '}');
	free(p);
}

/* Opened before the command runs, so that a wrong path costs nothing; cut
 * only when there is something to write. */
static FILE *open_report(const char *path)
{
	FILE *out;
	int fd;

	if (!strcmp(path, "-"))
		return stderr;
	fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0666);
	out = fd < 0 ? NULL : fdopen(fd, "w");
	if (!out)
		cli_die(&run_cli, RUN_FAILED,
			"--report: %s: %m, name a file that can be written",
			path, -errno);
	return out;
}

/* A report that is lost must not change the command's status. */
static void close_report(FILE *out, const char *path)
{
	bool lost = fflush(out) || ferror(out);

	if (out != stderr && fclose(out))
		lost = true;
	if (lost)
		cli_warn(&run_cli, "--report: %s: %m", path, -errno);
}

static const struct hz_stats_segment *open_segment(struct run_env *env)
{
	const struct hz_stats_segment *seg;
	char path[64];
	int err, fd = hz_stats_create();

	if (fd < 0)
		cli_die(&run_cli, RUN_FAILED, "stats segment: %m", fd);
	seg = hz_stats_map(fd, &err);
	if (!seg)
		cli_die(&run_cli, RUN_FAILED, "stats segment: %m", err);
	hz_format(path, sizeof(path), "/proc/%d/fd/%d", (int)getpid(), fd);
	run_env_add(env, "HORIZON_STATS", path);
	return seg;
}

int run_report(char **command, const char *report, struct run_env *env)
{
	FILE *out = open_report(report);
	const struct hz_stats_segment *seg = open_segment(env);
	struct run_times t;
	int status, exec_error;

	run_env_apply(env);
	t.start = hz_os.now();
	start(command, &exec_error);
	status = wait_for_child();
	t.end = hz_os.now();
	if (exec_error)
		status = exec_status(command[0], exec_error);
	/* a pipe or a terminal cannot be cut, and need not be */
	if (out != stderr && ftruncate(fileno(out), 0))
		errno = 0;
	put_report(out, seg, command[0], &t, exec_error, status);
	close_report(out, report);
	return status;
}
