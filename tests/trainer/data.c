/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The text, and batches of windows drawn from it.
 */
#include "data.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "rng.h"

static int grow(struct text *t, size_t *room)
{
	size_t more = *room ? *room * 2 : 65536;
	uint8_t *p = realloc(t->bytes, more);

	if (!p)
		return -ENOMEM;
	t->bytes = p;
	*room = more;
	return 0;
}

/* By reading to the end, so that a pipe will do. */
static int read_all(struct text *t, FILE *f)
{
	size_t room = 0;

	while (!feof(f)) {
		if (t->len == room && grow(t, &room))
			return -ENOMEM;
		errno = EIO;
		t->len += fread(t->bytes + t->len, 1, room - t->len, f);
		if (ferror(f))
			return -errno;
	}
	return 0;
}

int text_read(struct text *t, const char *path)
{
	FILE *f = fopen(path, "re");
	int err;

	*t = (struct text){0};
	if (!f)
		return -errno;
	err = read_all(t, f);
	fclose(f);
	return err;
}

void text_close(struct text *t)
{
	free(t->bytes);
	*t = (struct text){0};
}

int batch_open(struct batch *b, const struct shape *s)
{
	b->in = malloc(shape_rows(s));
	b->want = malloc(shape_rows(s));
	b->grams = s->buckets ? calloc(shape_rows(s), GRAMS * sizeof(*b->grams))
	                      : NULL;
	return b->in && b->want && (b->grams || !s->buckets) ? 0 : -ENOMEM;
}

void batch_close(struct batch *b)
{
	free(b->in);
	free(b->want);
	free(b->grams);
	*b = (struct batch){0};
}

void batch_draw(struct batch *b, const struct shape *s, const struct text *t,
                uint64_t seed, uint64_t n)
{
	uint64_t stream = rng_at(~seed, n);

	for (int r = 0; r < s->batch; r++) {
		size_t at = rng_at(stream, r) % (t->len - s->seq);
		long row = (long)r * s->seq;

		memcpy(b->in + row, t->bytes + at, s->seq);
		memcpy(b->want + row, t->bytes + at + 1, s->seq);
	}
}
