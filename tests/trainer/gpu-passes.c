/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The forward and the backward pass, as forward.c and backward.c have them.
 */
#include "gpu-passes.h"

#include "gpu-layers.h"

static CUdeviceptr w(const struct gpu_model *g, enum tensor_id t, int i)
{
	return gpu_at(g, VALUE, t, i);
}

static CUdeviceptr act(const struct gpu_model *g, enum tensor_id t, int i)
{
	return gpu_at(g, ACTS, t, i);
}

static CUdeviceptr grad(const struct gpu_model *g, enum tensor_id t, int i)
{
	return gpu_at(g, GRAD, t, i);
}

static CUdeviceptr d(const struct gpu_model *g, enum tensor_id t)
{
	return gpu_at(g, BACKS, t, 0);
}

/* The residual stream that layer i sees. */
static CUdeviceptr input(const struct gpu_model *g, int i)
{
	return i ? act(g, T_OUT, i - 1) : act(g, T_EMBED, 0);
}

static struct gpu_norm norm_at(const struct gpu_model *g, enum tensor_id id,
                               enum tensor_id stat, int i)
{
	return (struct gpu_norm){
	        .w = w(g, id, i),
	        .bias = w(g, id + 1, i),
	        .dw = grad(g, id, i),
	        .dbias = grad(g, id + 1, i),
	        .stat = act(g, stat, i),
	};
}

static void attend(struct gpu_model *g, int i)
{
	struct gpu_norm n = norm_at(g, T_NORM1_W, T_NORM1_STAT, i);
	int width = g->model->shape.hidden;

	gpu_norm(g, &n, act(g, T_NORM1, i), input(g, i));
	gpu_linear(g, FORWARD, width, 3 * width, act(g, T_QKV, i),
	           act(g, T_NORM1, i), w(g, T_QKV_W, i), w(g, T_QKV_B, i), 0);
	gpu_attention(g, act(g, T_MIX, i), act(g, T_PROBS, i),
	              act(g, T_QKV, i));
	gpu_linear(g, FORWARD, width, width, act(g, T_MID, i), act(g, T_MIX, i),
	           w(g, T_PROJ_W, i), w(g, T_PROJ_B, i), input(g, i));
}

static void widen(struct gpu_model *g, int i)
{
	struct gpu_norm n = norm_at(g, T_NORM2_W, T_NORM2_STAT, i);
	int width = g->model->shape.hidden;

	gpu_norm(g, &n, act(g, T_NORM2, i), act(g, T_MID, i));
	gpu_linear(g, FORWARD, width, 4 * width, act(g, T_UP, i),
	           act(g, T_NORM2, i), w(g, T_UP_W, i), w(g, T_UP_B, i), 0);
	gpu_gelu(g, act(g, T_GELU, i), act(g, T_UP, i),
	         4L * width * shape_rows(&g->model->shape));
}

static void feed(struct gpu_model *g, int i)
{
	int width = g->model->shape.hidden;

	widen(g, i);
	gpu_linear(g, FORWARD, 4 * width, width, act(g, T_OUT, i),
	           act(g, T_GELU, i), w(g, T_DOWN_W, i), w(g, T_DOWN_B, i),
	           act(g, T_MID, i));
}

void gpu_forward(struct gpu_model *g, CUdeviceptr text, float scale, bool add)
{
	const struct shape *s = &g->model->shape;
	struct gpu_norm n = norm_at(g, T_NORM_W, T_NORM_STAT, 0);

	gpu_embed(g, act(g, T_EMBED, 0), w(g, T_TOKEN, 0), w(g, T_PLACE, 0),
	          text);
	for (int i = 0; i < s->layers; i++) {
		attend(g, i);
		feed(g, i);
	}
	gpu_norm(g, &n, act(g, T_NORM, 0), input(g, s->layers));
	gpu_linear(g, FORWARD_FULL, s->hidden, VOCAB, act(g, T_LOGITS, 0),
	           act(g, T_NORM, 0), w(g, T_HEAD_W, 0), 0, 0);
	gpu_loss(g, act(g, T_LOSS, 0), d(g, T_D_LOGITS), act(g, T_LOGITS, 0),
	         text + shape_rows(s), scale, add);
}

