/* SPDX-License-Identifier: Apache-2.0 */
/*
 * --tensors: the tiered allocations of each process, largest first; those of
 * its devices behind them.
 */
#include "config.h"
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include "base/os.h"
#include "json.h"
#include "stat.h"

/* One pair of functions a format; all rows of a process share `p`. */
struct row {
	const struct attach_proc *p;
	struct hz_stats_range r;
	uint64_t idle_ns; /* UINT64_MAX: never faulted */
};

/* Offloadable: part of it lives in the store only. */
static const char *class_of(const struct hz_stats_range *r)
{
	bool away = r->store_bytes && r->resident_bytes < r->bytes;

	return away ? "offloadable" : "resident";
}

/* Where most of its bytes are. What was never touched counts as RAM. */
static const char *tier_of(const struct hz_stats_range *r)
{
	bool away = r->store_bytes && r->resident_bytes < r->bytes;

	return away && r->resident_bytes < r->bytes / 2 ? "store" : "ram";
}

static const char *kind_of(const struct hz_stats_range *r)
{
	static const char *const names[] = {"other", "malloc", "mmap", "file"};

	return names[r->kind <= 3 ? r->kind : 0];
}

static void put_table_header(const struct stat_options *o)
{
	printf("%6s %-14s %8s %8s %8s %8s %7s %-11s %s\n", "pid", "address",
	       "bytes", "resident", "store", "faults", "idle", "class", "kind");
	printf("%6s %-14s %8s %8s %8s %8s %7s\n", "", "", o->unit_name,
	       o->unit_name, o->unit_name, "", "s");
}

static void put_table(const struct stat_options *o, const struct row *row)
{
	const struct hz_stats_range *r = &row->r;
	char bytes[32], resident[32], store[32], idle[32] = "-";

	stat_number((double)r->bytes / o->unit, bytes, sizeof(bytes));
	stat_number((double)r->resident_bytes / o->unit, resident,
		    sizeof(resident));
	stat_number((double)r->store_bytes / o->unit, store, sizeof(store));
	if (row->idle_ns != UINT64_MAX)
		stat_number((double)row->idle_ns / 1e9, idle, sizeof(idle));
	printf("%6u %-14" PRIx64 " %8s %8s %8s %8" PRIu64 " %7s %-11s %s\n",
	       row->p->now->pid, r->start, bytes, resident, store, r->faults,
	       idle, class_of(r), kind_of(r));
}

static void put_csv_header(void)
{
	static bool done;

	if (!done)
		puts("pid,command,address,bytes,resident_bytes,store_bytes,"
		     "faults,idle_seconds,class,tier,kind,allocation,launches,"
		     "copies,kernels,kernel");
	done = true;
}

static void put_csv(const struct row *row)
{
	const struct hz_stats_range *r = &row->r;

	printf("%u,", row->p->now->pid);
	stat_csv_word(row->p->now->command);
	printf(",0x%" PRIx64 ",%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",%" PRIu64
	       ",",
	       r->start, r->bytes, r->resident_bytes, r->store_bytes,
	       r->faults);
	if (row->idle_ns != UINT64_MAX)
		printf("%.3f", (double)row->idle_ns / 1e9);
	printf(",%s,%s,%s,,,,,\n", class_of(r), tier_of(r), kind_of(r));
}

static void put_json(const struct stat_options *o, const struct row *row)
{
	const struct hz_stats_range *r = &row->r;
	struct json j = {.out = stdout};
	char address[32];

	snprintf(address, sizeof(address), "0x%" PRIx64, r->start);
	json_open(&j, NULL, '{');
	if (o->timestamp)
		json_seconds(&j, "time", stat_realtime());
	json_uint(&j, "pid", row->p->now->pid);
	json_string(&j, "command", row->p->now->command);
	json_string(&j, "address", address);
	json_uint(&j, "bytes", r->bytes);
	json_uint(&j, "resident_bytes", r->resident_bytes);
	json_uint(&j, "store_bytes", r->store_bytes);
	json_uint(&j, "faults", r->faults);
	if (row->idle_ns != UINT64_MAX)
		json_seconds(&j, "idle_seconds", row->idle_ns);
	else
		json_null(&j, "idle_seconds");
	json_string(&j, "class", class_of(r));
	json_string(&j, "tier", tier_of(r));
	json_string(&j, "kind", kind_of(r));
	/* nothing in the segment predicts a single range yet */
	json_null(&j, "next_use_seconds");
	json_null(&j, "accesses_per_step");
	json_close(&j, '}');
}

static int by_bytes(const void *x, const void *y)
{
	const struct hz_stats_range *a = x, *b = y;

	if (a->bytes != b->bytes)
		return a->bytes < b->bytes ? 1 : -1;
	return (a->start > b->start) - (a->start < b->start);
}

static unsigned copy_ranges(const struct hz_stats_proc *slot,
			    struct hz_stats_range *to)
{
	unsigned n = 0;

	for (unsigned i = 0; i < HZ_STATS_RANGES; i++)
		if (hz_stats_snapshot_range(&slot->range[i], &to[n]))
			n++;
	qsort(to, n, sizeof(*to), by_bytes);
	return n;
}

static void put_row(const struct stat_options *o, const struct row *row)
{
	if (o->format == STAT_JSON) {
		put_json(o, row);
	} else if (o->format == STAT_CSV) {
		put_csv(row);
	} else {
		if (stat_header_due(o, 1))
			put_table_header(o);
		put_table(o, row);
	}
}

static void put_process(const struct stat_options *o,
			const struct attach_proc *p,
			struct hz_stats_range *ranges)
{
	unsigned n = copy_ranges(p->slot, ranges);
	uint64_t now = hz_os.now();

	for (unsigned i = 0; i < n; i++) {
		struct row row = {.p = p, .r = ranges[i]};
		uint64_t last = row.r.last_fault;

		row.idle_ns = !last ? UINT64_MAX : now > last ? now - last : 0;
		put_row(o, &row);
	}
}

void stat_ranges(const struct stat_options *o, const struct attach *a)
{
	struct hz_stats_range *ranges =
		calloc(HZ_STATS_RANGES, sizeof(*ranges));

	if (!ranges)
		cli_die(&stat_cli, STAT_FAILED, "out of memory");
	if (o->format == STAT_CSV)
		put_csv_header();
	for (unsigned i = 0; i < a->proc_count; i++) {
		put_process(o, &a->procs[i], ranges);
		stat_tensors(o, &a->procs[i]);
	}
	free(ranges);
}
