/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Events: the last place in a stream where one was recorded. Waiting for it
 * is waiting for that entry. events_lock holds stream, seq and the place in a
 * capture together.
 */
#include <stdlib.h>
#include "soft.h"

static pthread_mutex_t events_lock = PTHREAD_MUTEX_INITIALIZER;

#define EVENT_FLAGS \
	(CU_EVENT_BLOCKING_SYNC | CU_EVENT_DISABLE_TIMING | \
	 CU_EVENT_INTERPROCESS)

SOFT_API(cuEventCreate, (CUevent * out, unsigned int flags), (out, flags))
{
	CUcontext ctx;
	CUresult res = soft_current(&ctx);

	if (res)
		return res;
	if (!out || (flags & ~(unsigned)EVENT_FLAGS) ||
	    ((flags & CU_EVENT_INTERPROCESS) &&
	     !(flags & CU_EVENT_DISABLE_TIMING)))
		return CUDA_ERROR_INVALID_VALUE;
	*out = soft_new(SOFT_EVENT, sizeof(**out));
	if (!*out)
		return CUDA_ERROR_OUT_OF_MEMORY;
	(*out)->ctx = ctx;
	(*out)->flags = flags;
	soft_count(live_events, 1);
	return CUDA_SUCCESS;
}

SOFT_API(cuEventDestroy_v2, (CUevent e), (e))
{
	CUresult res = soft_check(e, SOFT_EVENT);

	if (res)
		return res;
	free(e->nodes);
	soft_uncount(live_events, 1);
	soft_delete(e);
	return CUDA_SUCCESS;
}

static CUresult record(bool pt, CUevent e, CUstream handle, unsigned flags)
{
	static _Atomic uint64_t serials;
	struct soft_op op = {.kind = SOFT_OP_RECORD};
	bool done = false;
	uint64_t seq;
	CUstream s;
	CUresult res = soft_stream(handle, pt, &s);

	if (!res)
		res = soft_check(e, SOFT_EVENT);
	if (!res && flags > 1)
		res = CUDA_ERROR_INVALID_VALUE;
	if (!res && e->ctx != s->ctx)
		res = CUDA_ERROR_INVALID_HANDLE;
	if (!res && !flags)
		res = soft_capture_record(s, e, &done);
	if (res || done)
		return res;
	op.record.event = e;
	op.record.serial = atomic_fetch_add(&serials, 1) + 1;
	atomic_store(&e->serial, op.record.serial);
	res = soft_submit(s, &op, &seq);
	if (res || !seq)
		return res;
	soft_guard(events_lock);
	e->capture = 0;
	e->stream = s;
	e->seq = seq;
	return CUDA_SUCCESS;
}

SOFT_STREAM_API(cuEventRecord, (CUevent e, CUstream s), (e, s))
{
	return record(pt, e, s, 0);
}

SOFT_STREAM_API(cuEventRecordWithFlags,
		(CUevent e, CUstream s, unsigned int flags), (e, s, flags))
{
	return record(pt, e, s, flags);
}

/* For a graph's record node: done by the stream's thread. */
void soft_event_record_now(CUstream s, CUevent e)
{
	soft_guard(events_lock);
	if (!soft_is(e, SOFT_EVENT))
		return;
	e->capture = 0;
	e->stream = s;
	e->seq = atomic_load(&s->head) + 1;
	atomic_store(&e->time_ns, soft_now_ns());
}

static struct soft_dep place(CUevent e)
{
	soft_guard(events_lock);
	return (struct soft_dep){e->stream, e->seq};
}

/* Where it was recorded, for a host that looks at it. */
static CUresult reached(CUevent e, struct soft_dep *at)
{
	CUresult res = soft_check(e, SOFT_EVENT);

	if (!res && e->capture)
		res = CUDA_ERROR_CAPTURED_EVENT;
	if (!res)
		res = soft_capture_unsafe();
	if (!res)
		*at = place(e);
	return res;
}

SOFT_API(cuEventQuery, (CUevent e), (e))
{
	struct soft_dep at;
	CUresult res = reached(e, &at);

	if (res)
		return res;
	if (at.stream && atomic_load(&at.stream->head) < at.seq) {
		soft_stream_kick(at.stream, at.seq);
		return CUDA_ERROR_NOT_READY;
	}
	if (at.stream)
		soft_phys_host_waited();
	return (CUresult)atomic_load(&e->ctx->sticky);
}

SOFT_API(cuEventSynchronize, (CUevent e), (e))
{
	struct soft_dep at;
	CUresult res = reached(e, &at);

	if (res)
		return res;
	if (at.stream) {
		soft_stream_wait(at.stream, at.seq);
		soft_phys_host_waited();
	}
	return (CUresult)atomic_load(&e->ctx->sticky);
}

/* Outside of a capture, and inside one for an event of before it. */
SOFT_STREAM_API(cuStreamWaitEvent,
		(CUstream handle, CUevent e, unsigned int flags),
		(handle, e, flags))
{
	struct soft_op op = {.kind = SOFT_OP_WAIT};
	bool done = false;
	CUstream s;
	CUresult res = soft_stream(handle, pt, &s);

	if (!res)
		res = soft_check(e, SOFT_EVENT);
	if (!res && flags > 1)
		res = CUDA_ERROR_INVALID_VALUE;
	if (!res)
		res = soft_capture_wait_event(s, e, flags, &done);
	if (res || done)
		return res;
	op.dep = place(e);
	if (!op.dep.stream)
		return CUDA_SUCCESS; /* never recorded: nothing to wait for */
	op.n_deps = 1;
	return soft_submit(s, &op, NULL);
}

/* For a graph's wait node: the last record before it runs. */
void soft_event_wait_now(CUstream s, CUevent e)
{
	struct soft_dep at = {NULL, 0};

	if (soft_is(e, SOFT_EVENT))
		at = place(e);
	if (at.stream && at.stream != s)
		soft_stream_wait(at.stream, at.seq);
}

static CUresult elapsed(float *out, CUevent a, CUevent b)
{
	struct soft_dep at[2];

	if (!out)
		return CUDA_ERROR_INVALID_VALUE;
	if (soft_check(a, SOFT_EVENT) || soft_check(b, SOFT_EVENT))
		return CUDA_ERROR_INVALID_HANDLE;
	at[0] = place(a);
	at[1] = place(b);
	if (!at[0].stream || !at[1].stream ||
	    ((a->flags | b->flags) & CU_EVENT_DISABLE_TIMING))
		return CUDA_ERROR_INVALID_HANDLE;
	for (unsigned i = 0; i < 2; i++)
		if (atomic_load(&at[i].stream->head) < at[i].seq)
			return CUDA_ERROR_NOT_READY;
	*out = (float)((double)(int64_t)(atomic_load(&b->time_ns) -
					 atomic_load(&a->time_ns)) /
		       1e6);
	return CUDA_SUCCESS;
}

SOFT_API(cuEventElapsedTime, (float *out, CUevent a, CUevent b), (out, a, b))
{
	return elapsed(out, a, b);
}

SOFT_API(cuEventElapsedTime_v2, (float *out, CUevent a, CUevent b), (out, a, b))
{
	return elapsed(out, a, b);
}
