/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The loss of a model in double precision, written once more in the plainest
 * way, for the test to compare with.
 */
#ifndef REFERENCE_H
#define REFERENCE_H

#include "data.h"
#include "model.h"

/* w: the weights, one array a tensor of the list, and after them the table of
 * n-grams where the batch has them. */
double reference_loss(const struct model *, double *const *w,
                      const struct batch *);

#endif
