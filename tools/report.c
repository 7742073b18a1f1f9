/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From a slot of the segment to a JSON object.
 */
#include "config.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "base/log.h"
#include "base/os.h"
#include "report.h"

static const char *copy_until(char *to, size_t room, const char *from,
			      const char *stops)
{
	size_t len = strcspn(from, stops);

	snprintf(to, room, "%.*s", (int)len, from);
	return from + len;
}

unsigned report_path(const char *path, struct report_step *steps)
{
	unsigned n = 0;

	while (*path && n < REPORT_STEPS) {
		struct report_step *s = &steps[n++];

		path = copy_until(s->name, sizeof(s->name), path, ".[");
		s->label[0] = '\0';
		if (*path == '[') {
			path = copy_until(s->label, sizeof(s->label), path + 1,
					  "]");
			path += *path == ']';
		}
		path += *path == '.';
	}
	return n;
}

/* "ram" names a tier, "ram>store" the two ends of a move. */
static void put_label(struct json *j, const char *label)
{
	const char *arrow = strchr(label, '>');
	char from[32];

	if (!arrow) {
		json_string(j, "tier", label);
		return;
	}
	copy_until(from, sizeof(from), label, ">");
	json_string(j, "from", from);
	json_string(j, "to", arrow + 1);
}

/* The groups that are open: steps[0 .. count - 1]. */
struct open_groups {
	struct report_step steps[REPORT_STEPS];
	unsigned count;
};

/* keep_array: the next row is another element of the same array. */
static void close_group(struct json *j, struct open_groups *g, bool keep_array)
{
	const struct report_step *s = &g->steps[--g->count];

	json_close(j, '}');
	if (s->label[0] && !keep_array)
		json_close(j, ']');
}

static void open_group(struct json *j, struct open_groups *g,
		       const struct report_step *s, bool array_open)
{
	if (!s->label[0]) {
		json_open(j, s->name, '{');
	} else {
		if (!array_open)
			json_open(j, s->name, '[');
		json_open(j, NULL, '{');
		put_label(j, s->label);
	}
	g->steps[g->count++] = *s;
}

static bool same_step(const struct report_step *a, const struct report_step *b)
{
	return !strcmp(a->name, b->name) && !strcmp(a->label, b->label);
}

/* Close and open groups until those of the path (but its last step, the
 * member) are the open ones. Rows of a group stand together in the table. */
static void enter(struct json *j, struct open_groups *g,
		  const struct report_step *path, unsigned depth)
{
	unsigned common = 0;
	bool next_element = false;

	while (common < g->count && common < depth &&
	       same_step(&g->steps[common], &path[common]))
		common++;
	while (g->count > common) {
		const struct report_step *s = &g->steps[g->count - 1];

		next_element = g->count - 1 == common && common < depth &&
			       s->label[0] &&
			       !strcmp(s->name, path[common].name);
		close_group(j, g, next_element);
	}
	while (g->count < depth) {
		open_group(j, g, &path[g->count], next_element);
		next_element = false;
	}
}

/* All rows, or what the counters among them counted since `base`. */
static void put_counters(struct json *j, const struct hz_stats_proc *p,
			 const uint64_t *base)
{
	struct open_groups groups = {.count = 0};
	struct report_step path[REPORT_STEPS];

	for (unsigned i = 0; i < HZ_STAT_COUNT; i++) {
		const struct hz_stat_row *row = &hz_stat_rows[i];
		unsigned depth = report_path(row->path, path) - 1;
		uint64_t value = p->cell[i] - (base ? base[i] : 0);

		if (base && row->kind != HZ_STAT_COUNTER)
			continue;
		enter(j, &groups, path, depth);
		if (row->unit == HZ_UNIT_NANOSECONDS)
			json_seconds(j, path[depth].name, value);
		else
			json_uint(j, path[depth].name, value);
	}
	enter(j, &groups, path, 0);
}

/* The counters from the learner's last lock on; null before the first. */
static void put_since_lock(struct json *j, const struct hz_stats_proc *p)
{
	uint64_t end = p->end_ns ? p->end_ns : hz_os.now();

	if (!p->lock_ns) {
		json_null(j, "since_lock");
		return;
	}
	json_open(j, "since_lock", '{');
	json_seconds(j, "seconds", end > p->lock_ns ? end - p->lock_ns : 0);
	put_counters(j, p, p->at_lock);
	json_close(j, '}');
}

/* The segment is written by the program: its numbers are not trusted as
 * indices. */
static void put_mode(struct json *j, const struct hz_stats_proc *p)
{
	bool fault = p->mode_fault <= HZ_MODE_FAULT_USER;
	bool io = p->mode_io <= HZ_MODE_IO_THREADS;
	bool gpu = p->mode_gpu <= HZ_MODE_GPU_OBSERVE;

	json_open(j, "mode", '{');
	json_string(j, "fault",
		    fault ? hz_mode_fault_names[p->mode_fault] : "off");
	json_string(j, "io", io ? hz_mode_io_names[p->mode_io] : "off");
	json_string(j, "gpu", hz_mode_gpu_names[gpu ? p->mode_gpu : 0]);
	json_close(j, '}');
}

void report_members(struct json *j, const struct hz_stats_proc *p,
		    const struct report_extra *extra)
{
	const char *reason = extra->reason ? extra->reason : p->reason;

	if (extra->time_ns)
		json_seconds(j, "time", extra->time_ns);
	json_uint(j, "pid", p->pid);
	json_string(j, "command", p->command);
	json_seconds(j, "seconds", report_age(p));
	if (extra->exit_status >= 0)
		json_uint(j, "exit_status", (uint64_t)extra->exit_status);
	put_mode(j, p);
	if (*reason)
		json_string(j, "reason", reason);
	if (*p->advice)
		json_string(j, "advice", p->advice);
	put_counters(j, p, NULL);
	put_since_lock(j, p);
}

uint64_t report_age(const struct hz_stats_proc *p)
{
	uint64_t end = p->end_ns ? p->end_ns : hz_os.now();

	return end > p->start_ns ? end - p->start_ns : 0;
}

uint64_t report_start_ticks(uint32_t pid)
{
	char path[64], text[1024];
	const char *at;

	hz_format(path, sizeof(path), "/proc/%u/stat", pid);
	if (hz_os_slurp(path, text, sizeof(text)) <= 0)
		return 0;
	/* the second field may hold blanks and parentheses: count from the
	 * last ')' on */
	at = strrchr(text, ')');
	if (at && at[1] && (at[2] == 'Z' || at[2] == 'X'))
		return 0; /* ended, and not yet waited for */
	for (int field = 2; at && field < 22; field++)
		at = strchr(at + 1, ' ');
	return at ? strtoull(at + 1, NULL, 10) : 0;
}

bool report_alive(const struct hz_stats_proc *p)
{
	uint64_t ticks = report_start_ticks(p->pid);

	return ticks && ticks == p->start_ticks;
}
