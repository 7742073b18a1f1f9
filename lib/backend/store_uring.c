/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Store backend: io_uring. One ring a queue, used by the thread that opened
 * it and by no other.
 *
 * Waking up. Each watched descriptor has at most one poll request in the ring,
 * a one-shot one. The kernel looks at the descriptor when it takes the request
 * up, so a request on a descriptor that is readable already completes at once.
 * wait() puts in a request for every descriptor that has none before it
 * sleeps. Hence at each moment of the sleep every descriptor either has a
 * request that its next event will complete, or a completion in the ring: no
 * wake-up is lost, and a descriptor that was not drained wakes the next
 * wait(). (A multishot poll reports edges only and would need both promises
 * from its user.) The request travels with the system call that waits, so this
 * costs no call of its own.
 *
 * Room. An xfer and a watched descriptor have one request in the ring at most.
 * SQPOLL may post a completion before it frees the entry, so the ring has two
 * entries for each; the completion ring is twice as large again and cannot
 * overflow.
 */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif
#include "backend/store.h"

#include <errno.h>
#include <liburing.h>
#include <poll.h>
#include <unistd.h>
#include "base/log.h"
#include "base/os.h"

#define WATCHES	   4
#define IDLE_MS	   10 /* SQPOLL spins no longer than this */
#define DRAIN_NS   10000000000ull
#define DRAIN_STEP 16

/* All fields belong to the thread of the queue. */
struct hz_queue {
	struct io_uring ring;
	const struct hz_store *store;
	unsigned flags; /* in force */
	unsigned depth, inflight;
	struct hz_xfer *head, **tail; /* want an entry in the ring */
	int watch[WATCHES];
	unsigned watches, armed; /* armed: bit i */
	int err;		 /* a poll failed */
	int pid;
};

static unsigned refused; /* flags that have failed in this process; atomic */

static void refuse(unsigned flag, int err)
{
	const char *name = flag == HZ_QUEUE_SQPOLL   ? "sqpoll"
			   : flag == HZ_QUEUE_IOPOLL ? "iopoll"
						     : "register_files";

	if (__atomic_fetch_or(&refused, flag, __ATOMIC_RELAXED) & flag)
		return;
	hz_log(HZ_WARN, "store", "%s is off (%m): io_uring is used without it",
	       name, err);
}

static int init_ring(struct hz_queue *q, unsigned setup)
{
	struct io_uring_params p = {.flags = setup | IORING_SETUP_CLAMP,
				    .sq_thread_idle = IDLE_MS};
	int err = io_uring_queue_init_params(2 * (q->depth + WATCHES), &q->ring,
					     &p);

	if (err)
		return err;
	if (!(p.features & IORING_FEAT_EXT_ARG)) {
		io_uring_queue_exit(&q->ring);
		return -ENOSYS; /* before Linux 5.11 */
	}
	return 0;
}

static int ring_open(struct hz_queue *q, unsigned flags)
{
	unsigned setup = 0;
	int err = -EINVAL;

	if (flags & HZ_QUEUE_SQPOLL)
		setup |= IORING_SETUP_SQPOLL;
	if (flags & HZ_QUEUE_IOPOLL)
		setup |= IORING_SETUP_IOPOLL;
	if (!setup) /* since Linux 6.1 */
		err = init_ring(q, IORING_SETUP_SINGLE_ISSUER |
					   IORING_SETUP_DEFER_TASKRUN);
	if (err == -EINVAL)
		err = init_ring(q, setup);
	if (err)
		return err;
	if (flags & HZ_QUEUE_FIXED_FILE)
		err = io_uring_register_files(&q->ring, &q->store->fd, 1);
	if (err)
		io_uring_queue_exit(&q->ring);
	else
		q->flags = flags;
	return err;
}

static int queue_open(struct hz_store *store, unsigned depth, unsigned flags,
		      struct hz_queue **out)
{
	struct hz_queue *q = hz_os_reserve(sizeof(*q));
	int err;

