/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How long launches take: while a trace is recorded, one in 64 of them has an
 * event in front of it and one behind it on its stream; see engine/gpu_time.h
 * for which. What they say is read later, at another such launch or when the
 * program waited, and never waited for; see cuda_events.h.
 *
 * Nothing is asked of the driver while a capture is open; one that another
 * thread begins meanwhile is not disturbed, since questions are asked in the
 * mode that forbids nothing.
 *
 * A launch that may overlap with the one before it is left alone: an event
 * between the two would end that. The one before it is not known to be one; if
 * it is its turn, they do not overlap this time. On the stream 0, which waits
 * for others, the events wait for nothing that the launch between them does not
 * wait for.
 */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif
#include "base/util.h"
#include "cuda_events.h"
#include "cuda_hooks.h"

static bool can_tell(void)
{
	return hz_cu_has(HZ_CU_cuEventCreate) &&
	       hz_cu_has(HZ_CU_cuEventRecord) &&
	       hz_cu_has(HZ_CU_cuEventQuery) &&
	       hz_cu_has(HZ_CU_cuEventElapsedTime) &&
	       hz_cu_has(HZ_CU_cuEventDestroy_v2);
}

/* An event goes into a stream of its own context only. 0 to 2 are streams of
 * the current one. */
static bool is_of(CUstream stream, CUcontext context)
{
	CUcontext c = NULL;

	return (uintptr_t)stream <= 2 ||
	       (hz_cu_has(HZ_CU_cuStreamGetCtx) &&
		!HZ_REAL(cuStreamGetCtx)(stream, &c) && c == context);
}

static CUresult record(CUevent e, const struct hz_cu_timed *t)
{
	if (t->own && hz_cu_has(HZ_CU_cuEventRecord_ptsz))
		return HZ_REAL(cuEventRecord_ptsz)(e, t->stream);
	return HZ_REAL(cuEventRecord)(e, t->stream);
}

/* False: the pair was given back, and the launch is not timed. */
static bool put_event(struct hz_cu_timed *t, CUevent e)
{
	CUresult rc = record(e, t);

	if (!rc)
		return true;
	hz_cu_pool_fail(t->pool, "cuEventRecord", rc);
	hz_cu_pair_give(t->pair);
	t->pair = NULL;
	return false;
}

void hz_cu_time_begin(struct hz_cu_timed *t, CUstream stream, bool own)
{
	CUcontext context = NULL;

	if (!hz_cu_may_ask() || !can_tell())
		return;
	t->pool = hz_cu_pool(true, &context);
	if (!t->pool || !is_of(stream, context))
		return;
	hz_cu_pool_read(t->pool);
	t->pair = hz_cu_pair_take(t->pool, context);
	if (!t->pair)
		return;
	t->stream = stream;
	t->own = own;
	if (put_event(t, t->pair->from))
		hz_gpu_time_expect();
}

void hz_cu_time_end(struct hz_cu_timed *t, CUresult rc)
{
	if (rc == CUDA_SUCCESS && hz_cu_may_ask() &&
	    !hz_cu_pair_lost(t->pair)) {
		put_event(t, t->pair->to);
		return;
	}
	hz_cu_pair_give(t->pair);
	t->pair = NULL;
}

void hz_cu_time_told(struct hz_cu_timed *t)
{
	if (hz_gpu_time_launched(&t->pair->what))
		hz_cu_pair_ask(t->pair);
	else
		hz_cu_pair_give(t->pair);
}

/* ---- launches that may overlap with the one before ---- */

bool hz_cu_may_time(const CUlaunchConfig *config)
{
	enum { SERIALIZATION = 6, EVENT = 7 }; /* both programmatic */

	for (unsigned i = 0; config && i < config->numAttrs; i++) {
		int id = config->attrs[i].id;

		if (id == SERIALIZATION || id == EVENT)
			return false;
	}
	return config != NULL;
}
