/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The engine: executes the plan through the backends.
 *
 * Small programs pay nothing: until the ranges of a process exceed
 * hz_engine_threshold() bytes the region is ordinary memory (`armed` is
 * false, blocks of ranges count as RESIDENT) and no thread exists. Arming
 * takes stock of which blocks have pages (census.c).
 *
 * Memory. The region R is one reservation, armed with one userfaultfd; the
 * frames F are another one, armed with the same descriptor, not inherited by
 * fork. A huge page belongs either to a block (mapped in R) or to a frame
 * (mapped in F); `pages` counts both and never exceeds `cap` while anything
 * can be evicted. UFFDIO_MOVE carries a page from one to the other, so every
 * page that a block holds leaves an EMPTY frame slot behind in F.
 *
 * Threads. None of them allocates, prints through stdio, or touches the
 * region; all signals are blocked in them.
 *   hz-fault   reads faults, maps frames, reads blocks from the store
 *   hz-engine  evicts: unmaps, hashes, writes; serves faults that found no
 *              frame; grows and shrinks the frame pool; watches the budget
 *   hz-aux     carries out what the program's threads ask for and what needs
 *              the userfaultfd; stands in when hz-fault sleeps in the kernel
 * Their descriptors (userfaultfd, rings, store) live in a descriptor table of
 * their own (close_range(2) with CLOSE_RANGE_UNSHARE, Linux 5.9): the program
 * neither sees nor closes them, and keeps its descriptor numbers.
 *
 * Lock. `lock` guards every field below that does not say otherwise, all
 * blocks, ranges, frames and the plan. It is never held over an ioctl that
 * moves pages, a hash, an I/O or an access to the region: a block in one of
 * the passing states (FILLING UNMAPPING HASHING MAPPING) belongs to the
 * thread that put it there. Threads of the program block all signals while
 * they hold the lock: a handler could touch an evicted block, and its fault
 * is served under this lock.
 */
#ifndef HZ_ENGINE_H
#define HZ_ENGINE_H

#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>

#include "backend/fault.h"
#include "backend/store.h"
#include "base/lock.h"
#include "base/util.h"
#include "policy/block.h"
#include "policy/guess.h"
#include "policy/plan.h"
#include "policy/range.h"
#include "policy/scatter.h"

/* A thread's way to the store and to be woken. */
struct hz_worker {
	struct hz_queue *queue;
	int kick; /* eventfd */
	uint32_t inflight;
	uint32_t kicked; /* atomic: a wake-up is on its way */
	int error;	 /* atomic: -errno when its queue cannot be opened */
	uint64_t beat;	 /* atomic: passes through its loop */
};

enum hz_frame_state {
	HZ_FRAME_EMPTY, /* no page: its page is in the region */
	HZ_FRAME_FREE,	/* a page, content of no interest */
	HZ_FRAME_ZERO,	/* a page of zeros */
	HZ_FRAME_USED,	/* holds a block's content */
	HZ_FRAME_STATES
};

struct hz_frame {
	uint8_t state; /* enum hz_frame_state */
	bool io;       /* a transfer on it is in flight */
	bool orphan;   /* its block was freed; free it when the I/O ends */
	uint8_t tries; /* failed reads of its block so far */
	uint32_t next; /* link of its state's stack */
	uint32_t block;
	uint64_t hash[2]; /* of the content being written */
	struct hz_xfer xfer;
	uint64_t began; /* ns; when the transfer was submitted */
	uint16_t writes; /* of pieces of it, in flight */
	uint16_t pages;	 /* orphan: single pages that it holds; 0: huge */
};

/* What a thread of the program asks of hz-aux; on the caller's stack. */
enum hz_request_op {
	HZ_REQ_MOVE,	/* block a -> block b, n blocks; result: blocks done */
	HZ_REQ_ARM,	/* blocks [a, a + n) */
	HZ_REQ_DISARM,	/* blocks [a, a + n) */
	HZ_REQ_QUIESCE, /* before fork: nothing in a frame that counts */
	HZ_REQ_GUARD,	/* after fork: protect what is shared */
	HZ_REQ_EVICT,	/* blocks [a, a + n) out, by hz-engine */
	HZ_REQ_RECORD,	/* all events so far into the trace's file */
	HZ_REQ_FILE,	/* see file_map.h */
};

struct hz_request {
	enum hz_request_op op;
	uint32_t a, b, n;
	const struct hz_file_ask *file;
	long result;
	bool done;
	struct hz_request *next;
};

