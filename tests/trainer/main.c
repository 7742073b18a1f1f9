/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gpt-train: trains a small GPT on the bytes of a file. A workload that is
 * the same to the last bit in every run with the same options.
 */
#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "checkpoint.h"
#include "device.h"
#include "diagnose.h"

int complain(int err, const char *fmt, ...)
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
		if (model_bytes(m, a))
			fprintf(stderr, "%s%s %.0f", a ? ", " : " (",
			        m->array[a].what, mib(model_bytes(m, a)));
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

int run_resume(struct run *r)
{
	const char *path = r->opt.resume;
	char why[80] = "cannot read it";
	int err = checkpoint_load(&r->model, &r->step, path, why, sizeof(why));

	return err ? complain(err,
	                      "--resume %s: %s; give a checkpoint of the same "
	                      "shape and dtype",
	                      path, why)
	           : 0;
}

int run_save(struct run *r)
{
	int err = checkpoint_save(&r->model, r->step, r->opt.save);

	return err ? complain(err, "--save %s: give a writable place",
	                      r->opt.save)
	           : 0;
}

void run_draw(const struct run *r, struct batch *b, long n)
{
	batch_draw(b, &r->model.shape, &r->text, r->opt.seed,
	           r->step * r->opt.micro + n);
}

long run_tokens(const struct run *r)
{
	return r->opt.micro * r->opt.batch * r->opt.seq;
}

struct schedule run_schedule(const struct run *r)
{
	return (struct schedule){r->opt.lr, r->opt.clip, r->opt.loss_scale};
}

/* Any NaN is printed the same. */
static double plain(double x)
{
	return isnan(x) ? NAN : x;
}

static int one_step(struct run *r, const struct device *d)
{
	struct result result;
	double began = now();
	int err = d->step(r, &result);

	if (err)
		return err;
	result.loss = plain(result.loss);
	result.norm = plain(result.norm);
	printf("step %ld loss %.9g norm %.9g tok/s %.0f\n", ++r->step,
	       result.loss / r->opt.micro, result.norm,
	       run_tokens(r) / (now() - began));
	fflush(stdout);
	return diagnose(r, d, &result);
}

static int train(struct run *r, const struct device *d)
{
	int err = d->start(r);

	while (!err && r->step < r->opt.steps && !ferror(stdout))
		err = one_step(r, d);
	if (err)
		return err;
	if (ferror(stdout))
		return complain(-EIO, "cannot write to standard output");
	return r->opt.save ? d->save(r) : 0;
}

static int run(struct run *r, const struct device *d)
{
	const struct options *o = &r->opt;
	const struct shape shape = {
	        .layers = o->layers,
	        .hidden = o->hidden,
	        .heads = o->heads,
	        .seq = o->seq,
	        .batch = o->batch,
	        .recompute = o->recompute,
	        .narrow = !strcmp(o->dtype, "bf16"),
	        .buckets = o->buckets,
	};
	int err = load_text(r);

	if (err)
		return err;
	err = model_layout(&r->model, &shape);
	if (err)
		return complain(err, "no memory: make the model smaller");
	summary(&r->model);
	return o->steps ? train(r, d) : 0;
}

int main(int argc, char **argv)
{
	static struct run r;
	const struct device *d;
	int err;

	options_parse(&r.opt, argc, argv);
	d = strcmp(r.opt.device, "cuda") ? &device_cpu : &device_cuda;
	err = run(&r, d);
	d->stop(&r);
	model_close(&r.model);
	text_close(&r.text);
	return err ? 1 : 0;
}
