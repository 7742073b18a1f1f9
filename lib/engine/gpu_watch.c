/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Start and fork of the watching.
 */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif
#include <sys/mman.h>
#include <unistd.h>
#include "base/knobs.h"
#include "base/log.h"
#include "base/os.h"
#include "base/stats.h"
#include "engine/gpu_int.h"

#define LEAVES 4096u /* 64 TiB of addresses */

struct hz_gpu hz_gpu = {.lock = HZ_LOCK_INIT(HZ_RANK_GPU, "gpu")};
bool hz_gpu_on;

void hz_gpu_allow(bool allowed)
{
	hz_gpu.allowed = allowed;
}

bool hz_gpu_watching(void)
{
	return hz_gpu.allowed;
}

/* Address space; pages come with use. */
static bool reserve(struct hz_gpu *g)
{
	const struct hz_gpu_limits limits = {
		.allocs = 1u << 18, .tensors = 1u << 18, .leaves = LEAVES};
	void *map = hz_os_reserve(hz_gpu_map_bytes(limits));

	g->set = hz_os_reserve(HZ_GPU_SETS * sizeof(*g->set));
	g->by_hash = hz_os_reserve(2 * HZ_GPU_SETS * sizeof(*g->by_hash));
	g->seen = hz_os_reserve(HZ_GPU_SEEN * sizeof(*g->seen));
	g->words = hz_os_reserve(HZ_GPU_SET_WORDS * sizeof(*g->words));
	g->exec = hz_os_reserve(HZ_GPU_EXECS * sizeof(*g->exec));
	g->exec_words =
		hz_os_reserve(HZ_GPU_EXEC_WORDS * sizeof(*g->exec_words));
	g->kernel = hz_os_reserve(HZ_GPU_KERNELS * sizeof(*g->kernel));
	g->handle = hz_os_reserve(HZ_GPU_HANDLES * sizeof(*g->handle));
	g->descriptor =
		hz_os_reserve(HZ_GPU_DESCRIPTORS * sizeof(*g->descriptor));
	if (!map || !g->set || !g->by_hash || !g->seen || !g->words ||
	    !g->exec || !g->exec_words || !g->kernel || !g->handle ||
	    !g->descriptor)
		return false;
	/* Look-ups jump about in it. */
	hz_os.madvise(map, hz_gpu_map_bytes(limits), MADV_HUGEPAGE);
	hz_gpu_map_init(&g->map, limits, map);
	g->map.gone = hz_gpu_row_gone;
	g->map.gone_arg = g;
	g->kernels = 1;
	return true;
}

void hz_gpu_opened(void)
{
	struct hz_gpu *g = &hz_gpu;
	HZ_SCOPED_LOCK(&g->lock);

	if (!g->allowed || g->ready || g->refused)
		return;
	g->ready = reserve(g);
	g->refused = !g->ready;
	if (g->refused)
		hz_log(HZ_WARN, "gpu",
		       "off: the address space is too small (raise RLIMIT_AS)");
	__atomic_store_n(&hz_gpu_on, g->ready, __ATOMIC_RELEASE);
}

/* The descriptor of a segment of our own stays open: it is how horizon-stat
 * finds a process that nobody started with horizon-run. */
void hz_gpu_started(void)
{
	struct hz_gpu *g = &hz_gpu;
	int fd;

	if (__atomic_load_n(&g->started, __ATOMIC_RELAXED) ||
	    __atomic_exchange_n(&g->started, true, __ATOMIC_ACQ_REL))
		return;
	hz_stats_attach_once(hz_knobs.stats, &fd);
	hz_stats_mode_gpu(HZ_MODE_GPU_OBSERVE);
}

void hz_gpu_device(int device, uint64_t bytes)
{
	struct hz_gpu *g = &hz_gpu;
	HZ_SCOPED_LOCK(&g->lock);

	if (device < 0 || device > 63 || (g->devices >> device) & 1)
		return;
	g->devices |= 1ull << device;
	g->capacity += bytes;
	hz_stat_gauge(HZ_STAT_vram_capacity, HZ_STAT_vram_capacity,
		      g->capacity);
}

void hz_gpu_unhooked(void)
{
	hz_stat_add(HZ_STAT_gpu_unhooked, 1);
}

void hz_gpu_capture(int n)
{
	__atomic_fetch_add(&hz_gpu.captures, n, __ATOMIC_ACQ_REL);
}

bool hz_gpu_capturing(void)
{
	return __atomic_load_n(&hz_gpu.captures, __ATOMIC_ACQUIRE) > 0;
}

void hz_gpu_fork_prepare(void)
{
	hz_lock(&hz_gpu.lock);
}

void hz_gpu_fork_parent(void)
{
	hz_unlock(&hz_gpu.lock);
}

/* The parent's memory is no memory of the child, which has no driver that
 * works either; one that was not initialised yet can be. */
void hz_gpu_fork_child(void)
{
	struct hz_gpu *g = &hz_gpu;

	hz_lock_reset(&g->lock);
	if (hz_stats_self->pid && hz_stats_self->pid != (uint32_t)getpid())
		hz_stats_child();
	if (!g->started)
		return;
	hz_gpu_on = false;
	hz_stats_mode_gpu(HZ_MODE_GPU_OFF);
}
