/* SPDX-License-Identifier: Apache-2.0 */
/*
 * trace_events FILE: its events, one a line: time, kind, and the fields as in
 * horizon-trace(5); an ending that cannot be read is status 1.
 */
#include <inttypes.h>
#include <stdio.h>
#include "../programs/trace_reader.h"

static const char *const names[] = {
#define NAME(name_, value_, what_, fields_) [value_] = #name_,
	HZ_TF_KINDS(NAME)
#undef NAME
};

static void print(const struct hz_tf_event *e)
{
	printf("%" PRIu64 " %s %" PRIu64, e->now, names[e->kind], e->id);
	if (e->kind == HZ_TF_ALLOC || e->kind == HZ_TF_COPY)
		printf(" %" PRIu64, e->bytes);
	if (e->kind == HZ_TF_FAULT || e->kind == HZ_TF_COPY)
		printf(" %u", e->how);
	if (e->kind == HZ_TF_TIME)
		printf(" %" PRIu64 " %" PRIu64, e->ns, e->back);
	if (e->kind == HZ_TF_LAUNCH) {
		printf(" %u", e->uses);
		for (uint32_t i = 0; i < e->uses; i++)
			printf(" %u:%u", e->use[i] >> 3, e->use[i] & 7);
	}
	putchar('\n');
}

int main(int argc, char **argv)
{
	static struct hz_tf_reader reader;
	struct hz_tf_event event;
	int rc;

	if (argc != 2 || !open_trace(&reader, argv[1], &rc))
		return 1;
	while (!rc && (rc = hz_tf_next(&reader, &event)) > 0) {
		print(&event);
		rc = 0;
	}
	if (rc)
		fprintf(stderr, "offset %zu: %s\n", reader.where, reader.why);
	return rc != 0;
}
