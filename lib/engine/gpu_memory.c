/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Memory that comes and goes, and copies of it.
 */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif
#include "base/os.h"
#include "base/stats.h"
#include "engine/gpu_int.h"
#include "policy/trace_file.h"

/* Mappings have their handle as owner; contexts are addresses. */
#define HANDLE_BIT (1ull << 63)

void hz_gpu_gauges(struct hz_gpu *g)
{
	const uint64_t *b = g->map.bytes;

	hz_stat_gauge(HZ_STAT_vram_resident, HZ_STAT_vram_peak,
		      b[HZ_GPU_IN_VRAM] + g->vram);
	hz_stat_gauge(HZ_STAT_gpu_managed, HZ_STAT_gpu_managed,
		      b[HZ_GPU_IN_MANAGED]);
	hz_stat_gauge(HZ_STAT_gpu_pinned, HZ_STAT_gpu_pinned,
		      b[HZ_GPU_IN_PINNED] + g->pinned);
	hz_stat_gauge(HZ_STAT_gpu_allocations, HZ_STAT_gpu_allocations,
		      g->map.allocs);
	hz_stat_gauge(HZ_STAT_gpu_tensors, HZ_STAT_gpu_tensors,
		      g->map.tensors);
}

static void mapping_made(struct hz_gpu *g, uint32_t alloc);

/* Nothing. */
struct hz_gpu_span hz_gpu_span = {.mask = UINT64_MAX, .bits = 1};

/* The run of GiBs around [first, last] that had allocations, if it is longer
 * than the last one: a power of two of them, aligned, that has half of the run
 * or more. */
static void note_span(const struct hz_gpu *g, uint64_t first, uint64_t last)
{
	static uint64_t longest; /* under both locks */
	const int8_t *near = g->map.near;
	uint64_t size = 1, at;

	if (last >= HZ_GPU_NEAR)
		return;
	while (first && near[first - 1])
		first--;
	while (last + 1 < HZ_GPU_NEAR && near[last + 1])
		last++;
	if (last - first + 1 <= longest)
		return;
	longest = last - first + 1;
	while (size < longest)
		size *= 2;
	at = first & -size;
	if (at + size - first < longest / 2)
		at += size;
	__atomic_store_n(&hz_gpu_span.mask, -(size << HZ_GPU_NEAR_SHIFT),
			 __ATOMIC_RELAXED);
	__atomic_store_n(&hz_gpu_span.bits, at << HZ_GPU_NEAR_SHIFT,
			 __ATOMIC_RELAXED);
}

static void add(struct hz_gpu *g, uint64_t start, uint64_t bytes,
		enum hz_gpu_origin origin, uint64_t owner)
{
	uint32_t a = hz_gpu_map_add(&g->map, start, bytes, origin, owner);

	if (a != HZ_NONE && origin == HZ_GPU_VMM)
		mapping_made(g, a);
	if (a != HZ_NONE) {
		note_span(g, start >> HZ_GPU_NEAR_SHIFT,
			  (start + bytes - 1) >> HZ_GPU_NEAR_SHIFT);
		hz_gpu_row_new(g, g->map.alloc[a].first);
		hz_gpu_record_born(g, g->map.alloc[a].first);
	} else if (start && (bytes || hz_gpu_is_array(start))) {
		hz_stat_add(HZ_STAT_gpu_untracked, 1);
	}
	hz_gpu_gauges(g);
}

void hz_gpu_add(uint64_t start, uint64_t bytes, enum hz_gpu_origin origin,
		uint64_t owner)
{
	HZ_GPU_CHANGE();

	add(&hz_gpu, start, bytes, origin, owner);
}

/* The allocation that begins here, or NULL. */
static struct hz_gpu_alloc *alloc_at(struct hz_gpu *g, uint64_t start)
{
	uint32_t t = start ? hz_gpu_map_find(&g->map, start) : HZ_NONE;
	struct hz_gpu_alloc *a;

	if (t == HZ_NONE)
		return NULL;
	a = &g->map.alloc[g->map.tensor[t].alloc];
	return a->start == start ? a : NULL;
}

static void take(struct hz_gpu *g, uint64_t start, struct hz_gpu_taken *taken)
{
	struct hz_gpu_alloc was;

	if (!hz_gpu_map_remove(&g->map, start, &was))
		return;
	*taken = (struct hz_gpu_taken){.start = was.start,
				       .bytes = was.bytes,
				       .owner = was.owner,
				       .origin = was.origin,
				       .shared = was.shared,
				       .opens = was.opens};
	hz_gpu_gauges(g);
}

void hz_gpu_take(uint64_t start, struct hz_gpu_taken *taken)
{
	struct hz_gpu *g = &hz_gpu;
	const struct hz_gpu_alloc *a;
	HZ_GPU_CHANGE();

	/* A mapping cannot be freed: the driver will refuse. */
	a = alloc_at(g, start);
	if (a && a->origin != HZ_GPU_VMM)
		take(g, start, taken);
}

