/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Backward pass: gradients of all weights, layer by layer from the last.
 * D_OUT carries the gradient of the residual stream all the way down.
 */
#include "passes.h"

#include <string.h>
#include "bf16.h"
#include "layers.h"
#include "matmul.h"

/* One call of backward, so that its parts need not pass five things on. */
struct back {
	struct model *m;
	bool add;
	int layer;
};

static struct view w(const struct back *b, enum tensor_id t)
{
	return model_view(b->m, VALUE, t, b->layer);
}

static struct view act(const struct back *b, enum tensor_id t)
{
	return model_view(b->m, ACTS, t, b->layer);
}

static struct view d(const struct back *b, enum tensor_id t)
{
	return model_view(b->m, BACKS, t, 0);
}

static float *grad(const struct back *b, enum tensor_id t)
{
	return model_at(b->m, GRAD, t, b->layer);
}

/* Linear layer with its weight at id and its bias, if any, behind it. */
static void linear_back(const struct back *b, struct linear l, struct view dx,
                        struct view dy, struct view x, enum tensor_id id)
{
	bool bias = id != T_HEAD_W;

	linear_back_weight(&l, grad(b, id), bias ? grad(b, id + 1) : NULL, dy,
	                   x, b->add);
	linear_back_input(&l, dx, dy, w(b, id));
}

static void feed_back(const struct back *b)
{
	int width = b->m->shape.hidden;
	struct linear up = {shape_rows(&b->m->shape), width, 4 * width};
	struct linear down = {up.rows, up.out, up.in};
	struct norm n = norm_of(b->m, T_NORM2_W, T_NORM2_STAT, b->layer);

	linear_back(b, down, d(b, T_D_UP), d(b, T_D_OUT), act(b, T_GELU),
	            T_DOWN_W);
	gelu_back(d(b, T_D_UP), act(b, T_UP), (long)up.rows * up.out);
	linear_back(b, up, d(b, T_D_NORM), d(b, T_D_UP), act(b, T_NORM2),
	            T_UP_W);
	norm_back(&n, d(b, T_D_OUT), d(b, T_D_NORM), act(b, T_MID), b->add);
}

static void attend_back(const struct back *b, struct view x)
{
	const struct shape *s = &b->m->shape;
	struct linear in = {shape_rows(s), s->hidden, 3 * s->hidden};
	struct linear out = {in.rows, s->hidden, s->hidden};
	struct norm n = norm_of(b->m, T_NORM1_W, T_NORM1_STAT, b->layer);

	linear_back(b, out, d(b, T_D_MIX), d(b, T_D_OUT), act(b, T_MIX),
	            T_PROJ_W);
	attention_back(s, d(b, T_D_QKV), d(b, T_D_PROBS), d(b, T_D_MIX),
	               act(b, T_PROBS), act(b, T_QKV));
	linear_back(b, in, d(b, T_D_NORM), d(b, T_D_QKV), act(b, T_NORM1),
	            T_QKV_W);
	norm_back(&n, d(b, T_D_OUT), d(b, T_D_NORM), x, b->add);
}

/* The residual stream that layer i sees. */
static struct view input(const struct model *m, int i)
{
	return i ? model_view(m, ACTS, T_OUT, i - 1)
	         : model_view(m, ACTS, T_EMBED, 0);
}

static void head_back(const struct back *b)
{
	const struct shape *s = &b->m->shape;
	struct linear head = {shape_rows(s), s->hidden, VOCAB};
	struct norm n = norm_of(b->m, T_NORM_W, T_NORM_STAT, 0);
	struct view out = d(b, T_D_OUT);

	linear_back(b, head, d(b, T_D_NORM), d(b, T_D_LOGITS), act(b, T_NORM),
	            T_HEAD_W);
	memset(out.at, 0,
	       (out.narrow ? sizeof(bf16) : sizeof(float)) * head.rows *
	               head.in);
	norm_back(&n, out, d(b, T_D_NORM), input(b->m, s->layers), b->add);
}

void backward(struct model *m, const struct batch *batch, bool add)
{
	struct back b = {.m = m, .add = add};

	head_back(&b);
	for (int i = m->shape.layers - 1; i >= 0; i--) {
		b.layer = i;
		if (m->shape.recompute && i < m->shape.layers - 1)
			forward_again(m, i, input(m, i));
		feed_back(&b);
		attend_back(&b, input(m, i));
	}
	embed_back(&m->shape, grad(&b, T_TOKEN), grad(&b, T_PLACE),
	           d(&b, T_D_OUT), batch->in, add);
}
