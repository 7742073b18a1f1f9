/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Softmax cross entropy with its gradient, in one pass over the logits.
 */
#include "layers.h"

#include <math.h>
#include <string.h>
#include "kernel.h"

static float loss_row(float *d, const float *logits, int want, float scale)
{
	float max = -INFINITY, sum;

	for (int c = 0; c < VOCAB; c++)
		max = logits[c] > max ? logits[c] : max;
	memcpy(d, logits, VOCAB * sizeof(*d));
	sum = kernel->softmax(d, max, VOCAB);
	for (int c = 0; c < VOCAB; c++)
		d[c] *= scale / sum;
	d[want] -= scale;
	return logf(sum) + max - logits[want];
}

void loss_rows(float *loss, struct view dlogits, const float *logits,
               const uint8_t *want, int rows, float scale)
{
#pragma omp parallel for schedule(static)
	for (long r = 0; r < rows; r++) {
		float row[VOCAB], *d = view_blank(dlogits, r * VOCAB, row);

		loss[r] = loss_row(d, logits + r * VOCAB, want[r], scale);
		view_close(dlogits, r * VOCAB, VOCAB, d);
	}
}