	if (!q)
		return -ENOMEM;
	q->store = store;
	q->depth = depth;
	q->tail = &q->head;
	q->pid = getpid();
	err = ring_open(q, flags);
	if (err)
		hz_os.munmap(q, sizeof(*q));
	else
		*out = q;
	return err;
}

static void uring_close(struct hz_queue *q);

/* Does a ring with these flags move a block? */
static int try_flags(struct hz_store *store, unsigned flags)
{
	struct hz_queue *q;
	int err = queue_open(store, 1, flags, &q);

	if (err)
		return err;
	err = hz_queue_probe(store, &hz_store_uring, q);
	uring_close(q);
	return err;
}

static int uring_open(struct hz_store *store, unsigned depth, unsigned flags,
		      struct hz_queue **out)
{
	unsigned believed = 0;
	int err;

	flags &= ~__atomic_load_n(&refused, __ATOMIC_RELAXED);
	for (unsigned bit = 1; bit <= HZ_QUEUE_FIXED_FILE; bit <<= 1) {
		if (!(flags & bit))
			continue;
		err = try_flags(store, believed | bit);
		if (err)
			refuse(bit, err);
		else
			believed |= bit;
	}
	return queue_open(store, depth, believed, out);
}

static int uring_watch(struct hz_queue *q, int fd)
{
	int err;

	if (q->watches == WATCHES)
		return -ENOSPC;
	if (q->flags & HZ_QUEUE_IOPOLL) { /* such a ring polls no fd */
		if (q->inflight)
			return -EBUSY;
		refuse(HZ_QUEUE_IOPOLL, -EOPNOTSUPP);
		io_uring_queue_exit(&q->ring);
		err = ring_open(q, q->flags & ~HZ_QUEUE_IOPOLL);
		if (err)
			return err;
	}
	q->watch[q->watches++] = fd;
	return 0;
}

static void want_entry(struct hz_queue *q, struct hz_xfer *x)
{
	x->next = NULL;
	*q->tail = x;
	q->tail = &x->next;
}

static int uring_submit(struct hz_queue *q, struct hz_xfer *x)
{
	if (q->inflight == q->depth)
		return -EAGAIN;
	q->inflight++;
	x->done = 0;
	want_entry(q, x);
	return 0;
}

static void fill_xfer(struct hz_queue *q, struct io_uring_sqe *sqe,
		      struct hz_xfer *x)
{
	char *p = (char *)x->buf + x->done;
	unsigned len = hz_xfer_len(x) - x->done;
	uint64_t off = hz_xfer_at(x) + x->done;
	bool fixed = q->flags & HZ_QUEUE_FIXED_FILE && !x->fd;
	int fd = fixed ? 0 : hz_xfer_fd(q->store, x);

	if (x->write)
		io_uring_prep_write(sqe, fd, p, len, off);
	else
		io_uring_prep_read(sqe, fd, p, len, off);
	if (fixed)
		sqe->flags |= IOSQE_FIXED_FILE;
	sqe->user_data = (uintptr_t)x;
}

/* Give every transfer and every watched descriptor that wants one an entry.
 * user_data: an xfer's address, or the number of the descriptor plus 1. */
static void fill_ring(struct hz_queue *q)
{
	struct io_uring_sqe *sqe;

	for (unsigned i = 0; i < q->watches; i++) {
		if (q->armed & 1u << i)
			continue;
		sqe = io_uring_get_sqe(&q->ring);
		if (!sqe)
			return;
		io_uring_prep_poll_add(sqe, q->watch[i], POLLIN);
		sqe->user_data = i + 1;
		q->armed |= 1u << i;
	}
	while (q->head && (sqe = io_uring_get_sqe(&q->ring))) {
		struct hz_xfer *x = q->head;

		q->head = x->next;
		if (!q->head)
			q->tail = &q->head;
		fill_xfer(q, sqe, x);
	}
}

