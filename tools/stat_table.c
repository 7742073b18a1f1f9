/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The columns of horizon-stat, as a table for people and as CSV.
 */
#include "config.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>
#include "base/util.h"
#include "stat.h"

enum column_kind {
	COLUMN_PID,
	COLUMN_COMMAND,
	COLUMN_LEVEL,   /* bytes now, or in all */
	COLUMN_TOTAL,   /* a number now, or in all */
	COLUMN_BYTES_S, /* bytes a second */
	COLUMN_S,       /* events a second */
	COLUMN_SHARE,   /* nanoseconds of a second, in per cent */
};

struct column {
	const char *name;
	int width;
	enum column_kind kind;
	enum hz_stat stat;
	bool usual; /* else only with --wide */
};

static const struct column columns[] = {
	{"pid", 6, COLUMN_PID, 0, true},
	{"command", 8, COLUMN_COMMAND, 0, true},
	{"ram", 5, COLUMN_LEVEL, HZ_STAT_ram_resident, true},
	{"cap", 5, COLUMN_LEVEL, HZ_STAT_ram_capacity, true},
	{"store", 5, COLUMN_LEVEL, HZ_STAT_store_resident, true},
	{"out/s", 5, COLUMN_BYTES_S, HZ_STAT_move_out_bytes, true},
	{"in/s", 5, COLUMN_BYTES_S, HZ_STAT_move_in_bytes, true},
	{"dem/s", 5, COLUMN_S, HZ_STAT_fault_demand, true},
	{"pre/s", 5, COLUMN_S, HZ_STAT_fault_prefetched, true},
	{"zero/s", 6, COLUMN_S, HZ_STAT_fault_zero, true},
	{"stall%", 6, COLUMN_SHARE, HZ_STAT_fault_stall, true},
	{"written", 7, COLUMN_LEVEL, HZ_STAT_store_write, true},
	{"read", 7, COLUMN_LEVEL, HZ_STAT_store_read, false},
	{"peak", 5, COLUMN_LEVEL, HZ_STAT_ram_peak, false},
	{"clean/s", 7, COLUMN_S, HZ_STAT_clean_drops, false},
	{"late/s", 6, COLUMN_S, HZ_STAT_fault_late, false},
	{"busy/s", 6, COLUMN_S, HZ_STAT_evict_busy, false},
	{"ranges", 6, COLUMN_TOTAL, HZ_STAT_ranges, false},
	{"size", 6, COLUMN_LEVEL, HZ_STAT_range_bytes, false},
	{"errors", 6, COLUMN_TOTAL, HZ_STAT_store_errors, false},
};

#define WIDER 3 /* of each column with --wide */

static unsigned find_column(const char *name, size_t len)
{
	char all[256] = "";
	size_t n = 0;

	for (unsigned i = 0; i < hz_array_len(columns); i++) {
		if (strlen(columns[i].name) == len &&
		    !memcmp(columns[i].name, name, len))
			return i;
		n += (size_t)snprintf(all + n, sizeof(all) - n, " %s",
				      columns[i].name);
	}
	cli_die(&stat_cli, STAT_USAGE,
		"--columns: '%s' has one that is not in%s", name, all);
}

void stat_columns(struct stat_options *o, const char *list)
{
	while (list && o->column_count < STAT_COLUMNS_MAX) {
		size_t len = strcspn(list, ",");

		o->columns[o->column_count++] = find_column(list, len);
		list = list[len] ? list + len + 1 : NULL;
	}
	if (o->column_count)
		return;
	for (unsigned i = 0; i < hz_array_len(columns); i++)
		if (columns[i].usual || o->wide)
			o->columns[o->column_count++] = i;
}

/* ---- values ---- */

static double value_of(const struct column *c, const struct attach_proc *p)
{
	double now = (double)p->now->cell[c->stat];
	double before = (double)p->before->cell[c->stat];
	double ns = (double)(p->now_ns - p->before_ns);

	if (c->kind < COLUMN_BYTES_S)
		return now;
	if (ns <= 0 || now < before)
		return 0;
	if (c->kind == COLUMN_SHARE)
		return 100 * (now - before) / ns;
	return (now - before) / ns * 1e9;
}

/* Moved nothing and answered nothing since the last report. */
static bool idle(const struct attach_proc *p)
{
	for (unsigned i = 0; i < hz_array_len(columns); i++)
		if (columns[i].kind >= COLUMN_BYTES_S &&
		    value_of(&columns[i], p) > 0)
			return false;
	return true;
}

uint64_t stat_realtime(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_REALTIME, &ts);
	return (uint64_t)ts.tv_sec * 1000000000 + (uint64_t)ts.tv_nsec;
}

const char *stat_clock(void)
{
	static char text[32];
	time_t now = time(NULL);
	struct tm tm;

	localtime_r(&now, &tm);
	strftime(text, sizeof(text), "%Y-%m-%d %H:%M:%S", &tm);
	return text;
}

