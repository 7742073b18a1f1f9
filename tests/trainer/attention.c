/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Causal attention. Threads share out the heads; nothing of one head is
 * written by two. Of a query's probabilities only those up to its own place
 * are ever written or read. In bf16 a head is widened as a whole, so that
 * gradients add up in float; scores, probabilities and their gradients are
 * rounded on the way, as they are where each step is a kernel of its own.
 */
#include "layers.h"

#include <math.h>
#include <string.h>
#include "kernel.h"
#include "scratch.h"

/* One head of one sequence: q, k, v of a place are `step` apart. */
struct head {
	int seq, width;
	long step, out_step;
	float scale;
	long in, out, probs; /* where it begins in each array */
	long k, v;           /* from q */
};

static struct head head_at(const struct shape *s, int i)
{
	int width = s->hidden / s->heads, b = i / s->heads, h = i % s->heads;

	return (struct head){
	        .seq = s->seq,
	        .width = width,
	        .step = 3L * s->hidden,
	        .out_step = s->hidden,
	        .scale = 1 / sqrtf(width),
	        .in = 3L * s->hidden * s->seq * b + h * width,
	        .out = (long)s->hidden * s->seq * b + h * width,
	        .probs = (long)s->seq * s->seq * i,
	        .k = s->hidden,
	        .v = 2L * s->hidden,
	};
}

/* A head by itself, as it lies in scratch. */
static struct head alone(const struct head *h)
{
	struct head a = *h;

	a.step = h->width;
	a.k = (long)h->seq * h->width;
	a.v = 2 * a.k;
	return a;
}

/* The buffers of a head in bf16. */
struct buffers {
	float *in, *din, *probs, *dprobs, *out;
};

static struct buffers buffers_of(const struct head *h)
{
	long all = 3L * h->seq * h->width;
	float *at = scratch();

	return (struct buffers){at, at + all, at + 2 * all,
	                        at + 2 * all + h->seq,
	                        at + 2 * all + 2 * h->seq};
}

long attention_scratch(const struct shape *s)
{
	long width = s->hidden / s->heads;

	return 6 * s->seq * width + 2L * s->seq + width;
}

/* q, k and v from or to where they lie in the array. */
static void gather(const struct head *h, float *to, struct view qkv)
{
	for (int part = 0; part < 3; part++)
		for (int t = 0; t < h->seq; t++, to += h->width)
			view_open(qkv, h->in + t * h->step + part * h->k,
			          h->width, to);
}

static void scatter(const struct head *h, struct view qkv, const float *from)
{
	for (int part = 0; part < 3; part++)
		for (int t = 0; t < h->seq; t++, from += h->width)
			view_close(qkv, h->in + t * h->step + part * h->k,
			           h->width, from);
}

/* p, a row of probs, becomes the attention of place t to places 0..t. */
static void weigh(const struct head *h, struct view probs, float *p,
                  const float *in, int t)
{
	const float *q = in + t * h->step;
	long at = h->probs + (long)t * h->seq;
	float max = -INFINITY, sum;

	for (int j = 0; j <= t; j++)
		p[j] = h->scale *
		       kernel->dot(q, in + j * h->step + h->k, h->width);
	view_settle(probs, at, t + 1, p);
	for (int j = 0; j <= t; j++)
		max = p[j] > max ? p[j] : max;
	sum = kernel->softmax(p, max, t + 1);
	for (int j = 0; j <= t; j++)
		p[j] /= sum;
	view_settle(probs, at, t + 1, p);
}

/* in: the head's q of place 0. */
static void head_forward(const struct head *h, struct view mix,
                         struct view probs, const float *in,
                         const struct buffers *b)
{
	for (int t = 0; t < h->seq; t++) {
		long at = h->out + t * h->out_step;
		float *p = view_blank(probs, h->probs + (long)t * h->seq,
		                      b->probs);
		float *y = view_blank(mix, at, b->out);

		weigh(h, probs, p, in, t);
		memset(y, 0, h->width * sizeof(*y));
		for (int j = 0; j <= t; j++)
			kernel->axpy(y, p[j], in + j * h->step + h->v,
			             h->width);
		view_close(mix, at, h->width, y);
	}
}

void attention(const struct shape *s, struct view mix, struct view probs,
               struct view qkv)
{
#pragma omp parallel for schedule(static)
	for (int i = 0; i < s->batch * s->heads; i++) {
		struct head h = head_at(s, i), a = alone(&h);
		struct buffers b = buffers_of(&h);

		if (qkv.narrow) {
			gather(&h, b.in, qkv);
			head_forward(&a, mix, probs, b.in, &b);
		} else {
			head_forward(&h, mix, probs, (float *)qkv.at + h.in,
			             &b);
		}
	}
}

static void clear(const struct head *h, float *din)
{
	for (int t = 0; t < h->seq; t++, din += h->step) {
		memset(din, 0, h->width * sizeof(*din));
		memset(din + h->k, 0, h->width * sizeof(*din));
		memset(din + h->v, 0, h->width * sizeof(*din));
	}
}

/* dv, and dp: the gradient of the scores of place t. */
static void unweigh(const struct head *h, float *din, struct view dprobs,
                    float *dp, const float *dy, const float *p, const float *in,
                    int t)
{
	long at = h->probs + (long)t * h->seq;
	float mean;

	for (int j = 0; j <= t; j++) {
		dp[j] = kernel->dot(dy, in + j * h->step + h->v, h->width);
		kernel->axpy(din + j * h->step + h->v, p[j], dy, h->width);
	}
	view_settle(dprobs, at, t + 1, dp);
	mean = kernel->dot(p, dp, t + 1);
	for (int j = 0; j <= t; j++)
		dp[j] = p[j] * (dp[j] - mean) * h->scale;
	view_settle(dprobs, at, t + 1, dp);
}

/* What the passes of a head backwards take; in and din lie alike. */
struct head_arrays {
	struct view dprobs, dmix, probs;
	const float *in;
	float *din;
};

static void head_back(const struct head *h, const struct head_arrays *d,
                      const struct buffers *b)
{
	clear(h, d->din);
	for (int t = 0; t < h->seq; t++) {
		long at = h->probs + (long)t * h->seq;
		const float *p = view_open(d->probs, at, t + 1, b->probs);
		float *dp = view_blank(d->dprobs, at, b->dprobs);
		const float *dy = view_open(d->dmix, h->out + t * h->out_step,
		                            h->width, b->out);

		unweigh(h, d->din, d->dprobs, dp, dy, p, d->in, t);
		for (int j = 0; j <= t; j++) {
			long k = j * h->step + h->k, q = t * h->step;

			kernel->axpy(d->din + q, dp[j], d->in + k, h->width);
			kernel->axpy(d->din + k, dp[j], d->in + q, h->width);
		}
	}
}

void attention_back(const struct shape *s, struct view dqkv, struct view dprobs,
                    struct view dmix, struct view probs, struct view qkv)
{
#pragma omp parallel for schedule(static)
	for (int i = 0; i < s->batch * s->heads; i++) {
		struct head h = head_at(s, i), a = alone(&h);
		struct buffers b = buffers_of(&h);
		struct head_arrays d = {dprobs, dmix, probs, b.in, b.din};

		if (qkv.narrow) {
			gather(&h, b.in, qkv);
			head_back(&a, &d, &b);
			scatter(&h, dqkv, b.din);
		} else {
			d.in = (float *)qkv.at + h.in;
			d.din = (float *)dqkv.at + h.in;
			head_back(&h, &d, &b);
		}
	}
}