static int uring_flush(struct hz_queue *q)
{
	int n;

	fill_ring(q);
	n = io_uring_submit(&q->ring);
	/* What the kernel did not take now goes with the next wait(). */
	return n >= 0 || n == -EAGAIN || n == -EBUSY || n == -EINTR ? 0 : n;
}

static void polled(struct hz_queue *q, unsigned i, int res, unsigned *ready)
{
	q->armed &= ~(1u << i);
	if (res >= 0)
		*ready |= 1u << i;
	else if (res != -EINTR && res != -EAGAIN)
		q->err = res;
}

static unsigned reap(struct hz_queue *q, struct hz_xfer **done, unsigned max,
		     unsigned *ready)
{
	struct io_uring_cqe *cqe;
	unsigned head, seen = 0, n = 0;

	io_uring_for_each_cqe(&q->ring, head, cqe)
	{
		struct hz_xfer *x = (void *)(uintptr_t)cqe->user_data;

		if (n == max)
			break;
		seen++;
		if (cqe->user_data <= WATCHES) {
			polled(q, cqe->user_data - 1, cqe->res, ready);
		} else if (hz_xfer_account(q->store, x, cqe->res)) {
			q->inflight--;
			done[n++] = x;
		} else {
			want_entry(q, x);
		}
	}
	io_uring_cq_advance(&q->ring, seen);
	return n;
}

/* Submit, and sleep until something completes or the time is over. */
static int enter(struct hz_queue *q, uint64_t left)
{
	struct __kernel_timespec ts = {.tv_sec = left / 1000000000,
				       .tv_nsec = left % 1000000000};
	struct io_uring_cqe *cqe;
	int err;

	if (q->flags & HZ_QUEUE_IOPOLL) { /* polling knows no time-out */
		err = io_uring_submit(&q->ring);
		if (err >= 0)
			err = io_uring_peek_cqe(&q->ring, &cqe);
		return err == -EAGAIN ? 0 : err;
	}
	err = io_uring_submit_and_wait_timeout(
		&q->ring, &cqe, 1, left == UINT64_MAX ? NULL : &ts, NULL);
	if (err == -EAGAIN || err == -EBUSY)
		poll(NULL, 0, left ? 1 : 0); /* the kernel is out of memory */
	else if (err < 0 && err != -ETIME && err != -EINTR)
		return err;
	return 0;
}

static int uring_wait(struct hz_queue *q, uint64_t timeout_ns,
		      struct hz_xfer **done, unsigned max, unsigned *ready)
{
	uint64_t now = hz_os.now(), end = now + timeout_ns;
	unsigned n;
	int err;

	if (end < now)
		end = UINT64_MAX;
	*ready = 0;
	do {
		fill_ring(q);
		err = enter(q, end == UINT64_MAX ? end : end - now);
		n = reap(q, done, max, ready);
		if (n || *ready)
			return n;
		if (err || q->err)
			return err ? err : q->err;
		now = hz_os.now();
	} while (now < end);
	return 0;
}

/* Buffers must not be reused while a device still writes to them, so what is
 * in flight is waited for; but not for ever, for a device that hangs. */
static void drain(struct hz_queue *q)
{
	uint64_t end = hz_os.now() + DRAIN_NS;
	struct hz_xfer *done[DRAIN_STEP];
	unsigned ready;

	q->watches = 0;
	while (q->inflight && hz_os.now() < end)
		if (uring_wait(q, DRAIN_NS / 10, done, DRAIN_STEP, &ready) < 0)
			break;
	if (q->inflight)
		hz_log(HZ_ERROR, "store", "%u transfers did not come back",
		       q->inflight);
}

/* A forked child only lets go of its parent's ring. */
static void uring_close(struct hz_queue *q)
{
	if (q->pid == getpid())
		drain(q);
	io_uring_queue_exit(&q->ring);
	hz_os.munmap(q, sizeof(*q));
}

const struct hz_store_ops hz_store_uring = {
	.name = "uring",
	.open = uring_open,
	.close = uring_close,
	.watch = uring_watch,
	.submit = uring_submit,
	.flush = uring_flush,
	.wait = uring_wait,
};
