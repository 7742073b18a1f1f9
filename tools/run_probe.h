/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The lines of --check: each probe fills one.
 */
#ifndef HZ_RUN_PROBE_H
#define HZ_RUN_PROBE_H

#include <stdbool.h>
#include "base/log.h"
#include "run.h"

struct line {
	const char *verdict; /* ok, poor, off */
	char value[400];
	const char *fix; /* NULL where there is nothing to change */
};

/* What later lines and the closing one say. */
struct run_found {
	bool fault, io, store, preload;
	bool refused; /* a system call that this kernel has */
	struct run_memory memory;
};
extern struct run_found run_found;

#define line_say(l_, ...) \
	hz_format((l_)->value, sizeof((l_)->value), __VA_ARGS__)
void line_ok(struct line *l);
/* Slower than it might be; does not work at all. */
void line_poor(struct line *l, const char *fix);
void line_off(struct line *l, const char *fix);

/* First line of a /proc or /sys file. */
bool line_of_file(const char *path, char *buf, size_t len);
/* A number in one; false where there is none. */
bool number_in_file(const char *path, uint64_t *n);
/* Is a filter of system calls installed, as in most containers? */
bool run_is_filtered(void);

#define FIX_FILTER                                                       \
	"docker run --security-opt seccomp=FILE (a profile that allows " \
	"userfaultfd and io_uring_setup), or seccomp=unconfined"

/* Each row's function: run_probe.c tries faults and I/O, run_probe_memory.c,
 * run_probe_store.c and run_probe_host.c look at the rest. */
#define HZ_PROBE(item_, probe_) void probe_(struct line *l);
#define HZ_LIMIT(item_, resource_, least_, unit_, fix_)
#define HZ_SYSCTL(item_, file_, least_, most_, fix_)
#include "run_check.def"
#undef HZ_PROBE
#undef HZ_LIMIT
#undef HZ_SYSCTL

#endif