#define HZ_RELATIVES 64
#define HZ_FORK_AGES	 0x4000u /* generations that can be told apart */
#define HZ_GUARD_RESERVE 2u /* frames for evicting what is shared */

/* A process that may share our pages copy-on-write. */
struct hz_relative {
	int pid;   /* 0: free */
	int pidfd; /* -1: not yet opened; of the engine's table */
	int row;   /* of the slots' table; a child's */
	uint16_t gen;	/* fork_gen since it was forked */
	uint32_t left;	/* pages of ours that it has, and was told nothing of */
	struct hz_board *board; /* what it is told; NULL: nothing */
};

struct hz_engine {
	struct hz_lock lock;
	pthread_cond_t changed;	 /* a block left a passing state */
	pthread_cond_t asked;	 /* a request was queued */
	pthread_cond_t answered; /* a request was carried out */

	/* fixed after start */
	char *base; /* region */
	uint32_t blocks;
	char *fbase; /* frames */
	char *side;  /* a block's addresses, or NULL; see shared.c */
	uint32_t frames;
	const struct hz_fault_ops *fault;
	const struct hz_store_ops *io;
	unsigned io_flags; /* HZ_QUEUE_* that passed the probe */
	struct hz_store store;
	struct hz_slots *slots;
	int uffd, pagemap; /* in the engine's descriptor table */
	int aux_tid;
	uint32_t read_ahead, depth;
	uint64_t min_size, min_map;

	/* Written under the start lock; RUNNING and REFUSED are final (a
	 * forked child excepted). */
	enum { HZ_OFF, HZ_RUNNING, HZ_REFUSED } phase;
	bool armed; /* the userfaultfd serves the region */
	bool frozen;	   /* no eviction, no read-ahead: a fork is near */
	bool no_evict;	   /* mlockall */
	bool store_is_full; /* cleared when a slot is freed */
	const char *full_why;
	uint64_t full_until; /* writes failed: no new slot before */
	uint32_t failed_writes; /* in a row */

	struct hz_block *blk;
	struct hz_block_totals totals;
	struct hz_ranges *ranges;
	struct hz_plan *plan;
	struct hz_file_block *filed; /* by block; see file_map.h */
	/* By unit of a live range: a bit for each page that the program has
	 * unmapped from it; and how many units have any. See vm.c. */
	uint16_t *gone;
	uint32_t gone_units;
	/* By unit: a bit for each odd page; see part.c. */
	uint16_t *odd;
	bool odd_ever; /* there was one */
	uint32_t blocks_used; /* no block above was ever part of a range */
	uint32_t steal_hand;  /* see steal_slot() in evict.c */

	/* frames */
	struct hz_frame *frame;
	uint32_t stack[HZ_FRAME_STATES]; /* heads; HZ_NONE */
	uint32_t count[HZ_FRAME_STATES];
	uint32_t frame_next; /* slots above were never populated */
	uint32_t pages;	     /* huge pages owned, mapped or in frames */
	uint32_t cap;	     /* the budget in pages */
	uint32_t free_target; /* free frames that eviction keeps */
	uint32_t divided;     /* the cap of which that was taken off */
	uint32_t writing;    /* frames whose write is in flight */
	uint64_t departed; /* pages that left RAM so far */
	uint64_t zero_wanted; /* first touches of late: paces growth */

	/* faults that wait for a frame, oldest first; and how many of them
	 * wait for single pages */
	uint32_t wait_head, wait_tail, waiting, waiting_pieces;

	/* blocks in pieces; see pieces.h */
	struct hz_pieces_set pieces;
	struct hz_share share;
	uint64_t (*page_hash)[HZ_BLOCK_PAGES]; /* by block; of the slot's
						* pages, 0: not known */
	struct hz_guess guess; /* of their pages */
	uint32_t lent;	/* of `pages` */
	int32_t credit; /* single pages */
	uint32_t strayed; /* pages that only relatives have */

	/* Blocks that were DEAD when they came in, oldest first: a ring. */
	uint32_t *dead;
	uint32_t dead_first, dead_count;
	uint64_t churn; /* allocations and frees so far */

	uint32_t *row_stack; /* free rows of the segment's range table */
	uint32_t row_count;

	struct hz_request *requests, **requests_end;

	struct {
		uint32_t next, end; /* blocks to evict because asked to */
		bool open; /* nothing is read ahead until they are counted */
	} order;

