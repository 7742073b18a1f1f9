/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Starting the engine, asking it, and the gate that every thread of the
 * program passes.
 *
 * The first tiered allocation starts it. hz-aux is made first: it leaves the
 * program's descriptor table, opens all that the engine needs, and makes the
 * other two, which share its table.
 */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/knobs.h"
#include "base/log.h"
#include "base/os.h"
#include "base/stats.h"
#include "engine/arena.h"
#include "engine/awake.h"
#include "engine/budget.h"
#include "engine/engine.h"
#include "engine/leftovers.h"

/* A process whose ranges stay below this, or below a quarter of its budget,
 * is left alone: it has nothing worth tiering. */
#define THRESHOLD_MAX ((uint64_t)64 << 20)
/* Pages above the budget that may be taken when nothing can be evicted. */
#define SPARE_FRAMES 1024u
#define RAISE_LIMITS "raise RLIMIT_NPROC, RLIMIT_NOFILE or RLIMIT_MEMLOCK"

__thread int hz_inside;

struct hz_engine hz_engine = {
	.lock = HZ_LOCK_INIT(HZ_RANK_ENGINE, "engine"),
	.uffd = -1,
	.pagemap = -1,
	.wait_head = HZ_NONE,
	.wait_tail = HZ_NONE,
	.reader = {.kick = -1},
	.writer = {.kick = -1},
};

static struct hz_lock start_lock = HZ_LOCK_INIT(HZ_RANK_START, "start");

/* What hz-aux reports back; guarded by the engine's lock. */
static struct {
	bool answered, ok;
	bool child; /* after fork: the parent's store, by one of these */
	int store_fd;
	const char *store_path;
} boot = {.store_fd = -1};

/* ---- the gate ---- */

/* The stack of the calling thread may lie in the region, in memory that the
 * program allocated for it: from now on it stays where it is. A fault on it
 * while the thread holds the lock would never be answered. */
static void keep(const void *at)
{
	struct hz_engine *e = &hz_engine;
	size_t off = (size_t)((const char *)at - e->base);
	uint32_t b = (uint32_t)(off >> HZ_BLOCK_SHIFT);

	if (hz_likely(off >= (size_t)e->blocks << HZ_BLOCK_SHIFT) ||
	    e->blk[b].flags & HZ_BLKF_STICKY)
		return;
	HZ_SCOPED_LOCK(&e->lock);
	e->blk[b].flags |= HZ_BLKF_STICKY;
	if (b) /* it grows downwards */
		e->blk[b - 1].flags |= HZ_BLKF_STICKY;
}

void hz_gate_enter(struct hz_gate *g)
{
	sigset_t all;

	hz_inside++;
	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &g->cancel);
	sigfillset(&all);
	pthread_sigmask(SIG_BLOCK, &all, &g->old);
	keep(g);
	keep((const void *)&hz_inside);
}

void hz_gate_leave(struct hz_gate *g)
{
	pthread_sigmask(SIG_SETMASK, &g->old, NULL);
	pthread_setcancelstate(g->cancel, NULL);
	hz_inside--;
}

/* ---- asking ---- */

void hz_engine_kick(struct hz_worker *w)
{
	uint64_t one = 1;

	/* Program threads have no descriptor to write to: the worker's own
	 * tick or hz-aux sees their news. */
	if (!hz_log_apart || w->kick < 0)
		return;
	if (!__atomic_exchange_n(&w->kicked, 1, __ATOMIC_ACQ_REL))
		hz_os.write(w->kick, &one, sizeof(one));
}

void hz_engine_post(struct hz_engine *e, struct hz_request *req)
{
	req->done = false;
	req->next = NULL;
	*e->requests_end = req;
	e->requests_end = &req->next;
	pthread_cond_signal(&e->asked);
	pthread_cond_broadcast(&e->changed); /* hz_aux_wait() */
}

long hz_engine_call(struct hz_request *req)
{
	struct hz_engine *e = &hz_engine;
	HZ_SCOPED_LOCK(&e->lock);

	hz_engine_post(e, req);
	while (!req->done)
		pthread_cond_wait(&e->answered, &e->lock.mtx);
	return req->result;
}

/* ---- memory of its own ---- */

static bool reserve_tables(struct hz_engine *e)
{
	e->frame = hz_os_reserve((size_t)e->frames * sizeof(*e->frame));
	e->fbase = hz_os_reserve_aligned((size_t)e->frames << HZ_BLOCK_SHIFT,
					 HZ_BLOCK_SIZE);
	if (!e->side)
		e->side = hz_os_reserve_aligned(HZ_BLOCK_SIZE, HZ_BLOCK_SIZE);
	if (!e->frame || !e->fbase || !e->side)
		return false;
	hz_os.madvise(e->fbase, (size_t)e->frames << HZ_BLOCK_SHIFT,
		      MADV_HUGEPAGE);
	/* A child has frames of its own; and ours stay exclusive, so that
	 * they can be moved after a fork. */
	hz_os.madvise(e->fbase, (size_t)e->frames << HZ_BLOCK_SHIFT,
		      MADV_DONTFORK);
	hz_frames_init(e);
	return true;
}

