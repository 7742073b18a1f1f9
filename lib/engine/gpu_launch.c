/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Launches: from the words of the arguments to the tensors that they name.
 */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif
#include <string.h>
#include "base/os.h"
#include "base/stats.h"
#include "engine/gpu_int.h"
#include "policy/trace_file.h"

#define NOTHING UINT64_MAX
/* Words that are looked up together. */
#define PREFETCH 64u

const int8_t *hz_gpu_addresses(void)
{
	return hz_gpu.map.near;
}

/* ---- kernels by name ---- */

uint32_t hz_gpu_kernel(const char *name)
{
	struct hz_gpu *g = &hz_gpu;
	char cut[HZ_GPU_KERNEL_NAME] = {0};

	memcpy(cut, name, strnlen(name, sizeof(cut) - 1));
	HZ_GPU_SECTION(HZ_GPU_KERNEL_NONE);
	for (uint32_t k = 1; k < g->kernels; k++)
		if (!memcmp(g->kernel[k], cut, sizeof(cut)))
			return k;
	if (g->kernels == HZ_GPU_KERNELS)
		return HZ_GPU_KERNEL_NONE;
	memcpy(g->kernel[g->kernels], cut, sizeof(cut));
	hz_stat_gauge(HZ_STAT_gpu_kernels, HZ_STAT_gpu_kernels, g->kernels);
	return g->kernels++;
}

/* ---- sets ---- */

/* Four lanes, so that a word costs a fraction of a multiplication. */
uint64_t hz_gpu_hash(const uint64_t *word, uint32_t n, uint64_t seed)
{
	const uint64_t k = 0x9e3779b97f4a7c15ull;
	uint64_t a = seed + k, b = seed ^ k, c = seed - k, d = n, h;
	uint32_t i = 0;

	for (; i + 4 <= n; i += 4) {
		a = (a ^ word[i]) * k;
		b = (b ^ word[i + 1]) * k;
		c = (c ^ word[i + 2]) * k;
		d = (d ^ word[i + 3]) * k;
		a ^= a >> 32;
		b ^= b >> 31;
		c ^= c >> 33;
		d ^= d >> 30;
	}
	for (; i < n; i++)
		a = ((a ^ word[i]) * k) ^ (a >> 29);
	h = (a ^ (b << 17 | b >> 47)) * k;
	h ^= (c ^ (d << 23 | d >> 41)) * k;
	return h ^ h >> 32;
}

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
	hz_gpu_map_prefetch(&g->map, s->word, s->n);
	for (uint32_t i = 0; i < s->n; i++) {
		s->ref[i] = resolve_word(g, s, s->word[i]);
		if (s->ref[i] != NOTHING)
			remember_alloc(
				g, s, g->map.tensor[(uint32_t)s->ref[i]].alloc);
	}
	s->removals = g->map.removals;
	s->additions = g->map.additions;
}

/* Do all the tensors still live? */
static bool is_valid(struct hz_gpu *g, struct hz_gpu_set *s)
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

static void give(struct hz_gpu *g, struct hz_gpu_set *s)
{
	for (uint32_t i = 0; s->count && i < s->n; i++) {
		uint32_t t = (uint32_t)s->ref[i];

		if (s->ref[i] == NOTHING || !g->map.tensor[t].bytes ||
		    ref_to(g, t) != s->ref[i])
			continue;
		hz_gpu_map_launched(&g->map, t, s->kernel, s->count, s->last);
	}
	s->count = 0;
}

void hz_gpu_flush(struct hz_gpu *g)
{
	for (struct hz_gpu_set *s = g->dirty, *next; s; s = next) {
		next = s->dirty;
		s->dirty = NULL;
		s->listed = false;
		give(g, s);
	}
	g->dirty = NULL;
}