	/* fork */
	uint16_t fork_gen;
	bool guards; /* the region is armed for writes */
	bool no_reserve; /* see hz_usable_frames() */
	struct hz_relative relative[HZ_RELATIVES];
	struct hz_board *board; /* our parent's; hz-engine follows it */
	uint32_t board_at;

	/* budget, hz-engine only */
	uint64_t budget_checked, written;
	bool cap_lost; /* by hz_budget_lost(), and not told yet */

	struct hz_worker reader, writer; /* hz-fault's and hz-engine's */
};

extern struct hz_engine hz_engine;

/* ---- engine.c ---- */

/* Start threads and backends. True when tiering works; one message and false
 * for ever when it does not. Any thread; not from inside. */
bool hz_engine_start(void);
/* It will never be: put that into the report. No message. */
void hz_engine_off(const char *why);
/* Bytes of ranges up to which the engine is not started. */
uint64_t hz_engine_threshold(void);
/* After fork, in the child: the parent's store by descriptor or, when that is
 * -1, by path (of /proc; the parent may be gone). */
bool hz_engine_restart(int store_fd, const char *store_path);
/* No start may be half done while the process forks. */
void hz_engine_hold_start(void);
void hz_engine_release_start(bool in_child);
void hz_engine_kick(struct hz_worker *w);
/* Ask hz-aux and do not wait; the request stays until it is done. Lock held. */
void hz_engine_post(struct hz_engine *e, struct hz_request *req);
/* Ask hz-aux and wait. The lock is not held. */
long hz_engine_call(struct hz_request *req);
/* Guard of every entry from a thread of the program: sets hz_inside, blocks
 * signals, and keeps the thread from being cancelled while it waits here. */
struct hz_gate {
	sigset_t old;
	int cancel;
};
void hz_gate_enter(struct hz_gate *g);
void hz_gate_leave(struct hz_gate *g);

/* ---- frames.c ---- */
static inline char *hz_block_addr(const struct hz_engine *e, uint32_t b)
{
	return e->base + ((size_t)b << HZ_BLOCK_SHIFT);
}

static inline char *hz_frame_addr(const struct hz_engine *e, uint32_t f)
{
	return e->fbase + ((size_t)f << HZ_BLOCK_SHIFT);
}

static inline uint32_t hz_free_frames(const struct hz_engine *e)
{
	return e->count[HZ_FRAME_FREE] + e->count[HZ_FRAME_ZERO];
}

/* Free frames, but for those that eviction needs while a relative shares our
 * pages: a shared page leaves only as a copy. */
static inline uint32_t hz_usable_frames(const struct hz_engine *e)
{
	bool reserve = e->totals.guarded && !e->no_reserve;
	uint32_t keep = reserve ? HZ_GUARD_RESERVE : 0;

	return hz_free_frames(e) - hz_min(hz_free_frames(e), keep);
}

void hz_frames_init(struct hz_engine *e);
/* Change a frame's state and list; the only writer. */
void hz_frame_set(struct hz_engine *e, uint32_t f, enum hz_frame_state to);
/* A frame with a page, USED from now on, or HZ_NONE. `zeros` prefers one of
 * zeros and says whether it is. */
uint32_t hz_frame_take(struct hz_engine *e, bool prefer_zero, bool *zeros);
/* A frame without a page, USED from now on; HZ_NONE when there is none. */
uint32_t hz_frame_take_empty(struct hz_engine *e);
/* New pages, up to n, within the budget unless `force`. Drops the lock while
 * the kernel clears them. Returns how many. hz-engine only. */
uint32_t hz_frames_grow(struct hz_engine *e, uint32_t n, bool force);
/* Give up to n free frames back to the kernel. */
uint32_t hz_frames_shrink(struct hz_engine *e, uint32_t n);

/* ---- fill.c: into the region ---- */
/* A fault was read at `now`. Lock held; may drop it. */
void hz_fill_fault(struct hz_engine *e, struct hz_worker *w,
		   const struct hz_fault *fault, uint64_t now);
/* Map the frame of block b (READY, STAGED or FILLING). Lock held; drops it. */
void hz_fill_map(struct hz_engine *e, uint32_t b, bool clear_first);
/* Read what the plan expects to be used next. Lock held. */
void hz_fill_ahead(struct hz_engine *e, struct hz_worker *w);
/* Give frames to faults that wait for them. Lock held; may drop it. */
void hz_fill_waiting(struct hz_engine *e, struct hz_worker *w);
/* A transfer on frame f was submitted by this worker. Lock held. */
void hz_fill_began(struct hz_engine *e, struct hz_worker *w, uint32_t f);
/* ---- fill_done.c ---- */
/* A transfer of this thread's queue ended. Lock held; may drop it. */
void hz_fill_done(struct hz_engine *e, struct hz_worker *w,
		  struct hz_xfer *x);

