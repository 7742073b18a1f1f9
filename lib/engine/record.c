/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The trace of this process (knob trace_file, horizon-trace(5)): each event
 * that the plan sees goes into the writer's buffer under the engine's lock, a
 * few dozen nanoseconds; hz-aux carries whole chunks to the file. What is seen
 * in front of the CUDA driver goes into the same file; see gpu_record.c.
 *
 * Each process has a file of its own: the first takes the name that was given,
 * another one adds its pid. An existing file is never written to.
 */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/knobs.h"
#include "base/log.h"
#include "base/os.h"
#include "engine/arena.h"
#include "engine/engine.h"
#include "engine/gpu.h"
#include "engine/record.h"
#include "policy/trace_file.h"

/* Chunks that wait for hz-aux. One side is filled while the other is written.
 * Address space only: hz-aux is called long before a side is full. */
#define SIDE_BYTES ((size_t)64 << 20)
#define SIDE_CALL  ((size_t)512 << 10)

enum { NO_FILE, MAKING, MADE, REFUSED };

/* Written by whoever makes it, then as it is. */
static struct {
	uint64_t state; /* atomic: whose, pid * 4 + one of the above */
	uint64_t began; /* ns: time 0 of the trace */
	off_t end;	/* atomic: of all that was handed over */
	int error;
	char path[sizeof(hz_knobs.trace_file) + 16];
} file;

struct side {
	uint8_t *bytes;
	size_t used;
};

/* Guarded by the engine's lock. */
static struct {
	struct hz_tf_writer writer;
	struct side side[2];
	unsigned filling; /* side */
	uint64_t began;	  /* ns: time 0 of the trace */
	int fd;		  /* of the engine's descriptor table */
	pid_t pid;	  /* whose threads write it */
	bool on;
} rec = {.fd = -1};

/* ---- the file ---- */

static int write_at(int fd, const uint8_t *p, size_t len, off_t at)
{
	while (len) {
		ssize_t n = pwrite(fd, p, len, at);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return n ? -errno : -ENOSPC;
		p += n;
		len -= (size_t)n;
		at += n;
	}
	return 0;
}

/* A name that is taken, or any for a forked child, gets the pid. */
static int create(bool child)
{
	const int flags = O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC;
	long fd = -EEXIST;

	snprintf(file.path, sizeof(file.path), "%s", hz_knobs.trace_file);
	if (!child)
		fd = hz_os.open(file.path, flags, 0666);
	if (fd != -EEXIST)
		return (int)fd;
	snprintf(file.path, sizeof(file.path), "%s.%d", hz_knobs.trace_file,
		 (int)getpid());
	return (int)hz_os.open(file.path, flags, 0666);
}

static int make(bool child, uint64_t mine)
{
	uint8_t head[HZ_TF_HEAD];
	int fd = create(child), rc = fd;

	hz_tf_head(head);
	if (fd >= 0)
		rc = write_at(fd, head, sizeof(head), 0);
	if (rc < 0)
		hz_log(HZ_WARN, "trace",
		       "%s: cannot be made, none is written (%m)",
		       hz_knobs.trace_file, rc);
	file.error = rc;
	file.began = hz_os.now();
	__atomic_store_n(&file.end, (off_t)sizeof(head), __ATOMIC_RELAXED);
	__atomic_store_n(&file.state, mine | (rc < 0 ? REFUSED : MADE),
			 __ATOMIC_RELEASE);
	return rc < 0 ? rc : fd;
}

int hz_record_file(bool child)
{
	const struct timespec ms = {.tv_nsec = 1000000};
	uint64_t mine = (uint64_t)getpid() << 2;
	uint64_t seen = __atomic_load_n(&file.state, __ATOMIC_ACQUIRE);
	int fd;

	/* What a parent made is not ours. */
	if (seen >> 2 != mine >> 2 &&
	    __atomic_compare_exchange_n(&file.state, &seen, mine | MAKING,
					false, __ATOMIC_ACQ_REL,
					__ATOMIC_ACQUIRE))
		return make(child, mine);
	while (seen == (mine | MAKING)) {
		nanosleep(&ms, NULL);
		seen = __atomic_load_n(&file.state, __ATOMIC_ACQUIRE);
	}
	if (seen != (mine | MADE))
		return file.error;
	fd = hz_os.open(file.path, O_WRONLY | O_CLOEXEC, 0);
	if (fd < 0)
		hz_record_gave_up(fd);
	return fd;
}

uint64_t hz_record_began(void)
{
	return file.began;
}

