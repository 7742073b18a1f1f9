/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fork: the child reads right data, and the parent can evict again.
 *
 * A child inherits the region without its userfaultfd, so a block that is not
 * mapped would read as zeros. Before the fork everything that is only in a
 * frame goes back to the region (frames are not inherited); what is in a slot
 * stays there, and the slots are shared copy-on-write (store_slots.c). In the
 * child a new engine starts before fork() returns.
 *
 * After a fork a resident page is shared, and UFFDIO_MOVE refuses it with
 * EBUSY, also when the child is long gone: until somebody writes to it.
 * MADV_POPULATE_WRITE (Linux 5.14) does that without changing a byte. While
 * the child lives it copies what is still shared and splits the huge page: see
 * shared.c for what is done then.
 *
 * Before the engine runs there is nothing to do but to remember that pages are
 * shared.
 *
 * vfork and posix_spawn share the address space and need nothing.
 */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include "backend/uffd_abi.h"
#include "base/log.h"
#include "base/os.h"
#include "base/stats.h"
#include "engine/arena.h"
#include "engine/engine.h"
#include "engine/file_map.h"
#include "engine/pieces.h"

/* From prepare to parent/child, in the forking thread, which holds the
 * engine's lock all the while. */
static struct {
	bool held;
	int store_fd; /* -1: the child opens store_path by itself */
	char store_path[64];
	int parent, row;
	struct hz_board *board; /* the child's */
	bool flat; /* no huge pages are made in the region */
	struct hz_gate gate;
} fork_state;

/* ---- relatives ---- */

struct hz_relative *hz_fork_watch(struct hz_engine *e, int pid)
{
	for (unsigned i = 0; i < HZ_RELATIVES; i++) {
		struct hz_relative *r = &e->relative[i];

		if (r->pid)
			continue;
		*r = (struct hz_relative){
			.pid = pid, .pidfd = -1, .row = -1, .gen = e->fork_gen};
		return r;
	}
	hz_log_once(HZ_INFO, "fork",
		    "more than %d living children: blocks shared with the "
		    "others are evicted only after they ended",
		    HZ_RELATIVES);
	return NULL;
}

/* An address that only a process with our address space has. EPERM (another
 * user's, or ptrace is restricted) counts as sharing. */
static bool has_our_memory(int pid)
{
	static char mark = 1;
	char got;
	struct iovec here = {&got, 1}, there = {&mark, 1};

	return process_vm_readv(pid, &here, 1, &there, 1, 0) == 1 ||
	       (errno != EFAULT && errno != ESRCH);
}

static bool shares(struct hz_relative *r)
{
	struct pollfd p = {.events = POLLIN};

	if (r->pidfd < 0)
		r->pidfd = hz_os.pidfd_open(r->pid);
	p.fd = r->pidfd;
	/* Readable: it ended. Other memory: it called exec, or the number
	 * belongs to another process by now. */
	if (p.fd >= 0 && poll(&p, 1, 0) != 1 && has_our_memory(r->pid))
		return true;
	if (r->pidfd >= 0)
		hz_os.close(r->pidfd);
	hz_board_close(r->board);
	r->board = NULL;
	r->pid = 0;
	return false;
}

#define LOOK_NS 100000000ull /* at relatives: no more often than this */

/* Forgets who does not. */
static bool anyone_shares(struct hz_engine *e)
{
	bool shared = false;

	for (unsigned i = 0; i < HZ_RELATIVES; i++)
		if (e->relative[i].pid && shares(&e->relative[i]))
			shared = true;
	return shared;
}

bool hz_fork_shared(struct hz_engine *e)
{
	static uint64_t looked;
	static uint16_t gen;
	static bool shared;
	uint64_t now = hz_os.now();

	if (gen == e->fork_gen && now - looked < LOOK_NS)
		return shared;
	gen = e->fork_gen;
	looked = now;
	shared = anyone_shares(e);
	return shared;
}

/* Only where there are pages: a missing one would be a fault of ours. The
 * program may have discarded some by a system call that we did not see. */
