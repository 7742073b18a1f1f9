/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The parts of horizon-stat.
 */
#ifndef HZ_STAT_H
#define HZ_STAT_H

#include <stdbool.h>
#include <stdint.h>
#include "attach.h"
#include "cli.h"

enum { STAT_OK, STAT_FAILED, STAT_USAGE };

enum stat_format {
	STAT_TABLE,
	STAT_JSON,
	STAT_CSV,
	STAT_PROM,
	STAT_OPENMETRICS
};

#define STAT_COLUMNS_MAX 40

struct stat_options {
	enum stat_format format;
	bool tensors;
	bool one_header, wide, timestamp, hide_idle;
	double unit;           /* bytes that a number of the table stands for */
	const char *unit_name; /* "MiB" */
	unsigned columns[STAT_COLUMNS_MAX]; /* rows of the column table */
	unsigned column_count;
};

extern const struct cli stat_cli;

/* ---- stat_table.c: table and csv ---- */

/* Choose the columns: those of `list` ("ram,in/s"), or the usual ones when
 * it is NULL. A wrong name ends the program. */
void stat_columns(struct stat_options *o, const char *list);
void stat_rows(const struct stat_options *o, const struct attach *a);

/* "2026-01-31 12:00:00", and nanoseconds since 1970. */
const char *stat_clock(void);
uint64_t stat_realtime(void);
/* Is it time for a header? Counts the `rows` that follow. */
bool stat_header_due(const struct stat_options *o, unsigned rows);
/* At most four places: "0", "1.5", "12". */
const char *stat_number(double v, char *buf, size_t len);
/* A word for CSV, in quotes where it needs them. */
void stat_csv_word(const char *word);

/* ---- stat_ranges.c: --tensors ---- */
void stat_ranges(const struct stat_options *o, const struct attach *a);
/* stat_tensors.c: the same for devices, one process. */
void stat_tensors(const struct stat_options *o, const struct attach_proc *p);

/* ---- stat_metrics.c: Prometheus text and OpenMetrics ---- */
void stat_metrics(bool openmetrics, const struct attach *a);

#endif
