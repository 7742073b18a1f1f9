/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Start and fork of the watching.
 */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif
#include <pthread.h>
#include <sys/mman.h>
#include <unistd.h>
#include "base/knobs.h"
#include "base/log.h"
#include "base/os.h"
#include "base/stats.h"
#include "engine/gpu_int.h"

#define LEAVES 4096u /* 64 TiB of addresses */
/* A thread holds a lock for microseconds; behind a long ring for more. */
#define END_NS 200000000ull

struct hz_gpu hz_gpu = {
	.lock = HZ_LOCK_INIT(HZ_RANK_GPU, "gpu"),
	.launching = HZ_LOCK_INIT(HZ_RANK_GPU_LAUNCH, "gpu launches")};
bool hz_gpu_on;

/* enum hz_gpu_place; volatile for signal handlers. initial-exec: the lazy
 * TLS of a shared library would call malloc. */
static __thread volatile int place __attribute__((tls_model("initial-exec")));
/* Forks under way that found this thread in a section. */
static __thread volatile int unlocked_forks
	__attribute__((tls_model("initial-exec")));

static void enter(void)
{
	place = HZ_GPU_AT_DOOR;
	/* hz-launch lets go of it then. */
	__atomic_fetch_add(&hz_gpu.wanted, 1, __ATOMIC_RELAXED);
	hz_lock(&hz_gpu.lock);
	__atomic_fetch_sub(&hz_gpu.wanted, 1, __ATOMIC_RELAXED);
	place = HZ_GPU_INSIDE;
}

/* Of a lost one the lock may have been opened already. */
static void open_door(struct hz_lock *lock)
{
	place = HZ_GPU_AT_DOOR;
	if (hz_unlikely(__atomic_load_n(&hz_gpu.lost, __ATOMIC_RELAXED)))
		hz_lock_open(lock);
	else
		hz_unlock(lock);
}

/* After a jump out of it there is nothing to leave. */
static void leave(void)
{
	if (hz_unlikely(place == HZ_GPU_OUTSIDE))
		return;
	open_door(&hz_gpu.lock);
	place = HZ_GPU_OUTSIDE;
}

/* The jump may end in the same handler, and the section go on: then it is
 * alone with what the locks guard, since nobody enters a lost one. What the
 * thread had at a door cannot be told; both locks are opened then, which does
 * no harm any more. */
void hz_gpu_jump(void)
{
	int was = place;

	if (hz_likely(was == HZ_GPU_OUTSIDE))
		return;
	__atomic_store_n(&hz_gpu.lost, true, __ATOMIC_RELEASE);
	__atomic_store_n(&hz_gpu.left_by_jump, true, __ATOMIC_RELEASE);
	hz_gpu_record_stop();
	hz_gpu.stopped = false;
	place = HZ_GPU_OUTSIDE;
	if (was != HZ_GPU_INSIDE)
		hz_lock_open(&hz_gpu.launching);
	if (was != HZ_GPU_LAUNCHING)
		hz_lock_open(&hz_gpu.lock);
}

/* Not in the handler, which may have interrupted a message. */
static void give_up(struct hz_gpu *g)
{
	if (!__atomic_exchange_n(&g->left_by_jump, false, __ATOMIC_ACQ_REL))
		return;
	__atomic_store_n(&hz_gpu_on, false, __ATOMIC_RELEASE);
	hz_stats_mode_gpu(HZ_MODE_GPU_OFF);
	hz_log(HZ_WARN, "gpu",
	       "off: a signal handler jumped out of a CUDA call");
}

struct hz_gpu *hz_gpu_enter(void)
{
	if (hz_unlikely(place != HZ_GPU_OUTSIDE))
		return NULL;
	enter();
	if (hz_likely(!__atomic_load_n(&hz_gpu.lost, __ATOMIC_ACQUIRE)))
		return &hz_gpu;
	leave();
	give_up(&hz_gpu);
	return NULL;
}

