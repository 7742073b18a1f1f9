/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Launches: which words of the arguments may be addresses.
 *
 * The array of arguments has no end mark, so only the driver's parameter
 * info says how much may be read. A pointer in a struct that is passed by
 * value lies in an aligned word of it; a descriptor of a tensor is known by
 * its bytes.
 */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif
#include <string.h>
#include "base/util.h"
#include "cuda_hooks.h"

#define DESCRIPTOR	 sizeof(CUtensorMap)
#define DESCRIPTOR_ALIGN 64u

#define ROOM hz_array_len(((struct hz_cu_words *)0)->word)

static void make_room(struct hz_cu_words *w, uint32_t words)
{
	if (hz_likely(w->n + words <= ROOM))
		return;
	w->full(w);
	w->n = 0;
}

static void put(struct hz_cu_words *w, uint64_t word)
{
	make_room(w, 1);
	w->word[w->n++] = word;
}

/* Keep those of `count` words that may be addresses; there is room for all.
 * Every word is stored, and stays where it is if it is wanted: no branch
 * depends on what the words are. */
static void keep(struct hz_cu_words *w, const uint64_t *word, size_t count)
{
	uint32_t n = w->n;

	for (size_t i = 0; i < count; i++) {
		w->word[n] = word[i];
		n += hz_gpu_near(w->near, word[i]) != 0;
	}
	w->n = n;
}

/* Four at a time: tables of addresses hold nothing else, other structs hold
 * hardly any. */
static void scan_words(struct hz_cu_words *w, const char *p, size_t words)
{
	const int8_t *near = w->near;
	uint64_t four[4];

	for (; words >= 4; words -= 4, p += sizeof(four)) {
		uint64_t wanted; /* how many: each is -1 */

		make_room(w, 4);
		memcpy(four, p, sizeof(four));
		wanted = -(hz_gpu_near(near, four[0]) +
			   hz_gpu_near(near, four[1]) +
			   hz_gpu_near(near, four[2]) +
			   hz_gpu_near(near, four[3]));
		if (wanted == 4) {
			memcpy(&w->word[w->n], four, sizeof(four));
			w->n += 4;
		} else if (wanted) {
			keep(w, four, 4);
		}
	}
	memcpy(four, p, words * sizeof(*four));
	for (size_t i = 0; i < words; i++)
		if (hz_gpu_near(near, four[i]))
			put(w, four[i]);
}

/* ---- the key of a launch, and its words ---- */

/* The words, those that cannot be addresses as zeros. Four chains, so that
 * multiplications overlap; which of them a word goes into depends on where it
 * lies only. */
struct chains {
	uint64_t h[4];
};

static const uint64_t odd[4] = {0x9e3779b97f4a7c15ull, 0xc2b2ae3d27d4eb4full,
				0x165667b19e3779f9ull, 0xd6e8feb86659fd93ull};

static inline uint64_t fold(uint64_t a, uint64_t b)
{
	unsigned __int128 p = (unsigned __int128)a * b;

	return (uint64_t)p ^ (uint64_t)(p >> 64);
}

typedef uint64_t pair __attribute__((vector_size(16)));

static inline pair pair_at(const char *p, size_t i)
{
	pair v;

	memcpy(&v, p + i * sizeof(v), sizeof(v));
	return v;
}

static inline uint64_t word_at(const char *p, size_t i)
{
	uint64_t v;

	memcpy(&v, p + i * sizeof(v), sizeof(v));
	return v;
}

/* Are all eight words where most addresses are? They go to `to`, where they
 * stay if so. */
static inline bool take_near(uint64_t *to, const char *p, uint64_t mask,
			     uint64_t bits)
{
	const pair at = {bits, bits}, of = {mask, mask};
	pair a = pair_at(p, 0), b = pair_at(p, 1), c = pair_at(p, 2),
	     d = pair_at(p, 3), other;

	memcpy(to, &a, sizeof(a));
	memcpy(to + 2, &b, sizeof(b));
	memcpy(to + 4, &c, sizeof(c));
	memcpy(to + 6, &d, sizeof(d));
	other = ((a ^ at) | (b ^ at) | (c ^ at) | (d ^ at)) & of;
	return !(other[0] | other[1]);
}

static inline void fold_eight(struct chains *c, const char *p)
{
	c->h[0] = fold(c->h[0] ^ word_at(p, 0), odd[0] ^ word_at(p, 1));
	c->h[1] = fold(c->h[1] ^ word_at(p, 2), odd[1] ^ word_at(p, 3));
	c->h[2] = fold(c->h[2] ^ word_at(p, 4), odd[2] ^ word_at(p, 5));
	c->h[3] = fold(c->h[3] ^ word_at(p, 6), odd[3] ^ word_at(p, 7));
}

/* Those that may be addresses are kept, the others are folded as zeros. */
static __attribute__((noinline)) void take_some(struct hz_cu_words *w,
						struct chains *c, const char *p)
{
	uint64_t e[8];

	memcpy(e, p, sizeof(e));
	keep(w, e, 8);
	for (unsigned i = 0; i < 8; i++)
		e[i] &= hz_gpu_near(w->near, e[i]);
	fold_eight(c, (const char *)e);
}

/* n times eight words. */
static void take_eights(struct hz_cu_words *w, struct chains *to, const char *p,
			uint32_t n)
{
	const uint64_t mask =
		__atomic_load_n(&hz_gpu_span.mask, __ATOMIC_RELAXED);
	const uint64_t bits =
		__atomic_load_n(&hz_gpu_span.bits, __ATOMIC_RELAXED);
	const char *end = p + n * 8 * sizeof(uint64_t);

	while (p < end) {
		uint64_t *out = &w->word[w->n];
		struct chains c = *to;

		for (; p < end && take_near(out, p, mask, bits); out += 8) {
			fold_eight(&c, p);
			p += 8 * sizeof(uint64_t);
		}
		w->n = (uint32_t)(out - w->word);
		*to = c;
		if (p == end)
			return;
		take_some(w, to, p);
		p += 8 * sizeof(uint64_t);
	}
}

