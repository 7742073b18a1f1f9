/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gpt-train: trains a small GPT on the bytes of a file. A workload that is
 * the same to the last bit in every run with the same options.
 */
#include <errno.h>
#include <omp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "adamw.h"
#include "checkpoint.h"
#include "data.h"
#include "kernel.h"
#include "matmul.h"
#include "model.h"
#include "options.h"
#include "passes.h"

struct run {
	struct options opt;
	struct model model;
	struct text text;
	struct batch batch;
	long step; /* the last one done */
};

/* Says what is wrong; returns err for the caller to pass on. */
__attribute__((format(printf, 2, 3))) static int complain(int err,
                                                          const char *fmt, ...)
{
	va_list args;

	fputs("gpt-train: ", stderr);
	va_start(args, fmt);
	vfprintf(stderr, fmt, args);
	va_end(args);
	fprintf(stderr, " (%s)\n", strerror(-err));
	return err;
}

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec + 1e-9 * t.tv_nsec;
}

static double mib(size_t bytes)
{
	return bytes / 1048576.0;
}

static void summary(const struct model *m)
{
	size_t total = 0;

	for (int a = 0; a < ARRAYS; a++)
		total += model_bytes(m, a);
	fprintf(stderr, "gpt-train: %.1f M parameters, footprint %.0f MiB",
	        m->list[WEIGHT].len / 1e6, mib(total));
	for (int a = 0; a < ARRAYS; a++)
		fprintf(stderr, "%s%s %.0f", a ? ", " : " (", m->array[a].what,
		        mib(model_bytes(m, a)));
	fputs(")\n", stderr);
}

static int load_text(struct run *r)
{
	const struct options *o = &r->opt;
	size_t need = o->batch * o->seq + 1;
	int err = text_read(&r->text, o->text);

	if (err)
		return complain(err, "--text %s: give a readable file",
		                o->text);
	if (r->text.len < need)
		return complain(-EINVAL,
		                "--text %s: %zu bytes, a batch takes %zu; "
		                "give a longer text or a smaller --batch",
		                o->text, r->text.len, need);
	return 0;
}

static int resume(struct run *r)
{
	const char *path = r->opt.resume;
	int err;

	if (!path) {
		model_fill(&r->model, r->opt.seed);
		return 0;
	}
	err = checkpoint_load(&r->model, &r->step, path);
	return err ? complain(err,
	                      "--resume %s: give a checkpoint of the same "
	                      "--layers, --hidden, --heads and --seq",
	                      path)
	           : 0;
}

static int start(struct run *r)
{
	int err = matmul_open(r->opt.threads);

	omp_set_dynamic(0);
	omp_set_num_threads(r->opt.threads);
	kernel_pick(0);
	if (!err)
		err = batch_open(&r->batch, &r->model.shape);
	if (!err)
		err = model_alloc(&r->model, !strcmp(r->opt.alloc, "tensor"));
	if (err)
		return complain(err, "no memory: make the model smaller");
	return resume(r);
}

static void one_step(struct run *r)
{
	const struct options *o = &r->opt;
	const struct schedule plan = {o->lr, o->clip};
	long tokens = o->micro * o->batch * o->seq;
	double began = now(), loss = 0, norm;

	for (long i = 0; i < o->micro; i++) {
		batch_draw(&r->batch, &r->model.shape, &r->text, o->seed,
		           r->step * o->micro + i);
		loss += forward(&r->model, &r->batch, 1.0f / tokens);
		backward(&r->model, &r->batch, i > 0);
	}
	norm = adamw_step(&r->model, &plan, ++r->step);
	printf("step %ld loss %.9g norm %.9g tok/s %.0f\n", r->step,
	       loss / o->micro, norm, tokens / (now() - began));
	fflush(stdout);
}

static int train(struct run *r)
{
	int err = start(r);

	if (err)
		return err;
	while (r->step < r->opt.steps && !ferror(stdout))
		one_step(r);
	if (ferror(stdout))
		return complain(-EIO, "cannot write to standard output");
	if (r->opt.save)
		err = checkpoint_save(&r->model, r->step, r->opt.save);
	return err ? complain(err, "--save %s: give a writable place",
	                      r->opt.save)
	           : 0;
}

static int run(struct run *r)
{
	const struct options *o = &r->opt;
	const struct shape shape = {o->layers, o->hidden, o->heads, o->seq,
	                            o->batch};
	int err = load_text(r);

	if (err)
		return err;
	err = model_layout(&r->model, &shape);
	if (err)
		return complain(err, "no memory: make the model smaller");
	summary(&r->model);
	return o->steps ? train(r) : 0;
}

int main(int argc, char **argv)
{
	static struct run r;
	int err;

	options_parse(&r.opt, argc, argv);
	err = run(&r);
	model_close(&r.model);
	batch_close(&r.batch);
	text_close(&r.text);
	matmul_close();
	return err ? 1 : 0;
}