void hz_gpu_leave(struct hz_gpu **g)
{
	if (*g)
		leave();
}

void hz_gpu_hold(struct hz_gpu *g)
{
	if (g->stopped)
		return;
	place = HZ_GPU_AT_DOOR;
	hz_lock(&g->launching);
	place = HZ_GPU_STOPPED;
}

void hz_gpu_release(struct hz_gpu *g)
{
	if (g->stopped || hz_unlikely(place != HZ_GPU_STOPPED))
		return;
	open_door(&g->launching);
	place = HZ_GPU_INSIDE;
}

/* Most of it before anybody has to wait. */
void hz_gpu_stop(struct hz_gpu *g)
{
	hz_gpu_drain(g);
	hz_gpu_hold(g);
	g->stopped = true;
	hz_gpu_drain(g);
}

void hz_gpu_go(struct hz_gpu *g)
{
	g->stopped = false;
	hz_gpu_release(g);
}

/* At the end of the process a thread may be stopped with a lock, for ever. */
struct hz_gpu *hz_gpu_enter_end(void)
{
	struct hz_gpu *g = &hz_gpu;

	if (place != HZ_GPU_OUTSIDE)
		return NULL;
	place = HZ_GPU_AT_DOOR;
	if (hz_lock_for(&g->lock, END_NS)) {
		if (!g->lost && hz_lock_for(&g->launching, END_NS)) {
			place = HZ_GPU_STOPPED;
			g->stopped = true;
			return g;
		}
		open_door(&g->lock);
	}
	place = HZ_GPU_OUTSIDE;
	return NULL;
}

struct hz_gpu *hz_gpu_enter_change(void)
{
	struct hz_gpu *g = hz_gpu_enter();

	if (g)
		hz_gpu_stop(g);
	return g;
}

void hz_gpu_leave_change(struct hz_gpu **g)
{
	if (!*g)
		return;
	hz_gpu_go(*g);
	leave();
}

static void leave_launch(void)
{
	if (hz_unlikely(place == HZ_GPU_OUTSIDE))
		return;
	open_door(&hz_gpu.launching);
	place = HZ_GPU_OUTSIDE;
}

struct hz_gpu *hz_gpu_enter_launch(void)
{
	if (hz_unlikely(place != HZ_GPU_OUTSIDE))
		return NULL;
	place = HZ_GPU_AT_DOOR;
	hz_lock(&hz_gpu.launching);
	place = HZ_GPU_LAUNCHING;
	if (hz_likely(!__atomic_load_n(&hz_gpu.lost, __ATOMIC_ACQUIRE)))
		return &hz_gpu;
	leave_launch();
	give_up(&hz_gpu);
	return NULL;
}

void hz_gpu_leave_launch(struct hz_gpu **g)
{
	if (*g)
		leave_launch();
}

void hz_gpu_allow(bool allowed)
{
	hz_gpu.allowed = allowed;
}

bool hz_gpu_watching(void)
{
	return hz_gpu.allowed;
}

static void tensor_gone(void *gpu, struct hz_gpu_tensor *t)
{
	hz_gpu_record_gone(t);
	hz_gpu_row_gone(gpu, t);
	hz_gpu_mapping_gone(gpu, t);
}

