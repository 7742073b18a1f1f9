/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The physics of managed memory. The bytes never move here, there is one
 * memory; what moves is the account of where a device would have them, and
 * the page protection by which an access from the wrong side is noticed:
 *
 * - A block that came to the host once keeps its host pages until it is freed.
 * - Moving it to the host, or discarding it, gives no device memory back; the
 *   block stays attached and is only first in line to be evicted.
 * - Eviction takes the unused, the discarded, then the used in the order in
 *   which they were brought in or prefetched; an access does not refresh.
 * - A discarded block holds poison until it is written.
 *
 * One protection serves all threads, so a block is open for both sides while
 * it is open; blocks of the device close when the host has waited for it, and
 * those of the host when a kernel begins.
 */
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include "physics.h"

#define POISON 0xdb

static TAILQ_HEAD(queue, soft_block) queues[SOFT_MAX_DEVICES][SOFT_QUEUES];
static LIST_HEAD(host_list, soft_block) open_host =
	LIST_HEAD_INITIALIZER(open_host);
static LIST_HEAD(device_list, soft_block) open_device =
	LIST_HEAD_INITIALIZER(open_device);
static _Atomic unsigned n_open_host, n_open_device;

/* Blocks by address: the arena is one stretch. */
#define TABLE ((size_t)1 << 20)
static struct soft_block **table;
static uintptr_t table_base;

struct soft_block *soft_block_at(uintptr_t addr)
{
	size_t i = (addr - table_base) / SOFT_BLOCK;

	if (!table || addr < table_base || i >= TABLE)
		return NULL;
	return __atomic_load_n(&table[i], __ATOMIC_ACQUIRE);
}

/* ---- the account ---- */

static void set_sticky(struct soft_block *b)
{
	if (b->sticky)
		return;
	b->sticky = true;
	soft_count(soft_host_bytes, b->bytes);
}

static void set_where(struct soft_block *b, int where)
{
	if (b->where >= 0)
		soft_uncount(managed_resident_bytes, b->bytes);
	b->where = (int8_t)where;
	if (where >= 0)
		soft_count(managed_resident_bytes, b->bytes);
	if (where == SOFT_HOST)
		set_sticky(b);
}

static void detach(struct soft_block *b)
{
	if (b->attached < 0)
		return;
	TAILQ_REMOVE(&queues[b->attached][b->queue], b, queued);
	__atomic_sub_fetch(&soft_devices[b->attached].attached, b->bytes,
			   __ATOMIC_RELAXED);
	soft_uncount(managed_attached_bytes, b->bytes);
	b->attached = SOFT_HOST;
}

/* To the end of a queue of the device that it is attached to. */
static void requeue(struct soft_block *b, enum soft_queue q)
{
	TAILQ_REMOVE(&queues[b->attached][b->queue], b, queued);
	b->queue = q;
	TAILQ_INSERT_TAIL(&queues[b->attached][q], b, queued);
}

static bool attach(struct soft_block *b, struct soft_device *dev)
{
	if (b->attached == dev->index)
		return true;
	detach(b);
	if (soft_device_free_bytes(dev) < b->bytes &&
	    !soft_phys_make_room(dev, b->bytes))
		return false;
	b->attached = (int8_t)dev->index;
	b->queue = SOFT_USED;
	TAILQ_INSERT_TAIL(&queues[dev->index][SOFT_USED], b, queued);
	__atomic_add_fetch(&dev->attached, b->bytes, __ATOMIC_RELAXED);
	soft_count(managed_attached_bytes, b->bytes);
	soft_highest(device_peak_bytes,
		     __atomic_load_n(&dev->native, __ATOMIC_RELAXED) +
			     __atomic_load_n(&dev->attached, __ATOMIC_RELAXED));
	return true;
}

/* ---- protection ---- */

