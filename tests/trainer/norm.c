/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Layer normalisation.
 */
#include "layers.h"

#include <math.h>
#include <string.h>
#include "kernel.h"
#include "scratch.h"

enum { STRIP = 64 };

static void forward_row(const struct norm *n, float *y, const float *x,
                        float *stat, float *buffer)
{
	const float *w = view_open(n->w, 0, n->width, buffer);
	const float *bias = view_open(n->bias, 0, n->width, buffer + n->width);
	float mean = kernel->sum(x, n->width) / n->width, scale;

	for (int c = 0; c < n->width; c++)
		y[c] = x[c] - mean;
	scale = 1 / sqrtf(kernel->dot(y, y, n->width) / n->width + 1e-5f);
	for (int c = 0; c < n->width; c++)
		y[c] = y[c] * scale * w[c] + bias[c];
	stat[0] = mean;
	stat[1] = scale;
}

void norm(const struct norm *n, struct view y, struct view x)
{
#pragma omp parallel for schedule(static)
	for (long r = 0; r < n->rows; r++) {
		float *buffer = scratch();
		long at = r * n->width;
		const float *v = view_open(x, at, n->width, buffer);
		float *to = view_blank(y, at, buffer + n->width);

		forward_row(n, to, v, n->stat + 2 * r, buffer + 2 * n->width);
		view_close(y, at, n->width, to);
	}
}

static void back_strip(const struct norm *n, struct view dy, struct view x,
                       int from, int width)
{
	float *dw = n->dw + from, *dbias = n->dbias + from;

	for (long r = 0; r < n->rows; r++) {
		float strip[2][STRIP];
		long at = r * n->width + from;
		const float *d = view_open(dy, at, width, strip[0]);
		const float *v = view_open(x, at, width, strip[1]);
		float mean = n->stat[2 * r], scale = n->stat[2 * r + 1];

		for (int c = 0; c < width; c++) {
			dw[c] += d[c] * ((v[c] - mean) * scale);
			dbias[c] += d[c];
		}
	}
}

/* Threads share out the columns, so that each sum goes down in order. */
static void back_weight(const struct norm *n, struct view dy, struct view x,
                        bool add)
{
	if (!add) {
		memset(n->dw, 0, n->width * sizeof(float));
		memset(n->dbias, 0, n->width * sizeof(float));
	}
#pragma omp parallel for schedule(static)
	for (int c = 0; c < n->width; c += STRIP)
		back_strip(n, dy, x, c,
		           n->width - c < STRIP ? n->width - c : STRIP);
}

static void back_row(const struct norm *n, float *dx, float *d, const float *x,
                     const float *stat, float *buffer)
{
	const float *w = view_open(n->w, 0, n->width, buffer);
	float mean = stat[0], scale = stat[1], flat, tilt;

	for (int c = 0; c < n->width; c++)
		d[c] *= w[c];
	flat = kernel->sum(d, n->width);
	tilt = (kernel->dot(d, x, n->width) - mean * flat) * scale / n->width;
	flat /= n->width;
	for (int c = 0; c < n->width; c++)
		dx[c] += scale * (d[c] - flat - (x[c] - mean) * scale * tilt);
}

void norm_back(const struct norm *n, struct view dx, struct view dy,
               struct view x, bool add)
{
	long width = n->width;

	back_weight(n, dy, x, add);
#pragma omp parallel for schedule(static)
	for (long r = 0; r < n->rows; r++) {
		float *buffer = scratch();
		long at = r * width;
		float *d = view_open(dy, at, width, buffer);
		float *to = view_open(dx, at, width, buffer + width);
		const float *v = view_open(x, at, width, buffer + 2 * width);

		back_row(n, to, d, v, n->stat + 2 * r, buffer + 3 * width);
		view_close(dx, at, width, to);
	}
}
