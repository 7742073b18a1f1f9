/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where the preload library starts. Before the constructor runs every hook
 * works already: all sizes go to the small allocator, nothing is captured.
 * Nothing is taken down at the end: atexit handlers and destructors of the
 * program run after ours, and they allocate and free.
 */
#include <stdbool.h>
#include <stdint.h>
#include "guard.h"
#include "hooks.h"
#include "next.h"
#include "small.h"

/* The loader passes what main will get. */
static __attribute__((constructor)) void start(int argc, char **argv,
                                               char **envp)
{
	size_t min = SIZE_MAX;

	hz_next_resolve();
	hz_small_start();
	if (HZ_GUARDED(hz_arena_init(envp)))
		min = hz_arena_min();
	if (min == SIZE_MAX)
		min = 0;
	else
		hz_fork_start();
	__atomic_store_n(&hz_small_limit, min, __ATOMIC_RELEASE);
}

static __attribute__((destructor)) void end(void)
{
	if (!hz_inside)
		hz_arena_end();
}
