/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The malloc family, with glibc's edge semantics.
 *
 * Who serves a request is decided by its size, who takes a pointer back by its
 * address alone: small ranges, the region, or somebody else's (foreign).
 * malloc and free of small sizes are a compare and a jump.
 */
#include "hooks.h"

#include <errno.h>
#include <malloc.h>
#include <stdlib.h>
#include <string.h>
#include "base/util.h"
#include "guard.h"
#include "next.h"
#include "small.h"

/* What glibc gives every allocation. */
#define ALIGNMENT ((size_t)16)

size_t hz_small_limit = SIZE_MAX;

/* Below 9 the small allocator aligns to 8 only. */
static size_t small_size(size_t size)
{
	return size > 8 ? size : 9;
}

static void *no_memory(void)
{
	errno = ENOMEM;
	return NULL;
}

/* Not below hz_small_limit: the region, or the next allocator when the region
 * is full, refused, or not there. */
static __attribute__((noinline)) void *big_alloc(size_t size, size_t align,
                                                 bool zero)
{
	void *p = NULL;

	if (size > PTRDIFF_MAX || align > PTRDIFF_MAX - size)
		return no_memory();
	if (hz_small_limit && !hz_inside)
		p = HZ_GUARDED(hz_arena_alloc(size, align, zero));
	if (p)
		return p;
	if (zero)
		return hz_next.calloc(1, size);
	if (align > ALIGNMENT)
		return hz_next.memalign(align, size);
	return hz_next.malloc(size);
}

static void *aligned(size_t align, size_t size)
{
	if (align <= ALIGNMENT)
		return malloc(size);
	if (size >= hz_small_limit)
		return big_alloc(size, align, false);
	if (align > PTRDIFF_MAX - size)
		return no_memory();
	return hz_small_memalign(align, small_size(size));
}

static __attribute__((noinline)) void free_other(void *p)
{
	int saved = errno;

	if (!p)
		return;
	if (hz_arena_owns(p)) {
		hz_inside++;
		hz_arena_free(p);
		hz_inside--;
	} else {
		hz_next.free(p);
	}
	errno = saved;
}

/* The contents go from one allocator to another. */
static void *transfer(void *p, size_t old, size_t size)
{
	void *to = malloc(size);

	if (!to)
		return NULL;
	memcpy(to, p, hz_min(old, size));
	free(p);
	return to;
}

static void *realloc_big(void *p, size_t size)
{
	void *to = NULL;

	if (size > PTRDIFF_MAX)
		return no_memory();
	if (size >= hz_small_limit)
		to = HZ_GUARDED(hz_arena_realloc(p, size));
	return to ? to : transfer(p, hz_arena_usable(p), size);
}

HZ_EXPORT void *malloc(size_t size)
{
	if (hz_likely(size < hz_small_limit))
		return hz_small_malloc(small_size(size));
	return big_alloc(size, ALIGNMENT, false);
}

HZ_EXPORT void free(void *p)
{
	if (hz_likely(hz_small_owns(p)))
		hz_small_free(p);
	else
		free_other(p);
}

HZ_EXPORT void *calloc(size_t n, size_t size)
{
	size_t bytes;

	if (__builtin_mul_overflow(n, size, &bytes))
		return no_memory();
	if (hz_likely(bytes < hz_small_limit))
		return hz_small_calloc(1, small_size(bytes));
	return big_alloc(bytes, ALIGNMENT, true);
}

HZ_EXPORT void *realloc(void *p, size_t size)
{
	if (!p)
		return malloc(size);
	if (!size) {
		free(p);
		return NULL;
	}
	if (hz_likely(hz_small_owns(p))) {
		if (hz_likely(size < hz_small_limit))
			return hz_small_realloc(p, small_size(size));
		return transfer(p, hz_small_usable(p), size);
	}
	if (hz_arena_owns(p))
		return realloc_big(p, size);
	return hz_next.realloc(p, size);
}

HZ_EXPORT void *reallocarray(void *p, size_t n, size_t size)
{
	size_t bytes;

	if (__builtin_mul_overflow(n, size, &bytes))
		return no_memory();
	return realloc(p, bytes);
}

/* As in glibc 2.36 an odd alignment is rounded up, also for aligned_alloc. */
HZ_EXPORT void *memalign(size_t align, size_t size)
{
	size_t power = ALIGNMENT;

	if (align > SIZE_MAX / 2 + 1) {
		errno = EINVAL;
		return NULL;
	}
	while (power < align)
		power <<= 1;
	return aligned(power, size);
}

HZ_EXPORT void *aligned_alloc(size_t align, size_t size)
{
	return memalign(align, size);
}

HZ_EXPORT int posix_memalign(void **out, size_t align, size_t size)
{
	int saved = errno;
	void *p;

	if (!align || align % sizeof(void *) || align & (align - 1))
		return EINVAL;
	p = aligned(align, size);
	errno = saved;
	if (!p)
		return ENOMEM;
	*out = p;
	return 0;
}

HZ_EXPORT void *valloc(size_t size)
{
	return aligned(HZ_PAGE_SIZE, size);
}

HZ_EXPORT void *pvalloc(size_t size)
{
	if (size > PTRDIFF_MAX)
		return no_memory();
	return aligned(HZ_PAGE_SIZE, hz_align_up(size, HZ_PAGE_SIZE));
}

HZ_EXPORT size_t malloc_usable_size(void *p)
{
	if (!p)
		return 0;
	if (hz_small_owns(p))
		return hz_small_usable(p);
	if (hz_arena_owns(p))
		return hz_arena_usable(p);
	return hz_next.malloc_usable_size(p);
}
