/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Embedding of bytes and places.
 */
#include "layers.h"

#include <string.h>
#include "kernel.h"

enum { STRIP = 64 };

void embed(const struct shape *s, float *out, const float *token,
           const float *place, const uint8_t *in)
{
	long width = s->hidden;

#pragma omp parallel for schedule(static)
	for (int r = 0; r < shape_rows(s); r++) {
		const float *a = token + in[r] * width;
		const float *b = place + r % s->seq * width;

		for (int c = 0; c < width; c++)
			out[r * width + c] = a[c] + b[c];
	}
}

/* Threads share out the columns: two rows may hold the same byte. */
void embed_back(const struct shape *s, float *dtoken, float *dplace,
                const float *dout, const uint8_t *in, bool add)
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
			const float *d = dout + r * width + c;

			kernel->axpy(dtoken + in[r] * width + c, 1, d, n);
			kernel->axpy(dplace + r % s->seq * width + c, 1, d, n);
		}
	}
}
