/* SPDX-License-Identifier: Apache-2.0 */
/*
 * count_trace FILE KIND: how many events of that kind the trace holds.
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

static long count(struct hz_tf_reader *r, const char *name)
{
	struct hz_tf_event event;
	long n = 0;
	int rc;

	while ((rc = hz_tf_next(r, &event)) > 0)
		for (unsigned i = 0; i < hz_array_len(kinds); i++)
			n += kinds[i].kind == event.kind &&
			     !strcmp(kinds[i].name, name);
	return rc ? rc : n;
}

int main(int argc, char **argv)
{
	static struct hz_tf_reader reader;
	int fd = argc == 3 ? open(argv[1], O_RDONLY) : -1;
	struct stat st;
	long n = -1;
	void *data;

	if (fd < 0 || fstat(fd, &st) || !st.st_size)
		return 1;
	data = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
	if (data == MAP_FAILED)
		return 1;
	if (!hz_tf_open(&reader, data, (size_t)st.st_size))
		n = count(&reader, argv[2]);
	if (n < 0)
		fprintf(stderr, "offset %zu: %s\n", reader.where, reader.why);
	else
		printf("%ld\n", n);
	return n < 0;
}
