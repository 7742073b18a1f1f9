/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the constructor switches on.
 */
#ifndef HZ_HOOKS_H
#define HZ_HOOKS_H

#include <stdbool.h>
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
 * hz_fork_small: the small allocator's handlers, at its first allocation.
 * hz_fork_start: from now on the engine's and the GPU's too.
 */
int hz_fork_small(void (*prepare)(void), void (*parent)(void),
		  void (*child)(void));
void hz_fork_start(bool engine, bool gpu);

/* entry.c
 *
 * hz_start_early: what the constructor does, for a caller that cannot wait for
 * it; nothing if it has begun. hz_started: it is done, the knobs are read.
 */
void hz_start_early(void);
extern bool hz_started;

#endif
