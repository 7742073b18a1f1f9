/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Run a command where something is refused: by a seccomp filter as containers
 * have it, by a resource limit, by being nobody, by having no /proc.
 *
 *   refuse [-e ERRNO] [-s NAME]... [-l LIMIT=VALUE]... [-u] [-P] COMMAND...
 *     -e  EPERM (default) or ENOSYS, for the -s that follow
 *     -s  one of `calls` below
 *     -l  AS, MEMLOCK, NOFILE, FSIZE, NPROC; VALUE in bytes or pieces
 *     -u  become nobody
 *     -P  no /proc: another file system is mounted over it
 * 77: it cannot be done here, 64: usage.
 */
#include <errno.h>
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

/* A call, and the value that its argument must have (arg < 0: any). */
static const struct call {
	const char *name;
	unsigned nr;
	int arg;
	uint32_t value;
} calls[] = {
	{"userfaultfd", SYS_userfaultfd, -1, 0},
	/* USERFAULTFD_IOC_NEW on /dev/userfaultfd */
	{"userfaultfd", SYS_ioctl, 1, 0xaa00},
	{"io_uring_setup", SYS_io_uring_setup, -1, 0},
	{"close_range", SYS_close_range, -1, 0},
	{"pidfd_getfd", SYS_pidfd_getfd, -1, 0},
	{"memfd_create", SYS_memfd_create, -1, 0},
	{"populate", SYS_madvise, 2, 23 /* MADV_POPULATE_WRITE */},
	{"collapse", SYS_madvise, 2, 25 /* MADV_COLLAPSE */},
	{"pagemap_scan", SYS_ioctl, 1, 0xc0606610},
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

static void filter_call(const struct call *c, int err)
{
	size_t arg = offsetof(struct seccomp_data, args[c->arg < 0 ? 0 : c->arg]);
	uint8_t skip = c->arg < 0 ? 0 : 2;
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS,
			 offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, c->nr, skip ? 0 : 2, 3),
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, (uint32_t)arg),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, c->value, 0, 1),
		BPF_STMT(BPF_RET | BPF_K,
			 SECCOMP_RET_ERRNO | ((uint32_t)err & 0xffff)),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog prog = {sizeof(code) / sizeof(code[0]), code};

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
			err = strcmp(optarg, "ENOSYS") ? EPERM : ENOSYS;
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
