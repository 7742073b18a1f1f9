/* SPDX-License-Identifier: Apache-2.0 */
/*
 * horizon-stat: what the processes under Horizon do, as vmstat shows it.
 */
#include "config.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include "base/log.h"
#include "base/os.h"
#include "base/util.h"
#include "json.h"
#include "report.h"
#include "stat.h"

enum {
	OPT_PID = CLI_OWN,
	OPT_JSON,
	OPT_FORMAT,
	OPT_TENSORS,
	OPT_ONE_HEADER,
	OPT_WIDE,
	OPT_TIMESTAMP,
	OPT_SKIP_FIRST,
	OPT_HIDE_IDLE,
	OPT_UNIT,
	OPT_COLUMNS,
};

static const struct cli_option options[] = {
	{"pid", 'p', OPT_PID, "PID", NULL,
	 "only this process; may be repeated"},
	{"json", 'J', OPT_JSON, NULL, NULL, "the same as --format=json"},
	{"format", 0, OPT_FORMAT, "FORMAT", NULL,
	 "table, json (an object a line), csv, prom (Prometheus) or "
	 "openmetrics"},
	{"tensors", 'T', OPT_TENSORS, NULL, NULL,
	 "the tiered allocations of each process, hot and cold, largest "
	 "first"},
	{"one-header", 'n', OPT_ONE_HEADER, NULL, NULL,
	 "print the header once, not every screenful"},
	{"wide", 'w', OPT_WIDE, NULL, NULL, "wider and more columns"},
	{"timestamp", 't', OPT_TIMESTAMP, NULL, NULL, "add the time of day"},
	{"skip-first", 'y', OPT_SKIP_FIRST, NULL, NULL,
	 "leave out the first report, which covers the time since the start"},
	{"hide-idle", 'z', OPT_HIDE_IDLE, NULL, NULL,
	 "leave out processes that moved nothing"},
	{"unit", 'S', OPT_UNIT, "UNIT", NULL,
	 "k, m, g (powers of 1000) or K, M, G (of 1024; M if not given)"},
	{"columns", 'o', OPT_COLUMNS, "COL[,COL]", NULL,
	 "these columns, in this order"},
	CLI_COMMON_OPTIONS,
};

const struct cli stat_cli = {
	.program = "horizon-stat",
	.usage = "[OPTION...] [INTERVAL [COUNT]]",
	.about = "Show the processes that run under Horizon: once, or every "
		 "INTERVAL seconds,\nCOUNT times.",
	.options = options,
	.count = hz_array_len(options),
	.bad_usage = STAT_USAGE,
};

struct choice {
	struct stat_options show;
	const char *columns;
	bool skip_first;
	double interval; /* seconds; 0: one report */
	uint64_t count;
};

static void take_format(struct choice *c, const char *word)
{
	static const char *const words[] = {"table", "json", "csv", "prom",
					    "openmetrics"};

	for (unsigned i = 0; i < hz_array_len(words); i++)
		if (!strcmp(word, words[i])) {
			c->show.format = (enum stat_format)i;
			return;
		}
	cli_die(&stat_cli, STAT_USAGE,
		"--format: '%s' is not one of table, json, csv, prom, "
		"openmetrics",
		word);
}

static void take_unit(struct choice *c, const char *word)
{
	static const struct {
		char letter;
		double bytes;
		const char *name;
	} units[] = {
		{'k', 1e3, "kB"},      {'m', 1e6, "MB"},
		{'g', 1e9, "GB"},      {'K', 1 << 10, "KiB"},
		{'M', 1 << 20, "MiB"}, {'G', 1 << 30, "GiB"},
	};

	for (unsigned i = 0; i < hz_array_len(units); i++)
		if (word[0] == units[i].letter && !word[1]) {
			c->show.unit = units[i].bytes;
			c->show.unit_name = units[i].name;
			return;
		}
	cli_die(&stat_cli, STAT_USAGE,
		"--unit: '%s' is not one of k, K, m, M, g, G", word);
}

static void take_pid(struct attach *a, const char *word)
{
	uint64_t pid;

	if (!cli_number(word, 1, INT32_MAX, &pid))
		cli_die(&stat_cli, STAT_USAGE,
			"--pid: '%s' is not a process number", word);
	if (a->pid_count == ATTACH_PIDS_MAX)
		cli_die(&stat_cli, STAT_USAGE, "--pid: at most %d of them",
			ATTACH_PIDS_MAX);
	a->pids[a->pid_count++] = (uint32_t)pid;
}

static void take(const struct cli_option *o, struct choice *c, struct attach *a)
{
	switch (o->id) {
	case OPT_PID:
		take_pid(a, optarg);
		break;
	case OPT_JSON:
		c->show.format = STAT_JSON;
		break;
	case OPT_FORMAT:
		take_format(c, optarg);
		break;
	case OPT_TENSORS:
		c->show.tensors = true;
		break;
	case OPT_ONE_HEADER:
		c->show.one_header = true;
		break;
	case OPT_WIDE:
		c->show.wide = true;
		break;
	case OPT_TIMESTAMP:
		c->show.timestamp = true;
		break;
	case OPT_SKIP_FIRST:
		c->skip_first = true;
		break;
	case OPT_HIDE_IDLE:
		c->show.hide_idle = true;
		break;
	case OPT_UNIT:
		take_unit(c, optarg);
		break;
	case OPT_COLUMNS:
		c->columns = optarg;
		break;
	}
}

