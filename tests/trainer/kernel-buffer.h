/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Arrays on the device with what should be in them, and the checks of
 * kernel-check that have a file of their own.
 */
#ifndef KERNEL_BUFFER_H
#define KERNEL_BUFFER_H

#include "gpu-layers.h"

/* An array on the device, and what is in it, or should be. */
struct buffer {
	CUdeviceptr at;
	double *v;
	long len;
	bool narrow;
	CUdeviceptr *home, before; /* of a weight: its place in the model */
};

enum { BUFFERS = 32 };

extern struct check {
	struct gpu gpu;
	struct gpu_model g;
	struct model m;
	struct buffer buffer[BUFFERS];
	int buffers;
	uint64_t stream; /* of random numbers */
	int failures;
} c;

/* Random values of the model's dtype; float whatever it is; by choice. */
struct buffer *typed(long len);
struct buffer *full(long len);
struct buffer *make(long len, bool narrow);
void drop_all(void);

/* v to the device, rounded to the type; the margin is spoilt. */
void upload(struct buffer *);
/* The device's values with v; and the margin. Where a NaN is wanted, anything
 * will do. */
void compare(const char *what, struct buffer *);
void report(const char *what, double error, double allowed);

/* kernel-products.c, kernel-adamw.c */
void check_linear(int in, int out);
void check_linear_back(int in, int out);
void check_large(void);
void check_adamw(bool clip);

#endif
