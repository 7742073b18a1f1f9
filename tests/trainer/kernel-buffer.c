/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Each array has a margin behind it, for writes beyond its end to show.
 */
#include "kernel-buffer.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "rng.h"

enum { MARGIN = 64, SPOILT = 0xa5 };

struct check c;

static size_t bytes_of(const struct buffer *b)
{
	return (b->len + MARGIN) * (b->narrow ? 2 : 4);
}

static float widen(uint16_t bits)
{
	uint32_t word = (uint32_t)bits << 16;
	float f;

	memcpy(&f, &word, sizeof(f));
	return f;
}

static uint16_t round_to_bf16(float f)
{
	uint32_t word;

	memcpy(&word, &f, sizeof(word));
	return (word + 0x7fff + (word >> 16 & 1)) >> 16;
}

void upload(struct buffer *b)
{
	unsigned char *raw = malloc(bytes_of(b));

	memset(raw, SPOILT, bytes_of(b));
	for (long i = 0; i < b->len; i++) {
		float f = b->v[i];
		uint16_t half = round_to_bf16(f);

		if (b->narrow) {
			memcpy(raw + 2 * i, &half, sizeof(half));
			f = widen(half);
		} else {
			memcpy(raw + 4 * i, &f, sizeof(f));
		}
		b->v[i] = f;
	}
	gpu_put(&c.gpu, b->at, raw, bytes_of(b));
	gpu_wait(&c.gpu);
	free(raw);
}

struct buffer *make(long len, bool narrow)
{
	struct buffer *b = &c.buffer[c.buffers++];

	*b = (struct buffer){.len = len, .narrow = narrow};
	b->v = calloc(len, sizeof(*b->v));
	b->at = gpu_alloc(&c.gpu, BY_TENSOR, bytes_of(b));
	c.stream++;
	for (long i = 0; i < len; i++)
		b->v[i] = rng_normal(c.stream, i);
	upload(b);
	return b;
}

struct buffer *typed(long len)
{
	return make(len, c.m.shape.narrow);
}

struct buffer *full(long len)
{
	return make(len, false);
}

void drop_all(void)
{
	while (c.buffers) {
		struct buffer *b = &c.buffer[--c.buffers];

		if (b->home)
			*b->home = b->before;
		gpu_free(&c.gpu, BY_TENSOR, b->at);
		free(b->v);
	}
}

void report(const char *what, double error, double allowed)
{
	if (error <= allowed)
		return;
	printf("FAIL: %s, %s, hidden %d: error %.3g, allowed %.3g\n", what,
	       c.m.shape.narrow ? "bf16" : "f32", c.m.shape.hidden, error,
	       allowed);
	c.failures++;
}

/* The largest difference is told as part of the largest value. */
void compare(const char *what, struct buffer *b)
{
	unsigned char *raw = malloc(bytes_of(b));
	size_t size = b->narrow ? 2 : 4;
	double worst = 0, scale = 1e-30;

	gpu_get(&c.gpu, raw, b->at, bytes_of(b));
	gpu_wait(&c.gpu);
	for (long i = 0; i < b->len; i++) {
		uint16_t half;
		float f;

		memcpy(&half, raw + size * i, sizeof(half));
		memcpy(&f, raw + size * i, size);
		f = b->narrow ? widen(half) : f;
		scale = fmax(scale, fabs(b->v[i]));
		if (!isnan(b->v[i]) && !(fabs(f - b->v[i]) <= worst))
			worst = fabs(f - b->v[i]);
	}
	report(what, isnan(worst) ? INFINITY : worst / scale,
	       b->narrow ? 1e-2 : 1e-5);
	for (size_t i = size * b->len; i < bytes_of(b); i++)
		if (raw[i] != SPOILT) {
			report("writes beyond its end", 1, 0);
			break;
		}
	free(raw);
}
