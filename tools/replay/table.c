/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Results as a table, and as JSON.
 */
#include "config.h"
#include "replay/options.h"

#include <stdio.h>
#include <string.h>
#include "json.h"

#define GIB ((double)(1 << 30))

static const char *short_name(const struct work *w)
{
	const char *slash = strrchr(w->name, '/');

	return slash ? slash + 1 : w->name;
}

static uint64_t moved(const struct result *r)
{
	return r->mean.moved[CH_OUT] + r->mean.moved[CH_IN] +
	       r->work->own_bytes;
}

static uint64_t least(const struct result *r)
{
	return r->bound->bytes + r->work->own_bytes;
}

static double part(uint64_t a, uint64_t b)
{
	return b ? (double)a / (double)b : 1;
}

/* Once, before the first row: where nothing can be read it stands alone. */
static void head(void)
{
	static bool done;

	if (done)
		return;
	done = true;

	printf("%-24s %-10s %9s %9s %6s %9s %9s %8s %8s %7s %6s %9s\n", "trace",
	       "policy", "moved GiB", "store GiB", "/bound", "time s",
	       "ideal s", "stall s", "of ideal", "bound", "faults", "tokens/s");
}

void table_row(const struct result *r)
{
	const struct tally *t = &r->mean;
	char over[16] = "-", tokens[24] = "-";

	head();
	if (r->failed) {
		printf("%-24.24s %-10s does not fit\n", short_name(r->work),
		       r->policy->name);
		return;
	}
	if (least(r))
		snprintf(over, sizeof(over), "%.3f", part(moved(r), least(r)));
	if (r->work->tokens > 0)
		snprintf(tokens, sizeof(tokens), "%.1f",
			 r->work->tokens * 1e9 / (double)t->ns);
	printf("%-24.24s %-10s %9.1f %9.1f %6s %9.3f %9.3f %8.3f %8.3f "
	       "%7.3f %6lu %9s\n",
	       short_name(r->work), r->policy->name, (double)moved(r) / GIB,
	       (double)(t->moved[CH_WRITE] + t->moved[CH_READ]) / GIB, over,
	       (double)t->ns / 1e9, (double)t->ideal_ns / 1e9,
	       (double)t->stall_ns / 1e9, part(t->ideal_ns, t->ns),
	       part(r->bound->step.ideal_ns, r->bound->step.bound_ns),
	       (unsigned long)t->faults, tokens);
}

static void ratio(struct json *j, const char *key, uint64_t a, uint64_t b)
{
	json_seconds(j, key, (uint64_t)(part(a, b) * 1e9));
}

/* How the bound was found. */
static const char *kind(const struct bound *b)
{
	return b->kind == BOUND_LP ? "lp" : "closed";
}

static void numbers(struct json *j, const struct result *r)
{
	const struct tally *t = &r->mean;
	const struct hz_step_bound *b = &r->bound->step;

	json_uint(j, "bytes_moved", moved(r));
	json_uint(j, "lower_bound_bytes", least(r));
	json_string(j, "lower_bound_by", kind(r->bound));
	json_uint(j, "store_read_bytes", t->moved[CH_READ]);
	json_uint(j, "store_write_bytes", t->moved[CH_WRITE]);
	json_uint(j, "live_peak_bytes", b->live_peak);
	json_seconds(j, "seconds", t->ns);
	json_seconds(j, "ideal_seconds", t->ideal_ns);
	ratio(j, "fraction_of_ideal", t->ideal_ns, t->ns);
	ratio(j, "fraction_bound", b->ideal_ns, b->bound_ns);
	json_seconds(j, "stall_seconds", t->stall_ns);
	json_uint(j, "faults", t->faults);
	if (r->work->tokens > 0)
		json_seconds(
			j, "tokens_per_second",
			(uint64_t)(r->work->tokens * 1e18 / (double)t->ns));
}

void table_json(const struct result *r)
{
	struct json j = {.out = stdout};

	json_open(&j, NULL, '{');
	json_string(&j, "trace", short_name(r->work));
	json_string(&j, "policy", r->policy->name);
	json_string(&j, "profile", r->profile->name);
	if (r->failed)
		json_null(&j, "bytes_moved");
	else
		numbers(&j, r);
	json_close(&j, '}');
}
