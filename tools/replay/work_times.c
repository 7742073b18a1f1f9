/* SPDX-License-Identifier: Apache-2.0 */
/*
 * See work_times.h.
 *
 * A launch that was not timed takes what those took that are most like it, the
 * median of them: the same kernel with the same tensors, which is the same
 * place of another step; else the same kernel with as many bytes; else the
 * same kernel. What nothing is known of takes the time that passed since the
 * program asked for what came before, less what the device was known to be
 * busy with in it.
 */
#include "config.h"
#include "replay/work_times.h"

#include <stdlib.h>
#include "replay/mem.h"

/* How alike two launches may be; the best first. */
enum { TENSORS, BYTES, NAME, LEVELS };

struct sample {
	uint64_t key, ns;
};

void times_asked(struct times *t, struct work *w, uint64_t name, uint64_t at,
		 uint64_t ns)
{
	uint64_t before = t->n ? hz_min(t->asked[t->n - 1].at, at) : at;

	if (t->n == t->max) {
		t->max = hz_max(1024u, 2 * t->max);
		t->asked = mem_resize(t->asked, t->max, sizeof(*t->asked));
	}
	t->asked[t->n] = (struct times_asked){.name = name,
					      .at = at,
					      .kernel = w->step.kernels - 1,
					      .known = ns != 0};
	w->ns[w->step.kernels - 1] = ns ? ns : at - before;
	t->n++;
	if (name == TIMES_COPY)
		return;
	if (t->launches == t->launches_max) {
		t->launches_max = hz_max(1024u, 2 * t->launches_max);
		t->launch = mem_resize(t->launch, t->launches_max,
				       sizeof(*t->launch));
	}
	t->launch[t->launches++] = t->n - 1;
}

void times_took(struct times *t, struct work *w, uint64_t name, uint64_t back,
		uint64_t ns)
{
	struct times_asked *a = NULL;

	if (back && back <= t->launches)
		a = &t->asked[t->launch[t->launches - back]];
	if (!a || a->name != name) {
		t->mismatched++;
		return;
	}
	w->ns[a->kernel] = ns;
	a->known = true;
	t->timed++;
}

/* ---- who is like whom ---- */

static uint64_t mix(uint64_t h, uint64_t v)
{
	h = (h ^ v) * 0x9e3779b97f4a7c15ull;
	return h ^ h >> 29;
}

static uint64_t key_of(const struct work *w, const struct times_asked *a,
		       unsigned level)
{
	uint64_t h = mix(level, a->name), bytes = 0;

	for (uint32_t u = w->first[a->kernel]; u < w->first[a->kernel + 1];
	     u++) {
		uint32_t tensor = hz_use_tensor(w->use[u]);

		bytes += w->bytes[tensor];
		if (level == TENSORS)
			h = mix(h, tensor);
	}
	/* Not the highest number there is: see median(). */
	return (level == BYTES ? mix(h, bytes) : h) >> 1;
}

static int by_key(const void *a, const void *b)
{
	const struct sample *x = a, *y = b;

	if (x->key != y->key)
		return x->key < y->key ? -1 : 1;
	return (x->ns > y->ns) - (x->ns < y->ns);
}

/* Those of all levels in one array, a key's next to each other. */
static struct sample *samples_of(const struct times *t, const struct work *w,
				 uint32_t *n)
{
	struct sample *s = mem_resize(NULL, (size_t)t->n * LEVELS, sizeof(*s));

	*n = 0;
	for (uint32_t i = 0; i < t->n; i++) {
		const struct times_asked *a = &t->asked[i];

		if (!a->known || a->name == TIMES_COPY)
			continue;
		for (unsigned level = 0; level < LEVELS; level++)
			s[(*n)++] = (struct sample){key_of(w, a, level),
						    w->ns[a->kernel]};
	}
	qsort(s, *n, sizeof(*s), by_key);
	return s;
}

/* The first sample whose key is not below. */
static uint32_t first_of(const struct sample *s, uint32_t n, uint64_t key)
{
	uint32_t from = 0;

	while (from < n) {
		uint32_t middle = from + (n - from) / 2;

		if (s[middle].key < key)
			from = middle + 1;
		else
			n = middle;
	}
	return from;
}

static bool median(const struct sample *s, uint32_t n, uint64_t key,
		   uint64_t *ns)
{
	uint32_t from = first_of(s, n, key), to = first_of(s, n, key + 1);

	if (from == to)
		return false;
	*ns = s[from + (to - from) / 2].ns;
	return true;
}

static void estimate(struct times *t, struct work *w)
{
	uint32_t n;
	struct sample *s = samples_of(t, w, &n);

	for (uint32_t i = 0; i < t->n; i++) {
		struct times_asked *a = &t->asked[i];

		if (a->name == TIMES_COPY)
			continue;
		for (unsigned level = 0; level < LEVELS && !a->known; level++)
			a->known = median(s, n, key_of(w, a, level),
					  &w->ns[a->kernel]);
	}
	free(s);
}

/* ---- what is left ---- */

/* As if the device did one after the other. */
static void fill_gaps(struct times *t, struct work *w)
{
	uint64_t busy = 0, before = t->asked[0].at;

	for (uint32_t i = 0; i < t->n; i++) {
		struct times_asked *a = &t->asked[i];
		uint64_t at = hz_max(a->at, before);
		uint64_t from = hz_max(before, busy);

		if (a->known) {
			busy = hz_max(busy, at) + w->ns[a->kernel];
		} else {
			w->ns[a->kernel] = at - hz_min(from, at);
			busy = hz_max(busy, at);
		}
		before = at;
	}
}

void times_settle(struct times *t, struct work *w)
{
	if (!t->timed)
		return;
	estimate(t, w);
	fill_gaps(t, w);
}

void times_free(struct times *t)
{
	free(t->asked);
	free(t->launch);
}
