/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sets: what launches name, and how it is given to the tensors. Who has which
 * lock is in gpu_int.h.
 */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif
#include <string.h>
#include "engine/gpu_int.h"

#define NOTHING UINT64_MAX

/* ---- with `lock`: words and tensors ---- */

static uint64_t ref_to(const struct hz_gpu *g, uint32_t t)
{
	return (uint64_t)g->map.tensor[t].generation << 32 | t;
}

/* A tensor that a launch names twice is named once. */
static uint64_t resolve_word(struct hz_gpu *g, struct hz_gpu_set *s,
			     uint64_t word)
{
	uint32_t t = hz_gpu_tensor_at(g, word);

	if (t == HZ_NONE) {
		s->partial = true;
		return NOTHING;
	}
	if (g->map.tensor[t].mark == g->mark)
		return NOTHING;
	g->map.tensor[t].mark = g->mark;
	return ref_to(g, t);
}

/* Neighbours are mostly of one allocation. */
static void remember_alloc(struct hz_gpu *g, struct hz_gpu_set *s, uint32_t a)
{
	if (s->allocs > HZ_GPU_SET_ALLOCS)
		return;
	for (uint32_t i = s->allocs; i-- > 0;)
		if (s->alloc[i] == a)
			return;
	if (s->allocs < HZ_GPU_SET_ALLOCS) {
		s->alloc[s->allocs] = a;
		s->alloc_generation[s->allocs] = g->map.alloc[a].generation;
	}
	s->allocs++;
}

static void resolve(struct hz_gpu *g, struct hz_gpu_set *s)
{
	g->mark++;
	s->partial = false;
	s->allocs = 0;
	for (uint32_t i = 0; i < s->n; i++) {
		hz_gpu_prefetch(g, s->word, i, s->n);
		s->ref[i] = resolve_word(g, s, s->word[i]);
		if (s->ref[i] != NOTHING)
			remember_alloc(
				g, s, g->map.tensor[(uint32_t)s->ref[i]].alloc);
	}
	s->removals = g->map.removals;
	s->additions = g->map.additions;
}

static void give(struct hz_gpu *g, const struct hz_gpu_set *s, uint64_t count,
		 uint64_t last)
{
	for (uint32_t i = 0; count && i < s->n; i++) {
		uint32_t t = (uint32_t)s->ref[i];

		if (s->ref[i] == NOTHING || !g->map.tensor[t].bytes ||
		    ref_to(g, t) != s->ref[i])
			continue;
		hz_gpu_map_launched(&g->map, t, s->kernel, count, last);
	}
}

void hz_gpu_named_once(struct hz_gpu *g, uint32_t kernel, const uint64_t *word,
		       uint32_t n, uint64_t now)
{
	g->mark++;
	for (uint32_t i = 0; i < n; i++) {
		uint32_t t;

		hz_gpu_prefetch(g, word, i, n);
		t = hz_gpu_tensor_at(g, word[i]);
		if (t == HZ_NONE || g->map.tensor[t].mark == g->mark)
			continue;
		g->map.tensor[t].mark = g->mark;
		hz_gpu_map_launched(&g->map, t, kernel, 1, now);
	}
}

void hz_gpu_set_resolve(struct hz_gpu *g, struct hz_gpu_set *s)
{
	give(g, s, s->old_count, s->old_last);
	resolve(g, s);
	__atomic_store_n(&s->queued, false, __ATOMIC_RELEASE);
}

/* ---- with either: is what is known still right? ---- */

static bool is_valid(const struct hz_gpu *g, struct hz_gpu_set *s)
{
	if (s->partial && s->additions != g->map.additions)
		return false;
	if (s->removals == g->map.removals)
		return true;
	if (s->allocs > HZ_GPU_SET_ALLOCS || s->removals == UINT64_MAX)
		return false;
	for (uint32_t i = 0; i < s->allocs; i++) {
		const struct hz_gpu_alloc *a = &g->map.alloc[s->alloc[i]];

		if (!a->bytes || a->generation != s->alloc_generation[i])
			return false;
	}
	s->removals = g->map.removals;
	return true;
}

/* ---- with `launching`: sets by their keys ---- */

static uint32_t home_of(const struct hz_gpu_named *x)
{
	uint64_t hash = x->key->a ^ x->kernel * 0x9e3779b97f4a7c15ull;

	return (uint32_t)(hash % (2 * HZ_GPU_SETS));
}

void hz_gpu_tell_soon(const struct hz_gpu_named *x)
{
	__builtin_prefetch(&hz_gpu.by_hash[home_of(x)]);
	__builtin_prefetch(&hz_gpu.seen[x->key->a % HZ_GPU_SEEN]);
}

/* Half of the table stays empty. */
static uint32_t *slot_of(struct hz_gpu *g, const struct hz_gpu_named *x)
{
	uint32_t at = home_of(x);

	for (; g->by_hash[at]; at = (at + 1) % (2 * HZ_GPU_SETS)) {
		const struct hz_gpu_set *s = &g->set[g->by_hash[at] - 1];

		if (s->hash == x->key->a && s->check == x->key->b &&
		    s->kernel == x->kernel)
			break;
	}
	return &g->by_hash[at];
}

