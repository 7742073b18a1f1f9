/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Every device kernel against a reference in double precision, in f32 and in
 * bf16, with shapes that fill no tile. Skips where there is no driver.
 */
#include <dlfcn.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "kernel-buffer.h"
#include "kernel-reference.h"
#include "rng.h"

static void check_gelu(long len)
{
	struct buffer *x = typed(len), *y = typed(len), *dy = typed(len);

	for (long i = 0; i < len; i++)
		x->v[i] *= 3;
	upload(x);
	gpu_gelu(&c.g, y->at, x->at, len);
	gpu_gelu_back(&c.g, dy->at, x->at, len);
	for (long i = 0; i < len; i++) {
		y->v[i] = ref_gelu(x->v[i]);
		dy->v[i] *= ref_gelu_slope(x->v[i]);
	}
	compare("gelu", y);
	compare("gelu's gradient", dy);
}

static void check_norm(void)
{
	int rows = shape_rows(&c.m.shape), width = c.m.shape.hidden;
	long len = (long)rows * width;
	struct buffer *x = typed(len), *y = typed(len), *stat = full(2L * rows);
	struct buffer *w = typed(width), *bias = typed(width);
	struct buffer *dx = typed(len), *dy = typed(len);
	struct buffer *dw = full(width), *dbias = full(width);
	struct gpu_norm n = {w->at, bias->at, dw->at, dbias->at, stat->at};

	for (long i = 0; i < len; i++)
		x->v[i] += 3;
	upload(x);
	gpu_norm(&c.g, &n, y->at, x->at);
	ref_norm(y->v, stat->v, x->v, w->v, bias->v, rows, width);
	compare("norm", y);
	compare("norm's mean and deviation", stat);
	for (int add = 0; add < 2; add++) {
		gpu_norm_back(&c.g, &n, dx->at, dy->at, x->at, add);
		for (int i = 0; !add && i < width; i++)
			dw->v[i] = dbias->v[i] = 0;
		ref_norm_back(dx->v, dw->v, dbias->v, dy->v, x->v, w->v, rows,
		              width);
		compare("norm, input's gradient", dx);
		compare("norm, gain's gradient", dw);
		compare("norm, bias's gradient", dbias);
	}
}

static void check_attention(void)
{
	const struct shape *s = &c.m.shape;
	long len = (long)shape_rows(s) * s->hidden;
	long square = (long)shape_rows(s) * s->heads * s->seq;
	struct buffer *qkv = typed(3 * len), *mix = typed(len);
	struct buffer *probs = typed(square), *dprobs = typed(square);
	struct buffer *dmix = typed(len), *dqkv = typed(3 * len);

	gpu_attention(&c.g, mix->at, probs->at, qkv->at);
	ref_attention(s, mix->v, probs->v, qkv->v);
	compare("attention", mix);
	compare("attention's weights", probs);
	upload(probs);
	gpu_attention_back(&c.g, dqkv->at, dprobs->at, dmix->at, probs->at,
	                   qkv->at);
	ref_attention_back(s, dqkv->v, dmix->v, probs->v, qkv->v);
	compare("attention's gradient", dqkv);
}

/* Few different bytes, so that sums have several terms. */
static CUdeviceptr some_text(uint8_t *text, int rows)
{
	CUdeviceptr at = c.g.text;

	for (int r = 0; r < rows; r++)
		text[r] = rng_at(77, r) % 5 * 60;
	gpu_put(&c.gpu, at, text, rows);
	gpu_wait(&c.gpu);
	return at;
}

