/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A GPT training step from shapes.
 *
 * A layer is six kernels forward and twelve backward, on tensors as a plain
 * trainer has them: norm, qkv, attention (no matrix of scores is kept), its
 * projection, the two halves of the MLP. With recompute a layer keeps its
 * input only and does its forward again in the backward pass. Weights are two
 * bytes (bf16) or four; with bf16 there is a fp32 master copy; Adam has two
 * fp32 moments. place=cpu: the optimizer and its states are in host memory;
 * after the backward pass each gradient goes there and the new weight comes
 * back, at the link's speed; what of the states RAM does not hold is read from
 * the store and written to it, and what that takes longer is a stall. The time
 * of the CPU's arithmetic is not counted.
 *
 * Time of a kernel: the larger of its FLOPs by the profile's rate (times
 * `efficiency`) and its bytes by the VRAM's.
 */
#include "config.h"
#include "replay/synth_int.h"

#include <stdlib.h>
#include "replay/mem.h"

/* Of a layer. */
enum { W_QKV, W_OUT, W_UP, W_DOWN, WEIGHTS };
enum { A_IN, A_NORM1, A_QKV, A_ATTN, A_MID, A_NORM2, A_UP, ACTS };

struct gpt {
	const struct synth *s;
	struct work *w;
	uint8_t *keep;
	uint32_t keep_max;
	uint64_t esize;	  /* bytes of an element of weights, activations */
	uint64_t rows;	  /* tokens of a micro-batch */
	uint32_t *weight; /* layers * WEIGHTS */
	uint32_t *grad;
	uint32_t *state; /* the optimizer's, by weight; HZ_NONE: elsewhere */
	uint32_t *act;	 /* layers * ACTS, of this micro-batch */
	uint32_t embed, embed_grad, embed_state;
	uint32_t kernels; /* of the step */
};

static uint32_t tensor(struct gpt *g, uint64_t bytes, bool keep)
{
	uint32_t t = g->w->step.tensors;

	if (t >= g->keep_max) {
		g->keep_max = hz_max(1024u, 2 * g->keep_max);
		g->keep = mem_resize(g->keep, g->keep_max, 1);
	}
	work_tensor(g->w, t, bytes);
	g->keep[t] = keep;
	return t;
}

/* A kernel by its roofline; its uses follow. */
static void kernel(struct gpt *g, double flops, double bytes)
{
	const struct profile *p = g->s->profile;
	double compute = flops * 1e9 /
			 ((double)p->flops * (double)g->s->efficiency / 100);
	double memory = bytes * 1e9 / (double)p->vram_bps;

	work_kernel(g->w, 3000 + (uint64_t)hz_max(compute, memory));
}

static void rd(struct gpt *g, uint32_t t)
{
	work_use(g->w, t, HZ_USE_READ);
}

static void wr(struct gpt *g, uint32_t t)
{
	work_use(g->w, t, HZ_USE_WRITE);
}

static uint64_t weight_elements(const struct synth *s, unsigned i)
{
	static const unsigned char times[WEIGHTS] = {3, 1, 4, 4};

	return times[i] * s->hidden * s->hidden;
}

static uint64_t act_elements(const struct gpt *g, unsigned i)
{
	static const unsigned char times[ACTS] = {1, 1, 3, 1, 1, 1, 4};

	return times[i] * g->rows * g->s->hidden;
}

static uint64_t state_bytes(const struct synth *s)
{
	/* moments, and the master copy beside bf16 */
	return (s->sgd ? 0 : 8) + (s->f32 ? 0 : 4);
}

static void make_weights(struct gpt *g)
{
	const struct synth *s = g->s;
	uint64_t n = s->layers * WEIGHTS, state = state_bytes(s);

	g->weight = mem_resize(NULL, n, sizeof(*g->weight));
	g->grad = mem_resize(NULL, n, sizeof(*g->grad));
	g->state = mem_resize(NULL, n, sizeof(*g->state));
	g->act = mem_resize(NULL, s->layers * ACTS, sizeof(*g->act));
	for (uint64_t i = 0; i < n; i++) {
		uint64_t e = weight_elements(s, i % WEIGHTS);

		g->weight[i] = tensor(g, e * g->esize, true);
		g->grad[i] = tensor(g, e * g->esize, false);
		g->state[i] =
			s->cpu || !state ? HZ_NONE : tensor(g, e * state, true);
	}
	g->embed = tensor(g, s->vocab * s->hidden * g->esize, true);
	g->embed_grad = tensor(g, s->vocab * s->hidden * g->esize, false);
	g->embed_state =
		s->cpu || !state
			? HZ_NONE
			: tensor(g, s->vocab * s->hidden * state, true);
}

