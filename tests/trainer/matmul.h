/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The three products of a linear layer y = x w^T + b, w being [out][in].
 */
#ifndef MATMUL_H
#define MATMUL_H

#include <stdbool.h>

/* Once, before the others; -errno. */
int matmul_open(int threads);
void matmul_close(void);

struct linear {
	int rows, in, out; /* rows: tokens */
};

void linear(const struct linear *, float *y, const float *x, const float *w,
            const float *bias);
void linear_back_input(const struct linear *, float *dx, const float *dy,
                       const float *w);
/* add: onto what dw and dbias hold. */
void linear_back_weight(const struct linear *, float *dw, float *dbias,
                        const float *dy, const float *x, bool add);

#endif
