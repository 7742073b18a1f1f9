/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Run a command where something is refused: by a seccomp filter as containers
 * have it, by a resource limit, by being nobody, by having no /proc.
 *
 *   refuse [-e ERRNO] [-s NAME]... [-l LIMIT=VALUE]... [-u] [-P] COMMAND...
 *     -e  EPERM (default), ENOSYS or EINVAL, for the -s that follow
 *     -s  one of `calls` below, or all of its name
 *     -l  AS, MEMLOCK, NOFILE, FSIZE, NPROC; VALUE in bytes or pieces
 *     -u  become nobody
 *     -P  no /proc: another file system is mounted over it
 * 77: it cannot be done here, 64: usage.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#ifndef SYS_pidfd_getfd
#define SYS_pidfd_getfd 438
#endif
#define NOBODY 65534

/* What the low half of an argument must be, looked at through a mask (0: it
 * is not looked at). */
struct test {
	unsigned arg;
	uint32_t mask, value;
};

#define WHOLE 0xffffffffu

/* A call, and what tells it from others of its number. */
static const struct call {
	const char *name;
	unsigned nr;
	struct test test[2];
} calls[] = {
	{"userfaultfd", SYS_userfaultfd, {{0}}},
	/* USERFAULTFD_IOC_NEW on /dev/userfaultfd */
	{"userfaultfd", SYS_ioctl, {{1, WHOLE, 0xaa00}}},
	/* UFFDIO_API: with EINVAL, a kernel that lacks what is asked for */
	{"uffd_features", SYS_ioctl, {{1, WHOLE, 0xc018aa3f}}},
	/* UFFDIO_MOVE: a kernel that says it can, and does not */
	{"uffd_move", SYS_ioctl, {{1, WHOLE, 0xc028aa05}}},
	{"uffd_register", SYS_ioctl, {{1, WHOLE, 0xc020aa00}}},
	{"io_uring_setup", SYS_io_uring_setup, {{0}}},
	{"io_uring_enter", SYS_io_uring_enter, {{0}}},
	{"close_range", SYS_close_range, {{0}}},
	{"pidfd_getfd", SYS_pidfd_getfd, {{0}}},
	{"memfd_create", SYS_memfd_create, {{0}}},
	{"fallocate", SYS_fallocate, {{0}}},
	/* F_SETFL with O_DIRECT, and opening with it */
	{"direct", SYS_fcntl, {{1, WHOLE, F_SETFL}, {2, O_DIRECT, O_DIRECT}}},
	{"direct", SYS_openat, {{2, O_DIRECT, O_DIRECT}}},
	{"populate", SYS_madvise, {{2, WHOLE, 23 /* MADV_POPULATE_WRITE */}}},
	{"collapse", SYS_madvise, {{2, WHOLE, 25 /* MADV_COLLAPSE */}}},
	{"pagemap_scan", SYS_ioctl, {{1, WHOLE, 0xc0606610}}},
};

static const struct {
	const char *name;
	int resource;
} limits[] = {
	{"AS", RLIMIT_AS},	 {"MEMLOCK", RLIMIT_MEMLOCK},
	{"NOFILE", RLIMIT_NOFILE}, {"FSIZE", RLIMIT_FSIZE},
	{"NPROC", RLIMIT_NPROC},
};

static _Noreturn void cannot(const char *what)
{
	fprintf(stderr, "refuse: %s: %s\n", what, strerror(errno));
	exit(77);
}

/* The filter of one call: the steps of each test are skipped to the end when
 * it does not hold. */
static void filter_call(const struct call *c, int err)
{
	struct sock_filter code[12] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS,
			 offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, c->nr, 0, 0),
	};
	unsigned short n = 2;
	struct sock_fprog prog = {.filter = code};

	for (int i = 0; i < 2 && c->test[i].mask; i++) {
		const struct test *t = &c->test[i];

		code[n++] = (struct sock_filter)BPF_STMT(
			BPF_LD | BPF_W | BPF_ABS,
			(uint32_t)offsetof(struct seccomp_data, args[0]) +
				8 * t->arg);
		code[n++] = (struct sock_filter)BPF_STMT(
			BPF_ALU | BPF_AND | BPF_K, t->mask);
		code[n++] = (struct sock_filter)BPF_JUMP(
			BPF_JMP | BPF_JEQ | BPF_K, t->value, 0, 0);
	}
	for (unsigned short i = 1; i < n; i++)
		if (BPF_CLASS(code[i].code) == BPF_JMP)
			code[i].jf = (uint8_t)(n - i);
	code[n++] = (struct sock_filter)BPF_STMT(
		BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ((uint32_t)err & 0xffff));
	code[n++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K,
						 SECCOMP_RET_ALLOW);
	prog.len = n;
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) ||
	    prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &prog))
		cannot("seccomp");
}

static void refuse_call(const char *name, int err)
{
	int found = 0;

	for (size_t i = 0; i < sizeof(calls) / sizeof(calls[0]); i++)
		if (!strcmp(calls[i].name, name)) {
			filter_call(&calls[i], err);
			found = 1;
		}
	if (!found)
		exit(64);
}

static int error_of(const char *name)
{
	if (!strcmp(name, "ENOSYS"))
		return ENOSYS;
	return strcmp(name, "EINVAL") ? EPERM : EINVAL;
}

static void limit(const char *spec)
{
	const char *value = strchr(spec, '=');

	for (size_t i = 0; value && i < sizeof(limits) / sizeof(limits[0]);
	     i++) {
		size_t len = strlen(limits[i].name);
		rlim_t n = strtoull(value + 1, NULL, 10);
		struct rlimit r = {n, n};

		if (len != (size_t)(value - spec) ||
		    strncmp(limits[i].name, spec, len))
			continue;
		if (setrlimit(limits[i].resource, &r))
			cannot(spec);
		return;
	}
	exit(64);
}

static void become_nobody(void)
{
	if (setgroups(0, NULL) || setgid(NOBODY) || setuid(NOBODY))
		cannot("nobody");
}

static void hide_proc(void)
{
	if (unshare(CLONE_NEWNS) ||
	    mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) ||
	    mount("none", "/proc", "tmpfs", 0, "size=4k"))
		cannot("mount namespace");
}

int main(int argc, char **argv)
{
	int c, err = EPERM;

	while ((c = getopt(argc, argv, "+e:s:l:uP")) != -1) {
		if (c == 'e')
			err = error_of(optarg);
		else if (c == 's')
			refuse_call(optarg, err);
		else if (c == 'l')
			limit(optarg);
		else if (c == 'u')
			become_nobody();
		else if (c == 'P')
			hide_proc();
		else
			return 64;
	}
	if (optind == argc)
		return 64;
	execvp(argv[optind], argv + optind);
	cannot(argv[optind]);
}