/* ---- hz-aux opens everything ---- */

static int refuse(const char *what, const char *why, int rc)
{
	/* The message needs two descriptors, and they may be what is short:
	 * the placeholders have done their service. */
	for (int i = 0; hz_log_apart && i < 2; i++)
		hz_os.close(i);
	hz_log(HZ_WARN, "engine", "off: %s (%m): %s", what, rc, why);
	hz_stats_mode(HZ_MODE_FAULT_OFF, HZ_MODE_IO_OFF, why);
	return rc;
}

void hz_engine_off(const char *why)
{
	int fd = -1;

	hz_stats_attach_once(hz_knobs.stats, &fd);
	hz_stats_mode(HZ_MODE_FAULT_OFF, HZ_MODE_IO_OFF, why);
	if (fd >= 0)
		hz_os.close(fd); /* it would be the program's */
}

static int open_faults(struct hz_engine *e)
{
	const char *why = "";
	int rc;

	e->fault = &hz_fault_uffd;
	rc = e->fault->probe(&why);
	if (rc == 0)
		rc = e->uffd = e->fault->open();
	if (rc < 0)
		return refuse("no userfaultfd", why, rc);
	e->pagemap = hz_os.open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC, 0);
	return 0;
}

static unsigned queue_wishes(void)
{
	return (hz_knobs.sqpoll ? HZ_QUEUE_SQPOLL : 0) |
	       (hz_knobs.iopoll ? HZ_QUEUE_IOPOLL : 0) |
	       (hz_knobs.register_files ? HZ_QUEUE_FIXED_FILE : 0);
}

static int choose_io(struct hz_engine *e)
{
	int rc = -EPERM;

	e->io = &hz_store_uring;
	e->io_flags = queue_wishes();
	if (hz_knobs.io != HZ_IO_THREADS)
		rc = hz_store_probe(&e->store, e->io, e->io_flags);
	if (rc == 0)
		return 0;
	if (hz_knobs.io == HZ_IO_AUTO)
		hz_log(HZ_INFO, "store",
		       "io_uring is refused here (%m): threads do the I/O", rc);
	if (hz_knobs.io == HZ_IO_URING)
		return refuse("io_uring does not work here",
			      "set io=auto or io=threads", rc);
	e->io = &hz_store_threads;
	e->io_flags = 0;
	rc = hz_store_probe(&e->store, e->io, 0);
	return rc < 0 ? refuse("the store cannot be read and written",
			       "give another --store", rc)
		      : 0;
}

static int open_store(struct hz_engine *e)
{
	int rc;

	if (boot.child) {
		e->store.fd =
			boot.store_fd >= 0
				? boot.store_fd
				: hz_store_reopen(&e->store, boot.store_path);
		return e->store.fd < 0 ? e->store.fd : 0;
	}
	rc = hz_store_open(&e->store, hz_knobs.store, hz_knobs.store_size.bytes,
			   hz_knobs.store_size.percent, hz_knobs.direct);
	if (rc < 0) {
		hz_stats_mode(HZ_MODE_FAULT_OFF, HZ_MODE_IO_OFF,
			      "the store cannot be opened");
		return rc;
	}
	/* The last slot is the probe's. */
	e->slots = hz_slots_create(e->store.capacity, e->store.capacity - 1);
	rc = e->slots ? choose_io(e) : -ENOMEM;
	hz_stat_gauge(HZ_STAT_store_capacity, HZ_STAT_store_capacity,
		      e->store.size);
	return rc;
}

static int wait_beat(struct hz_worker *w)
{
	/* A queue opens in a millisecond; five seconds is a broken one. */
	for (int i = 0; i < 5000; i++) {
		struct timespec ms = {.tv_nsec = 1000000};

		if (__atomic_load_n(&w->beat, __ATOMIC_ACQUIRE))
			return __atomic_load_n(&w->error, __ATOMIC_RELAXED);
		nanosleep(&ms, NULL);
	}
	return -ETIMEDOUT;
}

static int start_workers(struct hz_engine *e)
{
	int rc = 0;

	e->reader.beat = e->writer.beat = 0;
	e->reader.inflight = e->writer.inflight = 0;
	e->reader.kicked = e->writer.kicked = 0;
	e->reader.kick = hz_os.eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	e->writer.kick = hz_os.eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	rc = hz_thread_make(hz_thread_fault, e);
	if (rc == 0)
		rc = hz_thread_make(hz_thread_engine, e);
	if (rc == 0)
		rc = wait_beat(&e->reader);
	if (rc == 0)
		rc = wait_beat(&e->writer);
	return rc < 0 ? refuse("cannot start its threads", RAISE_LIMITS, rc)
		      : 0;
}

