/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Uses are sorted by row, then in the order of the text, so that threads may
 * share out the rows and every sum has one order.
 */
#include "hash.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "kernel.h"
#include "rng.h"
#include "scratch.h"

/* The n-gram that ends at in[0]. */
static int64_t row_of(const uint8_t *in, int n, long buckets)
{
	uint64_t bytes = n;

	for (int i = 0; i < n; i++)
		bytes = bytes << 8 | in[-i];
	return rng_at(bytes, 0) % buckets;
}

void hash_grams(const struct model *m, struct batch *b)
{
	const struct shape *s = &m->shape;

#pragma omp parallel for schedule(static)
	for (long r = 0; r < shape_rows(s); r++)
		for (int n = GRAM_MIN; n <= GRAM_MAX; n++)
			b->grams[r * GRAMS + n - GRAM_MIN] =
			        r % s->seq + 1 < n
			                ? -1
			                : row_of(b->in + r, n, s->buckets);
}

void hash_begin(struct hash *h, const struct model *m)
{
	h->per_batch = (long)shape_rows(&m->shape) * GRAMS;
	h->uses = 0;
}

static int grow(struct hash *h)
{
	long more = h->uses + h->per_batch;
	struct use *p;

	if (more <= h->room)
		return 0;
	p = realloc(h->use, more * sizeof(*p));
	if (!p)
		return -ENOMEM;
	h->use = p;
	h->room = more;
	return 0;
}

int hash_draw(struct hash *h, const struct batch *b, long micro)
{
	int err = grow(h);

	for (long i = 0; i < h->per_batch && !err; i++)
		if (b->grams[i] >= 0)
			h->use[h->uses++] = (struct use){
			        b->grams[i], micro * h->per_batch + i};
	return err;
}

static int by_row(const void *a, const void *b)
{
	const struct use *x = a, *y = b;

	if (x->row != y->row)
		return x->row < y->row ? -1 : 1;
	return x->at < y->at ? -1 : x->at > y->at;
}

static void *again(void *old, size_t n, size_t size)
{
	free(old);
	return calloc(n, size);
}

static bool begins(const struct hash *h, long i)
{
	return !i || h->use[i].row != h->use[i - 1].row;
}

int hash_sort(struct hash *h, const struct model *m)
{
	long rows = 0;

	qsort(h->use, h->uses, sizeof(*h->use), by_row);
	for (long i = 0; i < h->uses; i++)
		rows += begins(h, i);
	h->first = again(h->first, rows + 1, sizeof(*h->first));
	h->next = again(h->next, rows + 1, sizeof(*h->next));
	h->grad = again(h->grad, rows * m->shape.hidden + 1, sizeof(*h->grad));
	if (!h->first || !h->next || !h->grad)
		return -ENOMEM;
	h->rows = 0;
	for (long i = 0; i < h->uses; i++)
		if (begins(h, i))
			h->first[h->rows++] = i;
	h->first[h->rows] = h->uses;
	memcpy(h->next, h->first, rows * sizeof(*h->next));
	return 0;
}

/* What D_OUT holds after all layers is the gradient of the sum that the
 * table's rows went into. */
void hash_back(struct hash *h, const struct model *m, long micro)
{
	struct view d = model_view(m, BACKS, T_D_OUT, 0);
	long width = m->shape.hidden, end = (micro + 1) * h->per_batch;

#pragma omp parallel for schedule(static)
	for (long i = 0; i < h->rows; i++) {
		float *grad = h->grad + i * width, *buffer = scratch();

		for (; h->next[i] < h->first[i + 1]; h->next[i]++) {
			long at = h->use[h->next[i]].at;
			long r = at % h->per_batch / GRAMS;

			if (at >= end)
				break;
			kernel->axpy(grad, 1,
			             view_open(d, r * width, width, buffer),
			             width);
		}
	}
}

double hash_square(const struct hash *h, const struct model *m)
{
	return square_sum(h->grad, h->rows * m->shape.hidden);
}

static void row_step(float *p, float *square, const float *g, long width,
                     float rate, float scale)
{
	for (long c = 0; c < width; c++) {
		float d = g[c] * scale;

		square[c] += d * d;
		p[c] -= rate * d / (sqrtf(square[c]) + 1e-8f);
	}
}

void hash_apply(struct hash *h, struct model *m, const struct schedule *s,
                double norm)
{
	float *table = model_at(m, TABLE, T_GRAMS, 0);
	float *squares = model_at(m, SQUARES, T_GRAMS, 0);
	float scale = schedule_scale(s, norm);
	long width = m->shape.hidden;

#pragma omp parallel for schedule(static)
	for (long i = 0; i < h->rows; i++) {
		long at = h->use[h->first[i]].row * width;

		row_step(table + at, squares + at, h->grad + i * width, width,
		         s->rate, scale);
	}
}

void hash_close(struct hash *h)
{
	free(h->use);
	free(h->first);
	free(h->next);
	free(h->grad);
	*h = (struct hash){0};
}
