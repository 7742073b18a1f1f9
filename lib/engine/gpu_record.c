/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The trace of what is done with memory of the device: tensors that are born
 * and die, who names them, copies. See horizon-trace(5) and record.h.
 *
 * Hooks write under the lock of the map: a chunk of the writer, which goes
 * into `queue` when it is full or a second old. hz-gpu takes it from there to
 * the file; it waits for no lock, so that nobody who waits for it can be
 * somebody it waits for. It exists only if a trace is wanted, from the
 * program's cuInit on; its descriptors are in a table of its own, and signals
 * are blocked in it.
 */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif
#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include "base/knobs.h"
#include "base/log.h"
#include "base/os.h"
#include "engine/engine.h"
#include "engine/gpu_int.h"
#include "engine/record.h"
#include "policy/tensor_plan.h"
#include "policy/trace_file.h"

/* Address space: it starts anew whenever hz-gpu has taken all. */
#define QUEUE_BYTES ((size_t)64 << 20)
#define FLUSH_NS    1000000000ull
#define PASS_NS	    100000000
/* Names of tensors by where they lie: what comes back in each step is the
 * same one. Those that find no place get a name by their entry of the map. */
#define NAMES (1u << 20)

struct name {
	uint64_t start, bytes;
	uint32_t id;
};

/* Guarded by the lock of the map, where nothing else is said. */
static struct {
	struct hz_tf_writer writer;
	uint8_t *queue;
	uint64_t base;	     /* what lies at its first byte */
	uint64_t head, tail; /* atomic: handed in by hooks, out by hz-gpu */
	uint64_t began;	     /* ns: time 0 */
	uint64_t last;	     /* ns: of the last event; times only grow */
	uint64_t flushed;    /* ns */
	struct name *name;
	uint32_t names;
	uint32_t *use;	   /* of the launch that is being written */
	uint64_t launches; /* written */
	pid_t pid;	   /* whose thread writes */
	sem_t wake;	   /* hz-gpu, before its time */
	int answer;	   /* atomic: of its start; 1: none yet */
} rec;

bool hz_gpu_recording;

static void stop(void)
{
	__atomic_store_n(&hz_gpu_timing, false, __ATOMIC_RELEASE);
	__atomic_store_n(&hz_gpu_recording, false, __ATOMIC_RELEASE);
}

void hz_gpu_record_stop(void)
{
	stop();
}

/* ---- hz-gpu ---- */

/* Until hooks see an empty queue, `base` stays as it is. */
static int write_queue(int fd)
{
	uint64_t head = __atomic_load_n(&rec.head, __ATOMIC_ACQUIRE);
	uint64_t tail = rec.tail;
	int rc;

	if (head == tail)
		return 0;
	rc = hz_record_put(fd, rec.queue + (tail - rec.base), head - tail);
	__atomic_store_n(&rec.tail, head, __ATOMIC_RELEASE);
	return rc;
}

/* Who holds the lock may be in a signal handler, for as long as it likes. */
static void flush_old(void)
{
	uint64_t now = hz_os.now();

	if (pthread_mutex_trylock(&hz_gpu.lock.mtx))
		return;
	if (hz_gpu_recording && now - rec.flushed > FLUSH_NS) {
		hz_tf_flush(&rec.writer);
		rec.flushed = now;
	}
	pthread_mutex_unlock(&hz_gpu.lock.mtx);
}

static void *record_main(void *arg)
{
	int rc, fd;

	hz_thread_begin("hz-gpu");
	rc = hz_thread_leave_files(-1);
	if (rc < 0)
		hz_record_gave_up(rc);
	fd = rc < 0 ? rc : hz_record_file(false);
	rec.began = hz_record_began();
	__atomic_store_n(&rec.answer, hz_min(fd, 0), __ATOMIC_RELEASE);
	rc = fd < 0 ? fd : 0;
	while (!rc) {
		hz_thread_nap(&rec.wake, PASS_NS);
		flush_old();
		rc = write_queue(fd);
		if (!rc)
			rc = __atomic_load_n(&rec.writer.error,
					     __ATOMIC_RELAXED);
	}
	if (fd >= 0)
		hz_record_gave_up(rc);
	stop();
	return NULL;
}

