/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A stream is a ring of entries and a thread that runs them in order, behind
 * the program: it starts an entry when more than SOFTCUDA_LAG are queued, when
 * somebody waits for it, or a millisecond after the queue was last fed. The
 * ring and its sequence numbers outlive the handle, so that whoever still
 * refers to an entry of a destroyed stream finds it done.
 */
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include "soft.h"

#define LAG_NS 1000000

void soft_op_release(struct soft_op *op)
{
	free(op->deps);
	op->deps = NULL;
	op->n_deps = 0;
	if (op->kind == SOFT_OP_KERNEL)
		free(op->launch.params);
	else if (op->kind == SOFT_OP_COPY)
		free(op->copy.staged);
	else if (op->kind == SOFT_OP_GRAPH || op->kind == SOFT_OP_CHILD)
		soft_graph_put(op->graph);
}

static void add_dep(struct soft_op *op, CUstream s, uint64_t seq)
{
	struct soft_dep dep = {s, seq}, *more;

	if (!op->n_deps) {
		op->dep = dep;
		op->n_deps = 1;
		return;
	}
	more = realloc(op->deps, (op->n_deps + 1) * sizeof(dep));
	if (!more)
		abort(); /* an order that is lost would be a wrong answer */
	if (op->n_deps == 1)
		more[0] = op->dep;
	more[op->n_deps++] = dep;
	op->deps = more;
}

/* What the legacy stream and the blocking ones owe each other. */
static void legacy_order(CUstream s, struct soft_op *op)
{
	CUstream other = s->ctx->legacy;
	uint64_t tail;

	if (!s->legacy) {
		tail = atomic_load(&other->tail);
		if (!(s->flags & CU_STREAM_NON_BLOCKING) &&
		    atomic_load(&other->head) < tail)
			add_dep(op, other, tail);
		return;
	}
	soft_guard(soft_lock);
	LIST_FOREACH(other, &s->ctx->streams, link) {
		tail = atomic_load(&other->tail);
		if (!(other->flags & CU_STREAM_NON_BLOCKING) &&
		    atomic_load(&other->head) < tail)
			add_dep(op, other, tail);
	}
}

/* The stream's lock is held. */
static void wake(CUstream s)
{
	if (s->sleeping)
		pthread_cond_signal(&s->work);
}

static void wait_for_deps(struct soft_op *op)
{
	const struct soft_dep *d = op->n_deps > 1 ? op->deps : &op->dep;

	for (unsigned i = 0; i < op->n_deps; i++)
		soft_stream_wait(d[i].stream, d[i].seq);
}

static bool wait_lagging(CUstream s)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	ts.tv_nsec += LAG_NS;
	if (ts.tv_nsec >= 1000000000) {
		ts.tv_nsec -= 1000000000;
		ts.tv_sec++;
	}
	return pthread_cond_timedwait(&s->work, &s->lock, &ts) == ETIMEDOUT;
}

/* Until there is an entry to run; the stream's lock is held. */
static void wait_for_work(CUstream s)
{
	for (;;) {
		uint64_t head = atomic_load(&s->head);
		uint64_t tail = atomic_load(&s->tail);

		if (head < tail && (head < s->kick ||
				    tail - head > soft_set.lag))
			return;
		s->sleeping = true;
		if (head == tail)
			pthread_cond_wait(&s->work, &s->lock);
		else if (wait_lagging(s) && atomic_load(&s->tail) == tail)
			s->kick = tail;
		s->sleeping = false;
	}
}

static void *stream_thread(void *arg)
{
	CUstream s = arg;

	pthread_mutex_lock(&s->lock);
	for (;;) {
		struct soft_op *op;

		wait_for_work(s);
		op = &s->ring[atomic_load(&s->head) % SOFT_QUEUE];
		soft_running_on = s->ctx->dev->index;
		pthread_mutex_unlock(&s->lock);
		wait_for_deps(op);
		soft_execute(s, op);
		soft_op_release(op);
		pthread_mutex_lock(&s->lock);
		atomic_fetch_add(&s->head, 1);
		if (s->waiters)
			pthread_cond_broadcast(&s->done);
	}
	return NULL;
}

void soft_thread_start(pthread_t *thread, void *(*fn)(void *), void *arg)
{
	static const int synchronous[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL};
	pthread_attr_t attr;
	sigset_t all, old;

	sigfillset(&all);
	for (unsigned i = 0; i < soft_len(synchronous); i++)
		sigdelset(&all, synchronous[i]);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	pthread_attr_init(&attr);
	pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
	if (pthread_create(thread, &attr, fn, arg))
		abort();
	pthread_attr_destroy(&attr);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
}

