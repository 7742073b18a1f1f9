/* SPDX-License-Identifier: Apache-2.0 */
/*
 * All that is a matrix product: linear layers, and attention.
 */
#include "gpu-layers.h"

#include <math.h>

/* The small tile; the large one follows it. By dtype: f32, bf16. */
static const enum kernel_id kernels[PRODUCTS][2] = {
        [FORWARD] = {K_gemm_nt_f32_small, K_gemm_nt_bf16_small},
        [FORWARD_FULL] = {K_gemm_nt_f32_small, K_gemm_nt_bf16_f32_small},
        [BACK_INPUT] = {K_gemm_nn_f32_small, K_gemm_nn_bf16_small},
        [BACK_WEIGHT] = {K_gemm_tn_f32_small, K_gemm_tn_bf16_f32_small},
        [CROSS] = {K_gemm_tn_f32_small, K_gemm_tn_bf16_small},
};

static unsigned tiles(int n, int side)
{
	int tile = side * GEMM_SIDE;

	return (n + tile - 1) / tile;
}

/* Large tiles read less memory; small ones are for where large ones would not
 * be full, or too few to keep the device busy. The result is the same. */
static bool is_large(const struct gpu_model *g, const struct gemm_shape *s,
                     int batch)
{
	long n = (long)tiles(s->m, GEMM_LARGE) * tiles(s->n, GEMM_LARGE);

	return tiles(s->m, GEMM_SMALL) > 1 && tiles(s->n, GEMM_SMALL) > 1 &&
	       n * batch >= g->gpu->processors;
}

void gpu_product(struct gpu_model *g, enum product p, CUdeviceptr c,
                 CUdeviceptr a, CUdeviceptr b, CUdeviceptr bias,
                 CUdeviceptr plus, const struct gemm_shape *s, int batch)
{
	bool large = is_large(g, s, batch);
	int side = large ? GEMM_LARGE : GEMM_SMALL;
	struct grid grid = {tiles(s->n, side), tiles(s->m, side), batch};
	struct gemm_shape copy = *s;

	gpu_launch(g->gpu, kernels[p][g->model->shape.narrow] + large, grid,
	           (struct grid){GEMM_THREADS, 1, 1},
	           ARGS(PTR(c), PTR(a), PTR(b), PTR(bias), PTR(plus), &copy));
}

void gpu_linear(struct gpu_model *g, enum product p, int in, int out,
                CUdeviceptr y, CUdeviceptr x, CUdeviceptr w, CUdeviceptr bias,
                CUdeviceptr plus)
{
	struct gemm_shape s = {
	        .m = shape_rows(&g->model->shape),
	        .n = out,
	        .k = in,
	        .lda = in,
	        .ldb = in,
	        .ldc = out,
	        .heads = 1,
	        .alpha = 1,
	};

	gpu_product(g, p, y, x, w, bias, plus, &s, 1);
}

void gpu_linear_back_input(struct gpu_model *g, int in, int out, CUdeviceptr dx,
                           CUdeviceptr dy, CUdeviceptr w)
{
	struct gemm_shape s = {
	        .m = shape_rows(&g->model->shape),
	        .n = in,
	        .k = out,
	        .lda = out,
	        .ldb = in,
	        .ldc = in,
	        .heads = 1,
	        .alpha = 1,
	};

	gpu_product(g, BACK_INPUT, dx, dy, w, 0, 0, &s, 1);
}

void gpu_linear_back_weight(struct gpu_model *g, int in, int out,
                            CUdeviceptr dw, CUdeviceptr dbias, CUdeviceptr dy,
                            CUdeviceptr x, bool add)
{
	struct gemm_shape s = {
	        .m = out,
	        .n = in,
	        .k = shape_rows(&g->model->shape),
	        .lda = out,
	        .ldb = in,
	        .ldc = in,
	        .heads = 1,
	        .alpha = 1,
	};

	gpu_product(g, BACK_WEIGHT, dw, dy, x, 0, add ? dw : 0, &s, 1);
	if (dbias)
		gpu_sum_columns(g, dbias, dy, out, add);
}

/* How a matrix of each head lies: in qkv, in mix, or as weights. */
struct lie {
	int ld;
	long long head, seq;
};

struct heads {
	struct lie qkv, mix, probs;
	int seq, width, batch, heads;
	long k, v; /* from q, in bytes */
};

