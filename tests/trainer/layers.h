/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the model is made of, besides matrix products. `rows` are tokens,
 * all arrays are [rows][width]. add: onto what the gradient holds. Views are
 * of the model's dtype: sums and functions are of floats, and what is kept
 * is rounded.
 */
#ifndef LAYERS_H
#define LAYERS_H

#include <stdbool.h>
#include <stdint.h>
#include "data.h"
#include "model.h"

/* rows.c */
void add_rows(float *y, const float *x, long len);
void sum_columns(float *out, struct view x, int rows, int width, bool add);
void gelu(struct view y, struct view x, long len);
void gelu_back(struct view dy, struct view x, long len); /* dy in place */

/* norm.c: layer normalisation; stat keeps mean and 1/deviation of a row. */
struct norm {
	int rows, width;
	struct view w, bias;
	float *dw, *dbias;
	float *stat;
};
void norm(const struct norm *, struct view y, struct view x);
/* dx += ...; dy is spoilt. */
void norm_back(const struct norm *, struct view dx, struct view dy,
               struct view x, bool add);

/* attention.c: causal, by head. */
void attention(const struct shape *, struct view mix, struct view probs,
               struct view qkv);
void attention_back(const struct shape *, struct view dqkv, struct view dprobs,
                    struct view dmix, struct view probs, struct view qkv);

/* embed.c; table: of hashed n-grams, where the batch has them. */
void embed(const struct shape *, struct view out, struct view token,
           struct view place, const float *table, const struct batch *);
void embed_back(const struct shape *, float *dtoken, float *dplace,
                struct view dout, const uint8_t *in, bool add);

/* loss.c: cross entropy of each row, and its gradient times scale. */
void loss_rows(float *loss, struct view dlogits, const float *logits,
               const uint8_t *want, int rows, float scale);

#endif