/* in times weight is out. */
static void matmul(struct gpt *g, uint32_t in, uint32_t weight, uint32_t out,
		   uint64_t elements)
{
	kernel(g, 2.0 * (double)g->rows * (double)elements, 0);
	rd(g, in);
	rd(g, weight);
	wr(g, out);
}

/* Its two backward products; the gradient is added up over micro-batches. */
static void matmul_back(struct gpt *g, uint32_t in, uint32_t layer_weight,
			uint32_t d_out, uint32_t d_in, uint64_t elements,
			bool first)
{
	double flops = 2.0 * (double)g->rows * (double)elements;

	kernel(g, flops, 0);
	rd(g, d_out);
	rd(g, g->weight[layer_weight]);
	wr(g, d_in);
	kernel(g, flops, 0);
	rd(g, d_out);
	rd(g, in);
	if (!first)
		rd(g, g->grad[layer_weight]);
	wr(g, g->grad[layer_weight]);
}

static double attention_flops(const struct gpt *g)
{
	/* causal: half of the two products */
	return 2.0 * (double)g->rows * (double)g->s->seq * (double)g->s->hidden;
}

static void light(struct gpt *g, uint32_t in, uint32_t out, uint64_t elements)
{
	kernel(g, 0, 2.0 * (double)elements * (double)g->esize);
	rd(g, in);
	wr(g, out);
}

static void new_acts(struct gpt *g, uint32_t *a, unsigned from)
{
	for (unsigned i = from; i < ACTS; i++)
		a[i] = tensor(g, act_elements(g, i) * g->esize, false);
}

/* From a[A_IN]; `out` is the next layer's input, HZ_NONE: not wanted. */
static void layer_forward(struct gpt *g, uint64_t l, uint32_t out)
{
	uint32_t *a = &g->act[l * ACTS];
	const uint32_t *w = &g->weight[l * WEIGHTS];
	uint64_t e = act_elements(g, A_IN);

	new_acts(g, a, A_NORM1);
	light(g, a[A_IN], a[A_NORM1], e);
	matmul(g, a[A_NORM1], w[W_QKV], a[A_QKV], weight_elements(g->s, W_QKV));
	kernel(g, attention_flops(g), 0);
	rd(g, a[A_QKV]);
	wr(g, a[A_ATTN]);
	matmul(g, a[A_ATTN], w[W_OUT], a[A_MID], weight_elements(g->s, W_OUT));
	rd(g, a[A_IN]);
	light(g, a[A_MID], a[A_NORM2], e);
	matmul(g, a[A_NORM2], w[W_UP], a[A_UP], weight_elements(g->s, W_UP));
	if (out == HZ_NONE)
		return;
	matmul(g, a[A_UP], w[W_DOWN], out, weight_elements(g->s, W_DOWN));
	rd(g, a[A_MID]);
}

/* d is the gradient of the layer's output; returns that of its input. */
static uint32_t layer_backward(struct gpt *g, uint64_t l, uint32_t d,
			       bool first)
{
	const uint32_t *a = &g->act[l * ACTS];
	uint32_t w = (uint32_t)(l * WEIGHTS);
	uint64_t e = act_elements(g, A_IN), size = e * g->esize;
	uint32_t up = tensor(g, 4 * size, false), n2 = tensor(g, size, false);
	uint32_t mid = tensor(g, size, false), at = tensor(g, size, false);
	uint32_t qkv = tensor(g, 3 * size, false), n1 = tensor(g, size, false);
	uint32_t in = tensor(g, size, false);

	matmul_back(g, a[A_UP], w + W_DOWN, d, up,
		    weight_elements(g->s, W_DOWN), first);
	matmul_back(g, a[A_NORM2], w + W_UP, up, n2,
		    weight_elements(g->s, W_UP), first);
	light(g, n2, mid, 2 * e);
	rd(g, a[A_MID]);
	rd(g, d);
	matmul_back(g, a[A_ATTN], w + W_OUT, mid, at,
		    weight_elements(g->s, W_OUT), first);
	kernel(g, 2.5 * attention_flops(g), 0);
	rd(g, a[A_QKV]);
	rd(g, a[A_ATTN]);
	rd(g, at);
	wr(g, qkv);
	matmul_back(g, a[A_NORM1], w + W_QKV, qkv, n1,
		    weight_elements(g->s, W_QKV), first);
	light(g, n1, in, 2 * e);
	rd(g, a[A_IN]);
	rd(g, mid);
	return in;
}

/* The head is the embedding again; scores are made and used in slices that
 * are as large as a layer's input, so that they do not decide everything. */
static uint32_t head(struct gpt *g, uint32_t in, bool first)
{
	uint32_t d = tensor(g, act_elements(g, A_IN) * g->esize, false);

	kernel(g,
	       6.0 * (double)g->rows * (double)g->s->vocab *
		       (double)g->s->hidden,
	       0);
	rd(g, in);
	rd(g, g->embed);
	if (!first)
		rd(g, g->embed_grad);
	wr(g, g->embed_grad);
	wr(g, d);
	return d;
}

