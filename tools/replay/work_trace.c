/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A recorded trace as kernels and tensors. A launch is a kernel; a run of
 * faults on host blocks is one kernel a fault, that reads and writes the block;
 * a copy is a kernel of its own. See horizon-trace(5).
 *
 * Two threads may have written it, one the events of the host, one those of
 * the device, each in the order of their times: they are read as two files
 * that are merged.
 */
#include "config.h"
#include "replay/work.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include "base/log.h"
#include "policy/trace_file.h"
#include "replay/mem.h"
#include "replay/work_times.h"

/* Ids of the file to tensors, by hash: a freed id may be used again. */
struct ids {
	uint64_t *key; /* id + 1, 0: empty */
	uint32_t *tensor;
	uint32_t n, size; /* a power of two */
};

struct load {
	struct work *work;
	struct ids ids;
	uint32_t *last; /* by tensor: its last use, HZ_NONE: none */
	uint32_t last_max;
	uint64_t faulted;   /* time of the last host event */
	uint64_t unseen;    /* frees of what never came before */
	struct times times; /* of the device */
};

/* One of the two. */
struct source {
	struct hz_tf_reader *reader;
	struct hz_tf_event event;
	bool host;
	int rc; /* of hz_tf_next() */
};

static uint32_t slot_of(const struct ids *ids, uint64_t id)
{
	uint32_t at = (uint32_t)((id * 0x9e3779b97f4a7c15ull) >> 32);

	for (at &= ids->size - 1; ids->key[at] && ids->key[at] != id + 1;)
		at = (at + 1) & (ids->size - 1);
	return at;
}

static void grow(struct ids *ids)
{
	struct ids old = *ids;

	ids->size = hz_max(1024u, 2 * old.size);
	ids->key = mem_zeroed(ids->size, sizeof(*ids->key));
	ids->tensor = mem_zeroed(ids->size, sizeof(*ids->tensor));
	for (uint32_t i = 0; i < old.size; i++) {
		uint32_t at;

		if (!old.key[i])
			continue;
		at = slot_of(ids, old.key[i] - 1);
		ids->key[at] = old.key[i];
		ids->tensor[at] = old.tensor[i];
	}
	free(old.key);
	free(old.tensor);
}

static uint32_t new_tensor(struct load *l, uint64_t bytes)
{
	uint32_t t = l->work->step.tensors;

	work_tensor(l->work, t, bytes);
	if (t >= l->last_max) {
		l->last_max = hz_max(1024u, 2 * l->last_max);
		l->last = mem_resize(l->last, l->last_max, sizeof(*l->last));
	}
	l->last[t] = HZ_NONE;
	return t;
}

static void is_dead(struct load *l, uint32_t tensor)
{
	if (l->last[tensor] != HZ_NONE)
		l->work->use[l->last[tensor]] |= HZ_USE_LAST;
	l->last[tensor] = HZ_NONE;
}

/* The tensor that is called so, of `bytes` if it is not known. */
static uint32_t tensor_of(struct load *l, uint64_t id, uint64_t bytes)
{
	struct ids *ids = &l->ids;
	uint32_t at;

	if (2 * ids->n >= ids->size)
		grow(ids);
	at = slot_of(ids, id);
	if (!ids->key[at]) {
		ids->n++;
		ids->key[at] = id + 1;
		ids->tensor[at] = new_tensor(l, bytes);
	}
	return ids->tensor[at];
}

/* What is born where another one of its size was is taken for the same: so
 * it is in a program that does the same in every step. */
static void be_born(struct load *l, uint64_t id, uint64_t bytes)
{
	uint32_t t = tensor_of(l, id, bytes);

	is_dead(l, t);
	if (l->work->bytes[t] != bytes)
		l->ids.tensor[slot_of(&l->ids, id)] = new_tensor(l, bytes);
}

static void use(struct load *l, uint32_t tensor, unsigned how)
{
	work_use(l->work, tensor, how);
	l->last[tensor] = l->work->last[tensor] - 1;
}

static void add_asked(struct load *l, uint64_t name,
		      const struct hz_tf_event *e)
{
	work_kernel(l->work, 0);
	times_asked(&l->times, l->work, name, e->now, e->ns);
}

static void add_launch(struct load *l, const struct hz_tf_event *e)
{
	if (e->id != HZ_TF_MORE || !l->work->step.kernels)
		add_asked(l, e->id, e);
	for (uint32_t i = 0; i < e->uses; i++) {
		uint32_t t =
			tensor_of(l, hz_use_tensor(e->use[i]), HZ_BLOCK_SIZE);

		if (hz_use_how(e->use[i]) & (HZ_USE_READ | HZ_USE_WRITE))
			use(l, t, hz_use_how(e->use[i]));
	}
}