static int open_all(struct hz_engine *e)
{
	int rc;

	e->aux_tid = (int)syscall(SYS_gettid);
	rc = open_store(e);
	if (rc == 0)
		rc = open_faults(e);
	if (rc == 0 && !reserve_tables(e))
		rc = refuse("no address space for frames", "raise RLIMIT_AS",
			    -ENOMEM);
	if (rc < 0)
		return rc;
	hz_leftovers_start(); /* before the budget looks at them */
	hz_lock(&e->lock);
	hz_budget_poll(e, true);
	hz_unlock(&e->lock);
	hz_record_open(e, boot.child);
	hz_awake_start();
	rc = start_workers(e);
	if (rc < 0)
		return rc;
	/* Last: from here on the region needs all of the above. */
	rc = hz_census_arm(e, boot.child);
	hz_engine_kick(&e->writer);
	return rc < 0 ? refuse("cannot arm the region",
			       "the address space was changed", rc)
		      : 0;
}

static void *aux_main(void *arg)
{
	struct hz_engine *e = arg;
	int rc, fd = -1;

	hz_thread_begin("hz-aux");
	rc = hz_thread_leave_files(boot.store_fd);
	if (!boot.child)
		hz_stats_attach_once(hz_knobs.stats, &fd);
	rc = rc < 0 ? refuse("close_range(2) is refused",
			     "Linux 5.9 or newer is needed", rc)
		    : open_all(e);
	if (rc == 0)
		hz_stats_mode(HZ_MODE_FAULT_MOVE,
			      e->io == &hz_store_uring ? HZ_MODE_IO_URING
						       : HZ_MODE_IO_THREADS,
			      "");
	hz_lock(&e->lock);
	if (rc < 0)
		hz_record_stop();
	boot.ok = rc == 0;
	boot.answered = true;
	pthread_cond_broadcast(&e->answered);
	hz_unlock(&e->lock);
	return rc == 0 ? hz_thread_aux(e) : NULL;
}

/* ---- start ---- */

/* Not `changed`: threads of the program wait for blocks also before the engine
 * runs. As a static object it needs no call. */
static void init_conds(struct hz_engine *e)
{
	pthread_condattr_t attr;

	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_cond_init(&e->asked, &attr);
	pthread_cond_init(&e->answered, &attr);
	pthread_condattr_destroy(&attr);
	e->requests = NULL;
	e->requests_end = &e->requests;
}

static bool run_aux(struct hz_engine *e)
{
	int rc;

	init_conds(e);
	boot.answered = boot.ok = false;
	rc = hz_thread_make(aux_main, e);
	if (rc < 0) {
		hz_engine_off(RAISE_LIMITS);
		refuse("cannot start its threads", RAISE_LIMITS, rc);
		return false;
	}
	HZ_SCOPED_LOCK(&e->lock);
	while (!boot.answered)
		pthread_cond_wait(&e->answered, &e->lock.mtx);
	return boot.ok;
}

static uint32_t frames_wanted(uint64_t budget)
{
	uint64_t whole = hz_min(hz_budget_machine(), (uint64_t)1 << 46);
	uint64_t want = hz_max(budget, whole) +
			((uint64_t)SPARE_FRAMES << HZ_BLOCK_SHIFT);

	return (uint32_t)(hz_min(want, hz_budget_address_space()) >>
			  HZ_BLOCK_SHIFT);
}

static uint64_t budget_bytes(void)
{
	static uint64_t bytes; /* the same whoever computes it */
	uint64_t b = __atomic_load_n(&bytes, __ATOMIC_RELAXED);

	if (!b) {
		b = hz_budget_start();
		__atomic_store_n(&bytes, b, __ATOMIC_RELAXED);
	}
	return b;
}

uint64_t hz_engine_threshold(void)
{
	return hz_min(THRESHOLD_MAX, budget_bytes() / 4);
}

bool hz_engine_start(void)
{
	struct hz_engine *e = &hz_engine;
	int phase = __atomic_load_n(&e->phase, __ATOMIC_ACQUIRE);

	if (hz_likely(phase == HZ_RUNNING))
		return true;
	if (phase == HZ_REFUSED)
		return false;
	HZ_SCOPED_LOCK(&start_lock);
	if (e->phase == HZ_OFF) {
		e->read_ahead = (uint32_t)hz_knobs.read_ahead;
		e->depth = (uint32_t)hz_knobs.io_depth;
		e->frames = frames_wanted(budget_bytes());
		phase = run_aux(e) ? HZ_RUNNING : HZ_REFUSED;
		__atomic_store_n(&e->phase, phase, __ATOMIC_RELEASE);
	}
	return e->phase == HZ_RUNNING;
}

void hz_engine_hold_start(void)
{
	hz_lock(&start_lock);
}

void hz_engine_release_start(bool in_child)
{
	if (in_child)
		hz_lock_reset(&start_lock);
	else
		hz_unlock(&start_lock);
}

bool hz_engine_restart(int store_fd, const char *store_path)
{
	struct hz_engine *e = &hz_engine;
	bool ok;

	boot.child = true;
	boot.store_fd = store_fd;
	boot.store_path = store_path;
	ok = run_aux(e);
	__atomic_store_n(&e->phase, ok ? HZ_RUNNING : HZ_REFUSED,
			 __ATOMIC_RELEASE);
	return ok;
}
