/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The segment's table of device tensors: the largest ones.
 */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif
#include <string.h>
#include <unistd.h>
#include "base/os.h"
#include "base/stats.h"
#include "engine/gpu_int.h"

static void fill(struct hz_gpu *g, uint32_t row)
{
	const struct hz_gpu_tensor *t =
		&g->map.tensor[g->row_tensor[row] - 1];
	const struct hz_gpu_alloc *a = &g->map.alloc[t->alloc];
	struct hz_stats_tensor r = {
		.kind = a->origin + 1u,
		.start = t->start,
		.bytes = t->bytes,
		.allocation = a->start,
		.launches = t->launches,
		.copies = t->copies,
		.first_use = t->launches || t->copies ? t->first_ns : 0,
		.last_use = t->last_ns,
		.kernels = (uint32_t)__builtin_popcountll(t->kernels),
		.class = (uint32_t)hz_gpu_class(t, a->shared, HZ_GPU_LINK),
	};

	if (t->last_kernel)
		memcpy(r.kernel, g->kernel[t->last_kernel], sizeof(r.kernel));
	hz_stats_put_tensor(row, &r);
}

static uint32_t free_row(struct hz_gpu *g)
{
	uint32_t row = g->row_freed - 1;

	if (row != HZ_NONE)
		g->row_freed = g->row_link[row];
	else if (g->row_next < HZ_STATS_TENSORS)
		row = g->row_next++;
	return row;
}

/* The row of the smallest tensor, if that is smaller than `bytes`. */
static uint32_t smallest_row(struct hz_gpu *g, uint64_t bytes)
{
	uint32_t found = HZ_NONE;
	uint64_t least = UINT64_MAX;

	if (bytes <= g->row_least)
		return HZ_NONE;
	for (uint32_t i = 0; i < HZ_STATS_TENSORS; i++) {
		uint64_t b = g->map.tensor[g->row_tensor[i] - 1].bytes;

		if (b < least) {
			least = b;
			found = i;
		}
	}
	g->row_least = least;
	return bytes > least ? found : HZ_NONE;
}

static void row_to(struct hz_gpu *g, uint32_t row, uint32_t t)
{
	if (g->row_tensor[row])
		g->map.tensor[g->row_tensor[row] - 1].row = HZ_NONE;
	g->row_tensor[row] = t + 1;
	g->row_least = hz_min(g->row_least, g->map.tensor[t].bytes);
	g->map.tensor[t].row = row;
	fill(g, row);
}

void hz_gpu_row_new(struct hz_gpu *g, uint32_t t)
{
	uint32_t row = free_row(g);

	if (row == HZ_NONE)
		row = smallest_row(g, g->map.tensor[t].bytes);
	if (row != HZ_NONE)
		row_to(g, row, t);
}

static void row_shrunk(struct hz_gpu *g, const struct hz_gpu_tensor *t)
{
	if (t->row == HZ_NONE)
		return;
	g->row_least = hz_min(g->row_least, t->bytes);
	fill(g, t->row);
}

/* The larger part keeps the row, if there is none for both. */
void hz_gpu_row_cut(struct hz_gpu *g, uint32_t t, uint32_t cut)
{
	const struct hz_gpu_tensor *front = &g->map.tensor[t];
	uint32_t row = front->row, other = cut;
	bool full = !g->row_freed && g->row_next == HZ_STATS_TENSORS;

	if (row != HZ_NONE && full && front->bytes < g->map.tensor[cut].bytes) {
		row_to(g, row, cut);
		other = t;
	} else {
		row_shrunk(g, front);
	}
	hz_gpu_row_new(g, other);
}

void hz_gpu_row_gone(void *gpu, struct hz_gpu_tensor *t)
{
	const struct hz_stats_tensor none = {0};
	struct hz_gpu *g = gpu;

	if (t->row == HZ_NONE)
		return;
	hz_stats_put_tensor(t->row, &none);
	g->row_tensor[t->row] = 0;
	g->row_link[t->row] = g->row_freed;
	g->row_freed = t->row + 1;
	t->row = HZ_NONE;
}

void hz_gpu_rows_write(struct hz_gpu *g, uint64_t now)
{
	hz_gpu_flush(g);
	for (uint32_t i = 0; i < HZ_STATS_TENSORS; i++)
		if (g->row_tensor[i])
			fill(g, i);
	hz_gpu_gauges(g);
	g->refreshed = hz_os.now();
	g->refresh_cost = g->refreshed - now;
}

/* A wait is a good moment, but not every one: at most 2 % of the time. */
void hz_gpu_refresh(void)
{
	struct hz_gpu *g = &hz_gpu;
	uint64_t now = hz_os.now();

	if (now - __atomic_load_n(&g->refreshed, __ATOMIC_RELAXED) <
	    50 * __atomic_load_n(&g->refresh_cost, __ATOMIC_RELAXED))
		return;
	HZ_GPU_SECTION();
	hz_gpu_rows_write(g, now);
}

void hz_gpu_settle(void)
{
	HZ_GPU_SECTION();

	hz_gpu_drain(&hz_gpu);
}

/* Not in a child that was made without fork(3): another thread may have had
 * the lock, and the segment is the parent's. */
void hz_gpu_end(void)
{
	if (!__atomic_load_n(&hz_gpu_on, __ATOMIC_ACQUIRE) ||
	    hz_stats_self->pid != (uint32_t)getpid())
		return;
	HZ_GPU_END();
	hz_gpu_rows_write(&hz_gpu, hz_os.now());
}
