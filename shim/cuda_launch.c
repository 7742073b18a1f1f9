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
		n += word[i] - w->low < w->span;
	}
	w->n = n;
}

/* Four at a time: tables of addresses hold nothing else, other structs hold
 * hardly any. */
static void scan_words(struct hz_cu_words *w, const char *p, size_t words)
{
	const uint64_t low = w->low, span = w->span;
	uint64_t four[4];

	for (; words >= 4; words -= 4, p += sizeof(four)) {
		unsigned wanted;

		make_room(w, 4);
		memcpy(four, p, sizeof(four));
		wanted = (four[0] - low < span) + (four[1] - low < span) +
			 (four[2] - low < span) + (four[3] - low < span);
		if (wanted == 4) {
			memcpy(&w->word[w->n], four, sizeof(four));
			w->n += 4;
		} else if (wanted) {
			keep(w, four, 4);
		}
	}
	memcpy(four, p, words * sizeof(*four));
	for (size_t i = 0; i < words; i++)
		if (four[i] - low < span)
			put(w, four[i]);
}

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

static bool gather(struct hz_cu_words *w, const struct hz_cu_func *x,
		   void **params, void **extra)
{
	w->n = 0;
	w->kernel = x ? x->kernel : HZ_GPU_KERNEL_NONE;
	w->first = true;
	hz_gpu_bounds(&w->low, &w->span);
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
	hz_gpu_launch(w->kernel, w->word, w->n, w->first);
	w->first = false;
}

/* It was launched, so it is loaded: other streams may capture what they want.
 */
static void launch(CUfunction f, void **params, void **extra)
{
	struct hz_cu_words w;

	w.full = launched;
	if (!gather(&w, hz_cu_func(f, true), params, extra))
		hz_gpu_launch_unknown();
	else if (w.n || w.first)
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