/* The time since the last one is what the program did in between. */
static void add_fault(struct load *l, const struct hz_tf_event *e)
{
	uint32_t t = tensor_of(l, e->id | HZ_TF_HOST, HZ_BLOCK_SIZE);

	work_kernel(l->work, e->now - hz_min(l->faulted, e->now));
	use(l, t, HZ_USE_READ | HZ_USE_WRITE);
	l->faulted = e->now;
}

/* What is freed without ever having been seen is nothing to plan for; it may
 * be seen later. */
static void add_free(struct load *l, uint64_t id)
{
	uint32_t at = l->ids.size ? slot_of(&l->ids, id) : 0;

	if (l->ids.size && l->ids.key[at])
		is_dead(l, l->ids.tensor[at]);
	else
		l->unseen++;
}

/* Sums of these do not wrap. */
#define NUMBER_MAX (UINT64_MAX >> 17)

static bool is_sane(const struct hz_tf_event *e)
{
	return e->bytes <= NUMBER_MAX && e->ns <= NUMBER_MAX &&
	       e->now <= NUMBER_MAX;
}

static void add(struct load *l, const struct hz_tf_event *e)
{
	switch (e->kind) {
	case HZ_TF_ALLOC:
		be_born(l, e->id, e->bytes);
		break;
	case HZ_TF_LAUNCH:
		add_launch(l, e);
		break;
	case HZ_TF_FAULT:
		add_fault(l, e);
		break;
	case HZ_TF_COPY:
		add_asked(l, TIMES_COPY, e);
		use(l, tensor_of(l, e->id, e->bytes),
		    e->how == HZ_TF_TO_HOST || e->how == HZ_TF_FROM_DEVICE
			    ? HZ_USE_READ
			    : HZ_USE_WRITE);
		break;
	case HZ_TF_FREE:
		add_free(l, e->id);
		break;
	case HZ_TF_TIME:
		times_took(&l->times, l->work, e->id, e->back, e->ns);
		break;
	case HZ_TF_STEP:
		break;
	}
}

static bool is_host(const struct hz_tf_event *e)
{
	return e->kind == HZ_TF_FAULT ||
	       (e->kind == HZ_TF_FREE && (e->id & HZ_TF_HOST));
}

static void advance(struct source *s)
{
	do
		s->rc = hz_tf_next(s->reader, &s->event);
	while (s->rc > 0 && is_host(&s->event) != s->host);
	if (s->rc <= 0 || is_sane(&s->event))
		return;
	s->reader->where = s->reader->event;
	s->reader->why = "a number that is too large";
	s->rc = -ERANGE;
}

/* The one whose event is the next, or that cannot go on; NULL at the end. */
static struct source *next_of(struct source *s)
{
	for (unsigned i = 0; i < 2; i++)
		if (s[i].rc < 0)
			return &s[i];
	if (s[0].rc && s[1].rc)
		return &s[s[1].event.now < s[0].event.now];
	return s[0].rc ? &s[0] : s[1].rc ? &s[1] : NULL;
}

static struct source *merge(struct load *l, struct source *s)
{
	struct source *next;

	advance(&s[0]);
	advance(&s[1]);
	while ((next = next_of(s)) && next->rc > 0) {
		add(l, &next->event);
		advance(next);
	}
	return next;
}

static bool read_events(struct load *l, const char *path, const void *data,
			size_t size)
{
	struct hz_tf_reader *r = mem_resize(NULL, 2, sizeof(*r));
	struct source both[2] = {{.reader = &r[0], .host = true},
				 {.reader = &r[1]}};
	struct source *bad = NULL;

	for (unsigned i = 0; i < 2 && !bad; i++)
		if (hz_tf_open(&r[i], data, size))
			bad = &both[i];
	if (!bad)
		bad = merge(l, both);
	if (bad)
		hz_log(HZ_ERROR, "replay", "%s: offset %zu: %s", path,
		       bad->reader->where, bad->reader->why);
	else if (!l->work->step.kernels)
		hz_log(HZ_ERROR, "replay", "%s: no kernel in it", path);
	else if (l->unseen)
		hz_log(HZ_WARN, "replay",
		       "%s: %" PRIu64 " frees of what was never seen are left "
		       "out",
		       path, l->unseen);
	if (!bad && l->times.mismatched)
		hz_log(HZ_WARN, "replay",
		       "%s: %" PRIu64 " times of what was not launched are "
		       "left out",
		       path, l->times.mismatched);
	free(r);
	return !bad && l->work->step.kernels;
}

struct work *work_parse_trace(const char *path, const void *data, size_t size)
{
	struct load l = {.work = mem_zeroed(1, sizeof(*l.work))};
	uint8_t *keep;
	bool good;

	l.work->name = mem_text(path);
	good = read_events(&l, path, data, size);
	if (good) {
		times_settle(&l.times, l.work);
		keep = mem_zeroed(l.work->step.tensors, 1);
		work_finish(l.work, keep);
		free(keep);
	} else {
		work_free(l.work);
	}
	times_free(&l.times);
	free(l.ids.key);
	free(l.ids.tensor);
	free(l.last);
	return good ? l.work : NULL;
}
