/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The three products of a linear layer y = x w^T + b, w being [out][in].
 */
#ifndef MATMUL_H
#define MATMUL_H

#include <stdbool.h>
#include "view.h"

struct linear {
	int rows, in, out; /* rows: tokens */
};

/* bias, plus: at may be NULL. plus lies as y does and is added to it. y may be
 * float where w is bf16: logits are. */
void linear(const struct linear *, struct view y, struct view x, struct view w,
            struct view bias, struct view plus);
void linear_back_input(const struct linear *, struct view dx, struct view dy,
                       struct view w);
/* add: onto what dw and dbias hold. */
void linear_back_weight(const struct linear *, float *dw, float *dbias,
                        struct view dy, struct view x, bool add);

#endif
