/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Before main: the knobs, the region and its tables. Nothing is opened and no
 * thread is made here.
 */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif
#include <string.h>

#include "base/knobs.h"
#include "base/log.h"
#include "base/os.h"
#include "base/stats.h"
#include "engine/arena.h"
#include "engine/budget.h"
#include "engine/engine.h"
#include "engine/file_map.h"
#include "engine/gpu.h"
#include "engine/pieces.h"

#define MAX_RANGES  (1u << 20)
#define MORE_SPACE  "raise RLIMIT_AS, or allow overcommit"
#define RESERVE_MAX ((uint64_t)16 << 40)
/* The store's size is known only when it is opened; until then its share of
 * the address space is a guess that costs nothing. */
#define RESERVE_MIN ((uint64_t)1 << 40)

uintptr_t hz_arena_base;
size_t hz_arena_len;

static void complain(void *arg, const char *message)
{
	hz_log(HZ_WARN, "knobs", "%s", message);
}

/* Is this process among those that the knob `only` names? */
static bool chosen(void)
{
	char comm[64];
	ssize_t n;
	const char *p = hz_knobs.only;

	if (!*p)
		return true;
	n = hz_os_slurp("/proc/self/comm", comm, sizeof(comm));
	if (n <= 0)
		return true;
	comm[n - 1] = '\0'; /* the newline */
	while (*p) {
		size_t len = strcspn(p, ",");

		if (len == strlen(comm) && !memcmp(p, comm, len))
			return true;
		p += len + (p[len] == ',');
	}
	return false;
}

static uint64_t reserve_bytes(void)
{
	uint64_t want = hz_size_resolve(hz_knobs.reserve, RESERVE_MAX);

	if (want == HZ_SIZE_AUTO)
		want = hz_max(8 * hz_budget_machine(), RESERVE_MIN);
	want = hz_min(want, RESERVE_MAX);
	/* The program needs its address space for other things too. */
	return hz_min(want, hz_budget_address_space());
}

static bool make_tables(struct hz_engine *e)
{
	uint32_t most = hz_min(MAX_RANGES, e->blocks * HZ_UNITS_PER_BLOCK);
	size_t ranges = hz_ranges_bytes(e->blocks, most);
	size_t plan = hz_plan_bytes(e->blocks);
	void *rmem = hz_os_reserve(ranges), *pmem = hz_os_reserve(plan);

	e->blk = hz_os_reserve((size_t)e->blocks * sizeof(*e->blk));
	e->odd = hz_os_reserve((size_t)e->blocks * HZ_UNITS_PER_BLOCK *
			       sizeof(*e->odd));
	e->gone = hz_os_reserve((size_t)e->blocks * HZ_UNITS_PER_BLOCK *
				sizeof(*e->gone));
	e->dead = hz_os_reserve((size_t)e->blocks * sizeof(*e->dead));
	hz_rows_init(e);
	if (!rmem || !pmem || !e->blk || !e->dead || !e->gone || !e->odd ||
	    !e->row_stack || !hz_pieces_make_tables(e) ||
	    !hz_files_make_tables(e))
		return false;
	e->ranges = hz_ranges_init(rmem, e->blocks, most);
	e->plan = hz_plan_init(pmem, e->blocks, (uint32_t)hz_knobs.read_ahead);
	hz_plan_learning(e->plan, hz_knobs.learn);
	if (*hz_knobs.trace_file && hz_knobs.trace == HZ_TRACE_FULL)
		hz_plan_dense(e->plan);
	return true;
}

bool hz_arena_init(char **envp)
{
	struct hz_engine *e = &hz_engine;

	hz_knobs_load(envp, complain, NULL);
	hz_log_set_level((enum hz_log_level)hz_knobs.log);
	if (!hz_knobs.enable || !chosen())
		return false;
	hz_gpu_allow(hz_knobs.gpu != HZ_GPU_KNOB_OFF);
	if (hz_knobs.fault == HZ_FAULT_OFF) {
		hz_engine_off("the knob fault is off");
		return false;
	}
	/* What we reserve counts against RLIMIT_AS: a program that fits
	 * without us must fit with us, and one that cannot address more than
	 * a few times the RAM has little to gain. */
	if (hz_budget_address_space() < hz_budget_machine() ||
	    !hz_region_reserve(e, reserve_bytes()) || !make_tables(e)) {
		hz_log(HZ_WARN, "arena",
		       "off: the address space is too small (" MORE_SPACE ")");
		hz_engine_off(MORE_SPACE);
		return false;
	}
	e->min_size = hz_size_resolve(hz_knobs.min_size, hz_budget_machine());
	e->min_map = hz_size_resolve(hz_knobs.min_map, hz_budget_machine());
	hz_arena_len = (size_t)e->blocks << HZ_BLOCK_SHIFT;
	__atomic_store_n(&hz_arena_base, (uintptr_t)e->base, __ATOMIC_RELEASE);
	return true;
}

size_t hz_arena_min(void)
{
	return hz_arena_len ? hz_engine.min_size : SIZE_MAX;
}

size_t hz_arena_min_map(void)
{
	return hz_arena_len ? hz_engine.min_map : SIZE_MAX;
}
