/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The three threads' loops. See engine.h for who does what.
 */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif
#include <errno.h>
#include <fcntl.h>
#include <linux/close_range.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/knobs.h"
#include "base/log.h"
#include "base/os.h"
#include "base/stats.h"
#include "engine/arena.h"
#include "engine/awake.h"
#include "engine/budget.h"
#include "engine/engine.h"
#include "engine/file_map.h"
#include "engine/leftovers.h"
#include "engine/pieces.h"

#define BATCH	       64
/* A sanitizer keeps what it knows of a thread there. */
#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
#define STACK_BYTES ((size_t)4 << 20)
#else
#define STACK_BYTES    ((size_t)256 << 10)
#endif
#define GUARD_BYTES    ((size_t)16 << 10) /* of it */
#define TICK_IDLE_NS   1000000000ull /* nothing happens */
#define TICK_BUDGET_NS 50000000ull   /* others share the cgroup */
#define TICK_BUSY_NS   20000000ull   /* a thread waits for a frame */
#define STAND_IN_NS    100000000ull  /* hz-fault made no pass for so long */
#define SLICE_NS       100000u	     /* the least that the kernel takes */
#define GROW_STEP      8	     /* frames cleared at once: ~1 ms */
#define ZERO_HALVE_NS  1000000000ull /* of the count of first touches */
/* Refusals after which a pass gives up. A pinned block costs a system call, a
 * full store two moves and a hash. */
#define PINNED_TRIES 4096
#define FULL_TRIES   16

/* A thread of the program waits for us, and its siblings fill the processors:
 * a short slice lets us preempt them soon after a wake-up, for which no
 * privilege is needed. sched_setattr(2): sched_runtime of SCHED_OTHER is its
 * slice since Linux 6.12, and is ignored before. */
static void ask_for_short_slices(void)
{
	struct {
		uint32_t size, policy;
		uint64_t flags;
		int32_t nice;
		uint32_t priority;
		uint64_t runtime, deadline, period;
	} attr = {.size = sizeof(attr), .runtime = SLICE_NS};

	if (sched_getscheduler(0) != SCHED_OTHER)
		return;
	attr.nice = getpriority(PRIO_PROCESS, 0);
	syscall(SYS_sched_setattr, 0, &attr, 0);
}