static void check_embed(void)
{
	const struct shape *s = &c.m.shape;
	int rows = shape_rows(s), width = s->hidden;
	struct buffer *token = typed(VOCAB * width);
	struct buffer *place = typed(s->seq * width);
	struct buffer *out = typed((long)rows * width);
	struct buffer *dtoken = full(VOCAB * width);
	struct buffer *dplace = full(s->seq * width);
	uint8_t text[rows];
	CUdeviceptr at = some_text(text, rows);

	gpu_embed(&c.g, out->at, token->at, place->at, at);
	for (int i = 0; i < rows * width; i++)
		out->v[i] = token->v[text[i / width] * width + i % width] +
		            place->v[i / width % s->seq * width + i % width];
	compare("embedding", out);
	upload(out);
	for (int add = 0; add < 2; add++) {
		gpu_embed_back(&c.g, dtoken->at, dplace->at, out->at, at, add);
		for (int i = 0; !add && i < VOCAB * width; i++)
			dtoken->v[i] = 0;
		for (int i = 0; !add && i < s->seq * width; i++)
			dplace->v[i] = 0;
		for (int i = 0; i < rows * width; i++) {
			int r = i / width, k = i % width;

			dtoken->v[text[r] * width + k] += out->v[i];
			dplace->v[r % s->seq * width + k] += out->v[i];
		}
		compare("embedding, tokens' gradient", dtoken);
		compare("embedding, places' gradient", dplace);
	}
}

static void check_loss(void)
{
	int rows = shape_rows(&c.m.shape);
	struct buffer *logits = full((long)rows * VOCAB), *loss = full(rows);
	struct buffer *d = typed((long)rows * VOCAB);
	struct step_out out;
	uint8_t want[rows];
	double mean = 0;
	CUdeviceptr at = some_text(want, rows);

	for (long i = 0; i < logits->len; i++)
		logits->v[i] *= 4;
	upload(logits);
	for (int add = 0; add < 2; add++)
		gpu_loss(&c.g, loss->at, d->at, logits->at, at, 0.25f, add);
	for (int r = 0; r < rows; r++) {
		loss->v[r] = ref_loss(d->v + r * VOCAB, logits->v + r * VOCAB,
		                      want[r], 0.25);
		mean += loss->v[r] / rows;
	}
	compare("loss", loss);
	compare("loss's gradient", d);
	gpu_get(&c.gpu, &out, c.g.out, sizeof(out));
	gpu_wait(&c.gpu);
	report("mean loss", fabs(out.loss / (2 * mean) - 1), 1e-6);
}

static void check_all(void)
{
	int width = c.m.shape.hidden;

	check_linear(width, 3 * width);
	drop_all();
	check_linear_back(width, 3 * width);
	drop_all();
	check_gelu(5003);
	drop_all();
	check_norm();
	drop_all();
	check_attention();
	drop_all();
	check_embed();
	drop_all();
	check_loss();
	drop_all();
	check_adamw(false);
	drop_all();
	check_adamw(true);
	drop_all();
}

static void check_shape(const struct shape *s, bool large)
{
	if (model_layout(&c.m, s) ||
	    gpu_model_open(&c.g, &c.gpu, &c.m, BY_TENSOR, 1))
		c.failures++;
	else if (large)
		check_large();
	else
		check_all();
	gpu_model_close(&c.g);
	model_close(&c.m);
}

static bool have_driver(void)
{
	void *library = dlopen("libcuda.so.1", RTLD_NOW);

	if (!library)
		printf("skipped: no CUDA driver (%s)\n", dlerror());
	return library;
}

int main(int argc, char **argv)
{
	struct shape shapes[] = {
	        {.layers = 1, .hidden = 75, .heads = 3, .seq = 7, .batch = 2},
	        {.layers = 1, .hidden = 136, .heads = 2, .seq = 70, .batch = 1},
	        {.layers = 1, .hidden = 24, .heads = 2, .seq = 150, .batch = 2},
	};
	const int n = sizeof(shapes) / sizeof(shapes[0]);

	if (!have_driver())
		return 77;
	if (gpu_open(&c.gpu, argc > 1 ? argv[1] : NULL))
		return 1;
	for (int narrow = 0; narrow < 2; narrow++) {
		for (int i = 0; i < n; i++) {
			shapes[i].narrow = narrow;
			check_shape(&shapes[i], false);
		}
		check_shape(&shapes[0], true);
	}
	c.failures += c.gpu.err != 0;
	gpu_close(&c.gpu);
	printf("%d failures\n", c.failures);
	return c.failures > 0;
}

