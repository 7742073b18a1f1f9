/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Prints the paragraphs of horizon.conf(5) and horizon-stats(5) from the
 * tables of knobs and counters, as roff: `defdump knobs`, `defdump stats`.
 * Run at build time; not installed.
 */
#include "config.h"
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include "base/knobs.h"
#include "base/stats.h"

/* Text for roff: no escape, no hyphen that becomes a dash, no line that
 * starts with a control character. */
static void put(const char *text)
{
	if (*text == '.' || *text == '\'')
		fputs("\\&", stdout);
	for (; *text; text++) {
		if (*text == '\\')
			fputs("\\e", stdout);
		else if (*text == '-')
			fputs("\\-", stdout);
		else
			putchar(*text);
	}
}

/* "a|b|c" as "a, b, c". */
static void put_words(const char *words)
{
	for (; *words; words++) {
		if (*words == '|')
			fputs(", ", stdout);
		else
			putchar(*words);
	}
}

/* The bound of a size in the largest unit that leaves it whole. */
static void put_bound(const struct hz_knob_row *row, int64_t bound)
{
	static const char units[] = "KMGT";
	unsigned unit = 0;

	if (row->type == HZ_KNOB_SIZE)
		while (bound && unit < 4 && !(bound % 1024)) {
			bound /= 1024;
			unit++;
		}
	printf("%" PRId64 "%.*s", bound, unit ? 1 : 0,
	       units + (unit ? unit - 1 : 0));
}

static void put_range(const struct hz_knob_row *row)
{
	switch (row->type) {
	case HZ_KNOB_BOOL:
		fputs("0 or 1", stdout);
		break;
	case HZ_KNOB_STRING:
		fputs("text of at most 255 bytes", stdout);
		break;
	case HZ_KNOB_ENUM:
		put_words(row->words);
		break;
	case HZ_KNOB_SIZE:
	case HZ_KNOB_INT:
		fputs(row->type == HZ_KNOB_SIZE ? "a size, " : "a number, ",
		      stdout);
		put_bound(row, row->min);
		if (row->max == INT64_MAX) {
			fputs(" or more", stdout);
			break;
		}
		fputs(" to ", stdout);
		put_bound(row, row->max);
		break;
	}
}

static void dump_knobs(void)
{
	for (unsigned i = 0; i < hz_knob_count; i++) {
		const struct hz_knob_row *row = &hz_knob_rows[i];

		printf(".TP\n.B %s\n", row->name);
		put(row->text);
		fputs("\nDefault: ", stdout);
		put(*row->def ? row->def : "empty");
		fputs(".\nValues: ", stdout);
		put_range(row);
		puts(".");
	}
}

static void dump_stats(void)
{
	static const char *const kinds[] = {"counter", "gauge", "peak"};
	static const char *const units[] = {"bytes", "number", "seconds"};

	for (unsigned i = 0; i < HZ_STAT_COUNT; i++) {
		const struct hz_stat_row *row = &hz_stat_rows[i];

		fputs(".TP\n.B ", stdout);
		put(row->path);
		printf("\n(%s, %s)\n.br\n", kinds[row->kind], units[row->unit]);
		put(row->text);
		putchar('\n');
	}
}

int main(int argc, char **argv)
{
	if (argc == 2 && !strcmp(argv[1], "knobs"))
		dump_knobs();
	else if (argc == 2 && !strcmp(argv[1], "stats"))
		dump_stats();
	else
		return 2;
	return fflush(stdout) || ferror(stdout);
}
