/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Traces for plan_sim.h: sweeps, and the order in which a plain C trainer of
 * a decoder visits its arrays.
 */
#include "plan_sim.h"

#include <stdlib.h>
#include <string.h>

void sim_visit(struct sim_trace *t, uint32_t block, bool write)
{
	if (t->n == t->room) {
		t->room = t->room ? 2 * t->room : 4096;
		t->visit = realloc(t->visit, t->room * sizeof(*t->visit));
		if (!t->visit)
			abort();
	}
	t->visit[t->n++] = (struct sim_visit){block, write};
	if (block >= t->blocks)
		t->blocks = block + 1;
}

void sim_sweep(struct sim_trace *t, uint32_t first, uint32_t n, bool write)
{
	for (uint32_t i = 0; i < n; i++)
		sim_visit(t, first + i, write);
}

void sim_trace_free(struct sim_trace *t)
{
	free(t->visit);
	memset(t, 0, sizeof(*t));
}

/* ---- a training step ---- */

/* Kinds of tensors. The first group is also that of gradients and moments. */
enum kind {
	WTE,
	WPE,
	LN1,
	QKVW,
	PROJW,
	LN2,
	FCW,
	FCPROJW,
	LNF,
	PARAMS,
	ENC = PARAMS,
	ALN1,
	QKV,
	ATTY,
	PREATT,
	ATT,
	APROJ,
	RES2,
	ALN2,
	FCH,
	GELU,
	FCPROJ,
	RES3,
	ALNF,
	LOGITS,
	PROBS,
	KINDS
};

enum array { VALUE, GRAD, MOMENT_M, MOMENT_V, ARRAYS };

struct layout {
	const struct sim_model *m;
	struct sim_trace *t;
	uint64_t at[KINDS];    /* byte offset within its group */
	uint64_t bytes[KINDS]; /* of one layer */
	uint64_t base[ARRAYS]; /* of parameters; and of activations: */
	uint64_t act[2], params, acts;
};

struct operand {
	enum kind kind;
	enum array array;
	bool write;
};

static void lay_out(struct layout *l)
{
	const struct sim_model *m = l->m;
	uint64_t c = m->width, bt = (uint64_t)m->batch * m->length;
	uint64_t att = bt * m->heads * m->length, at = 0;
	const uint64_t floats[KINDS] = {
	        [WTE] = m->vocabulary * c,
	        [WPE] = 1024 * c,
	        [LN1] = 2 * c,
	        [QKVW] = 3 * c * c,
	        [PROJW] = c * c,
	        [LN2] = 2 * c,
	        [FCW] = 4 * c * c,
	        [FCPROJW] = 4 * c * c,
	        [LNF] = 2 * c,
	        [ENC] = bt * c,
	        [ALN1] = bt * c,
	        [QKV] = 3 * bt * c,
	        [ATTY] = bt * c,
	        [PREATT] = att,
	        [ATT] = att,
	        [APROJ] = bt * c,
	        [RES2] = bt * c,
	        [ALN2] = bt * c,
	        [FCH] = 4 * bt * c,
	        [GELU] = 4 * bt * c,
	        [FCPROJ] = bt * c,
	        [RES3] = bt * c,
	        [ALNF] = bt * c,
	        [LOGITS] = bt * m->vocabulary,
	        [PROBS] = bt * m->vocabulary,
	};

	for (unsigned k = 0; k < KINDS; k++) {
		bool once = k == WTE || k == WPE || k == LNF || k == ENC ||
		            k == ALNF || k == LOGITS || k == PROBS;

		if (k == PARAMS) {
			l->params = hz_align_up(at, HZ_BLOCK_SIZE);
			at = 0;
		}
		l->at[k] = at;
		l->bytes[k] = 4 * floats[k];
		at += l->bytes[k] * (once ? 1 : m->layers);
	}
	l->acts = hz_align_up(at, HZ_BLOCK_SIZE);
	l->base[VALUE] = 0;
	l->act[VALUE] = l->params;
	l->base[GRAD] = l->act[VALUE] + l->acts;
	l->act[GRAD] = l->base[GRAD] + l->params;
	l->base[MOMENT_M] = l->act[GRAD] + l->acts;
	l->base[MOMENT_V] = l->base[MOMENT_M] + l->params;
}

static void blocks_of(const struct layout *l, const struct operand *o,
                      uint32_t layer, uint32_t *first, uint32_t *n)
{
	uint64_t base = o->kind < PARAMS ? l->base[o->array] : l->act[o->array];
	uint64_t from = base + l->at[o->kind] + layer * l->bytes[o->kind];
	uint64_t last = from + l->bytes[o->kind] - 1;

	*first = (uint32_t)(from >> HZ_BLOCK_SHIFT);
	*n = (uint32_t)(last >> HZ_BLOCK_SHIFT) - *first + 1;
}