void hz_gpu_set_used(struct hz_gpu *g, struct hz_gpu_set *s, uint64_t now)
{
	if (hz_unlikely(!is_valid(g, s))) {
		give(g, s);
		resolve(g, s);
	}
	if (!s->listed) {
		s->listed = true;
		s->dirty = g->dirty;
		g->dirty = s;
	}
	s->count++;
	s->last = now;
}

/* No room for another set: start afresh. */
static void forget_sets(struct hz_gpu *g)
{
	hz_gpu_flush(g);
	memset(g->by_hash, 0, 2 * HZ_GPU_SETS * sizeof(*g->by_hash));
	g->sets = 0;
	g->words_used = 0;
}

static struct hz_gpu_set *new_set(struct hz_gpu *g, uint32_t *slot,
				  const uint64_t *word, uint32_t n)
{
	struct hz_gpu_set *s = &g->set[g->sets];

	*s = (struct hz_gpu_set){.n = n, .word = &g->words[g->words_used]};
	s->ref = s->word + n;
	g->words_used += 2 * n;
	*slot = ++g->sets;
	memcpy(s->word, word, n * sizeof(*word));
	return s;
}

/* Words that may never come again: straight to the tensors. */
static void named_once(struct hz_gpu *g, uint32_t kernel, const uint64_t *word,
		       uint32_t n, uint64_t now)
{
	g->mark++;
	for (uint32_t i = 0; i < n; i++) {
		uint32_t t;

		if (i % PREFETCH == 0)
			hz_gpu_map_prefetch(&g->map, word + i,
					    hz_min(n - i, PREFETCH));
		t = hz_gpu_tensor_at(g, word[i]);
		if (t == HZ_NONE || g->map.tensor[t].mark == g->mark)
			continue;
		g->map.tensor[t].mark = g->mark;
		hz_gpu_map_launched(&g->map, t, kernel, 1, now);
	}
}

/* Where the set with this key is, or where it goes. Half of the table stays
 * empty. */
static uint32_t *find_set(struct hz_gpu *g, uint32_t kernel,
			  const struct hz_gpu_key *key)
{
	uint64_t hash = key->a ^ kernel * 0x9e3779b97f4a7c15ull;
	uint32_t at = (uint32_t)(hash % (2 * HZ_GPU_SETS));

	for (; g->by_hash[at]; at = (at + 1) % (2 * HZ_GPU_SETS)) {
		const struct hz_gpu_set *s = &g->set[g->by_hash[at] - 1];

		if (s->hash == key->a && s->check == key->b &&
		    s->kernel == kernel)
			break;
	}
	return &g->by_hash[at];
}

/* NULL when the words are seen for the first time. */
static struct hz_gpu_set *set_of(struct hz_gpu *g, uint32_t kernel,
				 const uint64_t *word, uint32_t n,
				 const struct hz_gpu_key *key)
{
	uint32_t tag = (uint32_t)(key->b >> 32) ^ kernel, *slot;
	uint32_t *seen = &g->seen[key->a % HZ_GPU_SEEN];
	struct hz_gpu_set *s;

	if (g->sets == HZ_GPU_SETS || g->words_used + 2 * n > HZ_GPU_SET_WORDS)
		forget_sets(g);
	slot = find_set(g, kernel, key);
	if (*slot)
		return &g->set[*slot - 1];
	if (*seen != tag) {
		*seen = tag;
		return NULL;
	}
	s = new_set(g, slot, word, n);
	s->hash = key->a;
	s->check = key->b;
	s->kernel = kernel;
	resolve(g, s);
	return s;
}

static void record(struct hz_gpu *g, uint32_t kernel, const uint64_t *word,
		   uint32_t n, bool first, uint64_t now)
{
	if (!first)
		kernel = HZ_TF_MORE;
	else if (kernel == HZ_GPU_KERNEL_NONE)
		kernel = HZ_GPU_TRACE_KERNEL;
	hz_gpu_record_launch(g, kernel, word, n, now);
}

static void look_at_time(struct hz_gpu *g, uint64_t now)
{
	if (hz_unlikely(now - g->refreshed > HZ_GPU_REFRESH_NS))
		hz_gpu_rows_write(g, now);
}

