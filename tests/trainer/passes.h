/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The forward and the backward pass of the whole model.
 */
#ifndef PASSES_H
#define PASSES_H

#include <stdbool.h>
#include "data.h"
#include "model.h"

/* Mean loss; leaves the gradient of the logits, times scale, for backward. */
double forward(struct model *, const struct batch *, float scale);

/* Fills the gradients, or adds to them. */
void backward(struct model *, const struct batch *, bool add);

/* What layer i makes of x, once more: its activations but for OUT. */
void forward_again(struct model *, int i, struct view x);

/* Normalisation with weights at T_..._W and T_..._B. */
struct norm norm_of(const struct model *, enum tensor_id w, enum tensor_id stat,
                    int layer);

#endif
