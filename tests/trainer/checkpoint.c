/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A header, then value and moments of each tensor, straight from and to
 * where they live.
 */
#include "checkpoint.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct header {
	char magic[8];
	int64_t step;
	int32_t layers, hidden, heads, seq;
};

static const enum array_id kept[] = {VALUE, MOMENT1, MOMENT2};

static struct header header_of(const struct model *m, long step)
{
	const struct shape *s = &m->shape;

	return (struct header){"gpt-tr1", step,     s->layers,
	                       s->hidden, s->heads, s->seq};
}

typedef ssize_t transfer(int fd, void *at, size_t len);

static ssize_t put(int fd, void *at, size_t len)
{
	return write(fd, at, len);
}

/* All of it, however many calls that takes. */
static int move(transfer *how, int fd, void *at, size_t len)
{
	while (len) {
		ssize_t n = how(fd, at, len);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return n ? -errno : -EINVAL;
		at = (char *)at + n;
		len -= n;
	}
	return 0;
}

static int move_tensors(const struct model *m, transfer *how, int fd)
{
	const struct list *l = &m->list[WEIGHT];
	int err = 0;

	for (int i = 0; i < l->n; i++)
		for (size_t k = 0; k < sizeof(kept) / sizeof(kept[0]); k++) {
			err = move(how, fd, m->array[kept[k]].at[i],
			           l->t[i].len * sizeof(float));
			if (err)
				return err;
		}
	return 0;
}

static int write_all(const struct model *m, long step, int fd)
{
	struct header h = header_of(m, step);
	int err = move(put, fd, &h, sizeof(h));

	if (!err)
		err = move_tensors(m, put, fd);
	if (!err && fsync(fd))
		err = -errno;
	if (close(fd) && !err)
		err = -errno;
	return err;
}

int checkpoint_save(const struct model *m, long step, const char *path)
{
	char *part;
	int fd, err;

	if (asprintf(&part, "%s.part", path) < 0)
		return -ENOMEM;
	fd = open(part, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
	err = fd < 0 ? -errno : write_all(m, step, fd);
	if (!err && rename(part, path))
		err = -errno;
	if (err && fd >= 0)
		unlink(part);
	free(part);
	return err;
}

static int read_all(struct model *m, long *step, int fd)
{
	struct header h = {0}, want;
	char more;
	int err = move(read, fd, &h, sizeof(h));

	want = header_of(m, h.step);
	if (!err && memcmp(&h, &want, sizeof(h)))
		err = -EINVAL;
	if (!err)
		err = move_tensors(m, read, fd);
	if (!err && read(fd, &more, 1) != 0)
		err = -EINVAL;
	if (!err)
		*step = h.step;
	return err;
}

int checkpoint_load(struct model *m, long *step, const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC), err;

	if (fd < 0)
		return -errno;
	err = read_all(m, step, fd);
	close(fd);
	return err;
}
