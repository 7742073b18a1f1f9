/* SPDX-License-Identifier: Apache-2.0 */
/*
 * trace_events FILE: its events, one a line: time, kind, and the fields as in
 * horizon-trace(5); an ending that cannot be read is status 1.
 */
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include "policy/trace_file.h"

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
	int fd = argc == 2 ? open(argv[1], O_RDONLY) : -1;
	struct hz_tf_event event;
	struct stat st;
	void *data;
	int rc;

	if (fd < 0 || fstat(fd, &st) || !st.st_size)
		return 1;
	data = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
	if (data == MAP_FAILED)
		return 1;
	rc = hz_tf_open(&reader, data, (size_t)st.st_size);
	while (!rc && (rc = hz_tf_next(&reader, &event)) > 0) {
		print(&event);
		rc = 0;
	}
	if (rc)
		fprintf(stderr, "offset %zu: %s\n", reader.where, reader.why);
	return rc != 0;
}
