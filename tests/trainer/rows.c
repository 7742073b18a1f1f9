/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sums and element-wise functions over [rows][width].
 */
#include "layers.h"

#include <string.h>
#include "kernel.h"

enum { STRIP = 64, CHUNK = 4096 };

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
void sum_columns(float *out, const float *x, int rows, int width, bool add)
{
#pragma omp parallel for schedule(static)
	for (int c = 0; c < width; c += STRIP) {
		int n = least(width - c, STRIP);

		if (!add)
			memset(out + c, 0, n * sizeof(*out));
		for (long r = 0; r < rows; r++)
			kernel->axpy(out + c, 1.0f, x + r * width + c, n);
	}
}

void gelu(float *y, const float *x, long len)
{
#pragma omp parallel for schedule(static)
	for (long i = 0; i < len; i += CHUNK)
		kernel->gelu(y + i, x + i, least(len - i, CHUNK));
}

void gelu_back(float *dy, const float *x, long len)
{
#pragma omp parallel for schedule(static)
	for (long i = 0; i < len; i += CHUNK)
		kernel->gelu_back(dy + i, x + i, least(len - i, CHUNK));
}
