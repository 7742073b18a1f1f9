/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the constructor switches on.
 */
#ifndef HZ_HOOKS_H
#define HZ_HOOKS_H

#include <stddef.h>

/* malloc.c
 *
 * Sizes below this go to the small allocator. SIZE_MAX until the constructor
 * has run, so that everything works before it; then min_size; or 0: Horizon is
 * off and the next allocator gets all. Written once.
 */
extern size_t hz_small_limit;

/* fork.c
 *
 * Register the handlers. After the small allocator's: prepare handlers run
 * last in first out, the others first in first out, so that the engine stops
 * while allocations still work, and the child's engine starts when they work
 * again.
 */
void hz_fork_start(void);

#endif
