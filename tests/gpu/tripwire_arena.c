/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The arena of the tripwire: an allocator for torch (CUDAPluggableAllocator),
 * and where each of its tensors lies, by the page tables of the CPU. One lock,
 * taken by the callers in tripwire.c and by the allocator.
 */
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "tripwire.h"

#define PAGES (TRIP_BLOCK / 4096)

EXPORT void *trip_alloc(size_t bytes, int device, CUstream s);
EXPORT void trip_free(void *p, size_t bytes, int device, CUstream s);
EXPORT void trip_keep(int keep);

static struct {
	pthread_mutex_t lock;
	uint64_t base; /* 0: not made yet */
	/* Of the tensor that starts in the block; 0: none. */
	unsigned blocks[TRIP_BLOCKS];
	/* First block of the tensor, plus 1; 0: free. */
	unsigned owner[TRIP_BLOCKS];
	unsigned top; /* blocks below it were used once */
	bool keep;    /* freed blocks are not used again */
	int pagemap;
} arena = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* ---- the allocator ---- */

static bool make_arena(void)
{
	size_t bytes = (TRIP_BLOCKS + 1) * TRIP_BLOCK;
	CUdeviceptr p;
	CUresult code;

	if (bytes > probe_free() / 2) {
		fprintf(stderr, "tripwire: the card has too little free\n");
		return false;
	}
	code = cuMemAllocManaged(&p, bytes, CU_MEM_ATTACH_GLOBAL);
	if (code) {
		fprintf(stderr, "tripwire: cuMemAllocManaged: %d\n", code);
		return false;
	}
	arena.pagemap = open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC);
	arena.base = (p + TRIP_BLOCK - 1) / TRIP_BLOCK * TRIP_BLOCK;
	return arena.pagemap >= 0;
}

/* First fit; the arena is small. */
static unsigned find_blocks(unsigned want)
{
	unsigned run = 0;

	for (unsigned b = 0; b < TRIP_BLOCKS; b++) {
		run = arena.owner[b] || (arena.keep && b < arena.top) ? 0
								      : run + 1;
		if (run == want)
			return b + 1 - want;
	}
	return TRIP_BLOCKS;
}

void *trip_alloc(size_t bytes, int device, CUstream s)
{
	unsigned want = (unsigned)((bytes + TRIP_BLOCK - 1) / TRIP_BLOCK);
	unsigned first = TRIP_BLOCKS;

	want += !want;
	pthread_mutex_lock(&arena.lock);
	if (arena.base || make_arena())
		first = find_blocks(want);
	if (first < TRIP_BLOCKS) {
		arena.blocks[first] = want;
		for (unsigned i = 0; i < want; i++)
			arena.owner[first + i] = first + 1;
		if (first + want > arena.top)
			arena.top = first + want;
	}
	pthread_mutex_unlock(&arena.lock);
	if (first == TRIP_BLOCKS)
		return NULL;
	return (void *)(arena.base + first * TRIP_BLOCK);
}

void trip_free(void *p, size_t bytes, int device, CUstream s)
{
	unsigned first;

	if (!p)
		return;
	first = (unsigned)(((uint64_t)p - arena.base) / TRIP_BLOCK);
	pthread_mutex_lock(&arena.lock);
	for (unsigned i = 0; i < arena.blocks[first]; i++)
		arena.owner[first + i] = 0;
	arena.blocks[first] = 0;
	pthread_mutex_unlock(&arena.lock);
}

/* For graphs: memory that a graph freed is still the graph's. */
void trip_keep(int keep)
{
	pthread_mutex_lock(&arena.lock);
	arena.keep = keep;
	pthread_mutex_unlock(&arena.lock);
}

bool trip_tensor(uint64_t address, unsigned *block)
{
	uint64_t b = (address - arena.base) / TRIP_BLOCK;

	if (!arena.base || address < arena.base || b >= TRIP_BLOCKS ||
	    !arena.owner[b])
		return false;
	*block = arena.owner[b] - 1;
	return true;
}

/* ---- where the pages are ---- */

/* Pages of a tensor that the CPU has mapped. */
static size_t mapped_pages(unsigned first)
{
	uint64_t entries[PAGES];
	size_t mapped = 0;

	for (unsigned i = 0; i < arena.blocks[first]; i++) {
		uint64_t page = (arena.base + (first + i) * TRIP_BLOCK) / 4096;

		need_true(pread(arena.pagemap, entries, sizeof(entries),
				(off_t)(page * sizeof(*entries))) ==
			  (ssize_t)sizeof(entries));
		for (size_t k = 0; k < PAGES; k++)
			mapped += entries[k] >> 63;
	}
	return mapped;
}

static void move(unsigned first, CUmemLocation where)
{
	need(cuMemPrefetchAsync(arena.base + first * TRIP_BLOCK,
				arena.blocks[first] * TRIP_BLOCK, where, 0,
				NULL));
}

unsigned trip_arm(const struct trip_set *named, struct trip_set *armed)
{
	unsigned unsettled = 0;

	memset(armed, 0, sizeof(*armed));
	pthread_mutex_lock(&arena.lock);
	for (unsigned b = 0; b < arena.top; b++) {
		size_t mapped, pages = (size_t)arena.blocks[b] * PAGES;

		if (!pages)
			continue;
		mapped = mapped_pages(b);
		if (trip_has(named, b)) {
			if (mapped)
				move(b, probe_gpu());
		} else {
			if (mapped < pages)
				move(b, probe_cpu());
			trip_add(armed, b);
		}
	}
	need(cuCtxSynchronize());
	/* One that is not wholly mapped now could not tell. */
	for (unsigned b = 0; b < arena.top; b++)
		if (trip_has(armed, b) &&
		    mapped_pages(b) < (size_t)arena.blocks[b] * PAGES) {
			armed->words[b / 64] &= ~(1ull << b % 64);
			unsettled++;
		}
	pthread_mutex_unlock(&arena.lock);
	return unsettled;
}

unsigned trip_touched(const struct trip_set *armed, struct trip_set *touched,
		      size_t *bytes)
{
	unsigned n = 0;

	memset(touched, 0, sizeof(*touched));
	pthread_mutex_lock(&arena.lock);
	for (unsigned b = 0; b < arena.top; b++) {
		size_t pages = (size_t)arena.blocks[b] * PAGES, mapped;

		if (!pages || !trip_has(armed, b))
			continue;
		mapped = mapped_pages(b);
		if (mapped == pages)
			continue;
		trip_add(touched, b);
		*bytes += (pages - mapped) * 4096;
		n++;
	}
	pthread_mutex_unlock(&arena.lock);
	return n;
}
