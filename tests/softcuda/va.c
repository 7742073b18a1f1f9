/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Address space: arenas, each a reservation with a sorted array of its free
 * stretches, first fit. Device memory is a shared file, so that another
 * process can open it; what is free of the large arena is closed, so that a
 * stray access is noticed. soft_va_lock.
 */
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include "soft.h"

struct stretch {
	uintptr_t at;
	size_t len;
};
static struct arena {
	size_t size, step;
	bool device, open;
	uintptr_t base;
	int fd;
	struct stretch *free;
	unsigned n_free, room;
} arenas[SOFT_ARENAS] = {
	[SOFT_ARENA_SMALL] = {(size_t)64 << 30, 512, true, true},
	[SOFT_ARENA_LARGE] = {(size_t)1 << 40, SOFT_BLOCK, true, false},
	[SOFT_ARENA_MANAGED] = {(size_t)1 << 40, SOFT_BLOCK, false, false},
	[SOFT_ARENA_RESERVE] = {(size_t)4 << 40, SOFT_BLOCK, false, false},
};
static pthread_mutex_t soft_va_lock = PTHREAD_MUTEX_INITIALIZER;

/* Between two others, or at an end. */
static void stretch_insert(struct arena *a, unsigned i, struct stretch s)
{
	if (a->n_free == a->room) {
		a->room = a->room ? a->room * 2 : 64;
		a->free = realloc(a->free, a->room * sizeof(*a->free));
		if (!a->free)
			abort();
	}
	memmove(&a->free[i + 1], &a->free[i],
		(a->n_free - i) * sizeof(*a->free));
	a->free[i] = s;
	a->n_free++;
}

static void stretch_remove(struct arena *a, unsigned i)
{
	a->n_free--;
	memmove(&a->free[i], &a->free[i + 1],
		(a->n_free - i) * sizeof(*a->free));
}

static bool arena_map(struct arena *a)
{
	int flags = MAP_NORESERVE | MAP_PRIVATE | MAP_ANONYMOUS;
	int prot = a->open ? PROT_READ | PROT_WRITE : PROT_NONE;
	void *at;

	a->fd = -1;
	if (a->device) {
		a->fd = memfd_create("softcuda", MFD_CLOEXEC);
		if (a->fd < 0 || ftruncate(a->fd, (off_t)a->size))
			return false;
		flags = MAP_NORESERVE | MAP_SHARED;
	}
	/* room for the alignment is not needed of a file of whole blocks */
	at = mmap(NULL, a->size + SOFT_BLOCK, prot,
		  MAP_NORESERVE | MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (at == MAP_FAILED)
		return false;
	a->base = soft_round_up((uintptr_t)at, SOFT_BLOCK);
	if (mmap((void *)a->base, a->size, prot, flags | MAP_FIXED, a->fd, 0) ==
	    MAP_FAILED)
		return false;
	madvise((void *)a->base, a->size, MADV_DONTFORK);
	return true;
}

/* Under a limit of the address space a smaller reservation has to do. */
static bool arena_ready(struct arena *a)
{
	if (a->base)
		return true;
	while (!arena_map(a)) {
		if (a->fd >= 0)
			close(a->fd);
		a->size /= 4;
		if (a->size < 16 * SOFT_BLOCK)
			return false;
	}
	stretch_insert(a, 0, (struct stretch){a->base, a->size});
	return true;
}

/* Where an aligned piece starts in a stretch; 0: it does not fit. */
static uintptr_t fits(const struct stretch *s, size_t bytes, size_t align,
		      uintptr_t want)
{
	uintptr_t at = want ? want : soft_round_up(s->at, align);

	if (at < s->at || at - s->at > s->len || s->len - (at - s->at) < bytes)
		return 0;
	return at;
}

static void cut(struct arena *a, unsigned i, uintptr_t at, size_t bytes)
{
	struct stretch s = a->free[i];
	struct stretch before = {s.at, at - s.at};
	struct stretch after = {at + bytes, s.len - before.len - bytes};

	stretch_remove(a, i);
	if (after.len)
		stretch_insert(a, i, after);
	if (before.len)
		stretch_insert(a, i, before);
}

static void *arena_get(struct arena *a, size_t bytes, size_t align,
		       uintptr_t want)
{
	for (unsigned i = 0; i < a->n_free; i++) {
		uintptr_t at = fits(&a->free[i], bytes, align, want);

		if (!at)
			continue;
		if (a->device && !a->open &&
		    mprotect((void *)at, bytes, PROT_READ | PROT_WRITE))
			return NULL;
		cut(a, i, at, bytes);
		return (void *)at;
	}
	return NULL;
}

void *soft_va_get(enum soft_arena_id id, size_t bytes, size_t align,
		  uintptr_t want)
{
	struct arena *a = &arenas[id];

	bytes = soft_round_up(bytes, a->step);
	if (align < a->step)
		align = a->step;
	soft_guard(soft_va_lock);
	if (!arena_ready(a))
		return NULL;
	return arena_get(a, bytes, align, want);
}

/* Forget the bytes, close the pages. Small pieces are only forgotten when
 * whole pages of them are free. */
static void drop(struct arena *a, uintptr_t at, size_t bytes)
{
	if (a->open)
		return;
	if (a->fd >= 0) {
		mprotect((void *)at, bytes, PROT_NONE);
		fallocate(a->fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE,
			  (off_t)(at - a->base), (off_t)bytes);
		return;
	}
	mmap((void *)at, bytes, PROT_NONE,
	     MAP_NORESERVE | MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
	madvise((void *)at, bytes, MADV_DONTFORK);
}

void soft_va_put(enum soft_arena_id id, void *p, size_t bytes)
{
	struct arena *a = &arenas[id];
	uintptr_t at = (uintptr_t)p;
	unsigned lo = 0, hi;

	bytes = soft_round_up(bytes, a->step);
	soft_guard(soft_va_lock);
	drop(a, at, bytes);
	for (hi = a->n_free; lo < hi;) {
		unsigned mid = (lo + hi) / 2;

		if (a->free[mid].at < at)
			lo = mid + 1;
		else
			hi = mid;
	}
	stretch_insert(a, lo, (struct stretch){at, bytes});
	if (lo + 1 < a->n_free && at + bytes == a->free[lo + 1].at) {
		a->free[lo].len += a->free[lo + 1].len;
		stretch_remove(a, lo + 1);
	}
	if (lo && a->free[lo - 1].at + a->free[lo - 1].len == at) {
		a->free[lo - 1].len += a->free[lo].len;
		stretch_remove(a, lo);
	}
}

static bool inside(const struct arena *a, uintptr_t addr)
{
	return a->base && addr - a->base < a->size;
}

bool soft_va_is_device(uintptr_t addr)
{
	for (unsigned i = 0; i < SOFT_ARENAS; i++)
		if (inside(&arenas[i], addr))
			return true;
	return false;
}

int soft_va_file(uintptr_t addr, uint64_t *offset)
{
	for (unsigned i = 0; i < SOFT_ARENAS; i++) {
		if (!inside(&arenas[i], addr) || !arenas[i].device)
			continue;
		*offset = addr - arenas[i].base;
		return arenas[i].fd;
	}
	return -1;
}