static int make_exclusive(const struct hz_engine *e, char *addr,
			  const struct hz_page_map *pages)
{
	struct hz_page_map there;
	unsigned n, first;
	int rc = 0;

	if (!hz_pages_map(e, addr, &there))
		return pages ? -ENOENT
			     : hz_os.madvise(addr, HZ_BLOCK_SIZE,
					     MADV_POPULATE_WRITE);
	if (pages)
		there = hz_pmap_both(&there, pages);
	first = hz_pmap_run(&there, 0, &n);
	for (; n && rc == 0; first = hz_pmap_run(&there, first + n, &n))
		rc = hz_os.madvise(addr + first * HZ_PAGE_SIZE,
				   n * HZ_PAGE_SIZE, MADV_POPULATE_WRITE);
	return rc;
}

bool hz_fork_reclaim(struct hz_engine *e, uint32_t b,
		     const struct hz_page_map *pages)
{
	bool shared = hz_fork_shared(e);
	char *addr = hz_block_addr(e, b);
	int rc;

	hz_unlock(&e->lock);
	shared = shared && (pages || !hz_pages_alone(e, addr)) &&
		 !hz_budget_leaves(HZ_BLOCK_SIZE);
	hz_lock(&e->lock);
	if (shared)
		return false;
	hz_guard_open(e, b); /* or we waited for ourselves */
	hz_unlock(&e->lock);
	rc = make_exclusive(e, addr, pages);
	hz_lock(&e->lock);
	if (rc == 0)
		e->blk[b].fork_gen = e->fork_gen;
	return rc == 0;
}

/* ---- before ---- */

static uint64_t passing(const struct hz_engine *e)
{
	const uint64_t *n = e->totals.count;

	return n[HZ_BLK_FILLING] + n[HZ_BLK_UNMAPPING] + n[HZ_BLK_HASHING] +
	       n[HZ_BLK_MAPPING] + n[HZ_BLK_WRITING];
}

static void map_staged(struct hz_engine *e)
{
	for (uint32_t f = 0; f < e->frame_next; f++) {
		uint32_t b = e->frame[f].block;

		if (e->frame[f].state != HZ_FRAME_USED || b == HZ_NONE ||
		    e->blk[b].frame != f || e->blk[b].state != HZ_BLK_STAGED)
			continue;
		hz_fill_map(e, b, false);
		hz_plan_mapped(e->plan, b);
	}
}

/* Content in frames: they are not inherited. */
static bool framed(const struct hz_engine *e)
{
	return e->totals.count[HZ_BLK_STAGED] ||
	       e->pieces.list[HZ_PIECES_STAGED].count ||
	       e->pieces.list[HZ_PIECES_WRITING].count;
}

static void map_pieces(struct hz_engine *e)
{
	uint32_t b = hz_pieces_first(&e->pieces, HZ_PIECES_STAGED);

	/* One that is being compared is waited for. */
	for (; b != HZ_NONE && e->blk[b].state == HZ_BLK_PIECES;
	     b = hz_pieces_first(&e->pieces, HZ_PIECES_STAGED))
		hz_pieces_put_back(e, b);
}

void hz_fork_quiesce(struct hz_engine *e)
{
	e->frozen = true;
	anyone_shares(e); /* room for another */
	while (passing(e) || framed(e)) {
		map_staged(e);
		map_pieces(e);
		if (passing(e) || framed(e))
			hz_aux_wait(e);
	}
}

static int make_flat(const struct hz_engine *e, void *addr, size_t len)
{
	return hz_os.madvise(addr, len, MADV_NOHUGEPAGE);
}

static int make_huge(const struct hz_engine *e, void *addr, size_t len)
{
	return hz_os.madvise(addr, len, MADV_HUGEPAGE);
}

/* Until a child has armed its memory it is ordinary to the kernel, and what is
 * missing in a block in pieces was never touched: khugepaged fills that with
 * zeros to have a huge page. A child's mappings begin as ours are; those of a
 * program that another thread starts meanwhile do not. See madvise(2). */
static void keep_holes(struct hz_engine *e)
{
	int rc;

	if (!e->totals.count[HZ_BLK_PIECES])
		return;
	rc = hz_region_each(e, make_flat);
	fork_state.flat = true;
	/* A kernel without huge pages: EINVAL. */
	if (rc < 0 && rc != -EINVAL)
		hz_log_once(HZ_WARN, "fork",
			    "children are not safe from khugepaged while they "
			    "start (%m)",
			    rc);
}

