/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The text, and batches of windows drawn from it.
 */
#ifndef DATA_H
#define DATA_H

#include <stddef.h>
#include <stdint.h>
#include "model.h"

struct text {
	uint8_t *bytes;
	size_t len;
};

/* n-grams of a hashed table that end at a byte: one of each length. */
enum { GRAM_MIN = 2, GRAM_MAX = 4, GRAMS = GRAM_MAX - GRAM_MIN + 1 };

struct batch {
	uint8_t *in, *want; /* [batch][seq]; want is in, one byte on */
	int64_t *grams;     /* rows of the table, GRAMS a byte; or NULL */
};

/* -errno */
int text_read(struct text *, const char *path);
void text_close(struct text *);

int batch_open(struct batch *, const struct shape *);
void batch_close(struct batch *);

/* The n-th batch for this seed. The text holds more than seq bytes. */
void batch_draw(struct batch *, const struct shape *, const struct text *,
                uint64_t seed, uint64_t n);

#endif
