/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Forward pass: tokens to logits and loss. Every activation that the
 * backward pass needs stays in its own tensor.
 */
#include "passes.h"

#include "layers.h"
#include "matmul.h"

static const struct view nothing = {NULL, false};

static struct view w(const struct model *m, enum tensor_id t, int layer)
{
	return model_view(m, VALUE, t, layer);
}

static struct view act(const struct model *m, enum tensor_id t, int layer)
{
	return model_view(m, ACTS, t, layer);
}

struct norm norm_of(const struct model *m, enum tensor_id id,
                    enum tensor_id stat, int layer)
{
	return (struct norm){
	        .rows = shape_rows(&m->shape),
	        .width = m->shape.hidden,
	        .w = w(m, id, layer),
	        .bias = w(m, id + 1, layer),
	        .dw = model_at(m, GRAD, id, layer),
	        .dbias = model_at(m, GRAD, id + 1, layer),
	        .stat = model_at(m, ACTS, stat, layer),
	};
}

/* x: the residual stream on entry. */
static void attend(struct model *m, int i, struct view x)
{
	const struct shape *s = &m->shape;
	struct linear l = {shape_rows(s), s->hidden, 3 * s->hidden};
	struct norm n = norm_of(m, T_NORM1_W, T_NORM1_STAT, i);

	norm(&n, act(m, T_NORM1, i), x);
	linear(&l, act(m, T_QKV, i), act(m, T_NORM1, i), w(m, T_QKV_W, i),
	       w(m, T_QKV_B, i), nothing);
	attention(s, act(m, T_MIX, i), act(m, T_PROBS, i), act(m, T_QKV, i));
	l.out = s->hidden;
	linear(&l, act(m, T_MID, i), act(m, T_MIX, i), w(m, T_PROJ_W, i),
	       w(m, T_PROJ_B, i), x);
}

static void widen(struct model *m, int i)
{
	int width = m->shape.hidden;
	struct linear up = {shape_rows(&m->shape), width, 4 * width};
	struct norm n = norm_of(m, T_NORM2_W, T_NORM2_STAT, i);

	norm(&n, act(m, T_NORM2, i), act(m, T_MID, i));
	linear(&up, act(m, T_UP, i), act(m, T_NORM2, i), w(m, T_UP_W, i),
	       w(m, T_UP_B, i), nothing);
	gelu(act(m, T_GELU, i), act(m, T_UP, i), (long)up.rows * up.out);
}

static void feed(struct model *m, int i)
{
	int width = m->shape.hidden;
	struct linear down = {shape_rows(&m->shape), 4 * width, width};

	widen(m, i);
	linear(&down, act(m, T_OUT, i), act(m, T_GELU, i), w(m, T_DOWN_W, i),
	       w(m, T_DOWN_B, i), act(m, T_MID, i));
}

void forward_again(struct model *m, int i, struct view x)
{
	attend(m, i, x);
	widen(m, i);
}

static double mean(const float *x, int n)
{
	double sum = 0;

	for (int i = 0; i < n; i++)
		sum += x[i];
	return sum / n;
}

double forward(struct model *m, const struct batch *b, float scale)
{
	const struct shape *s = &m->shape;
	struct linear head = {shape_rows(s), s->hidden, VOCAB};
	struct norm n = norm_of(m, T_NORM_W, T_NORM_STAT, 0);
	struct view x = act(m, T_EMBED, 0);
	const float *loss = model_at(m, ACTS, T_LOSS, 0);

	embed(s, x, w(m, T_TOKEN, 0), w(m, T_PLACE, 0),
	      s->buckets ? model_at(m, TABLE, T_GRAMS, 0) : NULL, b);
	for (int i = 0; i < s->layers; i++) {
		attend(m, i, x);
		feed(m, i);
		x = act(m, T_OUT, i);
	}
	norm(&n, act(m, T_NORM, 0), x);
	linear(&head, act(m, T_LOGITS, 0), act(m, T_NORM, 0), w(m, T_HEAD_W, 0),
	       nothing, nothing);
	loss_rows(model_at(m, ACTS, T_LOSS, 0),
	          model_view(m, BACKS, T_D_LOGITS, 0),
	          model_at(m, ACTS, T_LOGITS, 0), b->want, head.rows, scale);
	return mean(loss, head.rows);
}
