/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From the table of tensors and a shape to lists, arrays and first values.
 */
#include "model.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "bf16.h"
#include "rng.h"

enum where { HEAD, EACH, TAIL, PARTS };

enum dim {
	D_ONE,
	D_PAIR,
	D_VOCAB,
	D_SEQ,
	D_HIDDEN,
	D_TRIPLE,
	D_WIDE,
	D_ROWS,
	D_QUERIES,
	D_BUCKETS
};

static const struct kind {
	enum group group;
	enum where where;
	enum dim rows, cols;
	enum fill fill;
	int flags;
} kinds[T_COUNT] = {
#define T(group_, name_, where_, rows_, cols_, fill_, flags_) \
	{group_, where_, D_##rows_, D_##cols_, fill_, flags_},
#include "tensors.def"
#undef T
};

static const struct array arrays[ARRAYS] = {
        [VALUE] = {.what = "parameters", .group = WEIGHT},
        [GRAD] = {.what = "gradients", .group = WEIGHT},
        [MOMENT1] = {.what = "first moments", .group = WEIGHT, .zero = true},
        [MOMENT2] = {.what = "second moments", .group = WEIGHT, .zero = true},
        [ACTS] = {.what = "activations", .group = ACT},
        [BACKS] = {.what = "their gradients", .group = BACK},
        [MASTER] = {.what = "master weights", .group = WEIGHT},
        [TABLE] = {.what = "hashed rows", .group = HASHED},
        [SQUARES] = {.what = "their squares", .group = HASHED, .zero = true},
};

static const char *const names[T_COUNT] = {
#define T(group_, name_, ...) #name_,
#include "tensors.def"
#undef T
};

const char *model_name(enum tensor_id id)
{
	return names[id];
}

bool model_is_layered(enum tensor_id id)
{
	return kinds[id].where == EACH;
}

static long dim(const struct shape *s, enum dim d)
{
	const long size[] = {
	        [D_ONE] = 1,
	        [D_PAIR] = 2,
	        [D_VOCAB] = VOCAB,
	        [D_SEQ] = s->seq,
	        [D_HIDDEN] = s->hidden,
	        [D_TRIPLE] = 3L * s->hidden,
	        [D_WIDE] = 4L * s->hidden,
	        [D_ROWS] = shape_rows(s),
	        [D_QUERIES] = (long)shape_rows(s) * s->heads,
	        [D_BUCKETS] = s->buckets,
	};

	return size[d];
}

/* By all layers. */
static bool shared(const struct model *m, enum tensor_id id)
{
	return m->shape.recompute && kinds[id].group == ACT &&
	       !(kinds[id].flags & KEPT);
}

static void list_add(struct model *m, enum tensor_id id, int layer)
{
	const struct kind *k = &kinds[id];
	struct list *l = &m->list[k->group];
	long len = dim(&m->shape, k->rows) * dim(&m->shape, k->cols);

	if (layer && shared(m, id))
		return; /* its place is that of layer 0 */
	if (layer == 0)
		m->first[id] = l->n;
	else if (layer == 1)
		m->stride[id] = l->n - m->first[id];
	l->t[l->n++] = (struct tensor){id, layer, len, k->fill, k->flags};
	l->len += len;
}

static void list_part(struct model *m, enum where where, int layer)
{
	for (int id = 0; id < T_COUNT; id++)
		if (kinds[id].where == where)
			list_add(m, id, layer);
}

int model_layout(struct model *m, const struct shape *s)
{
	*m = (struct model){.shape = *s};
	for (int g = 0; g < GROUPS; g++) {
		m->list[g].t = calloc((size_t)T_COUNT * s->layers,
		                      sizeof(struct tensor));
		if (!m->list[g].t)
			return -ENOMEM;
	}
	for (int part = HEAD; part < PARTS; part++)
		for (int i = 0; i < (part == EACH ? s->layers : 1); i++)
			list_part(m, part, i);
	memcpy(m->array, arrays, sizeof(arrays));
	return 0;
}

static bool present(const struct model *m, enum array_id a)
{
	if (a == MASTER)
		return m->shape.narrow;
	return m->array[a].group != HASHED || m->shape.buckets;
}

bool model_is_narrow(const struct model *m, enum array_id a, int i)
{
	const struct tensor *t = &m->list[m->array[a].group].t[i];

	return m->shape.narrow && !(t->flags & FULL) &&
	       (a == VALUE || a == ACTS || a == BACKS);
}

struct view model_view(const struct model *m, enum array_id a,
                       enum tensor_id t, int layer)
{
	int i = model_place(m, t, layer);

	return (struct view){m->array[a].at[i], model_is_narrow(m, a, i)};
}

size_t model_tensor_bytes(const struct model *m, enum array_id a, int i)
{
	const struct tensor *t = &m->list[m->array[a].group].t[i];
	size_t size = model_is_narrow(m, a, i) ? sizeof(bf16) : sizeof(float);

	return present(m, a) ? t->len * size : 0;
}

size_t model_bytes(const struct model *m, enum array_id a)
{
	size_t sum = 0;

	for (int i = 0; i < m->list[m->array[a].group].n; i++)
		sum += model_tensor_bytes(m, a, i);
	return sum;
}

static void *reserve(const struct array *a, size_t bytes)
{
	return a->zero ? calloc(bytes / sizeof(float), sizeof(float))
	               : malloc(bytes);
}

/* Room that a tensor takes: whole floats, also where it is bf16. */
static size_t room(const struct model *m, enum array_id a, int i)
{
	size_t bytes = model_tensor_bytes(m, a, i);

	return (bytes + sizeof(float) - 1) / sizeof(float) * sizeof(float);
}

static int arena_alloc(struct model *m, enum array_id id)
{
	struct array *a = &m->array[id];
	size_t sum = 0;
	char *next;

	for (int i = 0; i < m->list[a->group].n; i++)
		sum += room(m, id, i);
	next = a->arena = reserve(a, sum);
	if (!next)
		return -ENOMEM;
	for (int i = 0; i < m->list[a->group].n; i++) {
		a->at[i] = next;
		next += room(m, id, i);
	}
	return 0;
}

static int array_alloc(struct model *m, enum array_id id, bool by_tensor)
{
	struct array *a = &m->array[id];
	int n = m->list[a->group].n;

	a->at = calloc(n, sizeof(*a->at));
	if (!a->at)
		return -ENOMEM;
	if (!by_tensor)
		return arena_alloc(m, id);
	for (int i = 0; i < n; i++) {
		a->at[i] = reserve(a, room(m, id, i));
		if (!a->at[i])
			return -ENOMEM;
	}
	return 0;
}

int model_alloc(struct model *m, bool by_tensor)
{
	int err = 0;

	for (int a = 0; a < ARRAYS && !err; a++)
		if (present(m, a))
			err = array_alloc(m, a, by_tensor);
	return err;
}

static void array_free(struct array *a, int tensors)
{
	for (int i = 0; i < tensors && a->at && !a->arena; i++)
		free(a->at[i]);
	free(a->arena);
	free(a->at);
	a->arena = NULL;
	a->at = NULL;
}

int model_hold(struct model *m)
{
	const enum array_id held[] = {model_exact(m), MOMENT1, MOMENT2};
	int err = 0;

	for (size_t i = 0; i < sizeof(held) / sizeof(held[0]) && !err; i++)
		err = array_alloc(m, held[i], true);
	return err;
}

void model_drop(struct model *m)
{
	for (int a = 0; a < ARRAYS; a++)
		array_free(&m->array[a], m->list[m->array[a].group].n);
}

void model_close(struct model *m)
{
	model_drop(m);
	for (int g = 0; g < GROUPS; g++)
		free(m->list[g].t);
	*m = (struct model){0};
}

static void fill_normal(float *w, long len, uint64_t stream, float deviation)
{
#pragma omp parallel for schedule(static)
	for (long i = 0; i < len; i++)
		w[i] = deviation * rng_normal(stream, i);
}

static void fill_all(float *w, long len, float value)
{
	for (long i = 0; i < len; i++)
		w[i] = value;
}

void model_fill_tensor(const struct model *m, int i, float *w, uint64_t seed)
{
	const struct tensor *t = &m->list[WEIGHT].t[i];
	float damp = 1 / sqrtf(2.0f * m->shape.layers);

	if (t->fill == NORMAL || t->fill == DAMPED)
		fill_normal(w, t->len, rng_at(seed, i),
		            t->fill == DAMPED ? 0.02f * damp : 0.02f);
	else
		fill_all(w, t->len, t->fill == ONES ? 1.0f : 0.0f);
}

static void narrow_tensor(struct model *m, int i)
{
	const float *from = m->array[MASTER].at[i];
	bf16 *to = m->array[VALUE].at[i];
	long len = m->list[WEIGHT].t[i].len;

#pragma omp parallel for schedule(static)
	for (long j = 0; j < len; j++)
		to[j] = bf16_round(from[j]);
}

void model_narrow(struct model *m)
{
	for (int i = 0; i < m->list[WEIGHT].n && m->shape.narrow; i++)
		narrow_tensor(m, i);
}

void model_fill(struct model *m, uint64_t seed)
{
	const struct list *l = &m->list[WEIGHT];

	for (int i = 0; i < l->n; i++)
		model_fill_tensor(m, i, m->array[model_exact(m)].at[i], seed);
	if (m->shape.buckets)
		fill_normal(model_at(m, TABLE, T_GRAMS, 0),
		            m->list[HASHED].len, rng_at(seed, l->n), 0.02f);
	model_narrow(m);
}