int hz_thread_make(void *(*body)(void *), void *arg)
{
	pthread_attr_t attr;
	pthread_t id;
	sigset_t all, old;
	long stack = hz_os.mmap(NULL, STACK_BYTES, PROT_READ | PROT_WRITE,
				MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	int rc;

	if (stack < 0)
		return (int)stack;
	hz_os.mprotect((void *)stack, GUARD_BYTES, PROT_NONE);
	pthread_attr_init(&attr);
	pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
	pthread_attr_setstack(&attr, (void *)stack, STACK_BYTES);
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	rc = pthread_create(&id, &attr, body, arg);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	pthread_attr_destroy(&attr);
	return -rc;
}

void hz_thread_begin(const char *name)
{
	sigset_t all;

	hz_inside = 1;
	prctl(PR_SET_NAME, name);
	ask_for_short_slices();
	sigfillset(&all);
	pthread_sigmask(SIG_BLOCK, &all, NULL);
}

void hz_thread_nap(sem_t *wake, uint64_t ns)
{
	struct timespec t = hz_os_after(ns);

	sem_clockwait(wake, CLOCK_MONOTONIC, &t);
}

int hz_thread_leave_files(int keep)
{
	unsigned fd = (unsigned)keep;
	int rc;

	if (keep < 0) {
		rc = hz_os.close_range(0, ~0u, CLOSE_RANGE_UNSHARE);
	} else {
		rc = hz_os.close_range(fd + 1, ~0u, CLOSE_RANGE_UNSHARE);
		if (rc == 0 && fd)
			rc = hz_os.close_range(0, fd - 1, 0);
	}
	if (rc < 0)
		return rc;
	hz_log_apart = true;
	/* Nothing of ours may become 0, 1 or 2. */
	for (int i = 0; i < 3; i++)
		hz_os.open("/dev/null", O_RDWR | O_CLOEXEC, 0);
	return 0;
}

/* The wake-up was seen: the next kick must write again. In this order: a kick
 * between the two is not written, but its news is seen under the lock that
 * the caller takes next. The other way round the read could swallow a new
 * kick, and none would ever be written again. */
static void drain_kick(struct hz_worker *w)
{
	uint64_t n;

	hz_os.read(w->kick, &n, sizeof(n));
	__atomic_store_n(&w->kicked, 0, __ATOMIC_RELEASE);
}

static void finish_all(struct hz_engine *e, struct hz_worker *w,
		       struct hz_xfer **done, int n)
{
	for (int i = 0; i < n; i++)
		hz_fill_done(e, w, done[i]);
}

/* The thread's queue, with `uffd` (>= 0) and its kick watched in this order.
 * Whoever started the thread waits for the beat or the error. */
static bool open_queue(struct hz_engine *e, struct hz_worker *w, int uffd)
{
	int rc = e->io->open(&e->store, e->depth * 2, e->io_flags, &w->queue);

	if (rc == 0 && uffd >= 0)
		rc = e->io->watch(w->queue, uffd);
	if (rc == 0)
		rc = e->io->watch(w->queue, w->kick);
	__atomic_store_n(&w->error, rc, __ATOMIC_RELAXED);
	__atomic_store_n(&w->beat, 1, __ATOMIC_RELEASE);
	return rc == 0;
}

/* ---- hz-fault ---- */

static void serve_faults(struct hz_engine *e, struct hz_worker *w)
{
	struct hz_fault fault[BATCH];
	int n = e->fault->read(e->uffd, fault, BATCH);
	uint64_t now = hz_os.now();

	if (n > 0 && w)
		hz_awake_fault(fault[n - 1].thread, now);
	HZ_SCOPED_LOCK(&e->lock);
	for (int i = 0; i < n; i++)
		hz_fill_fault(e, w, &fault[i], now);
}

static void finish_reads(struct hz_engine *e, struct hz_worker *w,
			 struct hz_xfer **done, int n)
{
	HZ_SCOPED_LOCK(&e->lock);

	finish_all(e, w, done, n);
	if (n > 0)
		hz_fill_ahead(e, w);
	/* A block that came in can be evicted, and a frame may be free:
	 * hz-engine knows of neither. */
	if (n > 0 && e->waiting)
		hz_engine_kick(&e->writer);
}

void *hz_thread_fault(void *arg)
{
	struct hz_engine *e = arg;
	struct hz_worker *w = &e->reader;
	struct hz_xfer *done[BATCH];

	hz_thread_begin("hz-fault");
	hz_log_apart = true; /* hz-aux's descriptor table is ours too */
	if (!open_queue(e, w, e->uffd))
		return NULL;
	for (;;) {
		unsigned ready = 0;
		int n = e->io->wait(w->queue, UINT64_MAX, done, BATCH, &ready);

		__atomic_fetch_add(&w->beat, 1, __ATOMIC_RELAXED);
		if (ready & 2)
			drain_kick(w);
		finish_reads(e, w, done, n);
		/* One batch: what is left wakes the next wait. New faults
		 * must not keep finished reads from those who wait. */
		if (ready & 1)
			serve_faults(e, w);
	}
	return NULL;
}

/* ---- hz-engine ---- */

/* How many cleared pages to hold ready: a program that touched little of late
 * gets little. */
static uint32_t zero_stock(struct hz_engine *e)
{
	static uint64_t looked; /* ns */
	uint64_t now = hz_os.now();

	if (now - looked > ZERO_HALVE_NS) {
		looked = now;
		e->zero_wanted /= 2;
	}
	return (uint32_t)hz_min(e->zero_wanted / 2, (uint64_t)GROW_STEP);
}

static bool want_growth(struct hz_engine *e)
{
	return e->pages < e->cap &&
	       (e->waiting || e->count[HZ_FRAME_ZERO] < zero_stock(e));
}

/* Below the budget: clear pages ahead of the program's first touches. A
 * thread that waits gets the first one, not the last of a batch. */
static void grow(struct hz_engine *e, struct hz_worker *w)
{
	while (want_growth(e)) {
		uint32_t n = e->waiting ? e->waiting : zero_stock(e);

		if (!hz_frames_grow(e, hz_min(n, (uint32_t)GROW_STEP), false))
			break;
		hz_fill_waiting(e, w);
	}
}

static bool short_of_frames(const struct hz_engine *e)
{
	if (e->pages < e->cap)
		return false;
	/* A full store turns most evictions back: only for who waits. */
	if (e->store_is_full && !e->waiting)
		return false;
	/* What is shared leaves by way of a frame: the writes bring some. */
	if (e->totals.guarded && e->writing && !hz_free_frames(e))
		return false;
	return hz_free_frames(e) + e->writing <
	       hz_pieces_free_target(e) +
		       hz_min(e->waiting - e->waiting_pieces, e->depth);
}

static void serve_from_reserve(struct hz_engine *e, struct hz_worker *w)
{
	e->no_reserve = true;
	hz_fill_waiting(e, w);
	e->no_reserve = false;
}

/* Nothing can leave, nothing is on its way, and a thread waits: the program
 * goes on above the budget rather than not at all. */
static void relieve(struct hz_engine *e, struct hz_worker *w)
{
	if (!e->waiting || e->writing || e->frozen)
		return;
	if (e->reader.inflight || w->inflight)
		return;
	/* Of what was freed nothing is kept back now. */
	while (e->waiting && hz_evict_dead(e, 1, 0))
		hz_fill_waiting(e, w);
	if (!e->waiting)
		return;
	/* Frames that are kept for whole blocks are no reason to wait. Who
	 * waits longest may need more than a page. */
	if (e->waiting_pieces && hz_pieces_credit(e, 1, true)) {
		uint32_t before = e->waiting;

		hz_fill_waiting(e, w);
		if (e->waiting < before)
			return;
	}
	/* Nor are those that are kept for evictions. */
	serve_from_reserve(e, w);
	if (!e->waiting || hz_free_frames(e) || e->reader.inflight ||
	    w->inflight || !hz_frames_grow(e, 1, true))
		return;
	hz_stat_add(HZ_STAT_over_budget, 1);
	hz_log_once(HZ_WARN, "engine",
		    "budget exceeded: nothing can be evicted (%s)",
		    e->store_is_full
			    ? e->full_why
			    : "all blocks are pinned, locked or shared; raise "
			      "--ram");
	serve_from_reserve(e, w);
}

void hz_engine_finish(struct hz_engine *e, struct hz_worker *w)
{
	struct hz_xfer *done[BATCH];
	unsigned ready = 0;
	int n;

	hz_unlock(&e->lock);
	n = e->io->wait(w->queue, 0, done, BATCH, &ready);
	if (ready)
		drain_kick(w);
	hz_lock(&e->lock);
	finish_all(e, w, done, n);
}

/* True while there is more to evict than the queue takes. */
static void balance(struct hz_engine *e, struct hz_worker *w)
{
	unsigned refused = 0;

	while (short_of_frames(e) && w->inflight < e->depth) {
		uint32_t before = hz_free_frames(e) + e->writing;

		if (!hz_evict_step(e, w))
			break;
		/* Pages that left make room for a frame. */
		hz_pieces_return(e);
		if (hz_free_frames(e) + e->writing <= before &&
		    ++refused > (e->store_is_full ? FULL_TRIES : PINNED_TRIES))
			break;
		hz_engine_finish(e, w);
		/* After it: what it freed must not wait for a tick. */
		hz_fill_waiting(e, w);
		hz_fill_ahead(e, w);
	}
}

/* Memory that nobody wanted for a while goes back to the kernel. */
static void decay(struct hz_engine *e)
{
	static uint64_t last_churn, last_time;
	uint64_t now = hz_os.now();
	uint32_t spare;

	if (now - last_time < (uint64_t)hz_knobs.decay_ms * 1000000)
		return;
	last_time = now;
	if (last_churn == e->churn && e->dead_count)
		hz_evict_dead(e, e->dead_count, 0);
	last_churn = e->churn;
	hz_leftovers_decay();
	spare = hz_free_frames(e);
	if (spare > e->free_target)
		hz_frames_shrink(e, spare - e->free_target);
}

/* Above the budget (it shrank): give pages back. */
static void give_back(struct hz_engine *e)
{
	uint32_t spare = hz_usable_frames(e);

	if (e->pages > e->cap)
		hz_frames_shrink(e, hz_min(e->pages - e->cap, spare));
}

/* Wake-ups come from events; the tick looks at the budget, and is the net
 * under everything else. */
static uint64_t tick(const struct hz_engine *e)
{
	/* Without the lock: an old value costs one tick. */
	if (__atomic_load_n(&e->waiting, __ATOMIC_RELAXED) ||
	    !__atomic_load_n(&e->armed, __ATOMIC_RELAXED))
		return TICK_BUSY_NS;
	if (hz_board_more(e))
		return 0;
	if (e->board)
		return TICK_BUSY_NS;
	return hz_budget_watched() ? TICK_BUDGET_NS : TICK_IDLE_NS;
}

static void engine_pass(struct hz_engine *e, struct hz_worker *w,
			struct hz_xfer **done, int n)
{
	HZ_SCOPED_LOCK(&e->lock);
	finish_all(e, w, done, n);
	/* What leaves could not be mapped again: in a child the state of all
	 * blocks is known before the region is armed. */
	if (!e->armed)
		return;
	hz_guard_poll(e);
	hz_budget_poll(e, false);
	give_back(e);
	hz_pieces_write_on(e, w);
	hz_fill_waiting(e, w);
	grow(e, w);
	balance(e, w);
	hz_pieces_balance(e, w);
	grow(e, w);
	relieve(e, w);
	hz_evict_probe(e, w);
	hz_board_follow(e, w);
	hz_fill_ahead(e, w);
	hz_evict_ordered(e, w);
	decay(e);
	hz_rows_refresh(e);
}

void *hz_thread_engine(void *arg)
{
	struct hz_engine *e = arg;
	struct hz_worker *w = &e->writer;
	struct hz_xfer *done[BATCH];

	hz_thread_begin("hz-engine");
	hz_log_apart = true;
	if (!open_queue(e, w, -1))
		return NULL;
	for (int n = 0;;) {
		unsigned ready = 0;

		engine_pass(e, w, done, n);
		n = e->io->wait(w->queue, tick(e), done, BATCH, &ready);
		__atomic_fetch_add(&w->beat, 1, __ATOMIC_RELAXED);
		if (ready)
			drain_kick(w);
		n = hz_max(n, 0);
	}
	return NULL;
}

/* ---- hz-aux ---- */

static long carry_out(struct hz_engine *e, struct hz_request *r);

/* The first request, or the first of those that wait for nobody. */
static struct hz_request *next_request(struct hz_engine *e, bool quick)
{
	struct hz_request **at = &e->requests, *r;

	while (quick && *at && (*at)->op != HZ_REQ_MOVE &&
	       (*at)->op != HZ_REQ_ARM && (*at)->op != HZ_REQ_DISARM &&
	       (*at)->op != HZ_REQ_GUARD)
		at = &(*at)->next;
	r = *at;
	if (!r)
		return NULL;
	*at = r->next;
	if (!*at)
		e->requests_end = at;
	return r;
}

static void answer(struct hz_engine *e, struct hz_request *r)
{
	r->result = carry_out(e, r);
	r->done = true;
	pthread_cond_broadcast(&e->answered);
}

/* A thread of the program may hold a block in a passing state while it asks
 * us for something: who waits for blocks here must serve it. */
void hz_aux_wait(struct hz_engine *e)
{
	struct hz_request *r = next_request(e, true);

	if (r)
		answer(e, r);
	else
		pthread_cond_wait(&e->changed, &e->lock.mtx);
}

static bool is_out(const struct hz_engine *e, uint32_t b)
{
	const struct hz_block *blk = &e->blk[b];

	return e->pieces.of[b].phase == HZ_PIECES_AWAY ||
	       blk->state == HZ_BLK_STORED || blk->state == HZ_BLK_FILED ||
	       blk->state == HZ_BLK_ZERO;
}

static long order_once(struct hz_engine *e, uint32_t first, uint32_t n)
{
	long out = 0;

	e->order.next = first;
	e->order.end = first + n;
	while (e->order.next < e->order.end) {
		hz_engine_kick(&e->writer);
		hz_aux_wait(e);
	}
	for (uint32_t b = first; b < first + n; b++) {
		/* Each on its way arrives, or is turned back. */
		while (hz_region_passing(&e->blk[b]) ||
		       e->pieces.of[b].phase == HZ_PIECES_WRITING ||
		       e->blk[b].state == HZ_BLK_WRITING ||
		       e->blk[b].state == HZ_BLK_READING)
			hz_aux_wait(e);
		out += is_out(e, b);
	}
	return out;
}

/* The kernel may look at a page just when it is to be moved (compaction,
 * DAMON): what is not pinned for good goes at the second or third try. */
static long order(struct hz_engine *e, uint32_t first, uint32_t n)
{
	long out;

	e->order.open = true;
	out = order_once(e, first, n);
	for (unsigned i = 0; i < 2 && out < (long)n; i++)
		out = order_once(e, first, n);
	e->order.open = false;
	return out;
}

static long carry_out(struct hz_engine *e, struct hz_request *r)
{
	char *addr = hz_block_addr(e, r->a);
	size_t len = (size_t)r->n << HZ_BLOCK_SHIFT;

	switch (r->op) {
	case HZ_REQ_MOVE:
		return hz_region_move(e, r->a, r->b, r->n);
	case HZ_REQ_ARM:
		return hz_region_arm(e, addr, len);
	case HZ_REQ_DISARM:
		return e->fault->disarm(e->uffd, addr, len);
	case HZ_REQ_QUIESCE:
		hz_fork_quiesce(e);
		return 0;
	case HZ_REQ_GUARD:
		hz_guard_all(e);
		return 0;
	case HZ_REQ_EVICT:
		return order(e, r->a, r->n);
	case HZ_REQ_RECORD:
		hz_record_write(e);
		return 0;
	case HZ_REQ_FILE:
		return hz_file_answer(e, r->file);
	}
	return -EINVAL;
}

static void wait_asked(struct hz_engine *e, uint64_t ns)
{
	struct timespec ts = hz_os_after(ns);

	pthread_cond_timedwait(&e->asked, &e->lock.mtx, &ts);
}

/*
 * hz-fault may sleep in the kernel (mmap_lock held by a long call of the
 * program). If it made no pass since the last look and a fault is pending,
 * serve what needs no transfer of its own: the engine's list takes the rest.
 */
static void stand_in(struct hz_engine *e, uint64_t *seen)
{
	uint64_t beat = __atomic_load_n(&e->reader.beat, __ATOMIC_RELAXED);
	struct pollfd p = {.fd = e->uffd, .events = POLLIN};

	if (beat != *seen || poll(&p, 1, 0) != 1) {
		*seen = beat;
		return;
	}
	hz_unlock(&e->lock);
	serve_faults(e, NULL);
	hz_lock(&e->lock);
}

void *hz_thread_aux(void *arg)
{
	struct hz_engine *e = arg;
	uint64_t seen = 0;

	HZ_SCOPED_LOCK(&e->lock);
	for (;;) {
		struct hz_request *r;

		hz_awake_make(e);
		hz_record_write(e);
		r = next_request(e, false);
		if (!r) {
			wait_asked(e,
				   e->waiting ? STAND_IN_NS : 10 * STAND_IN_NS);
			stand_in(e, &seen);
			continue;
		}
		answer(e, r);
	}
	return NULL;
}