static struct heads heads_of(const struct shape *s)
{
	long long square = (long long)s->seq * s->seq;
	int width = s->hidden / s->heads, size = s->narrow ? 2 : 4;

	return (struct heads){
	        .qkv = {3 * s->hidden, width, 3LL * s->hidden * s->seq},
	        .mix = {s->hidden, width, (long long)s->hidden * s->seq},
	        .probs = {s->seq, square, square * s->heads},
	        .seq = s->seq,
	        .width = width,
	        .batch = s->batch * s->heads,
	        .heads = s->heads,
	        .k = (long)s->hidden * size,
	        .v = 2L * s->hidden * size,
	};
}

struct operand {
	CUdeviceptr at;
	const struct lie *lie;
};

/* c = a b for every head, n columns of k terms. */
static void each_head(struct gpu_model *g, enum product p,
                      const struct heads *h, struct operand c,
                      struct operand a, struct operand b, int n, int k,
                      float alpha, bool causal)
{
	struct gemm_shape s = {
	        .m = h->seq,
	        .n = n,
	        .k = k,
	        .lda = a.lie->ld,
	        .ldb = b.lie->ld,
	        .ldc = c.lie->ld,
	        .heads = h->heads,
	        .a_head = a.lie->head,
	        .b_head = b.lie->head,
	        .c_head = c.lie->head,
	        .a_seq = a.lie->seq,
	        .b_seq = b.lie->seq,
	        .c_seq = c.lie->seq,
	        .alpha = alpha,
	        .causal = causal,
	};

	gpu_product(g, p, c.at, a.at, b.at, 0, 0, &s, h->batch);
}

static float scale(const struct heads *h)
{
	return 1 / sqrtf(h->width);
}

static long long queries(const struct heads *h)
{
	return (long long)h->batch * h->seq;
}

static void by_query(struct gpu_model *g, enum kernel_id f32, long long n,
                     void **args)
{
	unsigned each = ROW_THREADS / WARP;

	gpu_launch(g->gpu, f32 + g->model->shape.narrow,
	           (struct grid){(n + each - 1) / each, 1, 1},
	           (struct grid){ROW_THREADS, 1, 1}, args);
}

void gpu_attention(struct gpu_model *g, CUdeviceptr mix, CUdeviceptr probs,
                   CUdeviceptr qkv)
{
	struct heads h = heads_of(&g->model->shape);
	struct operand q = {qkv, &h.qkv}, k = {qkv + h.k, &h.qkv};
	struct operand v = {qkv + h.v, &h.qkv}, p = {probs, &h.probs};
	struct operand out = {mix, &h.mix};

	each_head(g, FORWARD, &h, p, q, k, h.seq, h.width, scale(&h), true);
	by_query(g, K_weigh_f32, queries(&h),
	         ARGS(PTR(probs), LONG(queries(&h)), INT(h.seq)));
	each_head(g, BACK_INPUT, &h, out, p, v, h.width, h.seq, 1, false);
}

void gpu_attention_back(struct gpu_model *g, CUdeviceptr dqkv,
                        CUdeviceptr dprobs, CUdeviceptr dmix, CUdeviceptr probs,
                        CUdeviceptr qkv)
{
	struct heads h = heads_of(&g->model->shape);
	struct operand q = {qkv, &h.qkv}, k = {qkv + h.k, &h.qkv};
	struct operand v = {qkv + h.v, &h.qkv}, p = {probs, &h.probs};
	struct operand dq = {dqkv, &h.qkv}, dk = {dqkv + h.k, &h.qkv};
	struct operand dv = {dqkv + h.v, &h.qkv}, dp = {dprobs, &h.probs};
	struct operand dout = {dmix, &h.mix};

	each_head(g, FORWARD, &h, dp, dout, v, h.seq, h.width, 1, true);
	each_head(g, CROSS, &h, dv, p, dout, h.width, h.seq, 1, false);
	by_query(g, K_unweigh_f32, queries(&h),
	         ARGS(PTR(dprobs), PTR(probs), LONG(queries(&h)), INT(h.seq),
	              REAL(scale(&h))));
	each_head(g, BACK_INPUT, &h, dq, dp, k, h.width, h.seq, 1, false);
	each_head(g, CROSS, &h, dk, dp, q, h.width, h.seq, 1, false);
}
