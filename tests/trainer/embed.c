/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Embedding of bytes and places, and of the n-grams that end at a byte.
 */
#include "layers.h"

#include <string.h>
#include "kernel.h"
#include "scratch.h"

enum { STRIP = 64 };

static void add_grams(float *y, const float *table, const int64_t *grams,
                      long width)
{
	for (int i = 0; i < GRAMS; i++)
		if (grams[i] >= 0)
			kernel->axpy(y, 1, table + grams[i] * width, width);
}

void embed(const struct shape *s, struct view out, struct view token,
           struct view place, const float *table, const struct batch *batch)
{
	long width = s->hidden;

#pragma omp parallel for schedule(static)
	for (long r = 0; r < shape_rows(s); r++) {
		float *buffer = scratch();
		const float *a = view_open(token, batch->in[r] * width, width,
		                           buffer);
		const float *b = view_open(place, r % s->seq * width, width,
		                           buffer + width);
		float *y = view_blank(out, r * width, buffer + 2 * width);

		for (int c = 0; c < width; c++)
			y[c] = a[c] + b[c];
		if (batch->grams)
			add_grams(y, table, batch->grams + r * GRAMS, width);
		view_close(out, r * width, width, y);
	}
}

/* Threads share out the columns: two rows may hold the same byte. */
void embed_back(const struct shape *s, float *dtoken, float *dplace,
                struct view dout, const uint8_t *in, bool add)
{
	long width = s->hidden;

	if (!add) {
		memset(dtoken, 0, VOCAB * width * sizeof(float));
		memset(dplace, 0, s->seq * width * sizeof(float));
	}
#pragma omp parallel for schedule(static)
	for (long c = 0; c < width; c += STRIP) {
		long n = width - c < STRIP ? width - c : STRIP;

		for (int r = 0; r < shape_rows(s); r++) {
			float strip[STRIP];
			const float *d =
			        view_open(dout, r * width + c, n, strip);

			kernel->axpy(dtoken + in[r] * width + c, 1, d, n);
			kernel->axpy(dplace + r % s->seq * width + c, 1, d, n);
		}
	}
}
