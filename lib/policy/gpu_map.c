/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Allocations and the radix over their tensors.
 *
 * For each block `head` is the lowest tensor that overlaps it. t.next is the
 * tensor that follows t in the block where t ends, HZ_NONE if there is none;
 * so all tensors of a block can be reached from its head. Entries of the
 * radix are index + 1, so that fresh memory is empty.
 */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif
#include <string.h>
#include "policy/gpu_map.h"
#include "policy/gpu_map_int.h"

#define WHERE(where_) HZ_GPU_IN_##where_
const enum hz_gpu_where hz_gpu_where[HZ_GPU_ORIGINS] = {
#define HZ_GPU_ORIGIN(id_, name_, where_) WHERE(where_),
#include "policy/gpu_origins.def"
#undef HZ_GPU_ORIGIN
};

const char *const hz_gpu_origin_names[HZ_GPU_ORIGINS] = {
#define HZ_GPU_ORIGIN(id_, name_, where_) name_,
#include "policy/gpu_origins.def"
#undef HZ_GPU_ORIGIN
};

static size_t table_bytes(size_t n, size_t size)
{
	return hz_align_up(n * size, HZ_PAGE_SIZE);
}

size_t hz_gpu_map_bytes(struct hz_gpu_limits l)
{
	return table_bytes(l.allocs, sizeof(struct hz_gpu_alloc)) +
	       table_bytes(l.tensors, sizeof(struct hz_gpu_tensor)) +
	       table_bytes(HZ_GPU_ROOT, sizeof(uint32_t)) +
	       table_bytes((size_t)l.leaves * HZ_GPU_LEAF, sizeof(uint32_t)) +
	       table_bytes(HZ_GPU_STARTS, sizeof(uint32_t)) +
	       table_bytes(HZ_GPU_HANDLE_HEADS, sizeof(uint32_t)) +
	       table_bytes(HZ_GPU_PARTS, sizeof(struct hz_gpu_part)) +
	       table_bytes(HZ_GPU_NEAR + 1, sizeof(int8_t));
}

void hz_gpu_map_init(struct hz_gpu_map *m, struct hz_gpu_limits l, void *mem)
{
	char *at = mem;

	*m = (struct hz_gpu_map){.limit = l};
	m->alloc_free = m->tensor_free = HZ_NONE;
	m->alloc = (void *)at;
	at += table_bytes(l.allocs, sizeof(*m->alloc));
	m->tensor = (void *)at;
	at += table_bytes(l.tensors, sizeof(*m->tensor));
	m->root = (void *)at;
	at += table_bytes(HZ_GPU_ROOT, sizeof(*m->root));
	m->leaf = (void *)at;
	at += table_bytes((size_t)l.leaves * HZ_GPU_LEAF, sizeof(*m->leaf));
	m->by_start = (void *)at;
	at += table_bytes(HZ_GPU_STARTS, sizeof(*m->by_start));
	m->by_handle = (void *)at;
	at += table_bytes(HZ_GPU_HANDLE_HEADS, sizeof(*m->by_handle));
	m->part = (void *)at;
	at += table_bytes(HZ_GPU_PARTS, sizeof(*m->part));
	m->near = (void *)at;
}

/* ---- entries ---- */

static uint32_t new_alloc(struct hz_gpu_map *m)
{
	uint32_t a = m->alloc_free;

	if (a != HZ_NONE)
		m->alloc_free = m->alloc[a].link;
	else if (m->allocs_used < m->limit.allocs)
		a = m->allocs_used++;
	else
		return HZ_NONE;
	m->allocs++;
	return a;
}

uint32_t hz_gpu_new_tensor(struct hz_gpu_map *m)
{
	uint32_t t = m->tensor_free, generation;

	if (t != HZ_NONE)
		m->tensor_free = m->tensor[t].sibling;
	else if (m->tensors_used < m->limit.tensors)
		t = m->tensors_used++;
	else
		return HZ_NONE;
	generation = m->tensor[t].generation + 1;
	m->tensor[t] = (struct hz_gpu_tensor){
		.generation = generation, .next = HZ_NONE, .row = HZ_NONE};
	m->tensors++;
	return t;
}

