/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the model is made of, besides matrix products. `rows` are tokens,
 * all arrays are [rows][width]. add: onto what the gradient holds.
 */
#ifndef LAYERS_H
#define LAYERS_H

#include <stdbool.h>
#include <stdint.h>
#include "model.h"

/* rows.c */
void add_rows(float *y, const float *x, long len);
void sum_columns(float *out, const float *x, int rows, int width, bool add);
void gelu(float *y, const float *x, long len);
void gelu_back(float *dy, const float *x, long len); /* dy in place */

/* norm.c: layer normalisation; stat keeps mean and 1/deviation of a row. */
struct norm {
	int rows, width;
	const float *w, *bias;
	float *dw, *dbias;
	float *stat;
};
void norm(const struct norm *, float *y, const float *x);
/* dx += ...; dy is spoilt. */
void norm_back(const struct norm *, float *dx, float *dy, const float *x,
               bool add);

/* attention.c: causal, by head. */
void attention(const struct shape *, float *mix, float *probs,
               const float *qkv);
void attention_back(const struct shape *, float *dqkv, float *dprobs,
                    const float *dmix, const float *probs, const float *qkv);

/* embed.c */
void embed(const struct shape *, float *out, const float *token,
           const float *place, const uint8_t *in);
void embed_back(const struct shape *, float *dtoken, float *dplace,
                const float *dout, const uint8_t *in, bool add);

/* loss.c: cross entropy of each row, and its gradient times scale. */
void loss_rows(float *loss, float *dlogits, const float *logits,
               const uint8_t *want, int rows, float scale);

#endif
