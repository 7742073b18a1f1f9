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

/* Fewer are not worth a ring. */
#define LEAST 1024u
/* Pages that are given to the kernel by one call. */
#define BATCH 64u

/* Guarded by the engine's lock; the pages in `mem` are hz-engine's to write,
 * and are read under the lock. */
static struct {
	struct hz_leftovers set;
	char *mem;
} ring;

static char *slot_addr(uint32_t slot)
{
	return ring.mem + (size_t)slot * HZ_PAGE_SIZE;
}

void hz_leftovers_start(void)
{
	uint32_t n = (uint32_t)hz_min(hz_budget_spare() / HZ_PAGE_SIZE,
				      (uint64_t)UINT32_MAX / 4);
	size_t pages = (size_t)n * HZ_PAGE_SIZE;
	size_t len = pages + hz_leftovers_bytes(n);

	/* A child has none of its parent's. */
	memset(&ring, 0, sizeof(ring));
	ring.mem = n < LEAST ? NULL : hz_os_reserve(len);
	if (!ring.mem)
		return;
	hz_os.madvise(ring.mem, len, MADV_NOHUGEPAGE);
	hz_os.madvise(ring.mem, len, MADV_DONTFORK);
	hz_leftovers_init(&ring.set, ring.mem + pages, n);
}

static void keep_some(struct hz_engine *e, const char *frame,
		      const unsigned *page, const uint64_t *hash, unsigned n)
{
	uint32_t first, got;

	for (unsigned done = 0; done < n; done += got) {
		got = hz_leftovers_take(&ring.set, n - done, &first);
		hz_unlock(&e->lock);
		for (unsigned i = 0; i < got; i++)
			memcpy(slot_addr(first + i),
			       frame + page[done + i] * HZ_PAGE_SIZE,
			       HZ_PAGE_SIZE);
		hz_os.madvise(slot_addr(first), got * HZ_PAGE_SIZE, MADV_FREE);
		hz_lock(&e->lock);
		for (unsigned i = 0; i < got; i++)
			hz_leftovers_name(&ring.set, first + i,
					  hash[page[done + i]], false);
	}
}

void hz_leftovers_keep(struct hz_engine *e, const char *frame,
		       const struct hz_page_map *pages, const uint64_t *hash)
{
	unsigned page[BATCH], n = 0, i = hz_pmap_next(pages, 0, true);

	for (; ring.mem && i < HZ_BLOCK_PAGES;
	     i = hz_pmap_next(pages, i + 1, true)) {
		if (hash[i])
			page[n++] = i;
		if (n < BATCH)
			continue;
		keep_some(e, frame, page, hash, n);
		n = 0;
	}
	if (n)
		keep_some(e, frame, page, hash, n);
}

bool hz_leftovers_has(uint64_t hash)
{
	return hz_leftovers_find(&ring.set, hash) != HZ_NONE;
}

bool hz_leftovers_any(void)
{
	return ring.mem;
}

void hz_leftovers_add(uint64_t hash, const char *page, bool guessed)
{
	uint32_t slot;

	hz_leftovers_take(&ring.set, 1, &slot);
	memcpy(slot_addr(slot), page, HZ_PAGE_SIZE);
	hz_os.madvise(slot_addr(slot), HZ_PAGE_SIZE, MADV_FREE);
	hz_leftovers_name(&ring.set, slot, hash, guessed);
}

bool hz_leftovers_get(uint64_t hash, char *page, bool *guessed)
{
	uint32_t slot = hz_leftovers_find(&ring.set, hash);

	if (slot == HZ_NONE)
		return false;
	memcpy(page, slot_addr(slot), HZ_PAGE_SIZE);
	if (hz_page_hash(page) == hash) {
		*guessed = ring.set.guessed[slot];
		ring.set.guessed[slot] = false;
		return true;
	}
	hz_leftovers_forget(&ring.set, slot);
	return false;
}
