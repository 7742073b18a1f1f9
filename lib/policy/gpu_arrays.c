/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Arrays of the driver in the GPU map: by handle, in lists by its hash.
 *
 * Handles of parts are looked up in a second table that loses entries. An
 * entry is right as long as the tensor that it names was not used anew.
 */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif
#include "policy/gpu_map.h"
#include "policy/gpu_map_int.h"

#define WAYS 4u

static uint32_t hash(uint64_t handle, uint32_t size)
{
	return (uint32_t)((handle >> 3) * 0x9e3779b97f4a7c15ull >> 40) % size;
}

static uint32_t *head_of(const struct hz_gpu_map *m, uint64_t handle)
{
	return &m->by_handle[hash(handle, HZ_GPU_HANDLE_HEADS)];
}

void hz_gpu_array_insert(struct hz_gpu_map *m, uint32_t t)
{
	uint32_t *head = head_of(m, m->tensor[t].start);

	m->tensor[t].next = *head - 1;
	*head = t + 1;
}

void hz_gpu_array_take_out(struct hz_gpu_map *m, uint32_t t)
{
	uint32_t *head = head_of(m, m->tensor[t].start);
	uint32_t before = *head - 1;

	if (before == t) {
		*head = m->tensor[t].next + 1;
		return;
	}
	while (m->tensor[before].next != t)
		before = m->tensor[before].next;
	m->tensor[before].next = m->tensor[t].next;
}

/* ---- parts ---- */

static struct hz_gpu_part *ways_of(const struct hz_gpu_map *m, uint64_t handle)
{
	return &m->part[hash(handle, HZ_GPU_PARTS / WAYS) * WAYS];
}

static bool lives(const struct hz_gpu_map *m, const struct hz_gpu_part *p)
{
	const struct hz_gpu_tensor *t = &m->tensor[p->tensor];

	return p->handle && t->bytes && t->generation == p->generation;
}

void hz_gpu_map_part(struct hz_gpu_map *m, uint64_t part, uint64_t array)
{
	struct hz_gpu_part *way = ways_of(m, part), *to = NULL;
	uint32_t t = hz_gpu_array_find(m, array);

	if (t == HZ_NONE || part == m->tensor[t].start)
		return;
	for (uint32_t i = 0; i < WAYS && !(to && to->handle == part); i++)
		if (way[i].handle == part || (!to && !lives(m, &way[i])))
			to = &way[i];
	if (!to)
		to = &way[part >> 8 & (WAYS - 1)];
	*to = (struct hz_gpu_part){part, t, m->tensor[t].generation};
}

static uint32_t whole_of(const struct hz_gpu_map *m, uint64_t handle)
{
	const struct hz_gpu_part *way = ways_of(m, handle);

	for (uint32_t i = 0; i < WAYS; i++)
		if (way[i].handle == handle && lives(m, &way[i]))
			return way[i].tensor;
	return HZ_NONE;
}

uint32_t hz_gpu_array_find(const struct hz_gpu_map *m, uint64_t handle)
{
	uint32_t t = *head_of(m, handle) - 1;

	while (t != HZ_NONE && m->tensor[t].start != handle)
		t = m->tensor[t].next;
	return t != HZ_NONE ? t : whole_of(m, handle);
}