/* Linear layer with its weight at id and its bias, if any, behind it. */
static void linear_back(struct gpu_model *g, int i, int in, int out,
                        CUdeviceptr dx, CUdeviceptr dy, CUdeviceptr x,
                        enum tensor_id id, bool add)
{
	gpu_linear_back_weight(g, in, out, grad(g, id, i),
	                       id == T_HEAD_W ? 0 : grad(g, id + 1, i), dy, x,
	                       add);
	gpu_linear_back_input(g, in, out, dx, dy, w(g, id, i));
}

static void head_back(struct gpu_model *g, bool add)
{
	const struct shape *s = &g->model->shape;
	struct gpu_norm n = norm_at(g, T_NORM_W, T_NORM_STAT, 0);
	size_t size = s->narrow ? 2 : sizeof(float);

	linear_back(g, 0, s->hidden, VOCAB, d(g, T_D_NORM), d(g, T_D_LOGITS),
	            act(g, T_NORM, 0), T_HEAD_W, add);
	GPU(g->gpu, cuMemsetD8Async, d(g, T_D_OUT), 0,
	    size * s->hidden * shape_rows(s), g->gpu->stream);
	gpu_norm_back(g, &n, d(g, T_D_OUT), d(g, T_D_NORM), input(g, s->layers),
	              add);
}

static void feed_back(struct gpu_model *g, int i, bool add)
{
	struct gpu_norm n = norm_at(g, T_NORM2_W, T_NORM2_STAT, i);
	int width = g->model->shape.hidden;

	linear_back(g, i, 4 * width, width, d(g, T_D_UP), d(g, T_D_OUT),
	            act(g, T_GELU, i), T_DOWN_W, add);
	gpu_gelu_back(g, d(g, T_D_UP), act(g, T_UP, i),
	              4L * width * shape_rows(&g->model->shape));
	linear_back(g, i, width, 4 * width, d(g, T_D_NORM), d(g, T_D_UP),
	            act(g, T_NORM2, i), T_UP_W, add);
	gpu_norm_back(g, &n, d(g, T_D_OUT), d(g, T_D_NORM), act(g, T_MID, i),
	              add);
}

static void attend_back(struct gpu_model *g, int i, bool add)
{
	struct gpu_norm n = norm_at(g, T_NORM1_W, T_NORM1_STAT, i);
	int width = g->model->shape.hidden;

	linear_back(g, i, width, width, d(g, T_D_MIX), d(g, T_D_OUT),
	            act(g, T_MIX, i), T_PROJ_W, add);
	gpu_attention_back(g, d(g, T_D_QKV), d(g, T_D_PROBS), d(g, T_D_MIX),
	                   act(g, T_PROBS, i), act(g, T_QKV, i));
	linear_back(g, i, width, 3 * width, d(g, T_D_NORM), d(g, T_D_QKV),
	            act(g, T_NORM1, i), T_QKV_W, add);
	gpu_norm_back(g, &n, d(g, T_D_OUT), d(g, T_D_NORM), input(g, i), add);
}

void gpu_backward(struct gpu_model *g, CUdeviceptr text, bool add)
{
	const struct shape *s = &g->model->shape;

	head_back(g, add);
	for (int i = s->layers - 1; i >= 0; i--) {
		if (s->recompute && i < s->layers - 1) {
			attend(g, i);
			widen(g, i);
		}
		feed_back(g, i, add);
		attend_back(g, i, add);
	}
	gpu_embed_back(g, grad(g, T_TOKEN, 0), grad(g, T_PLACE, 0),
	               d(g, T_D_OUT), text, add);
}
