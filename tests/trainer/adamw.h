/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Gradient norm and AdamW, each one call a tensor.
 */
#ifndef ADAMW_H
#define ADAMW_H

#include "model.h"

struct schedule {
	double rate, clip; /* clip 0: off */
	double loss_scale; /* what all gradients are multiplied with */
};

/* The sum of squares, in an order that does not depend on the threads. */
double square_sum(const float *x, long len);

/* The same of the gradients of all weights. */
double adamw_square(const struct model *);

/* What undoes loss_scale, and clips where the norm, after that, is large. */
static inline double schedule_scale(const struct schedule *s, double norm)
{
	double clip = s->clip > 0 && norm > s->clip ? s->clip / norm : 1;

	return clip / s->loss_scale;
}

/* Updates the weights from their gradients; step counts from 1. */
void adamw_apply(struct model *, const struct schedule *, long step,
                 double norm);

#endif