int hz_record_put(int fd, const uint8_t *chunks, size_t len)
{
	off_t at = __atomic_fetch_add(&file.end, (off_t)len, __ATOMIC_RELAXED);

	return write_at(fd, chunks, len, at);
}

void hz_record_gave_up(int rc)
{
	hz_log(HZ_WARN, "trace", "%s: cannot be written, it ends here (%m)",
	       hz_knobs.trace_file, rc);
}

/* ---- of the host tier ---- */

static void give_up(int rc)
{
	rec.on = false;
	hz_record_gave_up(rc);
}

static int write_side(struct side *s)
{
	int rc = hz_record_put(rec.fd, s->bytes, s->used);

	s->used = 0;
	return rc;
}

/* The writer's chunk. A side is full only if the disk takes nothing any more;
 * the engine's threads wait for it then. Threads of the program cannot: the
 * descriptor is not in their table. */
static int put(void *arg, const void *bytes, size_t len)
{
	struct hz_engine *e = arg;
	struct side *s = &rec.side[rec.filling];
	int rc = 0;

	if (s->used + len > SIDE_BYTES)
		rc = hz_log_apart ? write_side(s) : -ENOBUFS;
	if (rc)
		return rc;
	memcpy(s->bytes + s->used, bytes, len);
	s->used += len;
	if (s->used > SIDE_CALL)
		pthread_cond_signal(&e->asked);
	return 0;
}

static uint8_t *reserve(void)
{
	const size_t bytes = HZ_TF_BUFFER + 2 * SIDE_BYTES;
	static uint8_t *mem; /* a forked child inherits it */

	if (!mem)
		mem = hz_os_reserve(bytes);
	return mem;
}

/* In hz-aux. */
void hz_record_open(struct hz_engine *e, bool child)
{
	uint8_t *mem;

	if (!*hz_knobs.trace_file)
		return;
	rec.on = false;
	rec.fd = hz_record_file(child);
	if (rec.fd < 0)
		return;
	mem = reserve();
	if (!mem) {
		hz_record_gave_up(-ENOMEM);
		return;
	}
	for (unsigned i = 0; i < 2; i++)
		rec.side[i] = (struct side){
			.bytes = mem + HZ_TF_BUFFER + i * SIDE_BYTES};
	rec.began = hz_record_began();
	rec.pid = getpid();
	rec.on = !hz_tf_join(&rec.writer, mem, HZ_TF_BUFFER, put, e);
}

void hz_record_stop(void)
{
	rec.on = false;
}

static void add(const struct hz_tf_event *event)
{
	int rc = hz_tf_add(&rec.writer, event);

	if (rc)
		give_up(rc);
}

void hz_engine_seen(uint32_t b, enum hz_access how, uint64_t now)
{
	if (hz_unlikely(rec.on))
		add(&(struct hz_tf_event){.kind = HZ_TF_FAULT,
					  .now = now - rec.began,
					  .id = b,
					  .how = how});
}

void hz_engine_used(struct hz_engine *e, uint32_t b, enum hz_access how,
		    uint64_t now)
{
	hz_plan_access(e->plan, b, how, now);
	hz_engine_seen(b, how, now);
}

void hz_engine_unused(struct hz_engine *e, uint32_t b)
{
	hz_plan_forget(e->plan, b);
	if (hz_unlikely(rec.on) && e->blk[b].state != HZ_BLK_ZERO)
		add(&(struct hz_tf_event){.kind = HZ_TF_FREE,
					  .now = hz_os.now() - rec.began,
					  .id = b | HZ_TF_HOST});
}

void hz_record_write(struct hz_engine *e)
{
	struct side *s;
	int rc;

	if (!rec.on)
		return;
	rc = hz_tf_flush(&rec.writer);
	if (rc) {
		give_up(rc);
		return;
	}
	s = &rec.side[rec.filling];
	if (!s->used)
		return;
	rec.filling ^= 1;
	hz_unlock(&e->lock);
	rc = write_side(s);
	hz_lock(&e->lock);
	if (rc)
		give_up(rc);
}

void hz_arena_end(void)
{
	struct hz_engine *e = &hz_engine;
	struct hz_request req = {.op = HZ_REQ_RECORD};
	struct hz_gate gate;

	hz_gpu_end();
	hz_gpu_record_end();
	if (!*hz_knobs.trace_file ||
	    __atomic_load_n(&e->phase, __ATOMIC_ACQUIRE) != HZ_RUNNING)
		return;
	/* A child that was made without fork(3) has no threads of ours. */
	if (getpid() != rec.pid)
		return;
	hz_gate_enter(&gate);
	hz_engine_call(&req);
	hz_gate_leave(&gate);
}
