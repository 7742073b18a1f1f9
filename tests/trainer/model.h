/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The model: its shape, its tensors, and the arrays they live in.
 */
#ifndef MODEL_H
#define MODEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "view.h"

enum { VOCAB = 256 }; /* bytes */

struct shape {
	int layers, hidden, heads, seq, batch;
	bool recompute; /* layers share activations, but for KEPT ones */
	bool narrow;    /* bf16 weights and activations, master weights */
	long buckets;   /* rows of the hashed table, or 0 */
};

static inline int shape_rows(const struct shape *s)
{
	return s->batch * s->seq;
}

enum tensor_id {
#define T(group_, name_, ...) T_##name_,
#include "tensors.def"
#undef T
	T_COUNT
};

enum group { WEIGHT, ACT, BACK, HASHED, GROUPS };

enum fill { NONE, ONES, ZEROS, NORMAL, DAMPED };

enum { DECAY = 1, FULL = 2, KEPT = 4, CAUSAL = 8 };

struct tensor {
	enum tensor_id id;
	int layer;
	long len;
	enum fill fill;
	int flags;
};

/* The tensors of a group in the order of its arrays. */
struct list {
	int n;
	long len;
	struct tensor *t;
};

enum array_id {
	VALUE,
	GRAD,
	MOMENT1,
	MOMENT2,
	ACTS,
	BACKS,
	MASTER,
	TABLE,
	SQUARES,
	ARRAYS
};

struct array {
	const char *what;
	enum group group;
	bool zero;   /* must start as zero */
	void **at;   /* one a tensor of the group's list */
	void *arena; /* the only allocation, or NULL: one a tensor */
};

struct model {
	struct shape shape;
	struct list list[GROUPS];
	int first[T_COUNT];  /* place in its list, in layer 0 */
	int stride[T_COUNT]; /* from a layer to the next */
	struct array array[ARRAYS];
};

/* -errno. model_layout allocates nothing large; model_close frees all. */
int model_layout(struct model *, const struct shape *);
int model_alloc(struct model *, bool by_tensor);
void model_close(struct model *);

/* Only what a checkpoint holds: exact weights and their moments. */
int model_hold(struct model *);
void model_drop(struct model *);

/* The array of the weights as the optimizer has them, in float. */
static inline enum array_id model_exact(const struct model *m)
{
	return m->shape.narrow ? MASTER : VALUE;
}

/* From the exact weights to those in use, where they differ. */
void model_narrow(struct model *);

void model_fill(struct model *, uint64_t seed);
/* The first values of the i-th weight. */
void model_fill_tensor(const struct model *, int i, float *w, uint64_t seed);

/* Bytes of an array, 0 where the model has it not, and of one tensor of it. */
size_t model_bytes(const struct model *, enum array_id);
size_t model_tensor_bytes(const struct model *, enum array_id, int i);

/* Whether the i-th tensor of an array is in bf16. */
bool model_is_narrow(const struct model *, enum array_id, int i);

static inline int model_place(const struct model *m, enum tensor_id t,
                              int layer)
{
	return m->first[t] + layer * m->stride[t];
}

/* For tensors that are float whatever the dtype. */
static inline float *model_at(const struct model *m, enum array_id a,
                              enum tensor_id t, int layer)
{
	return m->array[a].at[model_place(m, t, layer)];
}

/* Its name in tensors.def, and whether each layer has it. */
const char *model_name(enum tensor_id);
bool model_is_layered(enum tensor_id);

struct view model_view(const struct model *, enum array_id, enum tensor_id,
                       int layer);

#endif