void hz_fork_holes_seen(struct hz_engine *e)
{
	if (fork_state.flat)
		hz_region_each(e, make_huge);
	fork_state.flat = false;
}

/* The store's descriptor is in the engine's table. The copy is a file
 * description of its own, so it locks the store for the child, too. */
static int borrow_store(struct hz_engine *e)
{
	int fd;

	hz_format(fork_state.store_path, sizeof(fork_state.store_path),
		  "/proc/%d/task/%d/fd/%d", fork_state.parent, e->aux_tid,
		  e->store.fd);
	fd = hz_store_reopen(&e->store, fork_state.store_path);
	return fd < 0 ? -1 : fd;
}

void hz_arena_fork_prepare(void)
{
	struct hz_engine *e = &hz_engine;
	struct hz_request quiesce = {.op = HZ_REQ_QUIESCE};
	struct hz_gate gate;

	hz_gate_enter(&gate);
	hz_engine_hold_start();
	fork_state.gate = gate;
	fork_state.held = e->phase == HZ_RUNNING;
	fork_state.parent = getpid();
	if (fork_state.held)
		hz_engine_call(&quiesce);
	hz_lock(&e->lock);
	/* Also before the engine runs: who works on a block does not exist in
	 * the child. */
	while (passing(e) || framed(e))
		pthread_cond_wait(&e->changed, &e->lock.mtx);
	if (!fork_state.held)
		return;
	keep_holes(e);
	fork_state.store_fd = borrow_store(e);
	hz_files_lend(e);
	fork_state.row = hz_slots_fork_prepare(e->slots);
	fork_state.board = fork_state.row < 0 ? NULL : hz_board_make(e);
}

/* ---- after, in the parent ---- */

static void keep_board(struct hz_relative *r)
{
	if (r) {
		r->board = fork_state.board;
		r->row = fork_state.row;
	} else {
		hz_board_close(fork_state.board);
	}
}

void hz_arena_fork_parent(int pid)
{
	struct hz_engine *e = &hz_engine;
	struct hz_gate gate = fork_state.gate;
	struct hz_request guard = {.op = HZ_REQ_GUARD};
	bool held = fork_state.held;
	struct hz_relative *r = NULL;

	e->fork_gen++;
	if (pid > 0)
		r = hz_fork_watch(e, pid);
	hz_fork_holes_seen(e);
	if (fork_state.held) {
		keep_board(r);
		hz_slots_fork_parent(e->slots, pid);
		e->frozen = false;
		hz_stat_add(HZ_STAT_forks, 1);
		hz_files_lent();
		if (fork_state.store_fd >= 0)
			hz_os.close(fork_state.store_fd);
	}
	hz_unlock(&e->lock);
	hz_engine_release_start(false);
	if (held && pid > 0)
		hz_engine_call(&guard);
	hz_gate_leave(&gate);
}

/* ---- after, in the child ---- */

/* Frames and threads were not inherited; slots and resident pages were. */
static void adopt_block(struct hz_engine *e, uint32_t b)
{
	struct hz_block *blk = &e->blk[b];

	blk->flags &= (uint8_t) ~(HZ_BLKF_WANTED | HZ_BLKF_DEMAND |
				  HZ_BLKF_WAITING | HZ_BLKF_PINNED);
	blk->frame = HZ_NONE;
	hz_block_guard(&e->totals, blk, false);
	if (blk->state == HZ_BLK_READING) {
		hz_block_set(&e->totals, blk, hz_file_home(e, b));
	} else if (blk->state == HZ_BLK_READY) {
		hz_plan_forget(e->plan, b);
		hz_block_set(&e->totals, blk, hz_file_home(e, b));
	}
}

/* The program may have kept part of a block from its children
 * (MADV_DONTFORK). Nothing may be mapped into such a hole, least of all by
 * ourselves. */
static void fill_hole(struct hz_engine *e, uint32_t b)
{
	unsigned char there[HZ_BLOCK_SIZE / HZ_PAGE_SIZE];
	char *addr = hz_block_addr(e, b), *end = addr + HZ_BLOCK_SIZE;

	if (syscall(SYS_mincore, addr, HZ_BLOCK_SIZE, there) == 0)
		return;
	for (char *p = addr; p < end; p += HZ_PAGE_SIZE)
		hz_os.mmap(p, HZ_PAGE_SIZE, PROT_NONE,
			   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE |
				   MAP_FIXED_NOREPLACE,
			   -1, 0);
}

