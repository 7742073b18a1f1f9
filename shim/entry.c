/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where the preload library starts. Before the constructor runs every hook
 * works already: all sizes go to the small allocator, nothing is captured. Only
 * who opens the CUDA driver earlier, in a constructor of its own, gets all of
 * this done then: functions that are handed out unwatched stay so.
 * Nothing is taken down at the end: atexit handlers and destructors of the
 * program run after ours, and they allocate and free.
 */
#include <stdbool.h>
#include <stdint.h>
#include <unistd.h>
#include "engine/gpu.h"
#include "guard.h"
#include "hooks.h"
#include "next.h"
#include "small.h"

bool hz_started;

static void start(char **envp)
{
	static int begun;
	size_t min = SIZE_MAX;

	if (__atomic_exchange_n(&begun, 1, __ATOMIC_ACQ_REL))
		return;
	hz_next_resolve();
	hz_small_start();
	if (HZ_GUARDED(hz_arena_init(envp)))
		min = hz_arena_min();
	hz_fork_start(min != SIZE_MAX, hz_gpu_watching());
	if (min == SIZE_MAX)
		min = 0;
	__atomic_store_n(&hz_small_limit, min, __ATOMIC_RELEASE);
	__atomic_store_n(&hz_started, true, __ATOMIC_RELEASE);
}

void hz_start_early(void)
{
	start(environ);
}

/* The loader passes what main will get. */
static __attribute__((constructor)) void construct(int argc, char **argv,
                                                   char **envp)
{
	start(envp);
}

static __attribute__((destructor)) void end(void)
{
	if (!hz_inside)
		hz_arena_end();
}