void hz_gpu_imported(uint64_t start, uint64_t bytes, uint64_t owner)
{
	struct hz_gpu *g = &hz_gpu;
	struct hz_gpu_alloc *a;
	HZ_GPU_CHANGE();

	a = alloc_at(g, start);
	if (!a || a->origin != HZ_GPU_IMPORTED || a->bytes != bytes)
		add(g, start, bytes, HZ_GPU_IMPORTED, owner);
	a = alloc_at(g, start);
	if (!a)
		return;
	a->opens++;
	a->shared = 1;
}

void hz_gpu_close(uint64_t start, struct hz_gpu_taken *taken)
{
	struct hz_gpu *g = &hz_gpu;
	struct hz_gpu_alloc *a;
	HZ_GPU_CHANGE();

	a = alloc_at(g, start);
	if (a && a->opens > 1) {
		a->opens--;
		*taken = (struct hz_gpu_taken){.start = start, .opens = 1};
	} else if (a) {
		take(g, start, taken);
	}
}

void hz_gpu_put_back(const struct hz_gpu_taken *t)
{
	struct hz_gpu *g = &hz_gpu;
	struct hz_gpu_alloc *a;

	if (!t->start)
		return;
	HZ_GPU_CHANGE();
	if (t->bytes)
		add(g, t->start, t->bytes, (enum hz_gpu_origin)t->origin,
		    t->owner);
	a = alloc_at(g, t->start);
	if (!a)
		return;
	a->opens = (uint16_t)(a->opens + t->opens);
	a->shared |= t->shared;
}

void hz_gpu_owner_gone(uint64_t owner)
{
	HZ_GPU_CHANGE();

	hz_gpu_map_remove_owner(&hz_gpu.map, owner);
	hz_gpu_gauges(&hz_gpu);
}

static uint32_t share(struct hz_gpu *g, uint64_t addr)
{
	uint32_t t = hz_gpu_map_find(&g->map, addr);

	if (t != HZ_NONE)
		g->map.alloc[g->map.tensor[t].alloc].shared = 1;
	return t;
}

void hz_gpu_share(uint64_t addr)
{
	HZ_GPU_SECTION();

	share(&hz_gpu, addr);
}

/* That is a use too, the last one that can be seen. */
void hz_gpu_bound(uint64_t addr)
{
	HZ_GPU_SECTION();
	uint32_t t = share(&hz_gpu, addr);

	if (t != HZ_NONE)
		hz_gpu.map.tensor[t].last_ns = hz_os.now();
}

void hz_gpu_part(uint64_t part, uint64_t array)
{
	HZ_GPU_SECTION();

	hz_gpu_map_part(&hz_gpu.map, part, array);
}

/* ---- physical memory by handle ---- */

/* The entry of the handle, a free one if `make`, or NULL. */
static struct hz_gpu_handle *handle_at(struct hz_gpu *g, uint64_t handle,
				       bool make)
{
	uint32_t at = (uint32_t)(handle * 0x9e3779b97f4a7c15ull >> 48);
	struct hz_gpu_handle *empty = NULL;

	for (uint32_t i = 0; i < HZ_GPU_HANDLES; i++) {
		struct hz_gpu_handle *h = &g->handle[(at + i) % HZ_GPU_HANDLES];

		if (h->used && h->handle == handle && (h->refs || h->maps))
			return h;
		if (!empty && !h->refs && !h->maps)
			empty = h;
		if (!h->used)
			break;
	}
	if (make && empty)
		*empty = (struct hz_gpu_handle){.handle = handle, .used = true};
	return make ? empty : NULL;
}

static void count_handle(struct hz_gpu *g, const struct hz_gpu_handle *h,
			 bool here)
{
	uint64_t *sum = h->vram ? &g->vram : &g->pinned;

	*sum = here ? *sum + h->bytes : *sum - h->bytes;
	hz_gpu_gauges(g);
}

void hz_gpu_handle_made(uint64_t handle, uint64_t bytes, bool vram)
{
	struct hz_gpu *g = &hz_gpu;
	HZ_GPU_SECTION();
	struct hz_gpu_handle *h = handle_at(g, handle, true);

	if (!h) {
		hz_stat_add(HZ_STAT_gpu_untracked, 1);
		return;
	}
	h->refs++;
	if (h->refs > 1)
		return; /* imported a second time */
	h->bytes = bytes;
	h->vram = vram;
	count_handle(g, h, true);
}

void hz_gpu_handle_retained(uint64_t handle)
{
	HZ_GPU_SECTION();
	struct hz_gpu_handle *h = handle_at(&hz_gpu, handle, false);

	if (h)
		h->refs++;
}

/* Memory goes with the last reference and the last mapping. */
static void handle_drop(struct hz_gpu *g, uint64_t handle, bool map)
{
	struct hz_gpu_handle *h = handle_at(g, handle, false);
	uint32_t *n = h ? map ? &h->maps : &h->refs : NULL;

	if (!n || !*n)
		return;
	--*n;
	if (!h->refs && !h->maps)
		count_handle(g, h, false);
}

void hz_gpu_handle_released(uint64_t handle)
{
	HZ_GPU_SECTION();

	handle_drop(&hz_gpu, handle, false);
}

