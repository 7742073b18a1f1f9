/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Splits a matrix product over the threads, along the longer side of C.
 */
#include "matmul.h"

#include <errno.h>
#include <omp.h>
#include <stdlib.h>
#include "kernel.h"
#include "layers.h"

static float *scratch; /* GEMM_SCRATCH floats for each thread */

int matmul_open(int threads)
{
	size_t bytes = sizeof(float) * GEMM_SCRATCH * threads;

	scratch = aligned_alloc(4096, bytes);
	return scratch ? 0 : -ENOMEM;
}

void matmul_close(void)
{
	free(scratch);
	scratch = NULL;
}

/* The who-th of `of` equal runs of whole tiles in [0, n). */
static void share(int n, int tile, int who, int of, int *from, int *to)
{
	int tiles = (n + tile - 1) / tile;

	*from = (long)tiles * who / of * tile;
	*to = (long)tiles * (who + 1) / of * tile;
	if (*to > n)
		*to = n;
}

static void multiply(const struct gemm *g)
{
	bool by_rows = g->m / kernel->tile_rows > g->n / kernel->tile_cols;

#pragma omp parallel
	{
		struct rect r = {0, g->m, 0, g->n};
		int who = omp_get_thread_num(), of = omp_get_num_threads();

		if (by_rows)
			share(g->m, kernel->tile_rows, who, of, &r.top,
			      &r.bottom);
		else
			share(g->n, kernel->tile_cols, who, of, &r.left,
			      &r.right);
		kernel->gemm(g, &r, scratch + (size_t)GEMM_SCRATCH * who);
	}
}

void linear(const struct linear *l, float *y, const float *x, const float *w,
            const float *bias)
{
	multiply(&(struct gemm){
	        .m = l->rows,
	        .n = l->out,
	        .k = l->in,
	        .a = x,
	        .a_row = l->in,
	        .a_col = 1,
	        .b = w,
	        .b_row = 1,
	        .b_col = l->in,
	        .c = y,
	        .ldc = l->out,
	        .bias = bias,
	});
}

void linear_back_input(const struct linear *l, float *dx, const float *dy,
                       const float *w)
{
	multiply(&(struct gemm){
	        .m = l->rows,
	        .n = l->in,
	        .k = l->out,
	        .a = dy,
	        .a_row = l->out,
	        .a_col = 1,
	        .b = w,
	        .b_row = l->in,
	        .b_col = 1,
	        .c = dx,
	        .ldc = l->in,
	});
}

void linear_back_weight(const struct linear *l, float *dw, float *dbias,
                        const float *dy, const float *x, bool add)
{
	multiply(&(struct gemm){
	        .m = l->out,
	        .n = l->in,
	        .k = l->rows,
	        .a = dy,
	        .a_row = 1,
	        .a_col = l->out,
	        .b = x,
	        .b_row = l->in,
	        .b_col = 1,
	        .c = dw,
	        .ldc = l->in,
	        .add = add,
	});
	if (dbias)
		sum_columns(dbias, dy, l->rows, l->out, add);
}
