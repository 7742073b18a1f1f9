/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What host and kernels tell each other, besides plain pointers and numbers.
 * Compiled by the C compiler, by nvcc and, for CPU modules, by g++.
 */
#ifndef LAUNCH_H
#define LAUNCH_H

/*
 * Matrix products C[m][n] = alpha A[m][k] B[k][n], a block of the grid's z for
 * each head of each sequence. Strides are in elements; where A or B lies with
 * k along its rows, lda or ldb is the distance of two rows of k.
 */
struct gemm_shape {
	int m, n, k;
	int lda, ldb, ldc;
	int heads; /* z = sequence * heads + head */
	long long a_head, b_head, c_head;
	long long a_seq, b_seq, c_seq;
	float alpha;
	int causal; /* columns beyond the row are not wanted */
};

/* Threads of a block, and k terms that a block takes at a time. */
enum { GEMM_THREADS = 256, GEMM_SIDE = 16, GEMM_DEPTH = 16 };

/* Tiles are GEMM_SIDE times this wide and high. */
enum { GEMM_SMALL = 4, GEMM_LARGE = 8 };

/* Blocks for all that is not a product. A warp has a row, or a thread an
 * element; COLUMNS: 32 columns by 8 groups of rows. */
enum { WARP = 32, ROW_THREADS = 128, FLAT_THREADS = 256, FLAT_EACH = 4 };
enum { COLUMN_GROUPS = 8 };

/* A tensor's sum of squares comes in parts of so many elements, or in this
 * many parts. */
enum { NORM_EACH = 8192, NORM_PARTS = 256 };

/* Of a step, from the host. */
struct step_in {
	float rate, clip; /* clip 0: off */
	float fix1, fix2; /* 1 / (1 - beta^step) */
	float unscale;    /* 1 / loss scale */
};

/* Of a step, to the host. */
struct step_out {
	double loss; /* sum of the micro-batches' means */
	double norm; /* of the gradient, before clipping */
	float scale; /* of the gradient: clipping */
};

#endif
