/* SPDX-License-Identifier: Apache-2.0 */
/*
 * --check: what this machine offers, line by line, what would change an
 * unfavourable line, and the mode that each part would run in.
 */
#include "config.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include "base/knobs.h"
#include "base/os.h"
#include "base/util.h"
#include "run_probe.h"

struct run_found run_found;

void line_ok(struct line *l)
{
	l->verdict = "ok";
}

void line_poor(struct line *l, const char *fix)
{
	l->verdict = "poor";
	l->fix = fix;
}

void line_off(struct line *l, const char *fix)
{
	l->verdict = "off";
	l->fix = fix;
}

bool line_of_file(const char *path, char *buf, size_t len)
{
	if (hz_os_slurp(path, buf, len) <= 0)
		return false;
	buf[strcspn(buf, "\n")] = '\0';
	return true;
}

bool number_in_file(const char *path, uint64_t *n)
{
	char text[32], *end;

	if (!line_of_file(path, text, sizeof(text)))
		return false;
	*n = strtoull(text, &end, 10);
	return end != text;
}

/* ---- the table ---- */

enum unit { COUNT, BYTES };

static const struct row {
	const char *item;
	void (*probe)(struct line *l); /* or one of the next two */
	const char *sysctl;
	int resource; /* of getrlimit(2) */
	enum unit unit;
	uint64_t least, most;
	const char *fix;
} rows[] = {
#define HZ_PROBE(item_, probe_) {.item = item_, .probe = probe_},
#define HZ_SYSCTL(item_, file_, least_, most_, fix_) \
	{.item = item_,                              \
	 .sysctl = "/proc/sys/" file_,               \
	 .least = least_,                            \
	 .most = most_,                              \
	 .fix = fix_},
#define HZ_LIMIT(item_, resource_, least_, unit_, fix_) \
	{.item = item_,                                 \
	 .resource = RLIMIT_##resource_,                \
	 .unit = unit_,                                 \
	 .least = least_,                               \
	 .most = UINT64_MAX,                            \
	 .fix = fix_},
#include "run_check.def"
};

static void check_number(const struct row *row, struct line *l)
{
	uint64_t n;

	line_ok(l);
	if (!number_in_file(row->sysctl, &n)) {
		line_say(l, "unknown");
		return;
	}
	line_say(l, "%llu", (unsigned long long)n);
	if (n < row->least || n > row->most)
		line_poor(l, row->fix);
}

static void check_limit(const struct row *row, struct line *l)
{
	struct rlimit r;

	line_ok(l);
	if (getrlimit((__rlimit_resource_t)row->resource, &r) ||
	    r.rlim_cur == RLIM_INFINITY) {
		line_say(l, "no limit");
		return;
	}
	line_say(l, row->unit == BYTES ? "%B" : "%llu",
		 (unsigned long long)r.rlim_cur);
	if (r.rlim_cur < row->least)
		line_poor(l, row->fix);
}

static void fill(const struct row *row, struct line *l)
{
	if (row->probe)
		row->probe(l);
	else if (row->sysctl)
		check_number(row, l);
	else
		check_limit(row, l);
}

/* ---- the closing line ---- */

/* "1.5GiB": one word. */
static void print_budget(void)
{
	char text[32];

	hz_format(text, sizeof(text), "%B", run_budget(&run_found.memory));
	for (char *c = text; *c; c++)
		if (*c != ' ')
			putchar(*c);
}

static int print_mode(void)
{
	bool works = run_found.fault && run_found.store && run_found.preload &&
		     hz_knobs.enable;

	printf("mode: fault=%s io=%s ram=", works ? "move" : "off",
	       !works	      ? "off"
	       : run_found.io ? "uring"
			      : "threads");
	print_budget();
	printf(" store=%s\n", works ? hz_knobs.store : "off");
	cli_flush(&run_cli, RUN_FAILED);
	return works ? 0 : 1;
}

int run_check(void)
{
	run_memory(&run_found.memory);
	for (unsigned i = 0; i < hz_array_len(rows); i++) {
		struct line l = {.fix = NULL};

		fill(&rows[i], &l);
		printf("%-16s  %-4s  %s\n", rows[i].item, l.verdict, l.value);
		if (l.fix)
			printf("%-16s  %-4s  try: %s\n", "", "", l.fix);
	}
	if (!hz_knobs.enable)
		printf("%-16s  %-4s  the knob is 0\n%-16s  %-4s  try: "
		       "horizon-run --set enable=1\n",
		       "enable", "off", "", "");
	return print_mode();
}