static void open_block(struct soft_block *b)
{
	if (b->open || !soft_set.faults)
		return;
	mprotect((void *)b->base, SOFT_BLOCK, PROT_READ | PROT_WRITE);
	b->open = true;
	if (b->where >= 0) {
		LIST_INSERT_HEAD(&open_device, b, opened);
		atomic_fetch_add(&n_open_device, 1);
	} else {
		LIST_INSERT_HEAD(&open_host, b, opened);
		atomic_fetch_add(&n_open_host, 1);
	}
}

/* Out of the list; the caller changes the protection. */
static void forget_open(struct soft_block *b)
{
	LIST_REMOVE(b, opened);
	b->open = false;
	atomic_fetch_sub(b->where >= 0 ? &n_open_device : &n_open_host, 1);
}

/* Before its place changes, since the lists are by place. */
static void close_block(struct soft_block *b)
{
	if (!b->open)
		return;
	forget_open(b);
	mprotect((void *)b->base, SOFT_BLOCK, PROT_NONE);
}

/* One call for a run of neighbours. */
static void close_list(struct soft_block *b)
{
	uintptr_t from = 0, to = 0;

	while (b) {
		struct soft_block *next = LIST_NEXT(b, opened);

		forget_open(b);
		if (b->base == to) {
			to += SOFT_BLOCK;
		} else if (b->base + SOFT_BLOCK == from) {
			from = b->base;
		} else {
			if (to)
				mprotect((void *)from, to - from, PROT_NONE);
			from = b->base;
			to = from + SOFT_BLOCK;
		}
		b = next;
	}
	if (to)
		mprotect((void *)from, to - from, PROT_NONE);
}

void soft_phys_device_begins(void)
{
	if (!atomic_load(&n_open_host))
		return;
	soft_guard(soft_phys_lock);
	close_list(LIST_FIRST(&open_host));
}

void soft_phys_host_waited(void)
{
	if (!atomic_load(&n_open_device))
		return;
	soft_guard(soft_phys_lock);
	close_list(LIST_FIRST(&open_device));
}

/* The bytes are lost. */
static void poison(struct soft_block *b, uintptr_t at, size_t len)
{
	bool was_open = b->open;

	open_block(b);
	memset((void *)at, POISON, len);
	if (!was_open)
		close_block(b);
}

/* ---- moves; soft_phys_lock is held ---- */

static void to_host(struct soft_block *b)
{
	close_block(b);
	if (b->where >= 0 && !b->host_copy && !b->discarded) {
		soft_count(migrated_d2h_bytes, b->bytes);
		soft_link_time(false, b->bytes);
	}
	set_where(b, SOFT_HOST);
	b->host_copy = false;
	if (b->attached >= 0)
		requeue(b, SOFT_UNUSED);
}

static bool to_device(struct soft_block *b, int dev)
{
	bool from_host = b->where == SOFT_HOST;

	if (!attach(b, &soft_devices[dev]))
		return false;
	close_block(b);
	if (from_host && !b->discarded) {
		soft_count(migrated_h2d_bytes, b->bytes);
		soft_link_time(true, b->bytes);
	}
	b->host_copy = from_host && b->read_mostly;
	set_where(b, dev);
	requeue(b, SOFT_USED);
	return true;
}

static void evict(struct soft_block *b)
{
	enum soft_queue q = b->queue;

	soft_count(evictions, 1);
	close_block(b);
	if (q == SOFT_UNUSED) {
		soft_count(evicted_unused, 1);
	} else if (q == SOFT_DISCARDED) {
		/* no copy, but host pages all the same */
		soft_count(evicted_discarded, 1);
		if (b->touched) {
			soft_count(writes_lost, 1);
			poison(b, b->base, SOFT_BLOCK);
			b->touched = false;
		}
		set_where(b, SOFT_HOST);
	} else {
		soft_count(evicted_used, 1);
		to_host(b);
	}
	detach(b);
}

