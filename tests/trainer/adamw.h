/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Gradient norm and AdamW, each one call a tensor.
 */
#ifndef ADAMW_H
#define ADAMW_H

#include "model.h"

struct schedule {
	double rate, clip; /* clip 0: off */
};

/* Updates the weights from their gradients; step counts from 1. Returns the
 * norm of the gradient before clipping. */
double adamw_step(struct model *, const struct schedule *, long step);

#endif
