/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A trace's file for the programs that look at its events.
 */
#ifndef TRACE_READER_H
#define TRACE_READER_H

#include <fcntl.h>
#include <stdbool.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include "policy/trace_file.h"

/* The whole file is mapped, and stays so. False: it cannot be, or is empty;
 * else *rc is the reader's answer. */
static inline bool open_trace(struct hz_tf_reader *reader, const char *path,
			      int *rc)
{
	int fd = open(path, O_RDONLY);
	struct stat st;
	void *data;

	if (fd < 0 || fstat(fd, &st) || !st.st_size)
		return false;
	data = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
	if (data == MAP_FAILED)
		return false;
	*rc = hz_tf_open(reader, data, (size_t)st.st_size);
	return true;
}

#endif