/* ---- start and end ---- */

static bool reserve(void)
{
	if (!rec.queue)
		rec.queue = hz_os_reserve(QUEUE_BYTES + HZ_TF_BUFFER);
	if (!rec.name)
		rec.name = hz_os_reserve(NAMES * sizeof(*rec.name));
	if (!rec.use)
		rec.use = hz_os_reserve(HZ_TF_USES * sizeof(*rec.use));
	return rec.queue && rec.name && rec.use;
}

static void pause_ms(void)
{
	const struct timespec ms = {.tv_nsec = 1000000};

	nanosleep(&ms, NULL);
}

static int put(void *arg, const void *bytes, size_t len)
{
	uint64_t head = rec.head;

	if (__atomic_load_n(&rec.tail, __ATOMIC_ACQUIRE) == head)
		rec.base = head;
	if (head - rec.base + len > QUEUE_BYTES)
		return -ENOBUFS; /* the disk takes nothing any more */
	memcpy(rec.queue + (head - rec.base), bytes, len);
	__atomic_store_n(&rec.head, head + len, __ATOMIC_RELEASE);
	return 0;
}

void hz_gpu_record_start(void)
{
	int rc;

	if (!*hz_knobs.trace_file)
		return;
	rc = reserve() ? 0 : -ENOMEM;
	rec.answer = 1;
	if (!rc)
		rc = sem_init(&rec.wake, 0, 0) ? -ENOSYS
					   : hz_thread_make(record_main,
							    NULL);
	if (rc) {
		hz_record_gave_up(rc);
		return;
	}
	/* A file is made in a moment; cuInit takes longer. */
	while (__atomic_load_n(&rec.answer, __ATOMIC_ACQUIRE) > 0)
		pause_ms();
	if (rec.answer)
		return;
	rec.pid = getpid();
	hz_tf_join(&rec.writer, rec.queue + QUEUE_BYTES, HZ_TF_BUFFER, put,
		   NULL);
	rec.flushed = hz_os.now();
	__atomic_store_n(&hz_gpu_recording, true, __ATOMIC_RELEASE);
	__atomic_store_n(&hz_gpu_timing, true, __ATOMIC_RELEASE);
}

static void flush(void)
{
	HZ_GPU_SECTION();

	hz_tf_flush(&rec.writer);
}

void hz_gpu_record_end(void)
{
	if (!hz_gpu_recording || rec.pid != getpid())
		return;
	__atomic_store_n(&hz_gpu_timing, false, __ATOMIC_RELEASE);
	flush();
	sem_post(&rec.wake);
	while (__atomic_load_n(&hz_gpu_recording, __ATOMIC_ACQUIRE) &&
	       __atomic_load_n(&rec.tail, __ATOMIC_ACQUIRE) !=
		       __atomic_load_n(&rec.head, __ATOMIC_ACQUIRE))
		pause_ms();
}

/* ---- events ---- */

/* `now` may be from before the lock was taken. */
static void add(struct hz_tf_event *e, uint64_t now)
{
	rec.last = hz_max(rec.last, now);
	e->now = rec.last - hz_min(rec.began, rec.last);
	hz_tf_add(&rec.writer, e);
	if (now - rec.flushed <= FLUSH_NS)
		return;
	hz_tf_flush(&rec.writer);
	rec.flushed = now;
}

/* Not 0. */
static uint32_t name_of(const struct hz_gpu_tensor *t, uint32_t entry)
{
	uint64_t words[2] = {t->start, t->bytes};
	uint32_t at = (uint32_t)hz_gpu_hash(words, 2, 0) % NAMES;
	struct name *n;

	for (;; at = (at + 1) % NAMES) {
		n = &rec.name[at];
		if (n->start == t->start && n->bytes == t->bytes)
			return n->id;
		if (!n->start)
			break;
	}
	if (rec.names > NAMES / 4 * 3)
		return NAMES + 1 + entry;
	*n = (struct name){t->start, t->bytes, ++rec.names};
	return n->id;
}