void hz_gpu_handle_shared(uint64_t handle)
{
	struct hz_gpu_map *m = &hz_gpu.map;
	HZ_GPU_SECTION();
	struct hz_gpu_handle *h = handle_at(&hz_gpu, handle, false);

	if (h)
		h->shared = true;
	for (uint32_t a = 0; h && h->maps && a < m->allocs_used; a++)
		if (m->alloc[a].bytes &&
		    m->alloc[a].owner == (handle | HANDLE_BIT))
			m->alloc[a].shared = 1;
}

/* Counted when it is in the map, and until it goes from there, however that
 * is: unmapped, or found overlapped by a younger one. */
static void mapping_made(struct hz_gpu *g, uint32_t alloc)
{
	struct hz_gpu_alloc *a = &g->map.alloc[alloc];
	struct hz_gpu_handle *h = handle_at(g, a->owner & ~HANDLE_BIT, false);

	if (!h)
		return;
	h->maps++;
	a->shared = h->shared;
}

void hz_gpu_mapping_gone(struct hz_gpu *g, const struct hz_gpu_tensor *t)
{
	const struct hz_gpu_alloc *a = &g->map.alloc[t->alloc];

	if (a->origin == HZ_GPU_VMM && t->start == a->start)
		handle_drop(g, a->owner & ~HANDLE_BIT, true);
}

void hz_gpu_mapped(uint64_t start, uint64_t bytes, uint64_t handle)
{
	HZ_GPU_CHANGE();

	add(&hz_gpu, start, bytes, HZ_GPU_VMM, handle | HANDLE_BIT);
}

void hz_gpu_unmapped(uint64_t start, uint64_t bytes)
{
	struct hz_gpu *g = &hz_gpu;
	uint64_t end = start + bytes;
	HZ_GPU_CHANGE();

	while (start < end) {
		struct hz_gpu_alloc was;

		if (!hz_gpu_map_remove(&g->map, start, &was)) {
			start += HZ_BLOCK_SIZE;
			continue;
		}
		start += was.bytes;
	}
	hz_gpu_gauges(g);
}

/* ---- copies ---- */

uint32_t hz_gpu_tensor_at(struct hz_gpu *g, uint64_t addr)
{
	uint32_t had = g->map.tensors, t = hz_gpu_map_find(&g->map, addr), cut;

	if (t == HZ_NONE || g->map.tensor[t].start == addr)
		return t;
	cut = hz_gpu_map_cut(&g->map, addr);
	if (g->map.tensors != had) {
		hz_gpu_row_cut(g, t, cut);
		hz_gpu_record_gone(&g->map.tensor[t]);
		hz_gpu_record_born(g, t);
		hz_gpu_record_born(g, cut);
		hz_stat_gauge(HZ_STAT_gpu_tensors, HZ_STAT_gpu_tensors,
			      g->map.tensors);
	}
	return cut;
}

/* All tensors that [addr, addr + bytes) touches. */
static void touched(struct hz_gpu *g, uint64_t addr, uint64_t bytes,
		    unsigned how, uint64_t now)
{
	uint32_t t = hz_gpu_tensor_at(g, addr);

	if (t != HZ_NONE && hz_gpu_is_array(addr))
		addr = g->map.tensor[t].start; /* of the whole */
	while (t != HZ_NONE && g->map.tensor[t].start < addr + bytes) {
		const struct hz_gpu_tensor *x = &g->map.tensor[t];
		uint64_t end = hz_min(x->start + x->bytes, addr + bytes);

		hz_gpu_map_copied(&g->map, t, now);
		hz_gpu_record_copy(g, t, end - hz_max(x->start, addr), how,
				   now);
		t = hz_gpu_map_after(&g->map, t);
	}
}

void hz_gpu_copied(uint64_t to, uint64_t from, uint64_t bytes)
{
	struct hz_gpu *g = &hz_gpu;
	bool inside = false;
	uint64_t now;
	HZ_GPU_SECTION();

	hz_stat_add(HZ_STAT_gpu_copies, 1);
	hz_stat_add(HZ_STAT_gpu_copy_bytes, bytes);
	now = hz_os.now();
	hz_gpu_drain(g); /* tensors may be cut, each in its turn */
	if (hz_unlikely(hz_gpu_recording))
		inside = hz_gpu_is_device(g, to) && hz_gpu_is_device(g, from);
	if (hz_gpu_map_maybe(&g->map, from))
		touched(g, from, bytes,
			inside ? HZ_TF_FROM_DEVICE : HZ_TF_TO_HOST, now);
	if (hz_gpu_map_maybe(&g->map, to))
		touched(g, to, bytes,
			inside ? HZ_TF_ON_DEVICE : HZ_TF_TO_DEVICE, now);
}

void hz_gpu_memset(uint64_t to, uint64_t bytes)
{
	struct hz_gpu *g = &hz_gpu;
	HZ_GPU_SECTION();

	hz_stat_add(HZ_STAT_gpu_memsets, 1);
	hz_gpu_drain(g);
	if (hz_gpu_map_maybe(&g->map, to))
		touched(g, to, bytes, HZ_TF_SET, hz_os.now());
}
