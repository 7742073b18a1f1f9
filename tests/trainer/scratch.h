/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Memory of each thread for what a layer needs while it runs.
 */
#ifndef SCRATCH_H
#define SCRATCH_H

#include "model.h"

/* Once, before the first layer; -errno. */
int scratch_open(int threads, const struct shape *);
void scratch_close(void);

/* Of the calling thread: room for a product, for SCRATCH_ROWS rows of any
 * width, or for one head of attention. */
float *scratch(void);

enum { SCRATCH_ROWS = 4, SCRATCH_CHUNK = 4096 };

/* Floats that attention.c takes for one head in bf16. */
long attention_scratch(const struct shape *);

#endif