bool hz_gpu_launch_again(uint32_t kernel, const struct hz_gpu_key *key)
{
	struct hz_gpu *g = &hz_gpu;
	uint64_t now = hz_os.now();
	struct hz_gpu_set *s;
	uint32_t *slot;
	HZ_GPU_SECTION(false);

	slot = find_set(g, kernel, key);
	if (!*slot)
		return false;
	s = &g->set[*slot - 1];
	hz_stat_add(HZ_STAT_gpu_launches, 1);
	hz_gpu_set_used(g, s, now);
	if (hz_unlikely(hz_gpu_recording))
		record(g, kernel, s->word, s->n, true, now);
	look_at_time(g, now);
	return true;
}

void hz_gpu_launch(uint32_t kernel, const uint64_t *word, uint32_t n,
		   bool first, const struct hz_gpu_key *key)
{
	struct hz_gpu *g = &hz_gpu;
	uint64_t now = hz_os.now();
	struct hz_gpu_key own;
	struct hz_gpu_set *s;

	if (first)
		hz_stat_add(HZ_STAT_gpu_launches, 1);
	if (!key->some) {
		own.a = hz_gpu_hash(word, n, 0);
		own.b = hz_gpu_hash(word, n, own.a | 1);
		key = &own;
	}
	HZ_GPU_SECTION();
	s = set_of(g, kernel, word, n, key);
	if (hz_likely(s != NULL))
		hz_gpu_set_used(g, s, now);
	else
		named_once(g, kernel, word, n, now);
	if (hz_unlikely(hz_gpu_recording))
		record(g, kernel, word, n, first, now);
	look_at_time(g, now);
}

void hz_gpu_launch_unknown(uint32_t kernel)
{
	struct hz_gpu *g = &hz_gpu;

	hz_stat_add(HZ_STAT_gpu_launches, 1);
	hz_stat_add(HZ_STAT_gpu_unknown, 1);
	if (hz_likely(!hz_gpu_recording))
		return;
	HZ_GPU_SECTION();
	record(g, kernel, NULL, 0, true, hz_os.now());
}

/* ---- descriptors that hide an address ---- */

/* A new one overwrites an old one with the same place in the table: the
 * launch that carries the old one then names a tensor less. */
static struct hz_gpu_descriptor *descriptor_at(struct hz_gpu *g,
					       const uint64_t *bytes,
					       uint64_t *hash)
{
	*hash = hz_gpu_hash(bytes, 16, 0);
	return &g->descriptor[*hash % HZ_GPU_DESCRIPTORS];
}

void hz_gpu_tensor_map(const void *descriptor, uint64_t addr)
{
	struct hz_gpu *g = &hz_gpu;
	struct hz_gpu_descriptor *d;
	uint64_t bytes[16], hash;

	memcpy(bytes, descriptor, sizeof(bytes));
	HZ_GPU_SECTION();
	d = descriptor_at(g, bytes, &hash);
	d->hash = hash;
	d->addr = addr;
	memcpy(d->bytes, bytes, sizeof(bytes));
	__atomic_store_n(&g->descriptors, g->descriptors + 1, __ATOMIC_RELAXED);
}

uint64_t hz_gpu_tensor_map_at(const void *descriptor)
{
	struct hz_gpu *g = &hz_gpu;
	const struct hz_gpu_descriptor *d;
	uint64_t bytes[16], hash;

	memcpy(bytes, descriptor, sizeof(bytes));
	HZ_GPU_SECTION(0);
	d = descriptor_at(g, bytes, &hash);
	return d->hash == hash && !memcmp(d->bytes, bytes, sizeof(bytes))
		       ? d->addr
		       : 0;
}

bool hz_gpu_tensor_maps(void)
{
	return __atomic_load_n(&hz_gpu.descriptors, __ATOMIC_RELAXED) != 0;
}
