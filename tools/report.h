/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One process of the segment as a JSON object: the report of horizon-run and
 * the lines of horizon-stat -J. The members after `mode` come from stats.def:
 * nothing here repeats a counter's name.
 */
#ifndef HZ_REPORT_H
#define HZ_REPORT_H

#include <stdbool.h>
#include <stdint.h>
#include "base/stats.h"
#include "json.h"

/* One step of a row's path: "tiers[ram]" is name "tiers", label "ram". */
struct report_step {
	char name[32];
	char label[32]; /* empty: none */
};

#define REPORT_STEPS 4

/* Cut "group[label].member" into steps; returns their number. */
unsigned report_path(const char *path, struct report_step *steps);

struct report_extra {
	int exit_status;    /* < 0: not known */
	uint64_t time_ns;   /* CLOCK_REALTIME; 0: left out */
	const char *reason; /* instead of the slot's own; NULL: the slot's */
};

/* An object's members up to (not including) the closing brace, so that the
 * caller may add some. */
void report_members(struct json *j, const struct hz_stats_proc *p,
		    const struct report_extra *extra);

/* Time that the process has run: until end_ns, or until now. */
uint64_t report_age(const struct hz_stats_proc *p);

/* Does the process of this slot still run (and is it the same one)? */
bool report_alive(const struct hz_stats_proc *p);

/* Field 22 of /proc/PID/stat, 0 when there is no such process or it is a
 * zombie. */
uint64_t report_start_ticks(uint32_t pid);

#endif
