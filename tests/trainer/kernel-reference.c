/* SPDX-License-Identifier: Apache-2.0 */
/*
 * No blocking, no threads, no single precision.
 */
#include "kernel-reference.h"

#include <math.h>
#include <string.h>

static void one_product(double *c, const double *a, const double *b,
                        const double *bias, const double *plus,
                        const struct gemm_shape *s, bool a_k, bool b_k)
{
	for (int r = 0; r < s->m; r++)
		for (int q = 0; q < (s->causal ? r + 1 : s->n); q++) {
			long at = (long)r * s->ldc + q;
			double sum = 0;

			for (int k = 0; k < s->k; k++)
				sum += a[a_k ? (long)r * s->lda + k
				             : (long)k * s->lda + r] *
				       b[b_k ? (long)q * s->ldb + k
				             : (long)k * s->ldb + q];
			c[at] = s->alpha * sum + (bias ? bias[q] : 0) +
			        (plus ? plus[at] : 0);
		}
}

void ref_product(double *c, const double *a, const double *b,
                 const double *bias, const double *plus,
                 const struct gemm_shape *s, int batch, bool a_k, bool b_k)
{
	for (int z = 0; z < batch; z++) {
		int seq = z / s->heads, head = z % s->heads;
		long to = seq * s->c_seq + head * s->c_head;

		one_product(c + to, a + seq * s->a_seq + head * s->a_head,
		            b + seq * s->b_seq + head * s->b_head, bias,
		            plus ? plus + to : NULL, s, a_k, b_k);
	}
}

void ref_sum_columns(double *out, const double *x, int rows, int width)
{
	for (int r = 0; r < rows; r++)
		for (int c = 0; c < width; c++)
			out[c] += x[r * width + c];
}

static double inner(double x)
{
	return sqrt(2 / M_PI) * (x + 0.044715 * x * x * x);
}

double ref_gelu(double x)
{
	return 0.5 * x * (1 + tanh(inner(x)));
}

double ref_gelu_slope(double x)
{
	double t = tanh(inner(x));
	double slope = sqrt(2 / M_PI) * (1 + 3 * 0.044715 * x * x);

	return 0.5 * (1 + t) + 0.5 * x * (1 - t * t) * slope;
}

static void moments(double stat[2], const double *x, int width)
{
	double mean = 0, square = 0;

	for (int c = 0; c < width; c++)
		mean += x[c] / width;
	for (int c = 0; c < width; c++)
		square += (x[c] - mean) * (x[c] - mean) / width;
	stat[0] = mean;
	stat[1] = 1 / sqrt(square + 1e-5);
}

void ref_norm(double *y, double *stat, const double *x, const double *w,
              const double *bias, int rows, int width)
{
	for (int r = 0; r < rows; r++, y += width, x += width, stat += 2) {
		moments(stat, x, width);
		for (int c = 0; c < width; c++)
			y[c] = (x[c] - stat[0]) * stat[1] * w[c] + bias[c];
	}
}

void ref_norm_back(double *dx, double *dw, double *dbias, const double *dy,
                   const double *x, const double *w, int rows, int width)
{
	for (int r = 0; r < rows; r++, dx += width, dy += width, x += width) {
		double stat[2], flat = 0, tilt = 0;

		moments(stat, x, width);
		for (int c = 0; c < width; c++) {
			double n = (x[c] - stat[0]) * stat[1];

			flat += dy[c] * w[c] / width;
			tilt += dy[c] * w[c] * n / width;
			dw[c] += dy[c] * n;
			dbias[c] += dy[c];
		}
		for (int c = 0; c < width; c++)
			dx[c] += stat[1] * (dy[c] * w[c] - flat -
			                    (x[c] - stat[0]) * stat[1] * tilt);
	}
}

/* Of head i of all sequences: q, its place in mix, its weights. */
struct head {
	long q, mix, probs;
	int seq, width, step, out;
	double scale;
};

static struct head head_at(const struct shape *s, int i)
{
	int width = s->hidden / s->heads, b = i / s->heads, h = i % s->heads;

	return (struct head){
	        .q = 3L * s->hidden * s->seq * b + h * width,
	        .mix = (long)s->hidden * s->seq * b + h * width,
	        .probs = (long)s->seq * s->seq * i,
	        .seq = s->seq,
	        .width = width,
	        .step = 3 * s->hidden,
	        .out = s->hidden,
	        .scale = 1 / sqrt(width),
	};
}

static void weigh(const struct head *h, double *p, const double *q,
                  const double *k, int t)
{
	double sum = 0;

	for (int j = 0; j <= t; j++) {
		p[j] = 0;
		for (int i = 0; i < h->width; i++)
			p[j] += q[t * h->step + i] * k[j * h->step + i];
		p[j] = exp(p[j] * h->scale);
		sum += p[j];
	}
	for (int j = 0; j < h->seq; j++)
		p[j] = j <= t ? p[j] / sum : 0;
}

void ref_attention(const struct shape *s, double *mix, double *probs,
                   const double *qkv)
{
	for (int i = 0; i < s->batch * s->heads; i++) {
		struct head h = head_at(s, i);
		const double *q = qkv + h.q, *v = q + 2 * s->hidden;

		for (int t = 0; t < s->seq; t++) {
			double *p = probs + h.probs + (long)t * s->seq;
			double *y = mix + h.mix + t * h.out;

			weigh(&h, p, q, q + s->hidden, t);
			memset(y, 0, h.width * sizeof(*y));
			for (int j = 0; j <= t; j++)
				for (int c = 0; c < h.width; c++)
					y[c] += p[j] * v[j * h.step + c];
		}
	}
}

/* One query: what its output's gradient dy is to q, k and v. */
static void unweigh(const struct head *h, int hidden, double *dq,
                    const double *dy, const double *p, const double *q, int t)
{
	double *dk = dq + hidden, *dv = dk + hidden, dp[h->seq], mean = 0;
	const double *k = q + hidden, *v = k + hidden;

	for (int j = 0; j <= t; j++) {
		dp[j] = 0;
		for (int c = 0; c < h->width; c++) {
			dp[j] += dy[c] * v[j * h->step + c];
			dv[j * h->step + c] += p[j] * dy[c];
		}
		mean += p[j] * dp[j];
	}
	for (int j = 0; j <= t; j++)
		for (int c = 0; c < h->width; c++) {
			double d = p[j] * (dp[j] - mean) * h->scale;

			dq[t * h->step + c] += d * k[j * h->step + c];
			dk[j * h->step + c] += d * q[t * h->step + c];
		}
}

void ref_attention_back(const struct shape *s, double *dqkv, const double *dmix,
                        const double *probs, const double *qkv)
{
	memset(dqkv, 0, 3L * s->hidden * shape_rows(s) * sizeof(*dqkv));
	for (int i = 0; i < s->batch * s->heads; i++) {
		struct head h = head_at(s, i);

		for (int t = 0; t < s->seq; t++)
			unweigh(&h, s->hidden, dqkv + h.q,
			        dmix + h.mix + t * h.out,
			        probs + h.probs + (long)t * s->seq, qkv + h.q,
			        t);
	}
}

double ref_loss(double *d, const double *logits, int want, double scale)
{
	double sum = 0;

	for (int c = 0; c < VOCAB; c++)
		sum += exp(logits[c]);
	for (int c = 0; c < VOCAB; c++)
		d[c] = (exp(logits[c]) / sum - (c == want)) * scale;
	return log(sum) - logits[want];
}
