/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where the first value is that is not finite, and what may help.
 */
#include "diagnose.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "bf16.h"

/* The norms before, for their median; few of them say nothing. */
enum { MEMORY = 31, ENOUGH = 5, FAR = 100 };

static struct {
	double norm[MEMORY];
	long n;
} past;

/* In the order in which a step comes by them; of the gradients the last
 * layer's come first. */
static const struct {
	enum array_id array;
	const char *what;
	bool from_last;
} places[] = {
        {VALUE, "weight", false},    {TABLE, "hashed rows", false},
        {ACTS, "activation", false}, {GRAD, "gradient of", true},
        {BACKS, "gradient", false},
};

struct found {
	int place, tensor;
	long at;
	float value;
};

/* Beyond the query's own place nothing has been written. */
static bool unused(const struct shape *s, const struct tensor *t, long at)
{
	return t->flags & CAUSAL && at % s->seq > at / s->seq % s->seq;
}

static bool search(struct run *r, const struct device *d, struct found *f)
{
	const struct model *m = &r->model;
	enum array_id a = places[f->place].array;
	const struct tensor *t = &m->list[m->array[a].group].t[f->tensor];
	bool half = model_is_narrow(m, a, f->tensor);
	const void *at = d->peek(r, a, f->tensor);

	for (f->at = 0; at && f->at < t->len; f->at++) {
		f->value = half ? bf16_widen(((const bf16 *)at)[f->at])
		                : ((const float *)at)[f->at];
		if (!isfinite(f->value) && !unused(&m->shape, t, f->at))
			return true;
	}
	return false;
}

static bool search_all(struct run *r, const struct device *d, struct found *f)
{
	const struct model *m = &r->model;

	for (f->place = 0; f->place < (int)(sizeof(places) / sizeof(places[0]));
	     f->place++) {
		enum array_id a = places[f->place].array;
		int n = model_bytes(m, a) ? m->list[m->array[a].group].n : 0;

		for (int i = 0; i < n; i++) {
			f->tensor = places[f->place].from_last ? n - 1 - i : i;
			if (search(r, d, f))
				return true;
		}
	}
	return false;
}

static void tell_found(struct run *r, const struct device *d)
{
	const struct model *m = &r->model;
	const struct tensor *t;
	struct found f;

	if (!search_all(r, d, &f)) {
		fputs("in an earlier micro-batch, by now all is finite",
		      stderr);
		return;
	}
	t = &m->list[m->array[places[f.place].array].group].t[f.tensor];
	fprintf(stderr, "first in %s %s", places[f.place].what,
	        model_name(t->id));
	if (model_is_layered(t->id))
		fprintf(stderr, " of layer %d", t->layer);
	fprintf(stderr, ", element %ld: %g", f.at, fabsf(f.value));
}

static void advise(const struct options *o)
{
	fprintf(stderr, "; try %s--lr %g",
	        o->loss_scale > 1 ? "--loss-scale 1, " : "", o->lr / 10);
	if (o->clip == 0 || o->clip > 1)
		fputs(", --clip 1", stderr);
	if (!strcmp(o->dtype, "bf16"))
		fputs(", --dtype f32", stderr);
}

static int by_size(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return x < y ? -1 : x > y;
}

/* Of the last norms, or 0 where there are not enough. */
static double median(void)
{
	double sorted[MEMORY];
	long n = past.n < MEMORY ? past.n : MEMORY;

	if (n < ENOUGH)
		return 0;
	memcpy(sorted, past.norm, n * sizeof(*sorted));
	qsort(sorted, n, sizeof(*sorted), by_size);
	return sorted[n / 2];
}

static void tell(struct run *r, const struct device *d,
                 const struct result *result, bool stops)
{
	fprintf(stderr, "gpt-train: step %ld: loss %g, norm %g: ", r->step,
	        result->loss / r->opt.micro, result->norm);
	if (isfinite(result->loss) && isfinite(result->norm))
		fprintf(stderr, "over %d times the median of %g", FAR,
		        median());
	else
		tell_found(r, d);
	advise(&r->opt);
	if (!isfinite(result->norm))
		fputs("; the step is not applied", stderr);
	fputs(stops ? "; stopped, --keep-going goes on\n" : "\n", stderr);
}

int diagnose(struct run *r, const struct device *d, const struct result *result)
{
	bool lost = !isfinite(result->loss) || !isfinite(result->norm);
	bool stops = lost && !r->opt.keep_going;
	double usual = median();

	if (lost || (usual > 0 && result->norm > FAR * usual))
		tell(r, d, result, stops);
	if (isfinite(result->norm))
		past.norm[past.n++ % MEMORY] = result->norm;
	return stops ? -EDOM : 0;
}