/* Make accesses to these pages raise SIGBUS: their content is lost. */
void hz_fill_poison(struct hz_engine *e, char *addr, size_t len);
/* The range that `page` of block b belongs to, or NULL. */
struct hz_range *hz_fill_range(struct hz_engine *e, uint32_t b, unsigned page);
/* So many bytes came in by one move or copy. */
void hz_fill_moved_in(size_t bytes);
/* A fault that was read at `since` is answered: count it, for `of`. */
void hz_fill_stalled(struct hz_engine *e, enum hz_share_class of,
		     uint64_t since);
/* Read block b from its slot or file into frame f, which is free again when
 * that cannot begin (false). */
bool hz_fill_read(struct hz_engine *e, struct hz_worker *w, uint32_t b,
		  uint32_t f);
/* The same for all of it: READING from now on. */
bool hz_fill_start(struct hz_engine *e, struct hz_worker *w, uint32_t b,
		   uint32_t f);
/* Its content is lost, by `what` and the error rc: POISONED. */
void hz_fill_lost(struct hz_engine *e, uint32_t b, int rc, const char *what);
/* The page at addr should be there: zeros if it is not. */
void hz_fill_present(struct hz_engine *e, uintptr_t addr);
/* A fault on block b was forgotten: hz-engine looks at it. Lock held. */
void hz_fill_later(struct hz_engine *e, uint32_t b);
/* The transfer of an orphaned frame ended. */
void hz_fill_orphan(struct hz_engine *e, uint32_t f);

/* ---- evict.c: out of the region ---- */
/* One step of the plan. Lock held; drops it. False when there was nothing to
 * do. hz-engine only. */
bool hz_evict_step(struct hz_engine *e, struct hz_worker *w);
/* Put blocks on trial that the plan wants to see used. Lock held; drops it.
 * hz-engine only. */
void hz_evict_probe(struct hz_engine *e, struct hz_worker *w);
/* Carry out e->order. Lock held; drops it. hz-engine only. */
void hz_evict_ordered(struct hz_engine *e, struct hz_worker *w);
/* Evict block b, whatever the plan says of it. True: it is out, and nothing
 * had to be written. Lock held; drops it. hz-engine only. */
bool hz_evict_block(struct hz_engine *e, struct hz_worker *w, uint32_t b);
/* Block b (STAGED, guarded) into the store, and then back into the region.
 * Lock held; drops it. hz-engine only. */
void hz_evict_through(struct hz_engine *e, struct hz_worker *w, uint32_t b);
void hz_evict_done(struct hz_engine *e, uint32_t f, int res);
/* May the block be written? Gives it a slot of its own; says why not. */
bool hz_evict_may_write(struct hz_engine *e, struct hz_block *blk);
/* A write failed: what of the next ones. */
void hz_evict_judge(struct hz_engine *e, int res);
/* Take pages of freed blocks back, up to n, but of the `keep` that were freed
 * last. Lock held; drops it. */
uint32_t hz_evict_dead(struct hz_engine *e, uint32_t n, uint32_t keep);

/* ---- region.c: what the arena does to blocks ---- */
bool hz_region_reserve(struct hz_engine *e, uint64_t bytes);
/* Missing pages are ours; protected ones as well once the process forked. */
int hz_region_arm(const struct hz_engine *e, void *addr, size_t len);
/* Call fn for all of the region, the unused rest included, but what was handed
 * back to the kernel; up to the first that returns not 0, which is returned.
 * Lock held. */
typedef int hz_region_fn(const struct hz_engine *e, void *addr, size_t len);
int hz_region_each(const struct hz_engine *e, hz_region_fn *fn);
/* Blocks below `end` are in use from now on. Lock held. */
void hz_region_use(struct hz_engine *e, uint32_t end);
/* Does a thread of ours work on it outside the lock? */
bool hz_region_passing(const struct hz_block *blk);
/* Wait until block b is in no passing state. Lock held. */
void hz_region_settle(struct hz_engine *e, uint32_t b);
/* Its copy in the store, if there is one, is of no use any more. */
void hz_region_drop_slot(struct hz_engine *e, struct hz_block *blk);
/* Forget the content of block b: DEAD (page kept for the next allocation) or
 * ZERO. Lock held; may wait. */
