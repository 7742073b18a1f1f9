/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Splits a matrix product over the threads, along the longer side of C.
 */
#include "matmul.h"

#include <omp.h>
#include "kernel.h"
#include "layers.h"
#include "scratch.h"

/* The who-th of `of` equal runs of whole tiles in [0, n). */
static void share(int n, int tile, int who, int of, int *from, int *to)
{
	int tiles = (n + tile - 1) / tile;

	*from = (long)tiles * who / of * tile;
	*to = (long)tiles * (who + 1) / of * tile;
	if (*to > n)
		*to = n;
}

static void multiply(const struct gemm *g, bool narrow)
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
		(narrow ? kernel->gemm_narrow : kernel->gemm)(g, &r, scratch());
	}
}

/* In bf16, plus is added before the result is rounded, the only time. */
void linear(const struct linear *l, struct view y, struct view x, struct view w,
            struct view bias, struct view plus)
{
	multiply(
	        &(struct gemm){
	                .m = l->rows,
	                .n = l->out,
	                .k = l->in,
	                .a = x.at,
	                .a_row = l->in,
	                .a_col = 1,
	                .b = w.at,
	                .b_row = 1,
	                .b_col = l->in,
	                .c = y.at,
	                .ldc = l->out,
	                .bias = bias.at,
	                .full = !y.narrow,
	                .plus = w.narrow ? plus.at : NULL,
	        },
	        w.narrow);
	if (plus.at && !w.narrow)
		add_rows(y.at, plus.at, (long)l->rows * l->out);
}

void linear_back_input(const struct linear *l, struct view dx, struct view dy,
                       struct view w)
{
	multiply(
	        &(struct gemm){
	                .m = l->rows,
	                .n = l->in,
	                .k = l->out,
	                .a = dy.at,
	                .a_row = l->out,
	                .a_col = 1,
	                .b = w.at,
	                .b_row = l->in,
	                .b_col = 1,
	                .c = dx.at,
	                .ldc = l->in,
	        },
	        w.narrow);
}

void linear_back_weight(const struct linear *l, float *dw, float *dbias,
                        struct view dy, struct view x, bool add)
{
	multiply(
	        &(struct gemm){
	                .m = l->out,
	                .n = l->in,
	                .k = l->rows,
	                .a = dy.at,
	                .a_row = 1,
	                .a_col = l->out,
	                .b = x.at,
	                .b_row = l->in,
	                .b_col = 1,
	                .c = dw,
	                .ldc = l->in,
	                .add = add,
	                .full = true,
	        },
	        x.narrow);
	if (dbias)
		sum_columns(dbias, dy, l->rows, l->out, add);
}
