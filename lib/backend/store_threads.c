/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Store backend: pread(2) and pwrite(2) in a pool of threads, for kernels and
 * containers without io_uring.
 *
 * One pool serves all queues of the process. It starts with the first queue
 * and stops with the last. A queue has a list of transfers that wait for a
 * thread and one of those that are done; an eventfd wakes its owner. A thread
 * puts a transfer on the done list before it writes to the eventfd, and the
 * owner looks at the list before each sleep, so no wake-up is lost.
 * Watched descriptors are polled in each wait(): level-triggered by nature.
 *
 * Threads allocate nothing, have small stacks and all signals blocked. A
 * forked child has none of them; its first queue starts a pool of its own.
 */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif
#include "backend/store.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>
#include "base/knobs.h"
#include "base/lock.h"
#include "base/log.h"
#include "base/os.h"

#define WATCHES 4
#define STACK	(256 << 10)

struct fifo {
	struct hz_xfer *head, **tail;
};

struct hz_queue {
	struct hz_store *store;
	struct fifo todo, done; /* pool.lock */
	unsigned running;	/* pool.lock: in a thread's hands */
	struct hz_queue *next;	/* pool.lock: ring of the pool's queues */

	/* The owner's. fd[0] is the eventfd. */
	unsigned depth, inflight;
	struct pollfd fd[1 + WATCHES];
	unsigned fds;
	int pid;
};

static struct pool {
	struct hz_lock lock;   /* all fields */
	pthread_cond_t work;   /* something to do, or stop */
	pthread_cond_t idle;   /* a transfer or a thread ended */
	struct hz_queue *turn; /* the queue that is served next */
	unsigned threads;
	bool stop; /* the threads are on their way out */
} pool;

/* The process whose pool this is; -pid while it is being made. Atomic. */
static int pool_pid;

static void fifo_init(struct fifo *f)
{
	f->head = NULL;
	f->tail = &f->head;
}

static void fifo_put(struct fifo *f, struct hz_xfer *x)
{
	x->next = NULL;
	*f->tail = x;
	f->tail = &x->next;
}

static struct hz_xfer *fifo_get(struct fifo *f)
{
	struct hz_xfer *x = f->head;

	if (x) {
		f->head = x->next;
		if (!f->head)
			f->tail = &f->head;
	}
	return x;
}

/* Make the pool this process's own: at first use, and anew after a fork. */
static void adopt(void)
{
	int me = getpid(), was;

	while ((was = __atomic_load_n(&pool_pid, __ATOMIC_ACQUIRE)) != me) {
		if (was == -me || !__atomic_compare_exchange_n(
					  &pool_pid, &was, -me, false,
					  __ATOMIC_ACQUIRE, __ATOMIC_RELAXED)) {
			sched_yield();
			continue;
		}
		pool = (struct pool){
			.lock = HZ_LOCK_INIT(HZ_RANK_STORE, "store threads"),
			.work = PTHREAD_COND_INITIALIZER,
			.idle = PTHREAD_COND_INITIALIZER,
		};
		__atomic_store_n(&pool_pid, me, __ATOMIC_RELEASE);
	}
}

/* ---- the threads; pool.lock is held where it is not said ---- */

static struct hz_xfer *next_work(struct hz_queue **of)
{
	struct hz_queue *q = pool.turn, *first = q;
	struct hz_xfer *x = NULL;

	if (!q)
		return NULL;
	do {
		x = fifo_get(&q->todo);
		*of = q;
		q = q->next;
	} while (!x && q != first);
	pool.turn = q;
	return x;
}

/* Takes the lock off for the transfer. The queue outlives this, for close()
 * waits until none of its transfers is running. */
static void work_on(struct hz_queue *q, struct hz_xfer *x)
{
	const uint64_t one = 1;

	q->running++;
	hz_unlock(&pool.lock);
	hz_xfer_run(q->store, x);
	hz_lock(&pool.lock);
	fifo_put(&q->done, x);
	hz_unlock(&pool.lock);
	hz_os.write(q->fd[0].fd, &one, sizeof(one));
	hz_lock(&pool.lock);
	q->running--;
	pthread_cond_broadcast(&pool.idle);
}

static void *serve(void *arg)
{
	struct hz_queue *q;
	struct hz_xfer *x;

	prctl(PR_SET_NAME, "hz-io");
	hz_lock(&pool.lock);
	while (!pool.stop) {
		x = next_work(&q);
		if (x)
			work_on(q, x);
		else
			pthread_cond_wait(&pool.work, &pool.lock.mtx);
	}
	pool.threads--;
	pthread_cond_broadcast(&pool.idle);
	hz_unlock(&pool.lock);
	return NULL;
}

static int start_threads(void)
{
	unsigned want = hz_max(hz_knobs.io_threads, (int64_t)1);
	sigset_t all, old;
	pthread_attr_t attr;
	pthread_t id;
	int err = pthread_attr_init(&attr);

	if (err)
		return -err;
	pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
	pthread_attr_setstacksize(&attr, STACK);
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	while (pool.threads < want && !err) {
		err = pthread_create(&id, &attr, serve, NULL);
		pool.threads += !err;
	}
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	pthread_attr_destroy(&attr);
	if (pool.threads)
		return 0; /* fewer will do */
	hz_log(HZ_ERROR, "store",
	       "no I/O thread can be started (%m): raise the limit on "
	       "processes",
	       -err);
	return -err;
}

