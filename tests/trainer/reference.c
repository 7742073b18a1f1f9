/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One token at a time, no blocking, no threads.
 */
#include "reference.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

struct ref {
	const struct model *m;
	double *const *w;
	int layer;
	int width, seq;
};

static const double *w(const struct ref *r, enum tensor_id t)
{
	return r->w[r->m->first[t] + r->layer * r->m->stride[t]];
}

static void norm(const struct ref *r, double *y, const double *x,
                 enum tensor_id id)
{
	double mean = 0, square = 0;

	for (int i = 0; i < r->width; i++)
		mean += x[i] / r->width;
	for (int i = 0; i < r->width; i++)
		square += (x[i] - mean) * (x[i] - mean) / r->width;
	for (int i = 0; i < r->width; i++)
		y[i] = (x[i] - mean) / sqrt(square + 1e-5) * w(r, id)[i] +
		       w(r, id + 1)[i];
}

static void linear(const struct ref *r, double *y, const double *x, int out,
                   int in, enum tensor_id id)
{
	for (int o = 0; o < out; o++) {
		y[o] = id == T_HEAD_W ? 0 : w(r, id + 1)[o];
		for (int i = 0; i < in; i++)
			y[o] += w(r, id)[o * in + i] * x[i];
	}
}

/* Head h of place t; qkv is [seq][3 width]. */
static void look(const struct ref *r, double *y, const double *qkv, int t,
                 int h)
{
	int n = r->width / r->m->shape.heads, step = 3 * r->width;
	const double *q = qkv + t * step + h * n;
	double *p = calloc(t + 1, sizeof(*p)), sum = 0;

	for (int j = 0; j <= t; j++) {
		const double *k = qkv + j * step + r->width + h * n;

		for (int i = 0; i < n; i++)
			p[j] += q[i] * k[i] / sqrt(n);
		p[j] = exp(p[j]);
		sum += p[j];
	}
	for (int i = 0; i < n; i++)
		y[h * n + i] = 0;
	for (int j = 0; j <= t; j++)
		for (int i = 0; i < n; i++)
			y[h * n + i] +=
			        p[j] / sum *
			        qkv[j * step + 2 * r->width + h * n + i];
	free(p);
}

static void attend(const struct ref *r, double *x)
{
	int n = r->width;
	double *qkv = calloc(3L * n * r->seq, sizeof(*qkv));
	double tmp[n], mix[n];

	for (int t = 0; t < r->seq; t++) {
		norm(r, tmp, x + t * n, T_NORM1_W);
		linear(r, qkv + 3 * t * n, tmp, 3 * n, n, T_QKV_W);
	}
	for (int t = 0; t < r->seq; t++) {
		for (int h = 0; h < r->m->shape.heads; h++)
			look(r, mix, qkv, t, h);
		linear(r, tmp, mix, n, n, T_PROJ_W);
		for (int i = 0; i < n; i++)
			x[t * n + i] += tmp[i];
	}
	free(qkv);
}

static void feed(const struct ref *r, double *x)
{
	int n = r->width;
	double tmp[n], up[4 * n];

	norm(r, tmp, x, T_NORM2_W);
	linear(r, up, tmp, 4 * n, n, T_UP_W);
	for (int i = 0; i < 4 * n; i++)
		up[i] *= 0.5 * (1 + tanh(sqrt(2 / M_PI) *
		                         (up[i] + 0.044715 * pow(up[i], 3))));
	linear(r, tmp, up, n, 4 * n, T_DOWN_W);
	for (int i = 0; i < n; i++)
		x[i] += tmp[i];
}

static double surprise(const struct ref *r, const double *x, int want)
{
	double tmp[r->width], logits[VOCAB], sum = 0;

	norm(r, tmp, x, T_NORM_W);
	linear(r, logits, tmp, VOCAB, r->width, T_HEAD_W);
	for (int c = 0; c < VOCAB; c++)
		sum += exp(logits[c]);
	return log(sum) - logits[want];
}

static void add_grams(const struct ref *r, double *x, const int64_t *grams)
{
	const double *table = r->w[r->m->list[WEIGHT].n];

	for (int g = 0; g < GRAMS; g++)
		for (int i = 0; i < r->width && grams[g] >= 0; i++)
			x[i] += table[grams[g] * r->width + i];
}

/* The one that begins at `from` in the batch. */
static double sequence(struct ref *r, const struct batch *b, int from)
{
	const uint8_t *in = b->in + from, *want = b->want + from;
	int n = r->width;
	double *x = calloc((size_t)n * r->seq, sizeof(*x)), sum = 0;

	r->layer = 0;
	for (int t = 0; t < r->seq; t++)
		for (int i = 0; i < n; i++)
			x[t * n + i] = w(r, T_TOKEN)[in[t] * n + i] +
			               w(r, T_PLACE)[t * n + i];
	for (int t = 0; t < r->seq && b->grams; t++)
		add_grams(r, x + t * n, b->grams + (from + t) * GRAMS);
	for (; r->layer < r->m->shape.layers; r->layer++) {
		attend(r, x);
		for (int t = 0; t < r->seq; t++)
			feed(r, x + t * n);
	}
	r->layer = 0;
	for (int t = 0; t < r->seq; t++)
		sum += surprise(r, x + t * n, want[t]);
	free(x);
	return sum;
}

double reference_loss(const struct model *m, double *const *w,
                      const struct batch *b)
{
	const struct shape *s = &m->shape;
	struct ref r = {m, w, 0, s->hidden, s->seq};
	double sum = 0;

	for (int i = 0; i < s->batch; i++)
		sum += sequence(&r, b, i * s->seq);
	return sum / shape_rows(s);
}
