/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The C library as the small allocator, where no jemalloc was found at build
 * time. Its pointers cannot be told from foreign ones by address, so it owns
 * none: free and realloc take the way of foreign pointers, which is the same
 * allocator. (A program linked with a third allocator would see the pointers
 * of before the constructor go to that one: such programs need jemalloc.)
 */
#include "small.h"

#include "next.h"

struct hz_small_range hz_small_range[HZ_SMALL_RANGES];
unsigned hz_small_ranges;

bool hz_small_owns_more(uintptr_t a)
{
	return false;
}

void hz_small_start(void)
{
}

void *hz_small_malloc(size_t size)
{
	return hz_next.malloc(size);
}

void *hz_small_calloc(size_t n, size_t size)
{
	return hz_next.calloc(n, size);
}

void *hz_small_realloc(void *p, size_t size)
{
	return hz_next.realloc(p, size);
}

void *hz_small_memalign(size_t align, size_t size)
{
	return hz_next.memalign(align, size);
}

void hz_small_free(void *p)
{
	hz_next.free(p);
}

size_t hz_small_usable(const void *p)
{
	return hz_next.malloc_usable_size((void *)p);
}
