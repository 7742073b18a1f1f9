/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is kept of the last step for its pictures. See view.h.
 */
#include "config.h"
#include "replay/view_int.h"

#include <stdlib.h>
#include "replay/mem.h"
#include "replay/sim_int.h"

static const struct run *sorted_run;

static int by_size(const void *a, const void *b)
{
	uint64_t x = sorted_run->bytes[*(const uint32_t *)a];
	uint64_t y = sorted_run->bytes[*(const uint32_t *)b];

	return x < y ? 1 : x > y ? -1 : 0;
}

static int by_first_use(const void *a, const void *b)
{
	const struct view_row *x = a, *y = b;

	return x->first_use < y->first_use ? -1 : x->first_use > y->first_use;
}

/* The largest tensors, in the order of their first use. */
static void choose_rows(struct view *v)
{
	uint32_t n = v->run->tensors;
	uint32_t *order = mem_resize(NULL, n, sizeof(*order));
	uint32_t *first = mem_resize(NULL, n, sizeof(*first));

	for (uint32_t t = 0; t < n; t++)
		order[t] = t;
	sorted_run = v->run;
	qsort(order, n, sizeof(*order), by_size);
	for (uint32_t u = v->run->first_use[v->run->n]; u-- > 0;)
		first[hz_use_tensor(v->run->use[u])] = u;
	v->rows = hz_min(n, (uint32_t)VIEW_ROWS);
	for (uint32_t i = 0; i < v->rows; i++)
		v->row[i] = (struct view_row){.tensor = order[i],
					      .first_use = first[order[i]]};
	qsort(v->row, v->rows, sizeof(*v->row), by_first_use);
	free(order);
	free(first);
}

struct view *view_new(const struct run *run)
{
	struct view *v = mem_zeroed(1, sizeof(*v));

	v->run = run;
	v->from = run->step_start[run->steps - 1];
	v->kernels = run->n - v->from;
	v->sample = mem_zeroed(v->kernels, sizeof(*v->sample));
	choose_rows(v);
	return v;
}

void view_free(struct view *v)
{
	free(v->sample);
	free(v->op);
	free(v);
}

static unsigned char where(const struct tensor *t)
{
	if (!t->alive)
		return VIEW_NOWHERE;
	if (2 * t->vram >= t->size)
		return 2 * t->clean >= t->size ? VIEW_COPIED : VIEW_VRAM;
	return t->store > t->ram ? VIEW_STORE : VIEW_RAM;
}

/* A kernel starts. */
void view_kernel(struct sim *sim)
{
	struct view *v = sim->view;
	struct view_sample *s;

	if (sim->pos < v->from)
		return;
	s = &v->sample[sim->pos - v->from];
	s->at = sim->now;
	s->waited = sim->now - sim->waiting_since;
	s->vram = sim->vram_used;
	s->kernel = sim->run->kernel[sim->pos];
	for (uint32_t i = 0; i < v->rows; i++)
		s->where[i] = where(&sim->tensor[v->row[i].tensor]);
	v->end = sim->kernel_end;
}

/* A transfer is over. */
void view_op(struct sim *sim, enum channel ch)
{
	struct view *v = sim->view;
	const struct op *op = &sim->op[ch];

	if (sim->pos < v->from)
		return;
	if (v->ops == v->ops_max) {
		v->ops_max = hz_max(1024u, 2 * v->ops_max);
		v->op = mem_resize(v->op, v->ops_max, sizeof(*v->op));
	}
	v->op[v->ops++] = (struct view_op_seen){op->start, op->end, ch};
}
