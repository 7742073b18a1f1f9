/* SPDX-License-Identifier: Apache-2.0 */
/*
 * All matrix products, of kernel-check.
 */
#include <math.h>
#include <string.h>

#include "kernel-buffer.h"
#include "kernel-reference.h"

enum { HEADS = 7 };

void check_linear(int in, int out)
{
	int rows = shape_rows(&c.m.shape);
	struct buffer *x = typed((long)rows * in), *w = typed((long)out * in);
	struct buffer *bias = typed(out), *plus = typed((long)rows * out);
	struct buffer *y = typed((long)rows * out), *z = full((long)rows * out);
	struct gemm_shape s = {.m = rows, .n = out, .k = in, .lda = in,
	                       .ldb = in, .ldc = out, .heads = 1, .alpha = 1};

	gpu_linear(&c.g, FORWARD, in, out, y->at, x->at, w->at, bias->at,
	           plus->at);
	ref_product(y->v, x->v, w->v, bias->v, plus->v, &s, 1, true, true);
	compare("linear", y);
	gpu_linear(&c.g, FORWARD_FULL, in, out, z->at, x->at, w->at, 0, 0);
	ref_product(z->v, x->v, w->v, NULL, NULL, &s, 1, true, true);
	compare("linear, float out", z);
}

void check_linear_back(int in, int out)
{
	int rows = shape_rows(&c.m.shape);
	struct buffer *x = typed((long)rows * in), *w = typed((long)out * in);
	struct buffer *dy = typed((long)rows * out);
	struct buffer *dx = typed((long)rows * in);
	struct buffer *dw = full((long)out * in), *dbias = full(out);
	struct gemm_shape s = {.m = rows, .n = in, .k = out, .lda = out,
	                       .ldb = in, .ldc = in, .heads = 1, .alpha = 1};

	gpu_linear_back_input(&c.g, in, out, dx->at, dy->at, w->at);
	ref_product(dx->v, dy->v, w->v, NULL, NULL, &s, 1, true, false);
	compare("linear, input's gradient", dx);
	s = (struct gemm_shape){.m = out, .n = in, .k = rows, .lda = out,
	                        .ldb = in, .ldc = in, .heads = 1, .alpha = 1};
	for (int add = 0; add < 2; add++) {
		gpu_linear_back_weight(&c.g, in, out, dw->at, dbias->at, dy->at,
		                       x->at, add);
		ref_product(dw->v, dy->v, x->v, NULL, add ? dw->v : NULL, &s, 1,
		            false, false);
		if (!add)
			memset(dbias->v, 0, out * sizeof(*dbias->v));
		ref_sum_columns(dbias->v, dy->v, rows, out);
		compare("linear, weight's gradient", dw);
		compare("linear, bias's gradient", dbias);
	}
}

/* The large tile, ragged; by head, and of causal products the lower half. */
static void check_tile(enum product p, bool a_k, bool b_k, bool causal)
{
	struct gemm_shape s = {.m = 515, .n = causal ? 515 : 387, .k = 19,
	                       .ldc = 520, .heads = 2, .alpha = 0.5f,
	                       .causal = causal};
	bool wide = p == FORWARD_FULL || p == BACK_WEIGHT;
	struct buffer *a, *b, *out;

	s.lda = a_k ? s.k + 1 : s.m + 3;
	s.ldb = b_k ? s.k : s.n + 1;
	s.a_head = (long)s.lda * (a_k ? s.m : s.k);
	s.b_head = (long)s.ldb * (b_k ? s.n : s.k);
	s.c_head = (long)s.ldc * s.m;
	s.a_seq = 2 * s.a_head;
	s.b_seq = 2 * s.b_head;
	s.c_seq = 2 * s.c_head;
	a = typed(HEADS * s.a_head);
	b = typed(HEADS * s.b_head);
	out = wide ? full(HEADS * s.c_head) : typed(HEADS * s.c_head);
	gpu_product(&c.g, p, out->at, a->at, b->at, 0, 0, &s, HEADS);
	for (long i = 0; causal && i < out->len; i++)
		out->v[i] = i % s.ldc > i / s.ldc % s.m ? NAN : out->v[i];
	ref_product(out->v, a->v, b->v, NULL, NULL, &s, HEADS, a_k, b_k);
	compare("large product", out);
}

void check_large(void)
{
	check_tile(FORWARD, true, true, false);
	drop_all();
	check_tile(FORWARD, true, true, true);
	drop_all();
	check_tile(FORWARD_FULL, true, true, false);
	drop_all();
	check_tile(BACK_INPUT, true, false, false);
	drop_all();
	check_tile(BACK_WEIGHT, false, false, false);
	drop_all();
	check_tile(CROSS, false, false, false);
	drop_all();
}
