/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where training takes place: one struct of functions for each --device.
 */
#ifndef DEVICE_H
#define DEVICE_H

#include "adamw.h"
#include "data.h"
#include "model.h"
#include "options.h"

struct run {
	struct options opt;
	struct model model;
	struct text text;
	long step; /* the last one done */
};

struct result {
	double loss, norm; /* sum of the micro-batches' losses */
};

/* -errno, with the reason on stderr. */
struct device {
	/* Memory and first weights, of --resume or of --seed. */
	int (*start)(struct run *);
	/* The step after r->step. */
	int (*step)(struct run *, struct result *);
	/* To --save. */
	int (*save)(struct run *);
	/* A tensor, on the host, until the next call; NULL: it failed. */
	const void *(*peek)(struct run *, enum array_id, int i);
	void (*stop)(struct run *);
};

extern const struct device device_cpu, device_cuda;

/* Says what is wrong; returns err for the caller to pass on. */
__attribute__((format(printf, 2, 3))) int complain(int err, const char *fmt,
                                                   ...);

/* The n-th micro-batch of the step after r->step. */
void run_draw(const struct run *, struct batch *, long n);
long run_tokens(const struct run *);
struct schedule run_schedule(const struct run *);

/* From and to the arrays of r->model; say why a checkpoint cannot be. */
int run_resume(struct run *);
int run_save(struct run *);

#endif