static double parse_interval(const char *word)
{
	char *end;
	double v = strtod(word, &end);

	if (*word < '0' || *word > '9' || *end || !(v >= 0.01 && v <= 1e6))
		cli_die(&stat_cli, STAT_USAGE,
			"INTERVAL: '%s' is not a number of seconds (0.01 to "
			"1000000)",
			word);
	return v;
}

static void take_operands(struct choice *c, char **word)
{
	c->count = 1;
	if (!*word)
		return;
	c->interval = parse_interval(*word++);
	c->count = UINT64_MAX;
	if (!*word)
		return;
	if (!cli_number(*word, 1, UINT32_MAX, &c->count))
		cli_die(&stat_cli, STAT_USAGE,
			"COUNT: '%s' is not a number from 1 on", *word);
	if (word[1])
		cli_die(&stat_cli, STAT_USAGE,
			"'%s' is too much, try 'horizon-stat --help'", word[1]);
}

static void check_choice(const struct choice *c)
{
	if (c->show.tensors && c->show.format >= STAT_PROM)
		cli_die(&stat_cli, STAT_USAGE,
			"--tensors has the formats table, json and csv");
	if (c->columns && (c->show.tensors || (c->show.format != STAT_TABLE &&
					       c->show.format != STAT_CSV)))
		cli_die(&stat_cli, STAT_USAGE,
			"--columns goes with the formats table and csv");
}

/* ---- one report ---- */

static void json_rows(const struct stat_options *o, const struct attach *a)
{
	struct report_extra extra = {
		.exit_status = -1,
		.time_ns = o->timestamp ? stat_realtime() : 0,
	};

	for (unsigned i = 0; i < a->proc_count; i++) {
		struct json j = {.out = stdout};

		json_open(&j, NULL, '{');
		report_members(&j, a->procs[i].now, &extra);
		json_close(&j, '}');
	}
}

static void report(const struct stat_options *o, const struct attach *a)
{
	if (o->tensors)
		stat_ranges(o, a);
	else if (o->format == STAT_JSON)
		json_rows(o, a);
	else if (o->format == STAT_PROM || o->format == STAT_OPENMETRICS)
		stat_metrics(o->format == STAT_OPENMETRICS, a);
	else
		stat_rows(o, a);
	cli_flush(&stat_cli, STAT_FAILED);
}

/* ---- the loop ---- */

static void scan(struct attach *a)
{
	int err = attach_scan(a);

	if (err)
		cli_die(&stat_cli, STAT_FAILED, "/proc: %m", err);
}

static bool have_pid(const struct attach *a, uint32_t pid)
{
	for (unsigned i = 0; i < a->proc_count; i++)
		if (a->procs[i].now->pid == pid)
			return true;
	return false;
}

static _Noreturn void none_found(const struct attach *a, uint32_t pid)
{
	char who[40] = "no process";

	if (pid)
		hz_format(who, sizeof(who), "process %u is not", pid);
	if (a->foreign && (!pid || pid == a->foreign))
		cli_die(&stat_cli, STAT_FAILED,
			"process %u runs under another version of Horizon, "
			"use that version's horizon-stat",
			a->foreign);
	cli_die(&stat_cli, STAT_FAILED,
		"%s under Horizon (it is from its first large allocation on), "
		"start one by 'horizon-run COMMAND'%s",
		who,
		a->denied ? " (other users' are seen by 'sudo horizon-stat')" :
			    "");
}

static void check_found(const struct attach *a)
{
	for (unsigned i = 0; i < a->pid_count; i++)
		if (!have_pid(a, a->pids[i]))
			none_found(a, a->pids[i]);
	if (!a->proc_count)
		none_found(a, 0);
}

static void sleep_until(struct timespec *next, double interval)
{
	uint64_t ns = (uint64_t)(interval * 1e9) + (uint64_t)next->tv_nsec;

	next->tv_sec += (time_t)(ns / 1000000000);
	next->tv_nsec = (long)(ns % 1000000000);
	while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, next, NULL) ==
	       EINTR)
		;
}

/* Until COUNT reports, or until the last process has ended. */
static void loop(const struct choice *c, struct attach *a)
{
	uint64_t left = c->count;
	bool skip = c->skip_first && c->interval > 0;
	struct timespec next;

	clock_gettime(CLOCK_MONOTONIC, &next);
	for (;;) {
		if (!skip) {
			report(&c->show, a);
			left--;
		}
		skip = false;
		if (!left)
			return;
		sleep_until(&next, c->interval);
		scan(a);
		if (!a->proc_count)
			return;
	}
}

int main(int argc, char **argv)
{
	struct choice c = {.show = {.unit = 1 << 20, .unit_name = "MiB"}};
	struct attach a = {.pid_count = 0};
	const struct cli_option *o;

	while ((o = cli_next(&stat_cli, argc, argv)))
		take(o, &c, &a);
	take_operands(&c, argv + optind);
	check_choice(&c);
	stat_columns(&c.show, c.columns);
	scan(&a);
	check_found(&a);
	loop(&c, &a);
	return STAT_OK;
}
