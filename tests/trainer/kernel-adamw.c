/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Gradient norm, clipping and optimizer, of kernel-check.
 */
#include <math.h>

#include "kernel-buffer.h"

/* A buffer that the model takes for its tensor, as long as it is there. */
static struct buffer *tensor(enum array_id a, int i)
{
	struct buffer *b = make(c.m.list[WEIGHT].t[i].len,
	                        a == VALUE && c.m.shape.narrow);

	b->home = &c.g.array[a].at[i];
	b->before = *b->home;
	*b->home = b->at;
	return b;
}

struct weight {
	struct buffer *p, *narrow, *g, *m, *v;
	double decay;
};

static struct weight weight_at(int i)
{
	bool narrow = c.m.shape.narrow;
	struct weight w = {
	        .p = tensor(narrow ? MASTER : VALUE, i),
	        .narrow = narrow ? tensor(VALUE, i) : NULL,
	        .g = tensor(GRAD, i),
	        .m = tensor(MOMENT1, i),
	        .v = tensor(MOMENT2, i),
	        .decay = c.m.list[WEIGHT].t[i].flags & DECAY ? 0.1 : 0,
	};

	for (long k = 0; k < w.v->len; k++)
		w.v->v[k] = fabs(w.v->v[k]);
	upload(w.v);
	return w;
}

static void ref_adamw(struct weight *w, const struct step_in *in, double scale)
{
	for (long k = 0; k < w->p->len; k++) {
		double g = w->g->v[k] * scale;
		double m = 0.9 * w->m->v[k] + 0.1 * g;
		double v = 0.95 * w->v->v[k] + 0.05 * g * g;

		w->m->v[k] = m;
		w->v->v[k] = v;
		w->p->v[k] -= in->rate * (w->decay * w->p->v[k] +
		                          m * in->fix1 /
		                                  (sqrt(v * in->fix2) + 1e-8));
		if (w->narrow)
			w->narrow->v[k] = w->p->v[k];
	}
}

static void compare_weight(const struct weight *w)
{
	compare("weight", w->p);
	compare("first moment", w->m);
	compare("second moment", w->v);
	if (w->narrow)
		compare("weight in bf16", w->narrow);
}

/* Three tensors stand for all, the rest has gradients of zero. */
void check_adamw(bool clip)
{
	const struct step_in in = {0.01f, clip ? 1.5f : 0, 3, 7, 0.25f};
	const struct list *l = &c.m.list[WEIGHT];
	int which[] = {0, 3, l->n - 1};
	struct weight w[3];
	struct step_out out;
	double norm = 0;

	for (int i = 0; i < l->n; i++)
		GPU(&c.gpu, cuMemsetD8Async, c.g.array[GRAD].at[i], 0,
		    l->t[i].len * sizeof(float), c.gpu.stream);
	for (int i = 0; i < 3; i++) {
		w[i] = weight_at(which[i]);
		for (long k = 0; k < w[i].g->len; k++)
			norm += w[i].g->v[k] * w[i].g->v[k];
	}
	norm = sqrt(norm) * in.unscale;
	gpu_put(&c.gpu, c.g.in, &in, sizeof(in));
	gpu_adamw(&c.g);
	gpu_get(&c.gpu, &out, c.g.out, sizeof(out));
	gpu_wait(&c.gpu);
	report("norm", fabs(out.norm / norm - 1), 1e-9);
	for (int i = 0; i < 3; i++) {
		ref_adamw(&w[i], &in, (clip ? 1.5 / norm : 1) * in.unscale);
		compare_weight(&w[i]);
	}
}
