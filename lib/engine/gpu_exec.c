/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Instantiated graphs: each has one set of all that its nodes name.
 *
 * An update of a node adds to the set. What the node named before stays in
 * it: the set says what a launch of the graph may touch.
 */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif
#include <string.h>
#include "base/os.h"
#include "base/stats.h"
#include "engine/gpu_int.h"

#define ROOM_MIN 64u

static struct hz_gpu_exec *find(struct hz_gpu *g, const void *exec)
{
	if (g->execs && g->exec[g->exec_last].exec == (uintptr_t)exec)
		return &g->exec[g->exec_last];
	for (uint32_t i = 0; i < g->execs; i++)
		if (g->exec[i].exec == (uintptr_t)exec) {
			g->exec_last = i;
			return &g->exec[i];
		}
	return NULL;
}

/* Its room, if it has any, stays with the entry. */
static struct hz_gpu_exec *make(struct hz_gpu *g, const void *exec)
{
	struct hz_gpu_exec *x = find(g, exec);

	if (!x)
		x = find(g, NULL);
	if (!x && g->execs < HZ_GPU_EXECS)
		x = &g->exec[g->execs++];
	if (!x)
		return NULL;
	x->exec = (uintptr_t)exec;
	return x;
}

/* Twice the room, elsewhere; the old one is lost, which doubling bounds. */
static bool grow(struct hz_gpu *g, struct hz_gpu_exec *x)
{
	uint32_t room = x->room ? 2 * x->room : ROOM_MIN;
	uint64_t *word = &g->exec_words[g->exec_words_used];

	if (room > HZ_GPU_EXEC_MOST ||
	    g->exec_words_used + 2 * room > HZ_GPU_EXEC_WORDS)
		return false;
	g->exec_words_used += 2 * room;
	if (x->set.n) {
		memcpy(word, x->set.word, x->set.n * sizeof(*word));
		memcpy(word + room, x->set.ref, x->set.n * sizeof(*word));
	}
	x->set.word = word;
	x->set.ref = word + room;
	x->room = room;
	return true;
}

static void clear(struct hz_gpu *g, struct hz_gpu_exec *x)
{
	hz_gpu_flush_execs(g); /* takes it off the list */
	x->set.n = 0;
	x->unknown = false;
	x->set.removals = UINT64_MAX; /* to be resolved */
}

void hz_gpu_exec_new(const void *exec)
{
	struct hz_gpu *g = &hz_gpu;
	HZ_GPU_SECTION();
	struct hz_gpu_exec *x = make(g, exec);

	if (x)
		clear(g, x);
}

static bool has(const struct hz_gpu_set *s, uint64_t word)
{
	/* Most repetitions are near each other. */
	uint32_t from = s->n > 64 ? s->n - 64 : 0;

	for (uint32_t i = from; i < s->n; i++)
		if (s->word[i] == word)
			return true;
	return false;
}

void hz_gpu_exec_names(const void *exec, uint64_t word)
{
	struct hz_gpu *g = &hz_gpu;
	struct hz_gpu_exec *x;
	HZ_GPU_SECTION();

	if (!hz_gpu_map_maybe(&g->map, word))
		return;
	x = find(g, exec);
	if (!x || has(&x->set, word))
		return;
	if (x->set.n == x->room && !grow(g, x)) {
		hz_stat_add(HZ_STAT_gpu_untracked, 1);
		return;
	}
	hz_gpu_flush_execs(g);
	x->set.word[x->set.n++] = word;
	x->set.ref[x->set.n - 1] = UINT64_MAX;
	x->set.removals = UINT64_MAX;
}

void hz_gpu_exec_unknown(const void *exec)
{
	HZ_GPU_SECTION();
	struct hz_gpu_exec *x = find(&hz_gpu, exec);

	if (x)
		x->unknown = true;
}

void hz_gpu_exec_launch(const void *exec)
{
	struct hz_gpu *g = &hz_gpu;
	uint64_t now = hz_os.now();
	struct hz_gpu_exec *x;
	HZ_GPU_SECTION();

	hz_stat_add(HZ_STAT_gpu_graph_launches, 1);
	x = find(g, exec);
	if (!x || x->unknown)
		hz_stat_add(HZ_STAT_gpu_unknown, 1);
	if (x)
		hz_gpu_exec_used(g, &x->set, now);
	if (hz_unlikely(hz_gpu_recording))
		hz_gpu_record_launch(
			g,
			HZ_GPU_TRACE_GRAPH +
				(x ? (uint32_t)(x - g->exec) : HZ_GPU_EXECS),
			x ? x->set.word : NULL, x ? x->set.n : 0, now);
	if (now - g->refreshed > HZ_GPU_REFRESH_NS)
		hz_gpu_rows_write(g, now);
}

void hz_gpu_exec_drop(const void *exec)
{
	struct hz_gpu *g = &hz_gpu;
	HZ_GPU_SECTION();
	struct hz_gpu_exec *x = find(g, exec);

	if (!x)
		return;
	clear(g, x);
	x->exec = 0;
}