void hz_region_drop(struct hz_engine *e, uint32_t b);
/* It is DEAD: its page can be taken back. */
void hz_region_dead(struct hz_engine *e, uint32_t b);
/* The same, and the page goes back to the kernel at once. */
void hz_region_purge(struct hz_engine *e, uint32_t b);
/* Make the blocks resident and keep them so. The lock is not held: faults. */
void hz_region_pin(struct hz_engine *e, uint32_t first, uint32_t n, bool now);
/* Content of [from, from + n) becomes that of [to, ...); `to` is fresh. The
 * lock is not held. */
int hz_region_transfer(struct hz_engine *e, uint32_t from, uint32_t to,
		       uint32_t n);
/* Hand blocks back to the kernel, with their content. */
int hz_region_uncapture(struct hz_engine *e, uint32_t first, uint32_t n);
/* Take a NATIVE block back whose content nobody wants: ZERO from now on. Lock
 * held; dropped meanwhile. */
bool hz_region_recapture(struct hz_engine *e, uint32_t b);
/* HZ_REQ_MOVE, in hz-aux. */
long hz_region_move(struct hz_engine *e, uint32_t from, uint32_t to,
		    uint32_t n);

/* ---- record.c: what the plan hears, and the trace of it ---- */
/* Block b was used, as for hz_plan_access(); it is part of no range any more.
 * Lock held. */
void hz_engine_used(struct hz_engine *e, uint32_t b, enum hz_access how,
		    uint64_t now);
void hz_engine_unused(struct hz_engine *e, uint32_t b);
/* The same for a use that is not the plan's: of a block in pieces. */
void hz_engine_seen(uint32_t b, enum hz_access how, uint64_t now);
/* Begin the file that the knob trace_file names, if it does; what is wrong
 * with it is said, and the program goes on without. In hz-aux. */
void hz_record_open(struct hz_engine *e, bool child);
/* Nothing is recorded any more: there are no threads to write it. */
void hz_record_stop(void);
/* All events so far into the file. In hz-aux; the lock is held, and dropped
 * meanwhile. */
void hz_record_write(struct hz_engine *e);

/* ---- pages.c ---- */
/* Which of a block's pages are there, or are huge pages (`huge`); by
 * PAGEMAP_SCAN (Linux 6.7), or mincore(2), which knows nothing of `huge` and
 * then says ALL. `addr` is a block's or a frame's. */
enum hz_pages { HZ_PAGES_NONE, HZ_PAGES_SOME, HZ_PAGES_ALL };
enum hz_pages hz_pages_at(const struct hz_engine *e, char *addr, bool huge);
/* Each page by itself, by /proc/PID/pagemap: in RAM or swapped out. False: it
 * cannot be read. */
bool hz_pages_map(const struct hz_engine *e, const char *addr,
		  struct hz_page_map *there);
/* Are all its pages in RAM, and each mapped by another process too? */
bool hz_pages_shared(const struct hz_engine *e, const char *addr);
/* Is each of them mapped by no other? */
bool hz_pages_alone(const struct hz_engine *e, const char *addr);

/* ---- census.c ---- */
/* Arm the region and, unless that is known (in a forked child), find out which
 * blocks of it have pages. In hz-aux; takes the lock. 0 or -errno. */
int hz_census_arm(struct hz_engine *e, bool known);
/* Arm the region for writes, too. In hz-aux; lock held. 0 or -errno. */
int hz_census_guards(struct hz_engine *e);

/* ---- threads.c ---- */
/* The three threads' bodies; each returns only when the process ends. */
void *hz_thread_fault(void *engine);
void *hz_thread_engine(void *engine);
void *hz_thread_aux(void *engine);
/* In hz-aux, with the lock held: wait until a block changed its state. */
void hz_aux_wait(struct hz_engine *e);
/* Take what transfers of hz-engine have ended. Lock held; dropped meanwhile. */
void hz_engine_finish(struct hz_engine *e, struct hz_worker *w);
/* A thread of ours, on a stack of its own, never with a signal. -errno. */
int hz_thread_make(void *(*body)(void *), void *arg);
/* Common beginning of our threads: name, signals, hz_inside. */
void hz_thread_begin(const char *name);
/* Wait for the semaphore, no longer than so many ns. */
void hz_thread_nap(sem_t *wake, uint64_t ns);
/* A descriptor table of its own for this thread and those it makes, with `keep`
 * of the program's (-1: none). -errno below Linux 5.9. */
int hz_thread_leave_files(int keep);

