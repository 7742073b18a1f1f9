/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tensors: finding, cutting, and what their uses say.
 */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif
#include "policy/gpu_map.h"
#include "policy/gpu_map_int.h"

const char *const hz_gpu_class_names[] = {"resident", "offloadable",
					  "host_only"};

/* ---- finding ---- */

static uint32_t *start_slot(struct hz_gpu_map *m, uint64_t addr)
{
	uint64_t h = (addr >> 4) * 0x9e3779b97f4a7c15ull;

	return &m->by_start[h >> 46];
}

void hz_gpu_remember(struct hz_gpu_map *m, uint32_t t)
{
	*start_slot(m, m->tensor[t].start) = t + 1;
}

static uint32_t walk(struct hz_gpu_map *m, uint64_t addr)
{
	const uint32_t *head = hz_gpu_head(m, hz_gpu_block(addr));
	uint32_t t = head ? *head - 1 : HZ_NONE;

	while (t != HZ_NONE && m->tensor[t].start <= addr) {
		if (addr - m->tensor[t].start < m->tensor[t].bytes)
			return t;
		t = m->tensor[t].next;
	}
	return HZ_NONE;
}

uint32_t hz_gpu_map_find(struct hz_gpu_map *m, uint64_t addr)
{
	uint32_t t;

	if (hz_unlikely(addr >> HZ_GPU_VA_BITS))
		return hz_gpu_is_array(addr) ? hz_gpu_array_find(m, addr)
					     : HZ_NONE;
	t = *start_slot(m, addr) - 1;
	if (t != HZ_NONE && m->tensor[t].start == addr && m->tensor[t].bytes)
		return t;
	t = walk(m, addr);
	if (t != HZ_NONE && m->tensor[t].start == addr)
		hz_gpu_remember(m, t);
	return t;
}

/* Two rounds, so that the misses of each overlap. */
void hz_gpu_map_prefetch(struct hz_gpu_map *m, const uint64_t *addr, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++)
		__builtin_prefetch(start_slot(m, addr[i]));
	for (uint32_t i = 0; i < n; i++) {
		uint32_t t = *start_slot(m, addr[i]) - 1;

		if (t != HZ_NONE) {
			__builtin_prefetch(&m->tensor[t]);
			__builtin_prefetch(&m->tensor[t].mark);
		}
	}
}

uint32_t hz_gpu_map_after(const struct hz_gpu_map *m, uint32_t t)
{
	return m->tensor[t].sibling;
}

/* ---- cutting ---- */

/* n is the end of what was one tensor. In all of its blocks but the first,
 * which it may share, that one was the lowest. */
static void move_heads(struct hz_gpu_map *m, uint32_t n)
{
	const struct hz_gpu_tensor *new = &m->tensor[n];
	uint64_t first = hz_gpu_block(new->start + HZ_BLOCK_SIZE - 1);

	hz_gpu_set_heads(m, first, hz_gpu_block(new->start + new->bytes - 1),
			 n);
}

uint32_t hz_gpu_map_cut(struct hz_gpu_map *m, uint64_t addr)
{
	uint32_t t = hz_gpu_map_find(m, addr), n;
	struct hz_gpu_tensor *old, *new;

	if (t == HZ_NONE || hz_gpu_is_array(addr) ||
	    addr - m->tensor[t].start < HZ_GPU_CUT_MIN)
		return t;
	n = hz_gpu_new_tensor(m);
	if (n == HZ_NONE)
		return t;
	old = &m->tensor[t];
	new = &m->tensor[n];
	new->start = addr;
	new->bytes = old->start + old->bytes - addr;
	new->alloc = old->alloc;
	new->next = old->next;
	new->sibling = old->sibling;
	/* What was counted before belongs to the part that was named. */
	new->first_ns = new->last_ns = old->last_ns;
	old->bytes = addr - old->start;
	old->sibling = n;
	old->next = addr % HZ_BLOCK_SIZE ? n : HZ_NONE;
	m->alloc[old->alloc].tensors++;
	move_heads(m, n);
	hz_gpu_remember(m, n);
	return n;
}

/* ---- uses ---- */

static void used(struct hz_gpu_tensor *t, uint64_t now)
{
	if (!t->launches && !t->copies)
		t->first_ns = now;
	t->last_ns = hz_max(t->last_ns, now);
}

void hz_gpu_map_launched(struct hz_gpu_map *m, uint32_t t, uint32_t kernel,
			 uint64_t count, uint64_t now)
{
	struct hz_gpu_tensor *x = &m->tensor[t];

	used(x, now);
	x->launches += count;
	if (kernel == HZ_GPU_KERNEL_NONE)
		return;
	x->kernels |= 1ull << (kernel & 63);
	x->last_kernel = kernel;
}

void hz_gpu_map_copied(struct hz_gpu_map *m, uint32_t t, uint64_t now)
{
	used(&m->tensor[t], now);
	m->tensor[t].copies++;
}

/* Out and in again between two uses, each at the speed of the link. */
enum hz_gpu_class hz_gpu_class(const struct hz_gpu_tensor *t, bool shared,
			       uint64_t link)
{
	uint64_t uses = t->launches + t->copies;
	double gap, move = 2.0 * (double)t->bytes * 1e9 / (double)link;

	if (shared)
		return HZ_GPU_RESIDENT;
	if (!t->launches && t->copies)
		return HZ_GPU_HOST_ONLY;
	if (uses < 2)
		return uses ? HZ_GPU_RESIDENT : HZ_GPU_OFFLOADABLE;
	gap = (double)(t->last_ns - t->first_ns) / (double)(uses - 1);
	return gap > move ? HZ_GPU_OFFLOADABLE : HZ_GPU_RESIDENT;
}
