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
#include "policy/pack.h"

/* Fewer are not worth it. */
#define LEAST 1024u
/* Pages that are copied before the lock is looked at again. */
#define BATCH 64u
/* Bytes that are written before the kernel may have them: 2 MiB that it cannot
 * take. */
#define GIVE	   ((size_t)2 << 20)
#define SLOTS_MOST (1u << 27)
#define PARTS	   ((uint32_t)(HZ_PAGE_SIZE / HZ_PACK_SIZE))

/* Guarded by the engine's lock; a place that was taken and has no name is the
 * taker's, without it. */
static struct {
	struct area {
		struct hz_leftovers set;
		char *mem;
	} whole, packed;
	size_t written;	 /* bytes of whole ones, since the kernel was given
			  * all of them */
	bool used;	 /* a packed one, since the last decay */
	uint32_t blocks; /* of packed ones, that the budget knows of */
} left;

static bool make(struct area *a, uint32_t slots, uint32_t parts)
{
	size_t pages = (size_t)slots * HZ_PAGE_SIZE;
	size_t len = pages + hz_leftovers_bytes(slots, parts);

	a->mem = hz_os_reserve(len);
	if (!a->mem)
		return false;
	hz_os.madvise(a->mem, len, MADV_NOHUGEPAGE);
	hz_os.madvise(a->mem, len, MADV_DONTFORK);
	hz_leftovers_init(&a->set, a->mem + pages, slots, parts);
	return true;
}

/* In pages. */
static uint32_t slots_of(uint64_t bytes)
{
	return (uint32_t)hz_min(bytes / HZ_PAGE_SIZE, (uint64_t)SLOTS_MOST);
}

void hz_leftovers_start(void)
{
	uint32_t n = slots_of(hz_budget_spare());

	/* A child has none of its parent's. */
	memset(&left, 0, sizeof(left));
	if (n >= LEAST && make(&left.whole, n, 1))
		make(&left.packed, slots_of(hz_budget_packed()), PARTS);
}

static char *addr_of(const struct area *a, uint32_t place)
{
	return a->mem + (size_t)place * (HZ_PAGE_SIZE / a->set.parts);
}

/* ---- copies ---- */

/* All of it at once: each call interrupts every processor that the program runs
 * on, and a page that was given already is passed over. */
static void give(struct hz_engine *e)
{
	size_t len = (size_t)left.whole.set.fresh * HZ_PAGE_SIZE;

	left.written = 0;
	hz_unlock(&e->lock);
	hz_os.madvise(left.whole.mem, len, MADV_FREE);
	hz_lock(&e->lock);
}

static struct area *area_for(const char *page)
{
	return left.packed.mem && hz_pack_fits(page) ? &left.packed
						     : &left.whole;
}

static void copy_to(struct area *a, uint32_t place, const char *page)
{
	if (a == &left.packed)
		hz_pack(page, addr_of(a, place));
	else
		memcpy(addr_of(a, place), page, HZ_PAGE_SIZE);
}

static void name(struct area *a, uint32_t place, uint64_t hash, bool guessed)
{
	hz_leftovers_name(&a->set, place, hash, guessed);
	if (a == &left.whole)
		left.written += HZ_PAGE_SIZE;
}

/* Pages that are to be kept, and where. */
struct batch {
	unsigned n;
	struct {
		unsigned page;
		uint32_t place;
		struct area *area;
	} of[BATCH];
};

static void look(struct batch *b, const char *frame)
{
	for (unsigned i = 0; i < b->n; i++)
		b->of[i].area = area_for(frame + b->of[i].page * HZ_PAGE_SIZE);
}

/* `room`: only where nothing has to go, or little for it. */
static void take(struct batch *b, bool room)
{
	unsigned n = 0;

	for (unsigned i = 0; i < b->n; i++) {
		struct area *a = b->of[i].area;

		if (room && a == &left.whole && !hz_leftovers_room(&a->set))
			continue;
		b->of[n] = b->of[i];
		b->of[n].place = hz_leftovers_take(&a->set);
		n += b->of[n].place != HZ_NONE;
	}
	b->n = n;
}