static struct hz_gpu_set *new_set(struct hz_gpu *g, uint32_t *slot,
				  const struct hz_gpu_named *x)
{
	struct hz_gpu_set *s = &g->set[g->sets];

	*s = (struct hz_gpu_set){.hash = x->key->a,
				 .check = x->key->b,
				 .kernel = x->kernel,
				 .n = x->n,
				 .word = &g->words[g->words_used],
				 .removals = UINT64_MAX};
	s->ref = s->word + x->n;
	memcpy(s->word, x->word, x->n * sizeof(*x->word));
	g->words_used += 2 * x->n;
	*slot = ++g->sets;
	return s;
}

/* False: the ring has no room. */
static bool queue(struct hz_gpu *g, struct hz_gpu_set *s)
{
	s->old_count = s->count;
	s->old_last = s->last;
	__atomic_store_n(&s->queued, true, __ATOMIC_RELAXED);
	if (hz_gpu_later_set(g, s)) {
		s->count = 0;
		return true;
	}
	__atomic_store_n(&s->queued, false, __ATOMIC_RELAXED);
	return false;
}

static void count(struct hz_gpu_set **dirty, struct hz_gpu_set *s, uint64_t now)
{
	if (!s->listed) {
		s->listed = true;
		s->dirty = *dirty;
		*dirty = s;
	}
	s->count++;
	s->last = now;
}

static enum hz_gpu_told used(struct hz_gpu *g, struct hz_gpu_set *s,
			     uint64_t now)
{
	if (hz_likely(!__atomic_load_n(&s->queued, __ATOMIC_ACQUIRE)) &&
	    hz_unlikely(!is_valid(g, s)) && !queue(g, s))
		return HZ_GPU_NO_ROOM;
	count(&g->dirty, s, now);
	return HZ_GPU_TOLD;
}

/* Words that were not seen before may never come again. */
enum hz_gpu_told hz_gpu_tell(struct hz_gpu *g, const struct hz_gpu_named *x)
{
	uint32_t tag = (uint32_t)(x->key->b >> 32) ^ x->kernel;
	uint32_t *seen = &g->seen[x->key->a % HZ_GPU_SEEN];
	uint32_t *slot = slot_of(g, x);

	if (hz_likely(*slot))
		return used(g, &g->set[*slot - 1], x->now);
	if (*seen == tag) {
		if (g->sets == HZ_GPU_SETS ||
		    g->words_used + 2 * x->n > HZ_GPU_SET_WORDS)
			return HZ_GPU_NO_SETS;
		return used(g, new_set(g, slot, x), x->now);
	}
	if (!hz_gpu_later(g, x->kernel, x->word, x->n, x->now))
		return HZ_GPU_NO_ROOM;
	*seen = tag;
	return HZ_GPU_TOLD;
}

/* ---- with `lock`: all of them ---- */

/* The first set of *list, taken off it, with what it counted in *count. One
 * that is queued again stays dirty: its refs are not those that were named. */
static struct hz_gpu_set *take_dirty(struct hz_gpu *g, struct hz_gpu_set **list,
				     uint64_t *count, uint64_t *last)
{
	struct hz_gpu_set *s = *list;

	*list = s->dirty;
	if (__atomic_load_n(&s->queued, __ATOMIC_RELAXED)) {
		s->dirty = g->dirty;
		g->dirty = s;
		return NULL;
	}
	*count = s->count;
	*last = s->last;
	s->count = 0;
	s->listed = false;
	return s;
}

static struct hz_gpu_set *detach_dirty(struct hz_gpu *g)
{
	struct hz_gpu_set *list;

	hz_gpu_hold(g);
	list = g->dirty;
	g->dirty = NULL;
	hz_gpu_release(g);
	return list;
}

static void flush_sets(struct hz_gpu *g)
{
	struct hz_gpu_set *list = detach_dirty(g);

	while (list) {
		uint64_t count = 0, last = 0;
		struct hz_gpu_set *s;

		hz_gpu_hold(g);
		s = take_dirty(g, &list, &count, &last);
		hz_gpu_release(g);
		if (s)
			give(g, s, count, last);
	}
}

void hz_gpu_flush_execs(struct hz_gpu *g)
{
	for (struct hz_gpu_set *s = g->exec_dirty, *next; s; s = next) {
		next = s->dirty;
		s->dirty = NULL;
		s->listed = false;
		give(g, s, s->count, s->last);
		s->count = 0;
	}
	g->exec_dirty = NULL;
}

void hz_gpu_flush(struct hz_gpu *g)
{
	hz_gpu_drain(g);
	hz_gpu_flush_execs(g);
	flush_sets(g);
}

void hz_gpu_forget_sets(struct hz_gpu *g)
{
	hz_gpu_stop(g);
	hz_gpu_flush(g);
	memset(g->by_hash, 0, 2 * HZ_GPU_SETS * sizeof(*g->by_hash));
	g->sets = 0;
	g->words_used = 0;
	hz_gpu_go(g);
}

void hz_gpu_exec_used(struct hz_gpu *g, struct hz_gpu_set *s, uint64_t now)
{
	if (hz_unlikely(!is_valid(g, s))) {
		hz_gpu_drain(g); /* tensors are cut in turn */
		give(g, s, s->count, s->last);
		s->count = 0;
		resolve(g, s);
	}
	count(&g->exec_dirty, s, now);
}
