/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A trace's file in memory, and which of the two kinds it is. A pipe will do.
 */
#include "config.h"
#include "replay/work.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include "base/log.h"
#include "replay/mem.h"

#define MAGIC "HZTRACE\n"

struct bytes {
	char *at;
	size_t size, max;
	bool mapped;
};

/* To the end; 0 or a negative errno. */
static int read_all(struct bytes *b, int fd)
{
	ssize_t n;

	do {
		if (b->size == b->max) {
			b->max = hz_max((size_t)65536, 2 * b->max);
			b->at = mem_resize(b->at, b->max, 1);
		}
		n = read(fd, b->at + b->size, b->max - b->size);
		b->size += n > 0 ? (size_t)n : 0;
	} while (n > 0 || (n < 0 && errno == EINTR));
	return n < 0 ? -errno : 0;
}

static int take(struct bytes *b, int fd)
{
	struct stat st;

	if (fstat(fd, &st))
		return -errno;
	if (S_ISDIR(st.st_mode))
		return -EISDIR;
	if (!S_ISREG(st.st_mode) || st.st_size <= 0)
		return read_all(b, fd);
	b->size = (size_t)st.st_size;
	b->at = mmap(NULL, b->size, PROT_READ, MAP_PRIVATE, fd, 0);
	b->mapped = b->at != MAP_FAILED;
	return b->mapped ? 0 : -errno;
}

static void give_back(struct bytes *b)
{
	if (b->mapped)
		munmap(b->at, b->size);
	else if (b->at != MAP_FAILED)
		free(b->at);
}

/* What is cut in the magic is a trace that was cut. */
static bool is_binary(const struct bytes *b)
{
	size_t n = hz_min(b->size, sizeof(MAGIC) - 1);

	return n && !memcmp(b->at, MAGIC, n);
}

struct work *work_read(const char *path)
{
	struct bytes b = {NULL, 0, 0, false};
	struct work *w = NULL;
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	int rc = fd < 0 ? -errno : take(&b, fd);

	if (rc)
		hz_log(HZ_ERROR, "replay", "%s: %m", path, rc);
	else if (is_binary(&b))
		w = work_parse_trace(path, b.at, b.size);
	else
		w = work_parse_tsv(path, b.at, b.size);
	give_back(&b);
	if (fd >= 0)
		close(fd);
	return w;
}
