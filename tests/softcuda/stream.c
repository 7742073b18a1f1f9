/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The stream calls. The handles 0, 1 and 2 stand for the default streams: 0
 * for the legacy one in the plain family, for the thread's own in the other.
 */
#include <string.h>
#include "soft.h"

#define DEFAULTS 8

/* The default streams of this thread, by context. The identity tells a
 * context from the one that was there before at the same address. */
static __thread struct {
	CUcontext ctx;
	uint64_t id;
	CUstream stream;
} mine[DEFAULTS];
static pthread_key_t mine_key;
static pthread_once_t mine_once = PTHREAD_ONCE_INIT;

static bool mine_lives(unsigned i)
{
	return mine[i].ctx && soft_is(mine[i].ctx, SOFT_CTX) &&
	       mine[i].ctx->id == mine[i].id;
}

static void thread_ends(void *unused)
{
	for (unsigned i = 0; i < DEFAULTS; i++)
		if (mine_lives(i))
			soft_stream_retire(mine[i].stream);
	memset(mine, 0, sizeof(mine));
}

static void key_make(void)
{
	pthread_key_create(&mine_key, thread_ends);
}

static CUstream list(CUstream s)
{
	soft_guard(soft_lock);
	LIST_INSERT_HEAD(&s->ctx->streams, s, link);
	return s;
}

static CUstream own_default(CUcontext ctx)
{
	unsigned at = DEFAULTS;

	for (unsigned i = 0; i < DEFAULTS; i++) {
		if (!mine_lives(i))
			at = i;
		else if (mine[i].ctx == ctx)
			return mine[i].stream;
	}
	if (at == DEFAULTS)
		return NULL;
	pthread_once(&mine_once, key_make);
	pthread_setspecific(mine_key, mine);
	mine[at].ctx = ctx;
	mine[at].id = ctx->id;
	mine[at].stream = soft_stream_make(ctx, 0, 0);
	mine[at].stream->per_thread = true;
	return list(mine[at].stream);
}

