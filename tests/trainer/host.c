/* SPDX-License-Identifier: Apache-2.0 */
/*
 * --device cpu: host arrays and threads.
 */
#include "device.h"

#include <omp.h>
#include <string.h>
#include "kernel.h"
#include "matmul.h"
#include "passes.h"

static struct batch batch;

static int start(struct run *r)
{
	int err = matmul_open(r->opt.threads);

	omp_set_dynamic(0);
	omp_set_num_threads(r->opt.threads);
	kernel_pick(0);
	if (!err)
		err = batch_open(&batch, &r->model.shape);
	if (!err)
		err = model_alloc(&r->model, !strcmp(r->opt.alloc, "tensor"));
	if (err)
		return complain(err, "no memory: make the model smaller");
	if (r->opt.resume)
		return run_resume(r);
	model_fill(&r->model, r->opt.seed);
	return 0;
}

static int step(struct run *r, struct result *result)
{
	const struct schedule plan = run_schedule(r);

	result->loss = 0;
	for (long i = 0; i < r->opt.micro; i++) {
		run_draw(r, &batch, i);
		result->loss +=
		        forward(&r->model, &batch, 1.0f / run_tokens(r));
		backward(&r->model, &batch, i > 0);
	}
	result->norm = adamw_step(&r->model, &plan, r->step + 1);
	return 0;
}

static void stop(struct run *r)
{
	batch_close(&batch);
	matmul_close();
}

const struct device device_cpu = {
        .start = start,
        .step = step,
        .save = run_save,
        .stop = stop,
};