static void drop_tensor(struct hz_gpu_map *m, uint32_t t)
{
	m->tensor[t].bytes = 0;
	m->tensor[t].sibling = m->tensor_free;
	m->tensor_free = t;
	m->tensors--;
}

/* ---- the radix ---- */

uint32_t *hz_gpu_head(struct hz_gpu_map *m, uint64_t block)
{
	uint32_t leaf = m->root[block / HZ_GPU_LEAF];

	return leaf ? &m->leaf[(size_t)(leaf - 1) * HZ_GPU_LEAF +
			       block % HZ_GPU_LEAF]
		    : NULL;
}

/* A leaf at a time: large tensors have many blocks. */
void hz_gpu_set_heads(struct hz_gpu_map *m, uint64_t first, uint64_t last,
		      uint32_t t)
{
	while (first <= last) {
		uint64_t end = hz_min(last, first | (HZ_GPU_LEAF - 1));
		uint32_t *head = hz_gpu_head(m, first);

		for (uint64_t n = end - first + 1; n; n--)
			*head++ = t + 1;
		first = end + 1;
	}
}

/* Leaves for all blocks of a range. They stay: addresses come again. */
static bool make_leaves(struct hz_gpu_map *m, uint64_t first, uint64_t last)
{
	for (uint64_t i = first / HZ_GPU_LEAF; i <= last / HZ_GPU_LEAF; i++) {
		if (m->root[i])
			continue;
		if (m->leaves_used == m->limit.leaves)
			return false;
		m->root[i] = ++m->leaves_used;
	}
	return true;
}

/* The tensor of block b that starts last below addr, HZ_NONE if none does. */
static uint32_t before(struct hz_gpu_map *m, uint64_t b, uint64_t addr)
{
	uint32_t t = *hz_gpu_head(m, b) - 1, found = HZ_NONE;

	while (t != HZ_NONE && m->tensor[t].start < addr) {
		found = t;
		t = m->tensor[t].next;
	}
	return found;
}

static void insert(struct hz_gpu_map *m, uint32_t t)
{
	struct hz_gpu_tensor *new = &m->tensor[t];
	uint64_t first = hz_gpu_block(new->start);
	uint64_t last = hz_gpu_block(new->start + new->bytes - 1);
	uint32_t pred = before(m, first, new->start);

	new->next = *hz_gpu_head(m, last) - 1;
	if (pred != HZ_NONE) {
		if (first == last)
			new->next = m->tensor[pred].next;
		m->tensor[pred].next = t;
		first++;
	}
	hz_gpu_set_heads(m, first, last, t);
}

static void take_out(struct hz_gpu_map *m, uint32_t t)
{
	struct hz_gpu_tensor *old = &m->tensor[t];
	uint64_t first = hz_gpu_block(old->start);
	uint64_t last = hz_gpu_block(old->start + old->bytes - 1);
	uint32_t pred = before(m, first, old->start);

	if (pred != HZ_NONE) {
		m->tensor[pred].next = first == last ? old->next : HZ_NONE;
		first++;
	}
	hz_gpu_set_heads(m, first, last, HZ_NONE);
	if (first <= last)
		*hz_gpu_head(m, last) = old->next + 1;
}

/* ---- adding ---- */

static bool is_range(uint64_t start, uint64_t bytes)
{
	return start && bytes && start + bytes > start &&
	       (start + bytes - 1) >> HZ_GPU_VA_BITS == 0;
}

/* What overlaps [start, start + bytes) was freed unseen. */
static void forget(struct hz_gpu_map *m, uint64_t start, uint64_t bytes)
{
	uint64_t last = hz_gpu_block(start + bytes - 1);

	for (uint64_t b = hz_gpu_block(start); b <= last; b++) {
		uint32_t *head = hz_gpu_head(m, b);
		uint32_t t = head ? *head - 1 : HZ_NONE;

		while (t != HZ_NONE && m->tensor[t].start < start + bytes) {
			const struct hz_gpu_tensor *x = &m->tensor[t];
			uint64_t from = m->alloc[x->alloc].start;

			if (x->start + x->bytes <= start) {
				t = x->next;
				continue;
			}
			hz_gpu_map_remove(m, from, NULL);
			t = *head - 1; /* the list has changed */
		}
	}
}