/* Room in the ring; the stream's lock is held. */
static void wait_for_room(CUstream s)
{
	uint64_t tail = atomic_load(&s->tail);

	if (tail - atomic_load(&s->head) < SOFT_QUEUE)
		return;
	soft_count(queue_blocked, 1);
	s->waiters++;
	while (atomic_load(&s->tail) - atomic_load(&s->head) >= SOFT_QUEUE)
		pthread_cond_wait(&s->done, &s->lock);
	s->waiters--;
}

static uint64_t push(CUstream s, const struct soft_op *op)
{
	uint64_t tail, depth;

	soft_guard(s->lock);
	if (!s->started) {
		s->started = true;
		soft_thread_start(&s->thread, stream_thread, s);
	}
	wait_for_room(s);
	tail = atomic_load(&s->tail);
	s->ring[tail % SOFT_QUEUE] = *op;
	atomic_store(&s->tail, tail + 1);
	depth = tail + 1 - atomic_load(&s->head);
	soft_highest(queue_deepest, depth);
	if (depth == 1 || depth == soft_set.lag + 1u)
		wake(s);
	return tail + 1;
}

CUresult soft_submit(CUstream s, struct soft_op *op, uint64_t *seq)
{
	CUresult res = (CUresult)atomic_load(&s->ctx->sticky);
	uint64_t at;

	if (!res && __atomic_load_n(&s->capture, __ATOMIC_ACQUIRE)) {
		if (seq)
			*seq = 0;
		return soft_capture_add(s, op);
	}
	if (!res && s->legacy)
		res = soft_capture_legacy(s->ctx);
	if (res) {
		soft_op_release(op);
		return res;
	}
	legacy_order(s, op);
	at = push(s, op);
	if (seq)
		*seq = at;
	return CUDA_SUCCESS;
}

void soft_stream_wait(CUstream s, uint64_t seq)
{
	if (atomic_load(&s->head) >= seq)
		return;
	soft_guard(s->lock);
	if (s->kick < seq)
		s->kick = seq;
	wake(s);
	s->waiters++;
	while (atomic_load(&s->head) < seq)
		pthread_cond_wait(&s->done, &s->lock);
	s->waiters--;
}

void soft_stream_kick(CUstream s, uint64_t seq)
{
	soft_guard(s->lock);
	if (s->kick < seq)
		s->kick = seq;
	wake(s);
}

/* As the synchronous calls do it: the caller waits for its own entry. */
CUresult soft_submit_wait(CUstream s, struct soft_op *op)
{
	uint64_t seq;
	CUresult res = soft_submit(s, op, &seq);

	if (res)
		return res;
	soft_stream_wait(s, seq);
	soft_phys_host_waited();
	return (CUresult)atomic_load(&s->ctx->sticky);
}

/* ---- the rings: made once, used again when idle ---- */

static SLIST_HEAD(ring_list, CUstream_st) retired =
	SLIST_HEAD_INITIALIZER(retired);

static CUstream ring_make(void)
{
	pthread_condattr_t attr;
	CUstream s = calloc(1, sizeof(*s));

	if (!s)
		abort();
	s->ring = mmap(NULL, SOFT_QUEUE * sizeof(*s->ring),
		       PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (s->ring == MAP_FAILED)
		abort();
	pthread_mutex_init(&s->lock, NULL);
	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_cond_init(&s->work, &attr);
	pthread_cond_init(&s->done, &attr);
	pthread_condattr_destroy(&attr);
	return s;
}

/* soft_lock is held. */
static CUstream ring_idle(void)
{
	CUstream s;

	SLIST_FOREACH(s, &retired, idle) {
		if (atomic_load(&s->head) != atomic_load(&s->tail))
			continue;
		SLIST_REMOVE(&retired, s, CUstream_st, idle);
		return s;
	}
	return ring_make();
}

/* Not listed with its context; the caller does that, or keeps it as the
 * legacy one. */
CUstream soft_stream_make(CUcontext ctx, unsigned flags, int priority)
{
	static uint64_t ids;
	CUstream s;

	soft_guard(soft_lock);
	s = ring_idle();
	pthread_mutex_lock(&s->lock);
	s->ctx = ctx;
	s->flags = flags;
	s->priority = priority;
	s->id = ++ids;
	s->legacy = s->per_thread = false;
	memset(s->attrs, 0, sizeof(s->attrs));
	s->o.kind = s->o.was = SOFT_STREAM;
	pthread_mutex_unlock(&s->lock);
	return s;
}

/* What is queued is still done. */
void soft_stream_retire(CUstream s)
{
	soft_capture_drop(s);
	soft_stream_kick(s, atomic_load(&s->tail));
	soft_guard(soft_lock);
	if (!s->legacy)
		LIST_REMOVE(s, link);
	if (!s->legacy && !s->per_thread)
		soft_uncount(live_streams, 1);
	s->o.kind = SOFT_DEAD;
	SLIST_INSERT_HEAD(&retired, s, idle);
}