const char *stat_number(double v, char *buf, size_t len)
{
	snprintf(buf, len, "%.*f", v > 0.05 && v < 9.95 ? 1 : 0, v);
	return buf;
}

/* ---- table ---- */

static int width(const struct stat_options *o, const struct column *c)
{
	return c->width + (o->wide ? WIDER : 0);
}

/* Words to the left, numbers to the right. */
static void put_cell(const struct stat_options *o, unsigned i, const char *text)
{
	const struct column *c = &columns[o->columns[i]];
	int w = width(o, c);

	if (i)
		putchar(' ');
	if (c->kind == COLUMN_COMMAND)
		printf("%-*.*s", w, w, text);
	else
		printf("%*s", w, text);
}

static const char *unit_of(const struct stat_options *o, const struct column *c,
			   char *buf, size_t len)
{
	bool bytes = c->kind == COLUMN_LEVEL || c->kind == COLUMN_BYTES_S;
	bool rate = c->kind == COLUMN_BYTES_S || c->kind == COLUMN_S;

	if (c->kind == COLUMN_SHARE)
		return "%";
	snprintf(buf, len, "%s%s", bytes ? o->unit_name : "", rate ? "/s" : "");
	return buf;
}

static void put_header(const struct stat_options *o)
{
	char unit[16];

	for (unsigned i = 0; i < o->column_count; i++)
		put_cell(o, i, columns[o->columns[i]].name);
	fputs(o->timestamp ? " time\n" : "\n", stdout);
	for (unsigned i = 0; i < o->column_count; i++)
		put_cell(o, i,
			 unit_of(o, &columns[o->columns[i]], unit,
				 sizeof(unit)));
	putchar('\n');
}

static void put_row(const struct stat_options *o, const struct attach_proc *p)
{
	char text[32];

	for (unsigned i = 0; i < o->column_count; i++) {
		const struct column *c = &columns[o->columns[i]];
		double v = value_of(c, p);

		if (c->kind == COLUMN_LEVEL || c->kind == COLUMN_BYTES_S)
			v /= o->unit;
		if (c->kind == COLUMN_COMMAND) {
			put_cell(o, i, p->now->command);
			continue;
		}
		if (c->kind == COLUMN_PID)
			snprintf(text, sizeof(text), "%u", p->now->pid);
		else
			stat_number(v, text, sizeof(text));
		put_cell(o, i, text);
	}
	if (o->timestamp)
		printf(" %s", stat_clock());
	putchar('\n');
}

/* Lines of the terminal; a classic one where there is none. */
static unsigned screen_lines(void)
{
	const char *lines = getenv("LINES");
	struct winsize w;
	uint64_t n;

	if (lines && cli_number(lines, 4, 10000, &n))
		return (unsigned)n;
	if (!ioctl(STDOUT_FILENO, TIOCGWINSZ, &w) && w.ws_row > 3)
		return w.ws_row;
	return 24;
}

bool stat_header_due(const struct stat_options *o, unsigned rows)
{
	static unsigned printed; /* since the header; 0: none yet */
	bool due = !printed ||
		   (!o->one_header && printed + rows > screen_lines() - 1);

	printed = due ? 2 + rows : printed + rows;
	return due;
}

/* ---- csv ---- */

void stat_csv_word(const char *word)
{
	if (!strpbrk(word, "\",\n\r")) {
		fputs(word, stdout);
		return;
	}
	putchar('"');
	for (; *word; word++) {
		if (*word == '"')
			putchar('"');
		putchar(*word);
	}
	putchar('"');
}

static void put_csv_header(const struct stat_options *o)
{
	static bool done;

	if (done)
		return;
	done = true;
	fputs(o->timestamp ? "time," : "", stdout);
	for (unsigned i = 0; i < o->column_count; i++)
		printf("%s%s", i ? "," : "", columns[o->columns[i]].name);
	putchar('\n');
}

static void put_csv_row(const struct stat_options *o,
			const struct attach_proc *p)
{
	if (o->timestamp)
		printf("%s,", stat_clock());
	for (unsigned i = 0; i < o->column_count; i++) {
		const struct column *c = &columns[o->columns[i]];

		if (i)
			putchar(',');
		if (c->kind == COLUMN_PID)
			printf("%u", p->now->pid);
		else if (c->kind == COLUMN_COMMAND)
			stat_csv_word(p->now->command);
		else
			printf("%.*f", c->kind >= COLUMN_BYTES_S ? 3 : 0,
			       value_of(c, p));
	}
	putchar('\n');
}

void stat_rows(const struct stat_options *o, const struct attach *a)
{
	bool csv = o->format == STAT_CSV;

	if (csv)
		put_csv_header(o);
	for (unsigned i = 0; i < a->proc_count; i++) {
		const struct attach_proc *p = &a->procs[i];

		if (o->hide_idle && idle(p))
			continue;
		if (csv) {
			put_csv_row(o, p);
			continue;
		}
		if (stat_header_due(o, 1))
			put_header(o);
		put_row(o, p);
	}
}
