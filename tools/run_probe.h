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

/* What the closing line says. */
struct run_found {
	bool fault, io, store, preload;
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

/* ---- run_probe.c ---- */
void run_probe_device(struct line *l);
void run_probe_syscall(struct line *l);
void run_probe_move(struct line *l);
void run_probe_uring(struct line *l);
void run_probe_store(struct line *l);

#endif
