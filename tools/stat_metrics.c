/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Prometheus text and OpenMetrics, generated from stats.def: the steps of a
 * row's path give the name, their labels the labels. All samples of a name
 * stand together, as both formats ask.
 */
#include "config.h"
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include "report.h"
#include "stat.h"

struct metric {
	char name[128];   /* without _total */
	char labels[128]; /* ,from="ram",to="store" */
	bool counter;
};

/* "tiers[ram].x" is one tier's: horizon_tier_x{tier="ram"}. */
static void add_step(struct metric *m, const struct report_step *s)
{
	const char *arrow = strchr(s->label, '>');
	size_t n = strlen(m->name), l = strlen(m->labels);
	size_t len = strlen(s->name);

	if (s->label[0] && len && s->name[len - 1] == 's')
		len--;
	snprintf(m->name + n, sizeof(m->name) - n, "_%.*s", (int)len, s->name);
	if (arrow)
		snprintf(m->labels + l, sizeof(m->labels) - l,
			 ",from=\"%.*s\",to=\"%s\"", (int)(arrow - s->label),
			 s->label, arrow + 1);
	else if (s->label[0])
		snprintf(m->labels + l, sizeof(m->labels) - l, ",tier=\"%s\"",
			 s->label);
}

static void describe(const struct hz_stat_row *row, struct metric *m)
{
	struct report_step path[REPORT_STEPS];
	unsigned n = report_path(row->path, path);

	snprintf(m->name, sizeof(m->name), "horizon");
	m->labels[0] = '\0';
	m->counter = row->kind == HZ_STAT_COUNTER;
	for (unsigned i = 0; i < n; i++)
		add_step(m, &path[i]);
}

static void put_label_text(const char *s)
{
	for (; *s; s++) {
		if (*s == '\n') {
			fputs("\\n", stdout);
			continue;
		}
		if (*s == '"' || *s == '\\')
			putchar('\\');
		putchar(*s);
	}
}

static void put_sample(const struct metric *m, const struct hz_stats_proc *p)
{
	printf("%s%s{pid=\"%u\",command=\"", m->name,
	       m->counter ? "_total" : "", p->pid);
	put_label_text(p->command);
	printf("\"%s} ", m->labels);
}

static void put_value(enum hz_stat_unit unit, uint64_t v)
{
	if (unit == HZ_UNIT_NANOSECONDS)
		printf("%" PRIu64 ".%09" PRIu64 "\n", v / 1000000000,
		       v % 1000000000);
	else
		printf("%" PRIu64 "\n", v);
}

static bool same_name(unsigned i, const char *name)
{
	struct metric m;

	describe(&hz_stat_rows[i], &m);
	return !strcmp(m.name, name);
}

/* The sentences of all rows of this name: each stands for one label. */
static void put_help(const struct metric *m, bool openmetrics)
{
	const char *total = m->counter && !openmetrics ? "_total" : "";
	bool first = true;

	printf("# HELP %s%s ", m->name, total);
	for (unsigned i = 0; i < HZ_STAT_COUNT; i++) {
		struct metric other;
		const char *label;

		describe(&hz_stat_rows[i], &other);
		if (strcmp(other.name, m->name))
			continue;
		label = strrchr(hz_stat_rows[i].path, '[');
		if (!first)
			putchar(' ');
		first = false;
		if (label)
			printf("%.*s: ", (int)strcspn(label + 1, "]"),
			       label + 1);
		fputs(hz_stat_rows[i].text, stdout);
	}
	printf("\n# TYPE %s%s %s\n", m->name, total,
	       m->counter ? "counter" : "gauge");
}

static void put_family(unsigned row, bool openmetrics, const struct attach *a)
{
	struct metric m;

	describe(&hz_stat_rows[row], &m);
	for (unsigned i = 0; i < row; i++)
		if (same_name(i, m.name))
			return; /* it came with the first of the name */
	put_help(&m, openmetrics);
	for (unsigned i = row; i < HZ_STAT_COUNT; i++) {
		if (!same_name(i, m.name))
			continue;
		describe(&hz_stat_rows[i], &m);
		for (unsigned p = 0; p < a->proc_count; p++) {
			put_sample(&m, a->procs[p].now);
			put_value(hz_stat_rows[i].unit,
				  a->procs[p].now->cell[i]);
		}
	}
}

static void put_age(const struct attach *a)
{
	struct metric m = {.name = "horizon_seconds"};

	puts("# HELP horizon_seconds Time since the process attached.\n"
	     "# TYPE horizon_seconds gauge");
	for (unsigned p = 0; p < a->proc_count; p++) {
		put_sample(&m, a->procs[p].now);
		put_value(HZ_UNIT_NANOSECONDS, report_age(a->procs[p].now));
	}
}

void stat_metrics(bool openmetrics, const struct attach *a)
{
	put_age(a);
	for (unsigned i = 0; i < HZ_STAT_COUNT; i++)
		put_family(i, openmetrics, a);
	if (openmetrics)
		puts("# EOF");
}
