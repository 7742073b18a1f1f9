/* SPDX-License-Identifier: Apache-2.0 */
/*
 * --device cpu: host arrays and threads.
 */
#include "device.h"

#include <math.h>
#include <omp.h>
#include <string.h>
#include "hash.h"
#include "kernel.h"
#include "passes.h"
#include "scratch.h"

static struct batch batch;
static struct hash hash;

static int start(struct run *r)
{
	int err = scratch_open(r->opt.threads, &r->model.shape);

	omp_set_dynamic(0);
	omp_set_num_threads(r->opt.threads);
	kernel_pick(0);
	if (!err)
		err = batch_open(&batch, &r->model.shape);
	if (!err)
		err = model_alloc(&r->model, !strcmp(r->opt.alloc, "tensor"));
	if (err)
		return complain(err, "no memory: make the model smaller");
	if (!r->opt.resume) {
		model_fill(&r->model, r->opt.seed);
		return 0;
	}
	err = run_resume(r);
	model_narrow(&r->model);
	return err;
}

static void draw(const struct run *r, long n)
{
	run_draw(r, &batch, n);
	if (batch.grams)
		hash_grams(&r->model, &batch);
}

/* What all micro-batches together use of the table. */
static int find_rows(const struct run *r)
{
	int err = 0;

	hash_begin(&hash, &r->model);
	for (long i = 0; i < r->opt.micro && !err; i++) {
		draw(r, i);
		err = hash_draw(&hash, &batch, i);
	}
	if (!err)
		err = hash_sort(&hash, &r->model);
	return err ? complain(err, "no memory: make --micro smaller") : 0;
}

static void pass(struct run *r, long n, struct result *result)
{
	float scale = (float)run_schedule(r).loss_scale / run_tokens(r);

	draw(r, n);
	result->loss += forward(&r->model, &batch, scale);
	backward(&r->model, &batch, n > 0);
	if (batch.grams)
		hash_back(&hash, &r->model, n);
}

/* A step whose gradient is not finite would leave nothing of the weights. */
static void apply(struct run *r, struct result *result)
{
	const struct schedule plan = run_schedule(r);
	double square = adamw_square(&r->model);

	if (batch.grams)
		square += hash_square(&hash, &r->model);
	result->norm = sqrt(square) / plan.loss_scale;
	if (!isfinite(result->norm))
		return;
	adamw_apply(&r->model, &plan, r->step + 1, result->norm);
	if (batch.grams)
		hash_apply(&hash, &r->model, &plan, result->norm);
}

static int step(struct run *r, struct result *result)
{
	int err = batch.grams ? find_rows(r) : 0;

	if (err)
		return err;
	result->loss = 0;
	for (long i = 0; i < r->opt.micro; i++)
		pass(r, i, result);
	apply(r, result);
	return 0;
}

static const void *peek(struct run *r, enum array_id a, int i)
{
	return r->model.array[a].at[i];
}

static void stop(struct run *r)
{
	hash_close(&hash);
	batch_close(&batch);
	scratch_close();
}

const struct device device_cpu = {
        .start = start,
        .step = step,
        .save = run_save,
        .peek = peek,
        .stop = stop,
};