static void count(struct hz_gpu_map *m, const struct hz_gpu_alloc *a, bool add)
{
	uint64_t *sum = &m->bytes[hz_gpu_where[a->origin]];

	*sum = add ? *sum + a->bytes : *sum - a->bytes;
}

static void note_near(struct hz_gpu_map *m, uint64_t start, uint64_t bytes)
{
	uint64_t last = (start + bytes - 1) >> HZ_GPU_NEAR_SHIFT;

	for (uint64_t i = start >> HZ_GPU_NEAR_SHIFT; i <= last; i++)
		__atomic_store_n(&m->near[i], -1, __ATOMIC_RELAXED);
}

/* Nothing is there, and what finding it takes is. */
static bool make_room(struct hz_gpu_map *m, uint64_t start, uint64_t bytes)
{
	if (hz_gpu_is_array(start)) {
		hz_gpu_map_remove(m, start, NULL);
		return bytes && start + bytes > start;
	}
	if (!is_range(start, bytes))
		return false;
	forget(m, start, bytes);
	return make_leaves(m, hz_gpu_block(start),
			   hz_gpu_block(start + bytes - 1));
}

static void make_found(struct hz_gpu_map *m, uint32_t t)
{
	const struct hz_gpu_tensor *new = &m->tensor[t];

	if (hz_gpu_is_array(new->start)) {
		hz_gpu_array_insert(m, t);
		return;
	}
	insert(m, t);
	hz_gpu_remember(m, t);
	note_near(m, new->start, new->bytes);
}

uint32_t hz_gpu_map_add(struct hz_gpu_map *m, uint64_t start, uint64_t bytes,
			enum hz_gpu_origin origin, uint64_t owner)
{
	uint32_t a, t;

	if (!make_room(m, start, bytes))
		return HZ_NONE;
	t = hz_gpu_new_tensor(m);
	if (t == HZ_NONE)
		return HZ_NONE;
	a = new_alloc(m);
	if (a == HZ_NONE) {
		drop_tensor(m, t);
		return HZ_NONE;
	}
	m->alloc[a] = (struct hz_gpu_alloc){.start = start,
					    .bytes = bytes,
					    .owner = owner,
					    .first = t,
					    .tensors = 1,
					    .generation =
						    m->alloc[a].generation + 1,
					    .origin = (uint8_t)origin,
					    .shared = hz_gpu_is_array(start)};
	m->tensor[t].start = start;
	m->tensor[t].bytes = bytes;
	m->tensor[t].alloc = a;
	m->tensor[t].sibling = HZ_NONE;
	make_found(m, t);
	count(m, &m->alloc[a], true);
	m->additions++;
	return a;
}

/* ---- removing ---- */

static void remove_alloc(struct hz_gpu_map *m, uint32_t a)
{
	struct hz_gpu_alloc *old = &m->alloc[a];

	for (uint32_t t = old->first, next; t != HZ_NONE; t = next) {
		next = m->tensor[t].sibling;
		if (m->gone)
			m->gone(m->gone_arg, &m->tensor[t]);
		if (hz_gpu_is_array(m->tensor[t].start))
			hz_gpu_array_take_out(m, t);
		else
			take_out(m, t);
		drop_tensor(m, t);
	}
	count(m, old, false);
	old->bytes = 0;
	old->link = m->alloc_free;
	m->alloc_free = a;
	m->allocs--;
	m->removals++;
}

bool hz_gpu_map_remove(struct hz_gpu_map *m, uint64_t start,
		       struct hz_gpu_alloc *was)
{
	uint32_t t = hz_gpu_map_find(m, start), a;

	if (t == HZ_NONE)
		return false;
	a = m->tensor[t].alloc;
	if (m->alloc[a].start != start)
		return false;
	if (was)
		*was = m->alloc[a];
	remove_alloc(m, a);
	return true;
}

uint32_t hz_gpu_map_remove_owner(struct hz_gpu_map *m, uint64_t owner)
{
	uint32_t n = 0;

	for (uint32_t a = 0; owner && a < m->allocs_used; a++)
		if (m->alloc[a].bytes && m->alloc[a].owner == owner) {
			remove_alloc(m, a);
			n++;
		}
	return n;
}
