/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The model on a device: the same arrays and tensors as on the host, and the
 * little that a step needs besides.
 */
#ifndef GPU_MODEL_H
#define GPU_MODEL_H

#include "gpu-run.h"
#include "launch.h"
#include "model.h"

struct gpu_array {
	CUdeviceptr *at;   /* one a tensor of the group's list */
	CUdeviceptr arena; /* the only allocation, or 0: one a tensor */
};

struct gpu_model {
	struct gpu *gpu;
	const struct model *model;
	enum way way;
	struct gpu_array array[ARRAYS];
	CUdeviceptr text; /* micro-batches: in, want, in, want, ... */
	CUdeviceptr in, out, parts;
};

/* -errno; gpu_model_close also after an error. */
int gpu_model_open(struct gpu_model *, struct gpu *, const struct model *,
                   enum way, int micro);
void gpu_model_close(struct gpu_model *);

/* First values. */
int gpu_model_fill(struct gpu_model *, uint64_t seed);

/* Weights and moments from or to the host's arrays, by model_hold. */
int gpu_model_load(struct gpu_model *);
int gpu_model_save(struct gpu_model *);

static inline CUdeviceptr gpu_at(const struct gpu_model *g, enum array_id a,
                                 enum tensor_id t, int layer)
{
	const struct model *m = g->model;

	return g->array[a].at[m->first[t] + layer * m->stride[t]];
}

#endif