bool soft_phys_make_room(struct soft_device *dev, uint64_t bytes)
{
	while (soft_device_free_bytes(dev) < bytes) {
		struct soft_block *victim = NULL;

		for (unsigned q = 0; q < SOFT_QUEUES && !victim; q++)
			victim = queues[dev->index][q].tqh_last
					 ? TAILQ_FIRST(&queues[dev->index][q])
					 : NULL;
		if (!victim)
			return false;
		evict(victim);
	}
	return true;
}

/* ---- accesses ---- */

static void revive(struct soft_block *b)
{
	if (!b->discarded)
		return;
	b->touched = true;
	if (soft_set.discard_keeps)
		return;
	b->discarded = b->touched = false;
	soft_count(discards_revived, 1);
}

static void host_access(struct soft_block *b)
{
	soft_count(cpu_faults, 1);
	if (b->where != SOFT_HOST)
		to_host(b);
	revive(b);
}

static void device_access(struct soft_block *b, int dev)
{
	bool remote = b->preferred == SOFT_HOST ||
		      (b->where == SOFT_HOST &&
		       (b->accessed_by & 1u << dev));

	soft_count(gpu_faults, 1);
	if (b->where == dev) {
		revive(b);
		return;
	}
	if (!remote && to_device(b, dev)) {
		if (b->discarded && soft_set.discard_keeps)
			requeue(b, SOFT_DISCARDED);
		revive(b);
		return;
	}
	soft_count(remote_maps, 1);
	if (b->where == SOFT_NOWHERE)
		set_where(b, SOFT_HOST);
	revive(b);
}

bool soft_phys_fault(uintptr_t addr, int dev)
{
	struct soft_block *b = soft_block_at(addr);

	if (!b)
		return false;
	soft_guard(soft_phys_lock);
	if (b->open)
		return true;
	if (dev < 0)
		host_access(b);
	else
		device_access(b, dev);
	open_block(b);
	return true;
}

/* ---- prefetch and discard ---- */

void soft_block_border(struct soft_block *b, uintptr_t from, uintptr_t to)
{
	bool whole = from <= b->base && to >= b->base + b->bytes;

	if (whole || b->split)
		return;
	b->split = true;
	soft_count(splits, 1);
}

static void prefetch_block(struct soft_block *b, int to)
{
	b->last_prefetch = (int8_t)to;
	if (to == SOFT_HOST) {
		if (b->where != SOFT_HOST)
			to_host(b);
	} else if (b->where == to) {
		if (!b->split) {
			requeue(b, SOFT_USED);
			soft_count(refreshed, 1);
		}
	} else {
		to_device(b, to);
	}
	b->discarded = b->touched = false;
}

#define PIECE 16 /* blocks that are moved under one hold of the lock */

void soft_phys_prefetch(uintptr_t addr, size_t len, int to)
{
	uintptr_t at = addr & ~(SOFT_BLOCK - 1), end = addr + len;

	while (at < end) {
		soft_shared();
		for (unsigned n = 0; n < PIECE && at < end; n++) {
			struct soft_block *b;

			soft_guard(soft_phys_lock);
			b = soft_block_at(at);
			at += SOFT_BLOCK;
			if (!b)
				continue;
			soft_block_border(b, addr, end);
			prefetch_block(b, to);
		}
		soft_shared_end();
	}
	soft_count(prefetches, 1);
}

static void discard_block(struct soft_block *b, uintptr_t from, uintptr_t to)
{
	soft_block_border(b, from, to);
	if (from < b->base)
		from = b->base;
	if (to > b->base + SOFT_BLOCK)
		to = b->base + SOFT_BLOCK;
	poison(b, from, to - from);
	if (to - from < b->bytes && to - from < SOFT_BLOCK)
		return; /* pages of a block in use change nothing else */
	close_block(b);
	b->discarded = true;
	b->touched = b->host_copy = false;
	set_where(b, SOFT_NOWHERE);
	if (b->attached >= 0)
		requeue(b, SOFT_DISCARDED);
	soft_count(discards, 1);
}

