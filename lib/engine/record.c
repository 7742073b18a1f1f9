/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The trace of this process (knob trace_file, horizon-trace(5)): each event
 * that the plan sees goes into the writer's buffer under the engine's lock, a
 * few dozen nanoseconds; hz-aux carries whole chunks to the file.
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
#include <unistd.h>

#include "base/knobs.h"
#include "base/log.h"
#include "base/os.h"
#include "engine/arena.h"
#include "engine/engine.h"
#include "policy/trace_file.h"

/* Chunks that wait for hz-aux. One side is filled while the other is written.
 * Address space only: hz-aux is called long before a side is full. */
#define SIDE_BYTES ((size_t)64 << 20)
#define SIDE_CALL  ((size_t)512 << 10)

struct side {
	uint8_t *bytes;
	size_t used;
	off_t at; /* where it belongs in the file */
};

/* Guarded by the engine's lock. */
static struct {
	struct hz_tf_writer writer;
	struct side side[2];
	unsigned filling; /* side */
	off_t end;	  /* of the file, with all that waits */
	uint64_t began;	  /* ns: time 0 of the trace */
	int fd;		  /* of the engine's descriptor table */
	pid_t pid;	  /* whose threads write it */
	bool on;
} rec = {.fd = -1};

static int write_at(const uint8_t *p, size_t len, off_t at)
{
	while (len) {
		ssize_t n = pwrite(rec.fd, p, len, at);

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

static void give_up(int rc)
{
	rec.on = false;
	hz_log(HZ_WARN, "trace", "%s: cannot be written, it ends here (%m)",
	       hz_knobs.trace_file, rc);
}

static int write_side(struct side *s)
{
	int rc = write_at(s->bytes, s->used, s->at);

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
	if (!s->used)
		s->at = rec.end;
	memcpy(s->bytes + s->used, bytes, len);
	s->used += len;
	rec.end += (off_t)len;
	if (s->used > SIDE_CALL)
		pthread_cond_signal(&e->asked);
	return 0;
}

/* In hz-aux. A name that is taken, or any for a forked child, gets the pid. */
static int open_file(bool child)
{
	const int flags = O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC;
	char path[sizeof(hz_knobs.trace_file) + 16];
	long fd = -EEXIST;

	if (!child)
		fd = hz_os.open(hz_knobs.trace_file, flags, 0666);
	if (fd != -EEXIST)
		return (int)fd;
	snprintf(path, sizeof(path), "%s.%d", hz_knobs.trace_file,
		 (int)getpid());
	return (int)hz_os.open(path, flags, 0666);
}

static uint8_t *reserve(void)
{
	const size_t bytes = HZ_TF_BUFFER + 2 * SIDE_BYTES;
	static uint8_t *mem; /* a forked child inherits it */

	if (!mem)
		mem = hz_os_reserve(bytes);
	return mem;
}

void hz_record_open(struct hz_engine *e, bool child)
{
	uint8_t *mem;

	if (!*hz_knobs.trace_file)
		return;
	rec.on = false;
	rec.fd = open_file(child);
	mem = reserve();
	if (rec.fd < 0 || !mem) {
		hz_log(HZ_WARN, "trace", "%s: cannot be made, none is written "
		       "(%m)", hz_knobs.trace_file, mem ? rec.fd : -ENOMEM);
		return;
	}
	for (unsigned i = 0; i < 2; i++)
		rec.side[i] = (struct side){
			.bytes = mem + HZ_TF_BUFFER + i * SIDE_BYTES};
	rec.end = 0;
	rec.began = hz_os.now();
	rec.pid = getpid();
	rec.on = !hz_tf_start(&rec.writer, mem, HZ_TF_BUFFER, put, e);
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
