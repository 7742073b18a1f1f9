/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Causal attention. Threads share out the heads; nothing of one head is
 * written by two. Of a query's probabilities only those up to its own place
 * are ever written or read.
 */
#include "layers.h"

#include <math.h>
#include <string.h>
#include "kernel.h"

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

/* p becomes the attention of place t to places 0..t. */
static void weigh(const struct head *h, float *p, const float *in, int t)
{
	const float *q = in + t * h->step;
	float max = -INFINITY, sum;

	for (int j = 0; j <= t; j++) {
		p[j] = h->scale *
		       kernel->dot(q, in + j * h->step + h->k, h->width);
		max = p[j] > max ? p[j] : max;
	}
	sum = kernel->softmax(p, max, t + 1);
	for (int j = 0; j <= t; j++)
		p[j] /= sum;
}

static void head_forward(const struct head *h, float *out, float *probs,
                         const float *in)
{
	for (int t = 0; t < h->seq; t++) {
		float *p = probs + (long)t * h->seq;
		float *y = out + t * h->out_step;

		weigh(h, p, in, t);
		memset(y, 0, h->width * sizeof(*y));
		for (int j = 0; j <= t; j++)
			kernel->axpy(y, p[j], in + j * h->step + h->v,
			             h->width);
	}
}

void attention(const struct shape *s, float *mix, float *probs,
               const float *qkv)
{
#pragma omp parallel for schedule(static)
	for (int i = 0; i < s->batch * s->heads; i++) {
		struct head h = head_at(s, i);

		head_forward(&h, mix + h.out, probs + h.probs, qkv + h.in);
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
static void unweigh(const struct head *h, float *din, float *dp,
                    const float *dy, const float *p, const float *in, int t)
{
	float mean;

	for (int j = 0; j <= t; j++) {
		dp[j] = kernel->dot(dy, in + j * h->step + h->v, h->width);
		kernel->axpy(din + j * h->step + h->v, p[j], dy, h->width);
	}
	mean = kernel->dot(p, dp, t + 1);
	for (int j = 0; j <= t; j++)
		dp[j] = p[j] * (dp[j] - mean) * h->scale;
}

static void head_back(const struct head *h, float *din, float *dprobs,
                      const float *dout, const float *probs, const float *in)
{
	clear(h, din);
	for (int t = 0; t < h->seq; t++) {
		float *dp = dprobs + (long)t * h->seq;
		float *dq = din + t * h->step;
		const float *q = in + t * h->step;

		unweigh(h, din, dp, dout + t * h->out_step,
		        probs + (long)t * h->seq, in, t);
		for (int j = 0; j <= t; j++) {
			long k = j * h->step + h->k;

			kernel->axpy(dq, dp[j], in + k, h->width);
			kernel->axpy(din + k, dp[j], q, h->width);
		}
	}
}

void attention_back(const struct shape *s, float *dqkv, float *dprobs,
                    const float *dmix, const float *probs, const float *qkv)
{
#pragma omp parallel for schedule(static)
	for (int i = 0; i < s->batch * s->heads; i++) {
		struct head h = head_at(s, i);

		head_back(&h, dqkv + h.in, dprobs + h.probs, dmix + h.out,
		          probs + h.probs, qkv + h.in);
	}
}