void soft_phys_discard(uintptr_t addr, size_t len)
{
	for (uintptr_t at = addr & ~(SOFT_BLOCK - 1); at < addr + len;
	     at += SOFT_BLOCK) {
		struct soft_block *b;

		soft_guard(soft_phys_lock);
		b = soft_block_at(at);
		if (b)
			discard_block(b, addr, addr + len);
	}
}

/* ---- allocation: address space only ---- */

static void table_ready(uintptr_t first)
{
	if (table)
		return;
	for (unsigned d = 0; d < SOFT_MAX_DEVICES; d++)
		for (unsigned q = 0; q < SOFT_QUEUES; q++)
			TAILQ_INIT(&queues[d][q]);
	/* the arena's first piece is its beginning */
	table_base = first;
	table = mmap(NULL, TABLE * sizeof(*table), PROT_READ | PROT_WRITE,
		     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (table == MAP_FAILED)
		abort();
}

static void block_init(struct soft_block *b, uintptr_t base, size_t left)
{
	b->base = base;
	b->bytes = (uint32_t)(left < SOFT_BLOCK
				      ? soft_round_up(left, (size_t)64 << 10)
				      : SOFT_BLOCK);
	b->where = b->preferred = b->last_prefetch = SOFT_NOWHERE;
	b->attached = SOFT_HOST;
	__atomic_store_n(&table[(base - table_base) / SOFT_BLOCK], b,
			 __ATOMIC_RELEASE);
}

CUresult soft_managed_new(CUcontext ctx, size_t bytes, unsigned flags,
			  struct soft_alloc **out)
{
	size_t n = bytes / SOFT_BLOCK + (bytes % SOFT_BLOCK != 0);
	struct soft_managed *m;
	struct soft_alloc *a;
	void *at;

	if (bytes > TABLE * SOFT_BLOCK / 2)
		return CUDA_ERROR_OUT_OF_MEMORY;
	m = calloc(1, sizeof(*m) + n * sizeof(m->blocks[0]));
	at = soft_va_get(SOFT_ARENA_MANAGED, n * SOFT_BLOCK, 0, 0);
	a = soft_alloc_new(SOFT_MEM_MANAGED, (uintptr_t)at, bytes,
			   ctx->dev->index, ctx);
	if (!m || !at || !a)
		return CUDA_ERROR_OUT_OF_MEMORY;
	a->span = n * SOFT_BLOCK;
	a->flags = flags;
	a->managed = m;
	m->n_blocks = (unsigned)n;
	if (!soft_set.faults)
		mprotect(at, a->span, PROT_READ | PROT_WRITE);
	pthread_mutex_lock(&soft_phys_lock);
	table_ready((uintptr_t)at);
	for (size_t i = 0; i < n; i++)
		block_init(&m->blocks[i], a->base + i * SOFT_BLOCK,
			   bytes - i * SOFT_BLOCK);
	pthread_mutex_unlock(&soft_phys_lock);
	soft_guard(soft_map_lock);
	soft_map_add(a);
	soft_count(managed_bytes, bytes);
	*out = a;
	return CUDA_SUCCESS;
}

void soft_managed_free(struct soft_alloc *a)
{
	struct soft_managed *m = a->managed;

	pthread_mutex_lock(&soft_phys_lock);
	for (unsigned i = 0; i < m->n_blocks; i++) {
		struct soft_block *b = &m->blocks[i];

		if (b->open)
			forget_open(b);
		set_where(b, SOFT_NOWHERE);
		detach(b);
		if (b->sticky)
			soft_uncount(soft_host_bytes, b->bytes);
		table[(b->base - table_base) / SOFT_BLOCK] = NULL;
	}
	pthread_mutex_unlock(&soft_phys_lock);
	soft_va_put(SOFT_ARENA_MANAGED, (void *)a->base, a->span);
	soft_uncount(managed_bytes, a->size);
	free(m);
}
