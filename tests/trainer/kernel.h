/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The inner loops that are worth vectors, compiled once for each instruction
 * set. All of them run on the calling thread; callers split the work.
 */
#ifndef KERNEL_H
#define KERNEL_H

#include <stdbool.h>
#include "bf16.h"

/*
 * C[m][n] = A[m][k] B[k][n] + bias[n], or C += A B where add is set.
 * a_row, a_col, b_row, b_col are the distances between neighbours, so that
 * a transposed operand costs nothing; the rows of C are ldc apart.
 */
struct gemm {
	int m, n, k;
	const void *a;
	long a_row, a_col;
	const void *b;
	long b_row, b_col;
	void *c;
	long ldc;
	const void *bias; /* or NULL */
	bool add;
	/* Of gemm_narrow only: C is float; what is added to C, lies as C. */
	bool full;
	const bf16 *plus; /* or NULL */
};

/* Blocking: a thread packs GEMM_M x GEMM_K of A for its second-level cache
 * and GEMM_K x a tile's width of B for its first. GEMM_M is a multiple of
 * every tile height. */
enum { GEMM_M = 288, GEMM_K = 256, GEMM_WIDE = 32 };
#define GEMM_SCRATCH (GEMM_K * (GEMM_M + GEMM_WIDE))

/* In bf16 operands take half of that, but sums of GEMM_COLS columns stay in
 * scratch until they are complete: rounding comes once, at the end. */
enum { GEMM_COLS = 256 };
#define GEMM_NARROW_SCRATCH (GEMM_SCRATCH / 2 + GEMM_M * GEMM_COLS)

struct rect {
	int top, bottom, left, right;
};

struct adamw {
	float rate, beta1, beta2, eps, decay;
	float fix1, fix2; /* 1 / (1 - beta^step) */
	float scale;      /* of the gradient: clipping */
};

struct kernel {
	const char *name;
	int tile_rows, tile_cols;
	/* The part of C inside rect; scratch holds GEMM_SCRATCH floats. */
	void (*gemm)(const struct gemm *, const struct rect *, float *scratch);
	/* A, B and bias in bf16, C as well unless full. Every set makes the
	 * same bits. Scratch holds GEMM_NARROW_SCRATCH floats. */
	void (*gemm_narrow)(const struct gemm *, const struct rect *,
	                    float *scratch);
	void (*widen)(float *y, const bf16 *x, long n);
	void (*narrow)(bf16 *y, const float *x, long n);
	float (*sum)(const float *x, long n);
	float (*dot)(const float *x, const float *y, long n);
	/* y += a x */
	void (*axpy)(float *y, float a, const float *x, long n);
	/* x = e^(x - max); returns the sum. */
	float (*softmax)(float *x, float max, long n);
	void (*gelu)(float *y, const float *x, long n);
	/* dy *= gelu'(x) */
	void (*gelu_back)(float *dy, const float *x, long n);
	void (*adamw)(const struct adamw *, float *p, const float *g, float *m,
	              float *v, long n);
};

extern const struct kernel kernel_avx512_bf16, kernel_avx512, kernel_avx2;
extern const struct kernel kernel_base;

/* In use; the best that this CPU runs once kernel_pick(0) has been called. */
extern const struct kernel *kernel;

/* The n-th best, or false where there are no more. */
bool kernel_pick(int n);

#endif