static bool is_device(const struct hz_gpu *g, uint32_t t)
{
	return t != HZ_NONE &&
	       hz_gpu_where[g->map.alloc[g->map.tensor[t].alloc].origin] !=
		       HZ_GPU_IN_PINNED;
}

bool hz_gpu_is_device(struct hz_gpu *g, uint64_t addr)
{
	return is_device(g, hz_gpu_map_find(&g->map, addr));
}

static uint32_t born(struct hz_gpu *g, uint32_t t, uint64_t now)
{
	struct hz_gpu_tensor *x = &g->map.tensor[t];

	x->trace = name_of(x, t);
	add(&(struct hz_tf_event){.kind = HZ_TF_ALLOC,
				  .id = x->trace,
				  .bytes = x->bytes},
	    now);
	return x->trace;
}

void hz_gpu_record_born(struct hz_gpu *g, uint32_t t)
{
	if (hz_unlikely(hz_gpu_recording) && is_device(g, t))
		born(g, t, hz_os.now());
}

void hz_gpu_record_gone(struct hz_gpu_tensor *t)
{
	if (hz_likely(!hz_gpu_recording) || !t->trace)
		return;
	add(&(struct hz_tf_event){.kind = HZ_TF_FREE, .id = t->trace},
	    hz_os.now());
	t->trace = 0;
}

/* What was there before recording began is born now. */
static uint32_t id_of(struct hz_gpu *g, uint32_t t, uint64_t now)
{
	uint32_t id = g->map.tensor[t].trace;

	return id ? id : born(g, t, now);
}

static void add_launch(uint32_t name, uint32_t uses, uint64_t now)
{
	add(&(struct hz_tf_event){.kind = HZ_TF_LAUNCH,
				  .id = name,
				  .uses = uses,
				  .use = rec.use},
	    now);
}

/* What a kernel does with what it names is not known: it may read and write
 * all of it. */
void hz_gpu_record_launch(struct hz_gpu *g, uint32_t name,
			  const uint64_t *word, uint32_t n, uint64_t now)
{
	uint32_t uses = 0;

	if (name != HZ_TF_MORE)
		hz_gpu_time_recorded(name, rec.launches++);
	g->mark++;
	for (uint32_t i = 0; i < n; i++) {
		uint32_t t;

		hz_gpu_prefetch(g, word, i, n);
		t = hz_gpu_map_find(&g->map, word[i]);
		if (!is_device(g, t) || g->map.tensor[t].mark == g->mark)
			continue;
		g->map.tensor[t].mark = g->mark;
		if (uses == HZ_TF_USES) {
			add_launch(name, uses, now);
			name = HZ_TF_MORE;
			uses = 0;
		}
		rec.use[uses++] = hz_use(id_of(g, t, now),
					 HZ_USE_READ | HZ_USE_WRITE);
	}
	if (uses || name != HZ_TF_MORE)
		add_launch(name, uses, now);
}

void hz_gpu_time_took(const struct hz_gpu_launched *what, uint64_t ns)
{
	uint64_t now = hz_os.now();
	HZ_GPU_SECTION();

	if (!hz_gpu_recording)
		return;
	add(&(struct hz_tf_event){.kind = HZ_TF_TIME,
				  .id = what->name,
				  .ns = ns,
				  .back = rec.launches - what->number},
	    now);
}

void hz_gpu_record_copy(struct hz_gpu *g, uint32_t t, uint64_t bytes,
			unsigned how, uint64_t now)
{
	if (hz_likely(!hz_gpu_recording) || !is_device(g, t))
		return;
	add(&(struct hz_tf_event){.kind = HZ_TF_COPY,
				  .id = id_of(g, t, now),
				  .bytes = bytes,
				  .how = how},
	    now);
}
