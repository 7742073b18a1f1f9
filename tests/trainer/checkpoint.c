/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A header, then value and moments of each tensor, and the hashed table if
 * there is one, straight from and to where they live.
 */
#include "checkpoint.h"

#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct header {
	char magic[8];
	int64_t step;
	int64_t layers, hidden, heads, seq, narrow, buckets;
};

static const struct field {
	const char *option;
	size_t at;
} fields[] = {
#define AT(field_) offsetof(struct header, field_)
        {"--layers", AT(layers)},
        {"--hidden", AT(hidden)},
        {"--heads", AT(heads)},
        {"--seq", AT(seq)},
        {"--dtype", AT(narrow)},
        {"--hash-buckets", AT(buckets)},
#undef AT
};

static struct header header_of(const struct model *m, long step)
{
	const struct shape *s = &m->shape;

	return (struct header){"gpt-tr2", step,      s->layers, s->hidden,
	                       s->heads,  s->seq,    s->narrow, s->buckets};
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

static int move_tensor(const struct model *m, transfer *how, int fd,
                       enum array_id a, int i)
{
	return move(how, fd, m->array[a].at[i], model_tensor_bytes(m, a, i));
}

static int move_tensors(const struct model *m, transfer *how, int fd)
{
	const enum array_id kept[] = {model_exact(m), MOMENT1, MOMENT2};
	int err = 0;

	for (int i = 0; i < m->list[WEIGHT].n; i++)
		for (size_t k = 0; k < sizeof(kept) / sizeof(kept[0]) && !err;
		     k++)
			err = move_tensor(m, how, fd, kept[k], i);
	for (int a = TABLE; a <= SQUARES && m->shape.buckets && !err; a++)
		err = move_tensor(m, how, fd, a, 0);
	return err;
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

static int64_t value_of(const struct header *h, const struct field *f)
{
	int64_t value;

	memcpy(&value, (const char *)h + f->at, sizeof(value));
	return value;
}

/* The first thing in which two headers differ. */
static int differ(const struct header *has, const struct header *want,
                  char *why, size_t room)
{
	static const char *const dtypes[] = {"f32", "bf16"};

	for (size_t i = 0; i < sizeof(fields) / sizeof(fields[0]); i++) {
		int64_t x = value_of(has, &fields[i]);
		int64_t y = value_of(want, &fields[i]);

		if (x == y)
			continue;
		if (strcmp(fields[i].option, "--dtype"))
			snprintf(why, room, "made with %s %lld, not %lld",
			         fields[i].option, (long long)x, (long long)y);
		else
			snprintf(why, room, "made with --dtype %s, not %s",
			         dtypes[x != 0], dtypes[y != 0]);
		return -EINVAL;
	}
	return 0;
}

static int read_header(const struct model *m, struct header *h, int fd,
                       char *why, size_t room)
{
	struct header want = header_of(m, 0);
	int err = move(read, fd, h, sizeof(*h));

	if (err || memcmp(h->magic, want.magic, sizeof(want.magic))) {
		snprintf(why, room, "not a checkpoint of this version");
		return err ? err : -EINVAL;
	}
	return differ(h, &want, why, room);
}

static int read_all(struct model *m, long *step, int fd, char *why, size_t room)
{
	struct header h = {0};
	char more;
	int err = read_header(m, &h, fd, why, room);

	if (err)
		return err;
	snprintf(why, room, "cut short, or too long");
	err = move_tensors(m, read, fd);
	if (!err && read(fd, &more, 1) != 0)
		err = -EINVAL;
	if (!err)
		*step = h.step;
	return err;
}

int checkpoint_load(struct model *m, long *step, const char *path, char *why,
                    size_t room)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC), err;

	if (fd < 0)
		return -errno;
	err = read_all(m, step, fd, why, room);
	close(fd);
	return err;
}