CUresult soft_stream(CUstream handle, bool pt, CUstream *out)
{
	CUcontext ctx;
	CUresult res = soft_current(&ctx);

	if (res)
		return res;
	if (handle == CU_STREAM_PER_THREAD || (!handle && pt))
		*out = own_default(ctx);
	else if (handle == CU_STREAM_LEGACY || !handle)
		*out = ctx->legacy;
	else if (soft_check(handle, SOFT_STREAM))
		return CUDA_ERROR_INVALID_HANDLE;
	else
		*out = handle;
	return *out ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

static CUresult create(CUstream *out, unsigned flags, int priority)
{
	CUcontext ctx;
	CUresult res = soft_current(&ctx);

	if (res)
		return res;
	if (!out || flags > CU_STREAM_NON_BLOCKING)
		return CUDA_ERROR_INVALID_VALUE;
	if (priority > 0)
		priority = 0;
	if (priority < -5)
		priority = -5;
	*out = list(soft_stream_make(ctx, flags, priority));
	soft_count(live_streams, 1);
	return CUDA_SUCCESS;
}

SOFT_API(cuStreamCreate, (CUstream * out, unsigned int flags), (out, flags))
{
	return create(out, flags, 0);
}

SOFT_API(cuStreamCreateWithPriority,
	 (CUstream * out, unsigned int flags, int priority),
	 (out, flags, priority))
{
	return create(out, flags, priority);
}

SOFT_API(cuStreamDestroy_v2, (CUstream s), (s))
{
	CUresult res = soft_check(s, SOFT_STREAM);

	if (res || s->legacy || s->per_thread)
		return CUDA_ERROR_INVALID_HANDLE;
	soft_stream_retire(s);
	return CUDA_SUCCESS;
}

SOFT_STREAM_API(cuStreamSynchronize, (CUstream handle), (handle))
{
	CUstream s;
	CUresult res = soft_stream(handle, pt, &s);

	if (!res)
		res = soft_capture_sync(s);
	if (res)
		return res;
	if (s->legacy) /* waits for the blocking ones as well */
		return soft_submit_wait(s, &(struct soft_op){SOFT_OP_EMPTY});
	soft_stream_wait(s, atomic_load(&s->tail));
	soft_phys_host_waited();
	return (CUresult)atomic_load(&s->ctx->sticky);
}

SOFT_STREAM_API(cuStreamQuery, (CUstream handle), (handle))
{
	CUstream s;
	CUresult res = soft_stream(handle, pt, &s);
	uint64_t tail;

	if (!res)
		res = soft_capture_sync(s);
	if (res)
		return res;
	tail = atomic_load(&s->tail);
	if (atomic_load(&s->head) < tail) {
		soft_stream_kick(s, tail);
		return CUDA_ERROR_NOT_READY;
	}
	soft_phys_host_waited();
	return (CUresult)atomic_load(&s->ctx->sticky);
}

/* What is asked of a stream `s`. */
#define GETTER(name_, type_, value_)                               \
	SOFT_STREAM_API(name_, (CUstream handle, type_ * out),     \
			(handle, out))                             \
	{                                                          \
		CUstream s;                                        \
		CUresult res = soft_stream(handle, pt, &s);        \
                                                                   \
		if (!res && !out)                                  \
			res = CUDA_ERROR_INVALID_VALUE;            \
		if (!res)                                          \
			*out = (value_);                           \
		return res;                                        \
	}

GETTER(cuStreamGetPriority, int, s->priority)
GETTER(cuStreamGetFlags, unsigned int, s->flags)
GETTER(cuStreamGetId, unsigned long long, s->id)
GETTER(cuStreamGetCtx, CUcontext, s->ctx)
GETTER(cuStreamGetDevice, CUdevice, s->ctx->dev->index)
#undef GETTER

SOFT_STREAM_API(cuStreamCopyAttributes, (CUstream to, CUstream from),
		(to, from))
{
	CUstream a, b;
	CUresult res = soft_stream(to, pt, &a);

	return res ? res : soft_stream(from, pt, &b);
}

/* Hints to a device: kept, and told again. */
static bool settable(unsigned attr)
{
	return attr == CU_LAUNCH_ATTRIBUTE_ACCESS_POLICY_WINDOW ||
	       attr == CU_LAUNCH_ATTRIBUTE_SYNCHRONIZATION_POLICY ||
	       attr == CU_LAUNCH_ATTRIBUTE_PRIORITY ||
	       attr == CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN_MAP ||
	       attr == CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN;
}

SOFT_STREAM_API(cuStreamGetAttribute,
		(CUstream handle, CUstreamAttrID attr, CUstreamAttrValue *out),
		(handle, attr, out))
{
	CUstream s;
	CUresult res = soft_stream(handle, pt, &s);

	if (!res && (!out || !settable((unsigned)attr)))
		res = CUDA_ERROR_INVALID_VALUE;
	if (!res)
		*out = s->attrs[attr];
	return res;
}

SOFT_STREAM_API(cuStreamSetAttribute,
		(CUstream handle, CUstreamAttrID attr,
		 const CUstreamAttrValue *value),
		(handle, attr, value))
{
	CUstream s;
	CUresult res = soft_stream(handle, pt, &s);

	if (!res && (!value || !settable((unsigned)attr)))
		res = CUDA_ERROR_INVALID_VALUE;
	if (!res)
		s->attrs[attr] = *value;
	return res;
}

/* ---- work that the host does in its turn ---- */

SOFT_STREAM_API(cuLaunchHostFunc, (CUstream handle, CUhostFn fn, void *user),
		(handle, fn, user))
{
	struct soft_op op = {.kind = SOFT_OP_HOST,
			     .host = {.fn = fn, .user = user}};
	CUstream s;
	CUresult res = soft_stream(handle, pt, &s);

	if (!res && !fn)
		res = CUDA_ERROR_INVALID_VALUE;
	return res ? res : soft_submit(s, &op, NULL);
}

SOFT_STREAM_API(cuStreamAddCallback,
		(CUstream handle, CUstreamCallback fn, void *user,
		 unsigned int flags),
		(handle, fn, user, flags))
{
	struct soft_op op = {.kind = SOFT_OP_CALLBACK,
			     .host = {.callback = fn,
				      .user = user,
				      .stream = handle}};
	CUstream s;
	CUresult res = soft_stream(handle, pt, &s);

	if (!res && (!fn || flags))
		res = CUDA_ERROR_INVALID_VALUE;
	if (!res)
		res = soft_capture_absent(s);
	return res ? res : soft_submit(s, &op, NULL);
}