static void micro_batch(struct gpt *g, bool first)
{
	uint64_t layers = g->s->layers, e = act_elements(g, A_IN);
	uint32_t d = HZ_NONE;

	g->act[A_IN] = tensor(g, e * g->esize, false);
	kernel(g, 0, 2.0 * (double)e * (double)g->esize);
	rd(g, g->embed);
	wr(g, g->act[A_IN]);
	for (uint64_t l = 0; l < layers; l++) {
		uint32_t out = tensor(g, e * g->esize, false);

		layer_forward(g, l, out);
		if (l + 1 < layers)
			g->act[(l + 1) * ACTS + A_IN] = out;
		else
			d = head(g, out, first);
	}
	for (uint64_t l = layers; l-- > 0;) {
		if (g->s->recompute)
			layer_forward(g, l, HZ_NONE);
		d = layer_backward(g, l, d, first);
	}
	kernel(g, 0, 2.0 * (double)e * (double)g->esize);
	rd(g, d);
	rd(g, g->embed_grad);
	wr(g, g->embed_grad);
}

/* Parameters of all weights. */
static uint64_t parameters(const struct synth *s)
{
	return s->layers * 12 * s->hidden * s->hidden + s->vocab * s->hidden;
}

/* The part of all weights that VRAM can hold at best. */
static double resident_part(const struct gpt *g)
{
	double all = (double)(parameters(g->s) * g->esize);

	return hz_min(1.0, (double)g->s->profile->vram / all);
}

/* The part of the optimizer's states that RAM does not hold. */
static double stored_part(const struct gpt *g)
{
	uint64_t host = g->w->host_bytes;
	uint64_t ram = work_host_ram(g->w, g->s->profile->ram);

	return host > ram ? (double)(host - ram) / (double)host : 0;
}

/* The host's part: the gradient goes, the new weight comes to where the old
 * one is, and what of the states is not in RAM is read and written; all at
 * once. */
static void host_update(struct gpt *g, uint64_t elements)
{
	const struct profile *p = g->s->profile;
	double n = (double)elements * (double)g->esize, link, store, bytes;
	double back = n * resident_part(g);

	bytes = (double)elements * (double)state_bytes(g->s) * stored_part(g);
	link = 1e9 * hz_max(n / (double)p->bps_both[CH_OUT],
			    back / (double)p->bps_both[CH_IN]);
	store = bytes > 0 ? 1e9 * bytes /
				    (double)hz_min(p->bps[CH_WRITE],
						   p->bps[CH_READ])
			  : 0;
	g->w->own_bytes += (uint64_t)(n + back);
	work_kernel(g->w, (uint64_t)hz_max(link, store));
	work_host(g->w, g->kernels, (uint64_t)bytes,
		  (uint64_t)hz_max(0.0, store - link));
}

static void update(struct gpt *g, uint32_t weight, uint32_t grad,
		   uint32_t state, uint64_t elements)
{
	uint64_t bytes = 3 * g->esize + 2 * state_bytes(g->s);

	if (g->s->cpu) {
		host_update(g, elements);
		return;
	}
	kernel(g, 0, (double)elements * (double)bytes);
	rd(g, grad);
	rd(g, weight);
	wr(g, weight);
	if (state == HZ_NONE)
		return;
	rd(g, state);
	wr(g, state);
}

static void optimizer(struct gpt *g)
{
	const struct synth *s = g->s;

	if (s->cpu)
		g->w->host_bytes = parameters(s) * state_bytes(s);
	/* One a weight, and the embedding's. */
	g->kernels = g->w->step.kernels + (uint32_t)(s->layers * WEIGHTS) + 1;
	for (uint64_t i = 0; i < s->layers * WEIGHTS; i++)
		update(g, g->weight[i], g->grad[i], g->state[i],
		       weight_elements(s, i % WEIGHTS));
	update(g, g->embed, g->embed_grad, g->embed_state,
	       s->vocab * s->hidden);
}

struct work *synth_gpt(const struct synth *s)
{
	struct gpt g = {.s = s, .w = mem_zeroed(1, sizeof(*g.w))};

	g.esize = s->f32 ? 4 : 2;
	g.rows = s->batch / s->micro * s->seq;
	g.w->tokens = (double)(s->batch * s->seq);
	make_weights(&g);
	for (uint64_t i = 0; i < s->micro; i++)
		micro_batch(&g, i == 0);
	optimizer(&g);
	work_finish(g.w, g.keep);
	free(g.keep);
	free(g.weight);
	free(g.grad);
	free(g.state);
	free(g.act);
	return g.w;
}
