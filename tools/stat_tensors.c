/* SPDX-License-Identifier: Apache-2.0 */
/*
 * --tensors, on devices: what the hooks of the CUDA driver have found,
 * largest first.
 */
#include "config.h"
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include "base/os.h"
#include "json.h"
#include "policy/gpu_map.h"
#include "stat.h"

struct row {
	const struct attach_proc *p;
	struct hz_stats_tensor t;
	uint64_t idle_ns; /* UINT64_MAX: never used */
};

/* The segment is written by the program: its numbers are no indices. */
static enum hz_gpu_origin origin_of(const struct hz_stats_tensor *t)
{
	return t->kind - 1 < HZ_GPU_ORIGINS ? (enum hz_gpu_origin)(t->kind - 1)
					    : HZ_GPU_ALLOC;
}

static const char *class_of(const struct hz_stats_tensor *t)
{
	return hz_gpu_class_names[t->class <= HZ_GPU_HOST_ONLY ? t->class : 0];
}

/* NULL: managed memory is where the driver has put it. */
static const char *tier_of(const struct hz_stats_tensor *t)
{
	switch (hz_gpu_where[origin_of(t)]) {
	case HZ_GPU_IN_PINNED:
		return "ram";
	case HZ_GPU_IN_MANAGED:
		return NULL;
	default:
		return "vram";
	}
}

static void put_table_header(const struct stat_options *o)
{
	printf("%6s %-14s %8s %8s %8s %7s %7s %-11s %-10s %s\n", "pid",
	       "address", "bytes", "launches", "copies", "kernels", "idle",
	       "class", "kind", "kernel");
	printf("%6s %-14s %8s %8s %8s %7s %7s\n", "", "", o->unit_name, "", "",
	       "", "s");
}

static void put_table(const struct stat_options *o, const struct row *row)
{
	const struct hz_stats_tensor *t = &row->t;
	char bytes[32], idle[32] = "-";

	stat_number((double)t->bytes / o->unit, bytes, sizeof(bytes));
	if (row->idle_ns != UINT64_MAX)
		stat_number((double)row->idle_ns / 1e9, idle, sizeof(idle));
	printf("%6u %-14" PRIx64 " %8s %8" PRIu64 " %8" PRIu64
	       " %7u %7s %-11s %-10s %s\n",
	       row->p->now->pid, t->start, bytes, t->launches, t->copies,
	       t->kernels, idle, class_of(t),
	       hz_gpu_origin_names[origin_of(t)], t->kernel);
}

/* The columns of the ranges, and those behind them. */
static void put_csv(const struct row *row)
{
	const struct hz_stats_tensor *t = &row->t;
	const char *tier = tier_of(t);
	uint64_t here = tier ? t->bytes : 0;

	printf("%u,", row->p->now->pid);
	stat_csv_word(row->p->now->command);
	printf(",0x%" PRIx64 ",%" PRIu64 ",%" PRIu64 ",0,,", t->start, t->bytes,
	       here);
	if (row->idle_ns != UINT64_MAX)
		printf("%.3f", (double)row->idle_ns / 1e9);
	printf(",%s,%s,%s,0x%" PRIx64 ",%" PRIu64 ",%" PRIu64 ",%u,",
	       class_of(t), tier ? tier : "",
	       hz_gpu_origin_names[origin_of(t)], t->allocation, t->launches,
	       t->copies, t->kernels);
	stat_csv_word(t->kernel);
	putchar('\n');
}

static void put_address(struct json *j, const char *name, uint64_t address)
{
	char text[32];

	snprintf(text, sizeof(text), "0x%" PRIx64, address);
	json_string(j, name, text);
}

static void put_uses(struct json *j, const struct row *row)
{
	const struct hz_stats_tensor *t = &row->t;

	json_uint(j, "launches", t->launches);
	json_uint(j, "copies", t->copies);
	json_uint(j, "kernels", t->kernels);
	if (*t->kernel)
		json_string(j, "kernel", t->kernel);
	else
		json_null(j, "kernel");
	if (row->idle_ns != UINT64_MAX)
		json_seconds(j, "idle_seconds", row->idle_ns);
	else
		json_null(j, "idle_seconds");
}

static void put_json(const struct stat_options *o, const struct row *row)
{
	const struct hz_stats_tensor *t = &row->t;
	struct json j = {.out = stdout};
	const char *tier = tier_of(t);

	json_open(&j, NULL, '{');
	if (o->timestamp)
		json_seconds(&j, "time", stat_realtime());
	json_uint(&j, "pid", row->p->now->pid);
	json_string(&j, "command", row->p->now->command);
	put_address(&j, "address", t->start);
	json_uint(&j, "bytes", t->bytes);
	put_address(&j, "allocation", t->allocation);
	put_uses(&j, row);
	json_string(&j, "class", class_of(t));
	if (tier)
		json_string(&j, "tier", tier);
	else
		json_null(&j, "tier");
	json_string(&j, "kind", hz_gpu_origin_names[origin_of(t)]);
	/* nothing in the segment knows the steps of the program yet */
	json_null(&j, "next_use_seconds");
	json_null(&j, "accesses_per_step");
	json_close(&j, '}');
}

static int by_bytes(const void *x, const void *y)
{
	const struct hz_stats_tensor *a = x, *b = y;

	if (a->bytes != b->bytes)
		return a->bytes < b->bytes ? 1 : -1;
	return (a->start > b->start) - (a->start < b->start);
}

static unsigned copy_tensors(const struct hz_stats_proc *slot,
			     struct hz_stats_tensor *to)
{
	unsigned n = 0;

	for (unsigned i = 0; i < HZ_STATS_TENSORS; i++)
		if (hz_stats_snapshot_tensor(&slot->tensor[i], &to[n]))
			n++;
	qsort(to, n, sizeof(*to), by_bytes);
	return n;
}

static void put_row(const struct stat_options *o, const struct row *row)
{
	if (o->format == STAT_JSON)
		put_json(o, row);
	else if (o->format == STAT_CSV)
		put_csv(row);
	else
		put_table(o, row);
}

void stat_tensors(const struct stat_options *o, const struct attach_proc *p)
{
	struct hz_stats_tensor *tensors =
		calloc(HZ_STATS_TENSORS, sizeof(*tensors));
	uint64_t now = hz_os.now();
	unsigned n;

	if (!tensors)
		cli_die(&stat_cli, STAT_FAILED, "out of memory");
	n = copy_tensors(p->slot, tensors);
	if (n && o->format == STAT_TABLE)
		put_table_header(o);
	for (unsigned i = 0; i < n; i++) {
		struct row row = {.p = p, .t = tensors[i]};
		uint64_t last = row.t.last_use;

		row.idle_ns = !last ? UINT64_MAX : now > last ? now - last : 0;
		put_row(o, &row);
	}
	free(tensors);
}