static void fill_holes(struct hz_engine *e)
{
	int saved = errno;

	for (uint32_t b = 0; b < e->blocks_used; b++)
		if (e->blk[b].state == HZ_BLK_NATIVE)
			fill_hole(e, b);
	errno = saved;
}

static void adopt(struct hz_engine *e)
{
	for (uint32_t b = 0; b < e->blocks_used; b++)
		adopt_block(e, b);
	hz_os.munmap(e->frame, (size_t)e->frames * sizeof(*e->frame));
	e->wait_head = e->wait_tail = HZ_NONE;
	e->waiting = 0;
	e->writing = 0;
	e->zero_wanted = 0;
	e->no_reserve = false;
	e->frozen = false;
	e->order.open = false;
	e->armed = false;
	e->pages = (uint32_t)(e->totals.count[HZ_BLK_RESIDENT] +
			      e->totals.count[HZ_BLK_DEAD]);
	hz_pieces_adopt_all(e);
}

/* The one case in which the program may not go on: it would read zeros. */
static void cannot_read(const char *why)
{
	hz_log(HZ_ERROR, "fork",
	       "child %d is stopped: it could not read what its parent "
	       "evicted (%s)",
	       (int)getpid(), why);
	_exit(125);
}

/* Without an engine the child is on its own: all its pages are mapped, and no
 * slot is worth anything to it. */
static void go_native(struct hz_engine *e)
{
	for (uint32_t b = 0; b < e->blocks_used; b++) {
		e->blk[b].slot = HZ_NONE;
		e->blk[b].flags &= (uint8_t)~HZ_BLKF_SLOT;
	}
	hz_board_abandon(e);
	hz_slots_leave(e->slots);
	hz_files_abandon(e);
	__atomic_store_n(&e->phase, HZ_REFUSED, __ATOMIC_RELEASE);
}

/* Slots that were lent to our parent, and that it had not looked at, were
 * copied into our row. */
static void adopt_board(struct hz_engine *e)
{
	hz_board_abandon(e);
	e->board = fork_state.board;
	e->board_at = 0;
}

static void restart(struct hz_engine *e)
{
	bool needed;

	hz_record_stop(); /* the parent's; restarting begins another */
	hz_stats_child();
	hz_rows_child();
	hz_slots_fork_child(e->slots);
	adopt_board(e);
	adopt(e);
	needed = e->totals.count[HZ_BLK_STORED] ||
		 e->totals.count[HZ_BLK_FILED] ||
		 e->totals.count[HZ_BLK_PIECES];
	if (fork_state.row < 0 && needed)
		cannot_read("too many processes share the store");
	if (fork_state.row < 0) {
		go_native(e);
		return;
	}
	if (hz_engine_restart(fork_state.store_fd, fork_state.store_path)) {
		if (!hz_files_take(e))
			cannot_read("a mapped file cannot be opened again");
		return;
	}
	if (needed)
		cannot_read("its engine does not start");
	go_native(e);
}

/* The parent's are ours; its descriptors are not, nor what it tells them. */
static void adopt_relatives(struct hz_engine *e)
{
	for (unsigned i = 0; i < HZ_RELATIVES; i++) {
		struct hz_relative *r = &e->relative[i];

		hz_board_close(r->board);
		r->board = NULL;
		r->pidfd = -1;
		r->row = -1;
	}
}

void hz_arena_fork_child(void)
{
	struct hz_engine *e = &hz_engine;
	struct hz_gate gate = fork_state.gate;

	hz_engine_release_start(true);
	hz_lock_reset(&e->lock);
	pthread_cond_init(&e->changed, NULL); /* its waiters were not forked */
	fill_holes(e);
	e->fork_gen++;
	adopt_relatives(e);
	hz_fork_watch(e, fork_state.parent);
	if (fork_state.held) {
		restart(e);
		hz_fork_holes_seen(e); /* also if nothing is armed */
		if (fork_state.store_fd >= 0)
			hz_os.close(fork_state.store_fd);
	}
	hz_gate_leave(&gate);
}
