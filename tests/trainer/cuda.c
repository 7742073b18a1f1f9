/* SPDX-License-Identifier: Apache-2.0 */
/*
 * --device cuda: the driver API. A step is one sequence of launches, in which
 * the host decides nothing; --graph captures the first and replays it.
 */
#include "device.h"

#include <errno.h>
#include <math.h>
#include <omp.h>
#include <stdlib.h>
#include <string.h>
#include "gpu-layers.h"
#include "gpu-passes.h"

static struct {
	struct gpu gpu;
	struct gpu_model model;
	CUgraph graph;
	CUgraphExec exec; /* or NULL */
	/* Of a step; copies read them until the stream is waited for. */
	uint8_t *text; /* in and want of each micro-batch */
	void *peeked;
	struct step_in in;
	struct step_out out;
} cuda;

static const char *const ways[] = {
        [BY_ARENA] = "arena",
        [BY_TENSOR] = "tensor",
        [BY_POOL] = "pool",
        [BY_MANAGED] = "managed",
};

static enum way way_of(const char *name)
{
	enum way way = BY_ARENA;

	while (strcmp(ways[way], name))
		way++;
	return way;
}

static size_t text_bytes(const struct run *r)
{
	return 2 * r->opt.micro * shape_rows(&r->model.shape);
}

/* A grid is no deeper. */
static int check_size(const struct run *r)
{
	return r->opt.batch * r->opt.heads > 65535
	               ? complain(-EINVAL, "--batch times --heads: keep it "
	                                   "below 65536 on a GPU")
	               : 0;
}

static int fill(struct run *r)
{
	int err;

	if (!r->opt.resume)
		return gpu_model_fill(&cuda.model, r->opt.seed);
	err = model_hold(&r->model);
	if (err)
		return complain(err, "no memory for a checkpoint");
	err = run_resume(r);
	if (!err)
		err = gpu_model_load(&cuda.model);
	model_drop(&r->model);
	return err;
}

static int start(struct run *r)
{
	int err = check_size(r);

	if (err)
		return err;
	omp_set_num_threads(r->opt.threads);
	cuda.text = malloc(text_bytes(r));
	if (!cuda.text)
		return complain(-ENOMEM, "no memory: make --micro smaller");
	err = gpu_open(&cuda.gpu, r->opt.module);
	if (!err)
		err = gpu_model_open(&cuda.model, &cuda.gpu, &r->model,
		                     way_of(r->opt.alloc), r->opt.micro);
	return err ? err : fill(r);
}

/* All launches of a step. */
static void enqueue(struct run *r)
{
	struct gpu_model *m = &cuda.model;
	float scale = (float)run_schedule(r).loss_scale / run_tokens(r);
	long rows = shape_rows(&r->model.shape);

	for (long i = 0; i < r->opt.micro; i++) {
		CUdeviceptr text = m->text + i * 2 * rows;

		gpu_forward(m, text, scale, i > 0);
		gpu_backward(m, text, i > 0);
	}
	gpu_adamw(m);
}

static void capture(struct run *r)
{
	struct gpu *g = &cuda.gpu;

	GPU(g, cuStreamBeginCapture, g->stream, CAPTURE_THREAD_LOCAL);
	enqueue(r);
	GPU(g, cuStreamEndCapture, g->stream, &cuda.graph);
	GPU(g, cuGraphInstantiateWithFlags, &cuda.exec, cuda.graph, 0);
}

static void upload(struct run *r)
{
	struct schedule plan = run_schedule(r);
	long rows = shape_rows(&r->model.shape);

	cuda.in = (struct step_in){
	        .rate = plan.rate,
	        .clip = plan.clip,
	        .fix1 = 1 / (1 - pow(0.9, r->step + 1)),
	        .fix2 = 1 / (1 - pow(0.95, r->step + 1)),
	        .unscale = 1 / plan.loss_scale,
	};

	for (long i = 0; i < r->opt.micro; i++) {
		uint8_t *at = cuda.text + i * 2 * rows;

		run_draw(r, &(struct batch){at, at + rows, NULL}, i);
	}
	gpu_put(&cuda.gpu, cuda.model.text, cuda.text, text_bytes(r));
	gpu_put(&cuda.gpu, cuda.model.in, &cuda.in, sizeof(cuda.in));
}

static int step(struct run *r, struct result *result)
{
	if (r->opt.graph && !cuda.exec)
		capture(r);
	upload(r);
	if (r->opt.graph)
		GPU(&cuda.gpu, cuGraphLaunch, cuda.exec, cuda.gpu.stream);
	else
		enqueue(r);
	gpu_get(&cuda.gpu, &cuda.out, cuda.model.out, sizeof(cuda.out));
	if (gpu_wait(&cuda.gpu))
		return cuda.gpu.err;
	*result = (struct result){cuda.out.loss, cuda.out.norm};
	return 0;
}

static int save(struct run *r)
{
	int err = model_hold(&r->model);

	if (err)
		return complain(err, "no memory for a checkpoint");
	err = gpu_model_save(&cuda.model);
	if (!err)
		err = run_save(r);
	model_drop(&r->model);
	return err;
}

static const void *peek(struct run *r, enum array_id a, int i)
{
	size_t bytes = model_tensor_bytes(&r->model, a, i);

	free(cuda.peeked);
	cuda.peeked = malloc(bytes);
	if (!cuda.peeked)
		return NULL;
	gpu_get(&cuda.gpu, cuda.peeked, cuda.model.array[a].at[i], bytes);
	return gpu_wait(&cuda.gpu) ? NULL : cuda.peeked;
}

static void stop(struct run *r)
{
	if (cuda.exec)
		cuda.gpu.call.cuGraphExecDestroy(cuda.exec);
	if (cuda.graph)
		cuda.gpu.call.cuGraphDestroy(cuda.graph);
	gpu_model_close(&cuda.model);
	gpu_close(&cuda.gpu);
	free(cuda.text);
	free(cuda.peeked);
}

const struct device device_cuda = {
        .start = start,
        .step = step,
        .save = save,
        .peek = peek,
        .stop = stop,
};
