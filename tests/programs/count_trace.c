/* SPDX-License-Identifier: Apache-2.0 */
/*
 * count_trace FILE KIND: how many events of that kind the trace holds. One that
 * ends within a chunk is counted up to there, and the status is 1.
 */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include "policy/trace_file.h"

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
	int fd = argc == 3 ? open(argv[1], O_RDONLY) : -1;
	struct stat st;
	long n = 0;
	void *data;
	int rc;

	if (fd < 0 || fstat(fd, &st) || !st.st_size)
		return 1;
	data = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
	if (data == MAP_FAILED)
		return 1;
	rc = hz_tf_open(&reader, data, (size_t)st.st_size);
	if (!rc)
		rc = count(&reader, argv[2], &n);
	if (rc)
		fprintf(stderr, "offset %zu: %s\n", reader.where, reader.why);
	printf("%ld\n", n);
	return rc != 0;
}