static int join_pool(struct hz_queue *q)
{
	HZ_SCOPED_LOCK(&pool.lock);
	int err = 0;

	while (pool.stop)
		pthread_cond_wait(&pool.idle, &pool.lock.mtx);
	if (!pool.threads)
		err = start_threads();
	if (err)
		return err;
	q->next = pool.turn ? pool.turn->next : q;
	if (pool.turn)
		pool.turn->next = q;
	else
		pool.turn = q;
	return 0;
}

static void leave_pool(struct hz_queue *q)
{
	HZ_SCOPED_LOCK(&pool.lock);
	struct hz_queue *before = q;

	while (q->todo.head || q->running)
		pthread_cond_wait(&pool.idle, &pool.lock.mtx);
	while (before->next != q)
		before = before->next;
	before->next = q->next;
	pool.turn = before == q ? NULL : before;
	if (pool.turn)
		return;
	pool.stop = true;
	pthread_cond_broadcast(&pool.work);
	while (pool.threads)
		pthread_cond_wait(&pool.idle, &pool.lock.mtx);
	pool.stop = false;
	pthread_cond_broadcast(&pool.idle);
}

/* ---- the interface ---- */

static int threads_open(struct hz_store *store, unsigned depth, unsigned flags,
			struct hz_queue **out)
{
	struct hz_queue *q = hz_os_reserve(sizeof(*q));
	int err;

	if (!q)
		return -ENOMEM;
	if (flags)
		hz_log_once(HZ_WARN, "store",
			    "sqpoll, iopoll and register_files are off (%s)",
			    "they need io_uring");
	q->store = store;
	q->depth = depth;
	q->pid = getpid();
	fifo_init(&q->todo);
	fifo_init(&q->done);
	err = hz_os.eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (err < 0)
		goto release;
	q->fd[q->fds++] = (struct pollfd){.fd = err, .events = POLLIN};
	adopt();
	err = join_pool(q);
	if (err)
		goto close_fd;
	*out = q;
	return 0;
close_fd:
	hz_os.close(q->fd[0].fd);
release:
	hz_os.munmap(q, sizeof(*q));
	return err;
}

/* In a forked child the queue has no threads and is in no pool. */
static void threads_close(struct hz_queue *q)
{
	if (q->pid == getpid())
		leave_pool(q);
	hz_os.close(q->fd[0].fd);
	hz_os.munmap(q, sizeof(*q));
}

static int threads_watch(struct hz_queue *q, int fd)
{
	if (q->fds == hz_array_len(q->fd))
		return -ENOSPC;
	q->fd[q->fds++] = (struct pollfd){.fd = fd, .events = POLLIN};
	return 0;
}

static int threads_submit(struct hz_queue *q, struct hz_xfer *x)
{
	if (q->inflight == q->depth)
		return -EAGAIN;
	q->inflight++;
	HZ_SCOPED_LOCK(&pool.lock);
	fifo_put(&q->todo, x);
	pthread_cond_signal(&pool.work);
	return 0;
}

static int threads_flush(struct hz_queue *q)
{
	return 0; /* submit() has started it */
}

static unsigned take_done(struct hz_queue *q, struct hz_xfer **done,
			  unsigned max)
{
	HZ_SCOPED_LOCK(&pool.lock);
	unsigned n = 0;

	while (n < max && (done[n] = fifo_get(&q->done)))
		n++;
	q->inflight -= n;
	return n;
}

/* poll(2) on the eventfd and the watched descriptors. 0 or -errno. */
static int look(struct hz_queue *q, uint64_t left, unsigned *ready)
{
	struct timespec ts = {.tv_sec = left / 1000000000,
			      .tv_nsec = left % 1000000000};
	int keep = errno, n;
	uint64_t count;

	n = ppoll(q->fd, q->fds, left == UINT64_MAX ? NULL : &ts, NULL);
	n = n < 0 ? -errno : n;
	errno = keep;
	if (n <= 0)
		return n == -EINTR ? 0 : n;
	if (q->fd[0].revents)
		hz_os.read(q->fd[0].fd, &count, sizeof(count));
	for (unsigned i = 1; i < q->fds; i++) {
		if (q->fd[i].revents & POLLNVAL)
			return -EBADF;
		if (q->fd[i].revents)
			*ready |= 1u << (i - 1);
	}
	return 0;
}

static int threads_wait(struct hz_queue *q, uint64_t timeout_ns,
			struct hz_xfer **done, unsigned max, unsigned *ready)
{
	uint64_t now = hz_os.now(), end = now + timeout_ns, left;
	unsigned n;
	int err;

	if (end < now)
		end = UINT64_MAX;
	*ready = 0;
	do {
		n = take_done(q, done, max);
		left = end == UINT64_MAX ? end : end - now;
		err = look(q, n ? 0 : left, ready);
		if (!n)
			n = take_done(q, done, max);
		if (n || *ready)
			return n;
		if (err)
			return err;
		now = hz_os.now();
	} while (now < end);
	return 0;
}

const struct hz_store_ops hz_store_threads = {
	.name = "threads",
	.open = threads_open,
	.close = threads_close,
	.watch = threads_watch,
	.submit = threads_submit,
	.flush = threads_flush,
	.wait = threads_wait,
};
