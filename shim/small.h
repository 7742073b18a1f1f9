/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The allocator for sizes below min_size. Its memory is never tiered.
 *
 * Works from the first instruction of the process, keeps errno in free, and
 * may be called from any thread. Sizes from 9 up give 16-byte alignment;
 * the caller rounds smaller ones.
 *
 * Two of them exist: jemalloc (its functions renamed to these names, see
 * jemalloc-rename.txt) and the C library's (small_libc.c).
 */
#ifndef HZ_SMALL_H
#define HZ_SMALL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "base/util.h"

#define HZ_SMALL_RANGES 64

/* Address space that small allocations come from. `base` is written before
 * `len`, and `len` before any pointer into the range is handed out. */
struct hz_small_range {
	uintptr_t base;
	size_t len; /* 0: not there (yet) */
};
extern struct hz_small_range hz_small_range[HZ_SMALL_RANGES];
extern unsigned hz_small_ranges; /* entries begun, atomic */

bool hz_small_owns_more(uintptr_t a);

static inline bool hz_small_owns(const void *p)
{
	uintptr_t a = (uintptr_t)p;

	if (hz_likely(a - hz_small_range[0].base < hz_small_range[0].len))
		return true;
	return hz_unlikely(hz_small_ranges > 1) && hz_small_owns_more(a);
}

/* Run the first-time initialisation, fork handlers included. */
void hz_small_start(void);

void *hz_small_malloc(size_t size);
void *hz_small_calloc(size_t n, size_t size);
void *hz_small_realloc(void *p, size_t size);
void *hz_small_memalign(size_t align, size_t size); /* align: power of two */
void hz_small_free(void *p);
size_t hz_small_usable(const void *p);

#endif