/* One operation: its operands are walked at the same time. */
static void op(const struct layout *l, uint32_t layer, const struct operand *o,
               unsigned operands)
{
	uint32_t first, n, longest = 0;

	for (unsigned i = 0; i < operands; i++) {
		blocks_of(l, &o[i], layer, &first, &n);
		longest = hz_max(longest, n);
	}
	for (uint32_t at = 0; at < longest; at++) {
		for (unsigned i = 0; i < operands; i++) {
			blocks_of(l, &o[i], layer, &first, &n);
			if (at < n)
				sim_visit(l->t, first + at, o[i].write);
		}
	}
}

#define OP(l_, layer_, ...)                                   \
	op(l_, layer_, (const struct operand[]){__VA_ARGS__}, \
	   sizeof((const struct operand[]){__VA_ARGS__}) /    \
	           sizeof(struct operand))
#define IN(kind_)                   \
	{                           \
		kind_, VALUE, false \
	}
#define OUT(kind_)                 \
	{                          \
		kind_, VALUE, true \
	}
#define GIN(kind_)                 \
	{                          \
		kind_, GRAD, false \
	}
#define GOUT(kind_)               \
	{                         \
		kind_, GRAD, true \
	}

static void forward(const struct layout *l)
{
	OP(l, 0, IN(WTE), IN(WPE), OUT(ENC));
	for (uint32_t i = 0; i < l->m->layers; i++) {
		OP(l, i, IN(LN1), IN(RES3), OUT(ALN1));
		OP(l, i, IN(QKVW), IN(ALN1), OUT(QKV));
		OP(l, i, IN(QKV), OUT(PREATT), OUT(ATT), OUT(ATTY));
		OP(l, i, IN(PROJW), IN(ATTY), OUT(APROJ));
		OP(l, i, IN(APROJ), OUT(RES2));
		OP(l, i, IN(LN2), IN(RES2), OUT(ALN2));
		OP(l, i, IN(FCW), IN(ALN2), OUT(FCH));
		OP(l, i, IN(FCH), OUT(GELU));
		OP(l, i, IN(FCPROJW), IN(GELU), OUT(FCPROJ));
		OP(l, i, IN(FCPROJ), IN(RES2), OUT(RES3));
	}
	OP(l, 0, IN(LNF), OUT(ALNF));
	OP(l, 0, IN(WTE), OUT(LOGITS));
	OP(l, 0, IN(LOGITS), OUT(PROBS));
}

static void backward(const struct layout *l)
{
	OP(l, 0, IN(PROBS), GOUT(LOGITS));
	OP(l, 0, IN(WTE), GOUT(WTE), GIN(LOGITS));
	OP(l, 0, GOUT(LNF), GOUT(ALNF));
	for (uint32_t i = l->m->layers; i-- > 0;) {
		OP(l, i, GIN(RES3), GOUT(RES2), GOUT(FCPROJ));
		OP(l, i, IN(FCPROJW), GOUT(FCPROJW), IN(GELU), GOUT(GELU));
		OP(l, i, IN(FCH), GOUT(FCH), GIN(GELU));
		OP(l, i, IN(FCW), GOUT(FCW), IN(ALN2), GOUT(ALN2));
		OP(l, i, IN(LN2), GOUT(LN2), IN(RES2), GOUT(RES2));
		OP(l, i, GIN(RES2), GOUT(APROJ));
		OP(l, i, IN(PROJW), GOUT(PROJW), IN(ATTY), GOUT(ATTY));
		OP(l, i, IN(QKV), IN(ATT), GOUT(QKV), GOUT(PREATT), GOUT(ATT));
		OP(l, i, IN(QKVW), GOUT(QKVW), IN(ALN1), GOUT(ALN1));
		OP(l, i, IN(LN1), GOUT(LN1), IN(RES3), GOUT(RES3));
	}
	OP(l, 0, GOUT(WTE), GOUT(WPE), GIN(ENC));
}

static void optimizer(const struct layout *l)
{
	uint32_t n = (uint32_t)(l->params >> HZ_BLOCK_SHIFT);

	for (uint32_t i = 0; i < n; i++) {
		for (unsigned a = 0; a < ARRAYS; a++)
			sim_visit(l->t,
			          (uint32_t)(l->base[a] >> HZ_BLOCK_SHIFT) + i,
			          a != GRAD);
	}
}

void sim_train_step(struct sim_trace *t, const struct sim_model *m)
{
	struct layout l = {.m = m, .t = t};

	lay_out(&l);
	forward(&l);
	sim_sweep(t, (uint32_t)(l.base[GRAD] >> HZ_BLOCK_SHIFT),
	          (uint32_t)((l.params + l.acts) >> HZ_BLOCK_SHIFT), true);
	backward(&l);
	optimizer(&l);
}
