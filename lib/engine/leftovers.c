/* SPDX-License-Identifier: Apache-2.0 */
/*
 * See leftovers.h.
 */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif
#include <string.h>
#include <sys/mman.h>

#include "base/os.h"
#include "engine/leftovers.h"
#include "engine/pieces.h"
#include "policy/leftovers.h"

/* Fewer are not worth it. */
#define LEAST 1024u
/* Pages that are copied before the lock is looked at again. */
#define BATCH 64u
/* Slots that are written before the kernel may have them: 2 MiB that it cannot
 * take. */
#define GIVE 512u

/* Guarded by the engine's lock; a page in `mem` that was taken and has no name
 * is the taker's, without it. */
static struct {
	struct hz_leftovers set;
	char *mem;
	uint32_t written; /* slots, since the kernel was given all of it */
} left;

static char *slot_addr(uint32_t slot)
{
	return left.mem + (size_t)slot * HZ_PAGE_SIZE;
}

void hz_leftovers_start(void)
{
	uint32_t n = (uint32_t)hz_min(hz_budget_spare() / HZ_PAGE_SIZE,
				      (uint64_t)UINT32_MAX / 4);
	size_t pages = (size_t)n * HZ_PAGE_SIZE;
	size_t len = pages + hz_leftovers_bytes(n);

	/* A child has none of its parent's. */
	memset(&left, 0, sizeof(left));
	left.mem = n < LEAST ? NULL : hz_os_reserve(len);
	if (!left.mem)
		return;
	hz_os.madvise(left.mem, len, MADV_NOHUGEPAGE);
	hz_os.madvise(left.mem, len, MADV_DONTFORK);
	hz_leftovers_init(&left.set, left.mem + pages, n);
}

/* Pages that are to be kept, and where. */
struct batch {
	unsigned n;
	unsigned page[BATCH];
	uint32_t slot[BATCH];
};

/* All of it at once: each call interrupts every processor that the program runs
 * on, and a page that was given already is passed over. */
static void give(struct hz_engine *e)
{
	size_t len = (size_t)left.set.fresh * HZ_PAGE_SIZE;

	left.written = 0;
	hz_unlock(&e->lock);
	hz_os.madvise(left.mem, len, MADV_FREE);
	hz_lock(&e->lock);
}

static void keep(struct hz_engine *e, const struct batch *b, const char *frame,
		 const uint64_t *hash)
{
	hz_unlock(&e->lock);
	for (unsigned i = 0; i < b->n; i++)
		memcpy(slot_addr(b->slot[i]), frame + b->page[i] * HZ_PAGE_SIZE,
		       HZ_PAGE_SIZE);
	hz_lock(&e->lock);
	for (unsigned i = 0; i < b->n; i++)
		hz_leftovers_name(&left.set, b->slot[i], hash[b->page[i]],
				  false);
	left.written += b->n;
}

void hz_leftovers_keep(struct hz_engine *e, const char *frame,
		       const struct hz_page_map *pages, const uint64_t *hash)
{
	struct batch b = {0};
	unsigned i = hz_pmap_next(pages, 0, true);

	for (; i < HZ_BLOCK_PAGES;
	     i = hz_pmap_next(pages, i + 1, true)) {
		uint32_t slot;

		if (!hash[i])
			continue;
		slot = hz_leftovers_take(&left.set);
		if (slot == HZ_NONE)
			break;
		b.page[b.n] = i;
		b.slot[b.n++] = slot;
		if (b.n < BATCH)
			continue;
		keep(e, &b, frame, hash);
		b.n = 0;
	}
	if (b.n)
		keep(e, &b, frame, hash);
	if (left.written >= GIVE)
		give(e);
}

bool hz_leftovers_has(uint64_t hash)
{
	return hz_leftovers_find(&left.set, hash) != HZ_NONE;
}

bool hz_leftovers_any(void)
{
	return left.mem;
}

void hz_leftovers_add(uint64_t hash, const char *page, bool guessed)
{
	uint32_t slot = hz_leftovers_take(&left.set);

	if (slot == HZ_NONE)
		return;
	memcpy(slot_addr(slot), page, HZ_PAGE_SIZE);
	left.written++;
	hz_leftovers_name(&left.set, slot, hash, guessed);
}

bool hz_leftovers_get(uint64_t hash, char *page, bool *guessed)
{
	uint32_t slot = hz_leftovers_find(&left.set, hash);

	if (slot == HZ_NONE)
		return false;
	memcpy(page, slot_addr(slot), HZ_PAGE_SIZE);
	*guessed = left.set.slot[slot].guessed;
	/* Used, or taken by the kernel. */
	hz_leftovers_free(&left.set, slot);
	return hz_page_hash(page) == hash;
}