static inline void take_one(struct hz_cu_words *w, struct chains *c,
			    const char *p, uint32_t chain)
{
	uint64_t *h = &c->h[chain % 4], word, near;

	memcpy(&word, p, sizeof(word));
	near = hz_gpu_near(w->near, word);
	w->word[w->n] = word;
	w->n += near != 0;
	*h = fold(*h ^ (word & near), odd[chain % 4]);
}

/* Both in one pass: what does not come again has to be gathered, and where it
 * does, that costs little. There is room for all words. */
static void gather_with_key(struct hz_cu_words *w, const struct hz_cu_func *x,
			    void **params)
{
	struct chains c = {.h = {1, 2, 3, 4}};
	uint32_t n = 0;

	for (unsigned i = 0; i < x->n; i++) {
		const char *p = (const char *)params[i] + x->param[i].skip;
		uint32_t words = params[i] ? x->param[i].words : 0;

		if (hz_unlikely(words >= 8))
			take_eights(w, &c, p, words / 8);
		for (uint32_t k = words & ~7u; k < words; k++)
			take_one(w, &c, p + k * sizeof(uint64_t), n++);
	}
	w->key = (struct hz_gpu_key){
		.a = fold(c.h[0] ^ odd[1], c.h[1] ^ odd[2]) ^
		     fold(c.h[2] ^ odd[3], c.h[3] ^ odd[0]),
		.b = fold(c.h[0] ^ odd[3], c.h[2] ^ odd[2]) ^
		     fold(c.h[1] ^ odd[0], c.h[3] ^ odd[1]),
		.some = true};
}

/* ---- the words alone ---- */

/* `offset` is where the bytes lie among all arguments: it has the alignment,
 * the copy that the program passes need not have it. */
static void scan(struct hz_cu_words *w, const char *p, size_t offset,
		 size_t bytes)
{
	size_t skip = -offset % sizeof(uint64_t);

	if (bytes >= skip)
		scan_words(w, p + skip, (bytes - skip) / sizeof(uint64_t));
	if (bytes < DESCRIPTOR || !hz_gpu_tensor_maps())
		return;
	for (size_t i = -offset % DESCRIPTOR_ALIGN; i + DESCRIPTOR <= bytes;
	     i += DESCRIPTOR_ALIGN) {
		uint64_t addr = hz_gpu_tensor_map_at(p + i);

		if (addr)
			put(w, addr);
	}
}

/* All arguments in one buffer, named by a list of keys and values. */
static bool gather_extra(struct hz_cu_words *w, void **extra)
{
	const void *buffer = NULL;
	size_t bytes = 0;

	for (; *extra != CU_EXTRA_END; extra += 2) {
		if (extra[0] == CU_EXTRA_BUFFER)
			buffer = extra[1];
		else if (extra[0] == CU_EXTRA_SIZE)
			bytes = *(const size_t *)extra[1];
		else
			return false;
	}
	if (buffer)
		scan(w, buffer, 0, bytes);
	return true;
}

static void begin(struct hz_cu_words *w, const struct hz_cu_func *x)
{
	w->n = 0;
	w->kernel = x ? x->kernel : HZ_GPU_KERNEL_NONE;
	w->first = true;
	w->near = hz_gpu_addresses();
}

static bool gather(struct hz_cu_words *w, const struct hz_cu_func *x,
		   void **params, void **extra)
{
	begin(w, x);
	if (!params && extra)
		return gather_extra(w, extra);
	if (!x || !x->known)
		return false;
	for (unsigned i = 0; params && i < x->n; i++)
		if (x->param[i].size >= sizeof(uint64_t) && params[i])
			scan(w, params[i], x->param[i].offset,
			     x->param[i].size);
	return true;
}

bool hz_cu_gather(struct hz_cu_words *w, CUfunction f, void **params,
		  void **extra)
{
	return gather(w, hz_cu_func(f, !hz_gpu_capturing()), params, extra);
}

static void launched(struct hz_cu_words *w)
{
	hz_gpu_launch(w->kernel, w->word, w->n, w->first, &w->key);
	w->first = false;
}

_Static_assert(ROOM <= HZ_GPU_WORDS, "more words than a launch may name");

/* Can its key be told from its arguments, and stand for all of its words? */
static bool has_key(const struct hz_cu_func *x, void **params)
{
	return x && x->known && params && x->words <= ROOM &&
	       !(x->large && hz_gpu_tensor_maps());
}

/* It was launched, so it is loaded: other streams may capture what they want.
 */
static void launch(CUfunction f, void **params, void **extra)
{
	const struct hz_cu_func *x = hz_cu_func(f, true);
	struct hz_cu_words w;

	w.full = launched;
	w.key.some = false;
	if (hz_likely(has_key(x, params))) {
		begin(&w, x);
		gather_with_key(&w, x, params);
	} else if (!gather(&w, x, params, extra)) {
		hz_gpu_launch_unknown(w.kernel);
		return;
	}
	if (w.n || w.first)
		launched(&w);
}

void hz_cu_launch_on(CUstream stream, bool own, CUfunction f, void **params,
		     void **extra)
{
	if (!hz_cu_capturing(stream, own))
		launch(f, params, extra);
}

void hz_cu_launch_many(const CUDA_LAUNCH_PARAMS *list, unsigned n)
{
	for (unsigned i = 0; i < n; i++)
		hz_cu_launch_on(list[i].hStream, false, list[i].function,
				list[i].kernelParams, NULL);
}
