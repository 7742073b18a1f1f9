/* SPDX-License-Identifier: Apache-2.0 */
/*
 * count_trace FILE KIND: how many events of that kind the trace holds. One that
 * ends within a chunk is counted up to there, and the status is 1.
 */
#include <stdio.h>
#include <string.h>
#include "trace_reader.h"

static const struct {
	const char *name;
	enum hz_tf_kind kind;
} kinds[] = {
#define KIND(name_, value_, what_, fields_) {#name_, HZ_TF_##name_},
	HZ_TF_KINDS(KIND)
#undef KIND
};

/* 0, or the reader's error. */
static int count(struct hz_tf_reader *r, const char *name, long *n)
{
	struct hz_tf_event event;
	int rc;

	while ((rc = hz_tf_next(r, &event)) > 0)
		for (unsigned i = 0; i < hz_array_len(kinds); i++)
			*n += kinds[i].kind == event.kind &&
			      !strcmp(kinds[i].name, name);
	return rc;
}

int main(int argc, char **argv)
{
	static struct hz_tf_reader reader;
	long n = 0;
	int rc;

	if (argc != 3 || !open_trace(&reader, argv[1], &rc))
		return 1;
	if (!rc)
		rc = count(&reader, argv[2], &n);
	if (rc)
		fprintf(stderr, "offset %zu: %s\n", reader.where, reader.why);
	printf("%ld\n", n);
	return rc != 0;
}
