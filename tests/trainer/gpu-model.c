/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The arrays of a model on the device.
 */
#include "gpu-model.h"

#include <errno.h>
#include <stdlib.h>

/* Tensors of an arena begin where allocations would. */
enum { ALIGN = 256 };

static size_t padded(size_t bytes)
{
	return (bytes + ALIGN - 1) / ALIGN * ALIGN;
}

static int tensors(const struct gpu_model *g, enum array_id a)
{
	return g->model->list[g->model->array[a].group].n;
}

static void arena_open(struct gpu_model *g, enum array_id a)
{
	struct gpu_array *array = &g->array[a];
	size_t sum = 0;
	CUdeviceptr next;

	for (int i = 0; i < tensors(g, a); i++)
		sum += padded(model_tensor_bytes(g->model, a, i));
	next = array->arena = gpu_alloc(g->gpu, g->way, sum);
	for (int i = 0; i < tensors(g, a) && next; i++) {
		array->at[i] = next;
		next += padded(model_tensor_bytes(g->model, a, i));
	}
}

static void array_open(struct gpu_model *g, enum array_id a)
{
	struct gpu_array *array = &g->array[a];

	array->at = calloc(tensors(g, a), sizeof(*array->at));
	if (!array->at) {
		g->gpu->err = -ENOMEM;
		return;
	}
	if (g->way == BY_ARENA) {
		arena_open(g, a);
		return;
	}
	for (int i = 0; i < tensors(g, a); i++)
		array->at[i] = gpu_alloc(g->gpu, g->way,
		                         model_tensor_bytes(g->model, a, i));
}

static void array_zero(struct gpu_model *g, enum array_id a)
{
	for (int i = 0; i < tensors(g, a); i++)
		GPU(g->gpu, cuMemsetD8Async, g->array[a].at[i], 0,
		    model_tensor_bytes(g->model, a, i), g->gpu->stream);
}

int gpu_model_open(struct gpu_model *g, struct gpu *gpu, const struct model *m,
                   enum way way, int micro)
{
	size_t parts = (size_t)m->list[WEIGHT].n * NORM_PARTS;

	*g = (struct gpu_model){.gpu = gpu, .model = m, .way = way};
	for (int a = 0; a < ARRAYS && !gpu->err; a++)
		if (model_bytes(m, a))
			array_open(g, a);
	for (int a = 0; a < ARRAYS && !gpu->err; a++)
		if (m->array[a].zero && g->array[a].at)
			array_zero(g, a);
	g->text = gpu_alloc(gpu, way, 2L * micro * shape_rows(&m->shape));
	g->in = gpu_alloc(gpu, way, sizeof(struct step_in));
	g->out = gpu_alloc(gpu, way, sizeof(struct step_out));
	g->parts = gpu_alloc(gpu, way, parts * sizeof(double));
	return gpu->err;
}

static void array_close(struct gpu_model *g, enum array_id a)
{
	struct gpu_array *array = &g->array[a];

	for (int i = 0; array->at && !array->arena && i < tensors(g, a); i++)
		gpu_free(g->gpu, g->way, array->at[i]);
	gpu_free(g->gpu, g->way, array->arena);
	free(array->at);
}

void gpu_model_close(struct gpu_model *g)
{
	if (!g->model)
		return;
	for (int a = 0; a < ARRAYS; a++)
		array_close(g, a);
	gpu_free(g->gpu, g->way, g->text);
	gpu_free(g->gpu, g->way, g->in);
	gpu_free(g->gpu, g->way, g->out);
	gpu_free(g->gpu, g->way, g->parts);
	*g = (struct gpu_model){0};
}

static void narrow(struct gpu_model *g, int i)
{
	long len = g->model->list[WEIGHT].t[i].len;
	unsigned each = FLAT_THREADS * FLAT_EACH;
	struct grid grid = {(len + each - 1) / each, 1, 1};

	gpu_launch(g->gpu, K_narrow, grid, (struct grid){FLAT_THREADS, 1, 1},
	           ARGS(PTR(g->array[VALUE].at[i]), PTR(g->array[MASTER].at[i]),
	                LONG(len)));
}

/* The i-th weight, from the host. */
static int set_weight(struct gpu_model *g, int i, const float *w)
{
	gpu_put(g->gpu, g->array[model_exact(g->model)].at[i], w,
	        g->model->list[WEIGHT].t[i].len * sizeof(float));
	if (g->model->shape.narrow)
		narrow(g, i);
	return gpu_wait(g->gpu);
}

static long longest(const struct list *l)
{
	long max = 0;

	for (int i = 0; i < l->n; i++)
		max = l->t[i].len > max ? l->t[i].len : max;
	return max;
}

int gpu_model_fill(struct gpu_model *g, uint64_t seed)
{
	const struct list *l = &g->model->list[WEIGHT];
	float *w = malloc(longest(l) * sizeof(*w));
	int err = w ? 0 : -ENOMEM;

	for (int i = 0; i < l->n && !err; i++) {
		model_fill_tensor(g->model, i, w, seed);
		err = set_weight(g, i, w);
	}
	free(w);
	return err;
}

static float *held(const struct gpu_model *g, enum array_id a, int i)
{
	return g->model->array[a].at[i];
}

int gpu_model_load(struct gpu_model *g)
{
	for (int i = 0; i < g->model->list[WEIGHT].n && !g->gpu->err; i++) {
		size_t bytes = g->model->list[WEIGHT].t[i].len * sizeof(float);

		set_weight(g, i, held(g, model_exact(g->model), i));
		for (int a = MOMENT1; a <= MOMENT2; a++)
			gpu_put(g->gpu, g->array[a].at[i], held(g, a, i),
			        bytes);
	}
	return gpu_wait(g->gpu);
}

int gpu_model_save(struct gpu_model *g)
{
	enum array_id exact = model_exact(g->model);

	for (int i = 0; i < g->model->list[WEIGHT].n; i++) {
		size_t bytes = g->model->list[WEIGHT].t[i].len * sizeof(float);

		gpu_get(g->gpu, held(g, exact, i), g->array[exact].at[i],
		        bytes);
		for (int a = MOMENT1; a <= MOMENT2; a++)
			gpu_get(g->gpu, held(g, a, i), g->array[a].at[i],
			        bytes);
	}
	return gpu_wait(g->gpu);
}
