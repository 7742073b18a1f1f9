/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Grids and arguments of all kernels but the products.
 */
#include "gpu-layers.h"

static const struct shape *shape(const struct gpu_model *g)
{
	return &g->model->shape;
}

static int rows(const struct gpu_model *g)
{
	return shape_rows(shape(g));
}

/* Each kernel in f32 is followed by its twin. */
static enum kernel_id typed(const struct gpu_model *g, enum kernel_id f32)
{
	return f32 + shape(g)->narrow;
}

static void by_row(struct gpu_model *g, enum kernel_id k, long n, void **args)
{
	unsigned each = ROW_THREADS / WARP;

	gpu_launch(g->gpu, k, (struct grid){(n + each - 1) / each, 1, 1},
	           (struct grid){ROW_THREADS, 1, 1}, args);
}

static void by_column(struct gpu_model *g, enum kernel_id k, int n, void **args)
{
	gpu_launch(g->gpu, k, (struct grid){(n + WARP - 1) / WARP, 1, 1},
	           (struct grid){WARP, COLUMN_GROUPS, 1}, args);
}

static void by_element(struct gpu_model *g, enum kernel_id k, long n,
                       void **args)
{
	unsigned each = FLAT_THREADS * FLAT_EACH;

	gpu_launch(g->gpu, k, (struct grid){(n + each - 1) / each, 1, 1},
	           (struct grid){FLAT_THREADS, 1, 1}, args);
}

/* A block for each of n, its threads having the columns. */
static void by_block(struct gpu_model *g, enum kernel_id k, int n, void **args)
{
	gpu_launch(g->gpu, k, (struct grid){n, 1, 1},
	           (struct grid){FLAT_THREADS, 1, 1}, args);
}

void gpu_sum_columns(struct gpu_model *g, CUdeviceptr out, CUdeviceptr x,
                     int width, bool add)
{
	by_column(g, typed(g, K_sum_columns_f32), width,
	          ARGS(PTR(out), PTR(x), INT(rows(g)), INT(width), INT(add)));
}

void gpu_gelu(struct gpu_model *g, CUdeviceptr y, CUdeviceptr x, long len)
{
	by_element(g, typed(g, K_gelu_f32), len,
	           ARGS(PTR(y), PTR(x), LONG(len)));
}

void gpu_gelu_back(struct gpu_model *g, CUdeviceptr dy, CUdeviceptr x, long len)
{
	by_element(g, typed(g, K_gelu_back_f32), len,
	           ARGS(PTR(dy), PTR(x), LONG(len)));
}

void gpu_norm(struct gpu_model *g, const struct gpu_norm *n, CUdeviceptr y,
              CUdeviceptr x)
{
	by_row(g, typed(g, K_norm_f32), rows(g),
	       ARGS(PTR(y), PTR(n->stat), PTR(x), PTR(n->w), PTR(n->bias),
	            INT(rows(g)), INT(shape(g)->hidden)));
}

void gpu_norm_back(struct gpu_model *g, const struct gpu_norm *n,
                   CUdeviceptr dx, CUdeviceptr dy, CUdeviceptr x, bool add)
{
	int width = shape(g)->hidden;

	by_column(g, typed(g, K_norm_columns_f32), width,
	          ARGS(PTR(n->dw), PTR(n->dbias), PTR(dy), PTR(x), PTR(n->stat),
	               INT(rows(g)), INT(width), INT(add)));
	by_row(g, typed(g, K_norm_back_f32), rows(g),
	       ARGS(PTR(dx), PTR(dy), PTR(x), PTR(n->stat), PTR(n->w),
	            INT(rows(g)), INT(width)));
}

void gpu_embed(struct gpu_model *g, CUdeviceptr out, CUdeviceptr token,
               CUdeviceptr place, CUdeviceptr in)
{
	by_block(g, typed(g, K_embed_f32), rows(g),
	         ARGS(PTR(out), PTR(token), PTR(place), PTR(in),
	              INT(shape(g)->seq), INT(shape(g)->hidden)));
}

void gpu_embed_back(struct gpu_model *g, CUdeviceptr dtoken, CUdeviceptr dplace,
                    CUdeviceptr dout, CUdeviceptr in, bool add)
{
	int seq = shape(g)->seq, width = shape(g)->hidden;

	by_block(g, typed(g, K_embed_back_token_f32), VOCAB,
	         ARGS(PTR(dtoken), PTR(dout), PTR(in), INT(rows(g)),
	              INT(width), INT(add)));
	by_block(g, typed(g, K_embed_back_place_f32), seq,
	         ARGS(PTR(dplace), PTR(dout), INT(rows(g)), INT(seq),
	              INT(width), INT(add)));
}

void gpu_loss(struct gpu_model *g, CUdeviceptr loss, CUdeviceptr dlogits,
              CUdeviceptr logits, CUdeviceptr want, float scale, bool add)
{
	by_row(g, typed(g, K_loss_f32), rows(g),
	       ARGS(PTR(loss), PTR(dlogits), PTR(logits), PTR(want),
	            INT(rows(g)), INT(VOCAB), REAL(scale)));
	by_block(g, K_loss_mean, 1,
	         ARGS(PTR(g->out), PTR(loss), INT(rows(g)), INT(add)));
}

/* Into how many parts a tensor's sum of squares is cut: by its size alone, so
 * that the sum does not depend on the device. */
static int norm_parts(long len)
{
	long parts = (len + NORM_EACH - 1) / NORM_EACH;

	return parts < NORM_PARTS ? parts : NORM_PARTS;
}

static void norm_all(struct gpu_model *g)
{
	const struct list *l = &g->model->list[WEIGHT];
	int parts = 0;

	for (int i = 0; i < l->n; i++) {
		long len = l->t[i].len;

		by_block(g, K_norm_square, norm_parts(len),
		         ARGS(PTR(g->parts + parts * sizeof(double)),
		              PTR(g->array[GRAD].at[i]), LONG(len)));
		parts += norm_parts(len);
	}
	by_block(g, K_norm_finish, 1,
	         ARGS(PTR(g->out), PTR(g->in), PTR(g->parts), INT(parts)));
}

void gpu_adamw(struct gpu_model *g)
{
	const struct list *l = &g->model->list[WEIGHT];
	const struct gpu_array *a = g->array;
	bool narrow = shape(g)->narrow;

	norm_all(g);
	for (int i = 0; i < l->n; i++) {
		float decay = l->t[i].flags & DECAY ? 0.1f : 0;

		by_element(g, K_adamw, l->t[i].len,
		           ARGS(PTR(a[narrow ? MASTER : VALUE].at[i]),
		                PTR(narrow ? a[VALUE].at[i] : 0),
		                PTR(a[GRAD].at[i]), PTR(a[MOMENT1].at[i]),
		                PTR(a[MOMENT2].at[i]), LONG(l->t[i].len),
		                REAL(decay), PTR(g->in), PTR(g->out)));
	}
}
