/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sums and element-wise functions over [rows][width].
 */
#include "layers.h"

#include <string.h>
#include "kernel.h"
#include "scratch.h"

enum { STRIP = 64, CHUNK = SCRATCH_CHUNK };

static long least(long a, long b)
{
	return a < b ? a : b;
}

void add_rows(float *y, const float *x, long len)
{
#pragma omp parallel for schedule(static)
	for (long i = 0; i < len; i++)
		y[i] += x[i];
}

/* Threads share out the columns, so that each sum goes down in order. */
void sum_columns(float *out, struct view x, int rows, int width, bool add)
{
#pragma omp parallel for schedule(static)
	for (int c = 0; c < width; c += STRIP) {
		int n = least(width - c, STRIP);
		float strip[STRIP];

		if (!add)
			memset(out + c, 0, n * sizeof(*out));
		for (long r = 0; r < rows; r++)
			kernel->axpy(out + c, 1.0f,
			             view_open(x, r * width + c, n, strip), n);
	}
}

void gelu(struct view y, struct view x, long len)
{
#pragma omp parallel for schedule(static)
	for (long i = 0; i < len; i += CHUNK) {
		long n = least(len - i, CHUNK);
		float *to = view_blank(y, i, scratch());

		kernel->gelu(to, view_open(x, i, n, scratch() + CHUNK), n);
		view_close(y, i, n, to);
	}
}

void gelu_back(struct view dy, struct view x, long len)
{
#pragma omp parallel for schedule(static)
	for (long i = 0; i < len; i += CHUNK) {
		long n = least(len - i, CHUNK);
		float *d = view_open(dy, i, n, scratch());

		kernel->gelu_back(d, view_open(x, i, n, scratch() + CHUNK), n);
		view_close(dy, i, n, d);
	}
}
