/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Layer normalisation.
 */
#include "layers.h"

#include <math.h>
#include <string.h>
#include "kernel.h"

enum { STRIP = 64 };

static void forward_row(const struct norm *n, float *y, const float *x,
                        float *stat)
{
	float mean = kernel->sum(x, n->width) / n->width, scale;

	for (int c = 0; c < n->width; c++)
		y[c] = x[c] - mean;
	scale = 1 / sqrtf(kernel->dot(y, y, n->width) / n->width + 1e-5f);
	for (int c = 0; c < n->width; c++)
		y[c] = y[c] * scale * n->w[c] + n->bias[c];
	stat[0] = mean;
	stat[1] = scale;
}

void norm(const struct norm *n, float *y, const float *x)
{
#pragma omp parallel for schedule(static)
	for (long r = 0; r < n->rows; r++)
		forward_row(n, y + r * n->width, x + r * n->width,
		            n->stat + 2 * r);
}

static void back_strip(const struct norm *n, const float *dy, const float *x,
                       int from, int to)
{
	for (long r = 0; r < n->rows; r++) {
		const float *d = dy + r * n->width, *v = x + r * n->width;
		float mean = n->stat[2 * r], scale = n->stat[2 * r + 1];

		for (int c = from; c < to; c++) {
			n->dw[c] += d[c] * ((v[c] - mean) * scale);
			n->dbias[c] += d[c];
		}
	}
}

/* Threads share out the columns, so that each sum goes down in order. */
static void back_weight(const struct norm *n, const float *dy, const float *x,
                        bool add)
{
	if (!add) {
		memset(n->dw, 0, n->width * sizeof(float));
		memset(n->dbias, 0, n->width * sizeof(float));
	}
#pragma omp parallel for schedule(static)
	for (int c = 0; c < n->width; c += STRIP)
		back_strip(n, dy, x, c,
		           c + STRIP < n->width ? c + STRIP : n->width);
}

static void back_row(const struct norm *n, float *dx, float *d, const float *x,
                     const float *stat)
{
	float mean = stat[0], scale = stat[1], flat, tilt;

	for (int c = 0; c < n->width; c++)
		d[c] *= n->w[c];
	flat = kernel->sum(d, n->width);
	tilt = (kernel->dot(d, x, n->width) - mean * flat) * scale / n->width;
	flat /= n->width;
	for (int c = 0; c < n->width; c++)
		dx[c] += scale * (d[c] - flat - (x[c] - mean) * scale * tilt);
}

void norm_back(const struct norm *n, float *dx, float *dy, const float *x,
               bool add)
{
	back_weight(n, dy, x, add);
#pragma omp parallel for schedule(static)
	for (long r = 0; r < n->rows; r++)
		back_row(n, dx + r * n->width, dy + r * n->width,
		         x + r * n->width, n->stat + 2 * r);
}