/* Address space; pages come with use. */
static bool reserve(struct hz_gpu *g)
{
	const struct hz_gpu_limits limits = {
		.allocs = 1u << 18, .tensors = 1u << 18, .leaves = LEAVES};
	void *map = hz_os_reserve(hz_gpu_map_bytes(limits));

	g->set = hz_os_reserve(HZ_GPU_SETS * sizeof(*g->set));
	g->by_hash = hz_os_reserve(
		(2 * HZ_GPU_SETS + HZ_GPU_SEEN) * sizeof(*g->by_hash));
	g->seen = g->by_hash + 2 * HZ_GPU_SETS;
	g->words = hz_os_reserve(HZ_GPU_SET_WORDS * sizeof(*g->words));
	g->later = hz_os_reserve_aligned(
		HZ_GPU_LATER_WORDS * sizeof(*g->later), HZ_BLOCK_SIZE);
	g->exec = hz_os_reserve(HZ_GPU_EXECS * sizeof(*g->exec));
	g->exec_words =
		hz_os_reserve(HZ_GPU_EXEC_WORDS * sizeof(*g->exec_words));
	g->kernel = hz_os_reserve(HZ_GPU_KERNELS * sizeof(*g->kernel));
	g->handle = hz_os_reserve(HZ_GPU_HANDLES * sizeof(*g->handle));
	g->descriptor =
		hz_os_reserve(HZ_GPU_DESCRIPTORS * sizeof(*g->descriptor));
	if (!map || !g->set || !g->by_hash || !g->words || !g->later ||
	    !g->exec || !g->exec_words || !g->kernel || !g->handle ||
	    !g->descriptor)
		return false;
	/* Look-ups jump about in it. */
	hz_os.madvise(map, hz_gpu_map_bytes(limits), MADV_HUGEPAGE);
	hz_gpu_map_init(&g->map, limits, map);
	g->map.gone = tensor_gone;
	g->map.gone_arg = g;
	g->kernels = 1;
	return true;
}

void hz_gpu_opened(void)
{
	struct hz_gpu *g = &hz_gpu;
	HZ_GPU_SECTION();

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
	int fd, cancel;

	if (__atomic_load_n(&g->started, __ATOMIC_RELAXED) ||
	    __atomic_exchange_n(&g->started, true, __ATOMIC_ACQ_REL))
		return;
	/* Files are opened, and cuInit is no point of cancellation. */
	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel);
	hz_stats_attach_once(hz_knobs.stats, &fd);
	hz_stats_mode_gpu(HZ_MODE_GPU_OBSERVE);
	hz_gpu_record_start();
	hz_gpu_later_start();
	pthread_setcancelstate(cancel, NULL);
}

void hz_gpu_device(int device, uint64_t bytes)
{
	struct hz_gpu *g = &hz_gpu;
	HZ_GPU_SECTION();

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
	if (place != HZ_GPU_OUTSIDE)
		unlocked_forks++;
	else {
		enter();
		hz_gpu_hold(&hz_gpu);
	}
}

void hz_gpu_fork_parent(void)
{
	if (unlocked_forks) {
		unlocked_forks--;
		return;
	}
	hz_gpu_release(&hz_gpu);
	leave();
}

/* A thread that was in a section goes on in it after the signal handler that
 * forked. If it had both locks, all is well; else another thread may have had
 * one, in the middle of a change. What the thread has stays locked. */
static void child_lock(struct hz_gpu *g)
{
	int was = place;

	if (!unlocked_forks) {
		hz_lock_reset(&g->launching);
		hz_lock_reset(&g->lock);
		g->wanted = 0;
		place = HZ_GPU_OUTSIDE;
		return;
	}
	unlocked_forks--;
	if (was == HZ_GPU_STOPPED)
		return;
	g->lost = true;
	if (was != HZ_GPU_LAUNCHING)
		hz_lock_reset(&g->launching);
	if (was != HZ_GPU_INSIDE)
		hz_lock_reset(&g->lock);
}

/* The parent's memory is no memory of the child, which has no driver that
 * works either; one that was not initialised yet can be. */
void hz_gpu_fork_child(void)
{
	struct hz_gpu *g = &hz_gpu;

	child_lock(g);
	if (!g->ready)
		return;
	if (hz_stats_self->pid && hz_stats_self->pid != (uint32_t)getpid())
		hz_stats_child();
	if (!g->started)
		return;
	hz_gpu_record_stop();
	/* Who forked in a handler may be at an entry of the ring, and goes on
	 * there up to where it was told. */
	g->later_on = false;
	hz_gpu_on = false;
	hz_stats_mode_gpu(HZ_MODE_GPU_OFF);
}