/* The next look at the budget may be too late for the group's limit. */
static void count_packed(struct hz_engine *e)
{
	uint32_t blocks =
		(left.packed.set.fresh + HZ_BLOCK_PAGES - 1) / HZ_BLOCK_PAGES;

	for (; left.blocks < blocks; left.blocks++)
		hz_budget_lost(e);
}

static void keep(struct hz_engine *e, struct batch *b, const char *frame,
		 const uint64_t *hash, bool room)
{
	hz_unlock(&e->lock);
	look(b, frame);
	hz_lock(&e->lock);
	take(b, room);
	count_packed(e);
	hz_unlock(&e->lock);
	for (unsigned i = 0; i < b->n; i++)
		copy_to(b->of[i].area, b->of[i].place,
			frame + b->of[i].page * HZ_PAGE_SIZE);
	hz_lock(&e->lock);
	for (unsigned i = 0; i < b->n; i++)
		name(b->of[i].area, b->of[i].place, hash[b->of[i].page], false);
	b->n = 0;
}

void hz_leftovers_keep(struct hz_engine *e, const char *frame,
		       const struct hz_page_map *pages, const uint64_t *hash,
		       bool room)
{
	struct batch b = {0};
	unsigned i = hz_pmap_next(pages, 0, true);

	for (; i < HZ_BLOCK_PAGES; i = hz_pmap_next(pages, i + 1, true)) {
		if (!hash[i])
			continue;
		b.of[b.n++].page = i;
		if (b.n == BATCH)
			keep(e, &b, frame, hash, room);
	}
	if (b.n)
		keep(e, &b, frame, hash, room);
	if (left.written >= GIVE)
		give(e);
}

void hz_leftovers_add(uint64_t hash, const char *page, bool guessed)
{
	struct area *a = area_for(page);
	uint32_t place = hz_leftovers_take(&a->set);

	if (place == HZ_NONE)
		return;
	copy_to(a, place, page);
	name(a, place, hash, guessed);
}

/* ---- the memory of packed ones ---- */

uint64_t hz_leftovers_packed(void)
{
	return (uint64_t)left.packed.set.fresh * HZ_PAGE_SIZE;
}

void hz_leftovers_give_up(void)
{
	struct area *a = &left.packed;
	uint32_t slots = a->set.slots;
	size_t pages = (size_t)slots * HZ_PAGE_SIZE;

	if (!a->mem || !a->set.fresh)
		return;
	left.blocks = 0;
	hz_os_discard(a->mem, pages + hz_leftovers_bytes(slots, PARTS));
	hz_leftovers_init(&a->set, a->mem + pages, slots, PARTS);
}

void hz_leftovers_decay(void)
{
	if (!left.used)
		hz_leftovers_give_up();
	left.used = false;
}

/* ---- back ---- */

bool hz_leftovers_any(void)
{
	return left.whole.mem;
}

bool hz_leftovers_has(uint64_t hash)
{
	return hz_leftovers_find(&left.packed.set, hash) != HZ_NONE ||
	       hz_leftovers_find(&left.whole.set, hash) != HZ_NONE;
}

bool hz_leftovers_get(uint64_t hash, char *page, bool *guessed)
{
	struct area *a = &left.packed;
	uint32_t place = hz_leftovers_find(&a->set, hash);
	bool is_packed = place != HZ_NONE;

	if (!is_packed) {
		a = &left.whole;
		place = hz_leftovers_find(&a->set, hash);
	}
	if (place == HZ_NONE)
		return false;
	if (is_packed)
		hz_unpack(addr_of(a, place), page);
	else
		memcpy(page, addr_of(a, place), HZ_PAGE_SIZE);
	left.used |= is_packed;
	*guessed = hz_leftovers_is_guessed(&a->set, place);
	/* Used, or taken by the kernel. */
	hz_leftovers_free(&a->set, place);
	return hz_page_hash(page) == hash;
}