/* ---- budget.c ---- */
/* Does the cgroup's limit leave so many bytes? Reads files: not under the lock.
 */
bool hz_budget_leaves(uint64_t bytes);
/* Bytes of the headroom that may hold what the kernel can take at once. */
uint64_t hz_budget_spare(void);
/* Bytes of the budget that packed copies may take. */
uint64_t hz_budget_packed(void);
/* One page less, until the budget is looked at again. Lock held. */
void hz_budget_lost(struct hz_engine *e);
/* Recompute `cap` if the last time was long ago (`force`: at once), and what of
 * it is kept free. Drops the lock while it reads /proc and the cgroup. */
void hz_budget_poll(struct hz_engine *e, bool force);

/* ---- fork.c ---- */
void hz_fork_quiesce(struct hz_engine *e);
/* Process `pid` shares our pages from now on; NULL when there are too many.
 * Lock held. */
struct hz_relative *hz_fork_watch(struct hz_engine *e, int pid);
/* Does any of them still? Looks at most ten times a second. Lock held. */
bool hz_fork_shared(struct hz_engine *e);
/* May block b, refused with EBUSY, be made exclusive again? Of these pages,
 * NULL: all. While a relative lives that copies what is shared. Lock held; may
 * drop it. True: try the move once more. */
bool hz_fork_reclaim(struct hz_engine *e, uint32_t b,
		     const struct hz_page_map *pages);
/* What is missing in this process's memory is a fault from now on (in the
 * parent it always was): huge pages may be made again. */
void hz_fork_holes_seen(struct hz_engine *e);

/* ---- shared.c ---- */
/* Take block b, all of whose pages a relative shares, to a frame that has a
 * page of its own. Lock held, dropped meanwhile. -EBUSY: it is not so;
 * -ENOMEM: there is no frame. hz-engine only. */
int hz_shared_take(struct hz_engine *e, uint32_t b, uint32_t *frame);

/* ---- guard.c: writes to what is shared ---- */
/* After a fork: all that it shared. In hz-aux; lock held. */
void hz_guard_all(struct hz_engine *e);
/* Open all when nobody shares anything any more. Lock held. */
void hz_guard_poll(struct hz_engine *e);
/* Open block b. Lock held. */
void hz_guard_lift(struct hz_engine *e, uint32_t b);
/* The same, if it is protected. Lock held. */
void hz_guard_open(struct hz_engine *e, uint32_t b);
/* A write to a protected page of block b, which is mapped. Lock held. */
void hz_guard_fault(struct hz_engine *e, uint32_t b);
/* The same for one page of a block in pieces. False: it has to wait. */
bool hz_guard_page(struct hz_engine *e, uint32_t b, unsigned page);
/* Can a write that waits be let through now? */
bool hz_guard_ready(struct hz_engine *e, const struct hz_worker *w);
/* Do so. Lock held; drops it. hz-engine only. */
void hz_guard_serve(struct hz_engine *e, struct hz_worker *w, uint32_t b);

/* ---- board.c: what forked processes are told. Lock held ---- */
/* Before a fork; NULL: no memory, and the child is told nothing. */
struct hz_board *hz_board_make(const struct hz_engine *e);
void hz_board_close(struct hz_board *board);
/* Block b, if it is guarded, is not any more: it left the region. `stored`:
 * its slot holds what it was. */
void hz_board_tell(struct hz_engine *e, uint32_t b, bool stored);
/* Our page of block b is only others' now. */
void hz_board_left(struct hz_engine *e, uint32_t b);
/* Blocks that a relative was told of and has not dropped yet, and with `all`
 * the pages of hz_board_left() too; of the one that has most. */
uint32_t hz_board_held(struct hz_engine *e, bool all);
/* This child does not read its board any more. */
void hz_board_abandon(struct hz_engine *e);
/* In a child: drop what the parent has put into the store. Drops the lock.
 * hz-engine only. */
void hz_board_follow(struct hz_engine *e, struct hz_worker *w);
bool hz_board_more(const struct hz_engine *e);

/* ---- rows.c: range rows of the segment ---- */
void hz_rows_init(struct hz_engine *e);
void hz_rows_add(struct hz_engine *e, struct hz_range *r);
void hz_rows_drop(struct hz_engine *e, struct hz_range *r);
/* Refresh all rows and gauges. Lock held. */
void hz_rows_refresh(struct hz_engine *e);
/* After fork, in the child: nothing was reported yet. */
void hz_rows_child(void);

#endif
