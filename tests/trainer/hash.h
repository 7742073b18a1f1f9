/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A sparse layer: the n-grams that end at a byte are hashed to rows of a
 * table, which are added to the byte's embedding. A step touches only the
 * rows that its text uses; each has its own rate, by Adagrad.
 */
#ifndef HASH_H
#define HASH_H

#include "adamw.h"
#include "data.h"
#include "model.h"

/* One n-gram at one place of a step: its row, and which it is of all the
 * n-grams of the step's micro-batches, in order. */
struct use {
	int64_t row, at;
};

/* What a step uses, and the gradients of that. */
struct hash {
	long per_batch; /* n-grams of a micro-batch */
	struct use *use;
	long uses, room;
	long *first, *next; /* of each row used: its uses; those not yet done */
	long rows;
	float *grad; /* one for each row used */
};

/* -errno. A step is hash_begin, hash_draw for each micro-batch, hash_sort;
 * then hash_back for each; then the two of the optimizer. */
void hash_begin(struct hash *, const struct model *);
int hash_draw(struct hash *, const struct batch *, long micro);
int hash_sort(struct hash *, const struct model *);
void hash_back(struct hash *, const struct model *, long micro);
double hash_square(const struct hash *, const struct model *);
void hash_apply(struct hash *, struct model *, const struct schedule *,
                double norm);
void hash_close(struct hash *);

/* The rows that the n-grams of a batch belong to, -1 where a sequence has
 * not begun. */
void hash_grams(const struct model *, struct batch *);

#endif
