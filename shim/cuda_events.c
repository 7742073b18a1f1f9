/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Our events: pairs of them, some for each context in which launches are
 * timed. See cuda_events.h.
 *
 * No lock: a pair belongs to whoever changed its state to TAKEN. A context may
 * end meanwhile; its pairs are LOST then, and their owners leave the driver
 * alone.
 */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif
#include "cuda_events.h"

#include "base/log.h"
#include "base/util.h"
#include "cuda_hooks.h"

#define POOLS 16u /* contexts at the same time; more are not timed */
#define PAIRS 32u /* frameworks run ahead by some hundreds of launches */
#define READS 4u  /* pairs that are not ready, until no more are asked */

enum state {
	EMPTY, /* no events */
	IDLE,
	TAKEN, /* by a thread */
	LOST,  /* by a thread, and the context ended */
	ASKED  /* around a launch, and not read yet */
};

static struct hz_cu_pool {
	CUcontext context;     /* atomic; NULL: free, NOBODY: in the making */
	unsigned long long id; /* atomic */
	bool failed;	       /* atomic: no more of it */
	uint32_t next;	       /* atomic: to be asked about */
	struct hz_cu_pair pair[PAIRS];
} pools[POOLS];
#define NOBODY ((CUcontext)-1)

static uint32_t asked; /* atomic: pairs of all pools in this state */

/* ---- states ---- */

static bool change(struct hz_cu_pair *p, uint32_t from, uint32_t to)
{
	if (!__atomic_compare_exchange_n(&p->state, &from, to, false,
					 __ATOMIC_SEQ_CST, __ATOMIC_RELAXED))
		return false;
	if (from == ASKED)
		__atomic_fetch_sub(&asked, 1, __ATOMIC_RELAXED);
	if (to == ASKED)
		__atomic_fetch_add(&asked, 1, __ATOMIC_RELAXED);
	return true;
}

/* By its owner. Events of a context that ended are nobody's. */
static void give(struct hz_cu_pair *p, uint32_t to)
{
	if (!change(p, TAKEN, to))
		__atomic_store_n(&p->state, EMPTY, __ATOMIC_RELEASE);
}

void hz_cu_pair_give(struct hz_cu_pair *p)
{
	give(p, IDLE);
}

void hz_cu_pair_ask(struct hz_cu_pair *p)
{
	give(p, ASKED);
}

bool hz_cu_pair_lost(const struct hz_cu_pair *p)
{
	return __atomic_load_n(&p->state, __ATOMIC_ACQUIRE) == LOST;
}

static bool has_failed(const struct hz_cu_pool *pool)
{
	return __atomic_load_n(&pool->failed, __ATOMIC_RELAXED);
}

/* What the driver says to the program is not changed by that: an error that
 * stays meets the program's own call. */
void hz_cu_pool_fail(struct hz_cu_pool *pool, const char *what, CUresult rc)
{
	enum { DEINITIALIZED = 4, INVALID_CONTEXT = 201, DESTROYED = 709 };

	if (__atomic_exchange_n(&pool->failed, true, __ATOMIC_RELAXED) ||
	    rc == DEINITIALIZED || rc == INVALID_CONTEXT || rc == DESTROYED)
		return;
	hz_log(HZ_WARN, "gpu",
	       "launches in a context are not timed any more (%s: error %d)",
	       what, rc);
}

/* ---- the mode of captures that this thread is in ---- */

static CUstreamCaptureMode exchange(CUstreamCaptureMode mode)
{
	if (hz_cu_has(HZ_CU_cuThreadExchangeStreamCaptureMode))
		HZ_REAL(cuThreadExchangeStreamCaptureMode)(&mode);
	return mode;
}

static CUstreamCaptureMode relax(void)
{
	enum { RELAXED = 2 };

	return exchange(RELAXED);
}

static void relaxed(CUstreamCaptureMode *before)
{
	exchange(*before);
}

/* Until the end of the scope. */
#define RELAX()                                 \
	CUstreamCaptureMode hz_cleanup(relaxed) \
	before_mode_ __attribute__((unused)) = relax()

/* ---- pools ---- */

static unsigned long long id_of(CUcontext context)
{
	unsigned long long id = 0;

	if (hz_cu_has(HZ_CU_cuCtxGetId))
		HZ_REAL(cuCtxGetId)(context, &id);
	return id;
}

/* Not if another context has got the handle meanwhile. */
static bool is_same(const struct hz_cu_pool *pool, CUcontext context)
{
	return id_of(context) == __atomic_load_n(&pool->id, __ATOMIC_RELAXED);
}

static struct hz_cu_pool *find(CUcontext context)
{
	for (unsigned i = 0; i < POOLS; i++)
		if (__atomic_load_n(&pools[i].context, __ATOMIC_ACQUIRE) ==
		    context)
			return &pools[i];
	return NULL;
}

/* The handle came again, and nobody told us of the end of the context that
 * had it: its events went with it. */
static void forget(struct hz_cu_pool *pool, CUcontext context)
{
	for (unsigned i = 0; i < PAIRS; i++) {
		struct hz_cu_pair *p = &pool->pair[i];

		if (!change(p, IDLE, EMPTY) && !change(p, ASKED, EMPTY))
			change(p, TAKEN, LOST);
	}
	__atomic_store_n(&pool->id, id_of(context), __ATOMIC_RELAXED);
	__atomic_store_n(&pool->failed, false, __ATOMIC_RELAXED);
}

/* Two threads may make two of one context: no harm. */
static struct hz_cu_pool *make(CUcontext context)
{
	for (unsigned i = 0; i < POOLS; i++) {
		CUcontext none = NULL;

		if (!__atomic_compare_exchange_n(
			    &pools[i].context, &none, NOBODY, false,
			    __ATOMIC_ACQ_REL, __ATOMIC_RELAXED))
			continue;
		__atomic_store_n(&pools[i].id, id_of(context),
				 __ATOMIC_RELAXED);
		__atomic_store_n(&pools[i].failed, false, __ATOMIC_RELAXED);
		__atomic_store_n(&pools[i].context, context, __ATOMIC_RELEASE);
		return &pools[i];
	}
	return NULL;
}

/* Of the context that is current, NULL if there is none to be used. */
struct hz_cu_pool *hz_cu_pool(bool may_make, CUcontext *context)
{
	struct hz_cu_pool *pool;

	if (HZ_REAL(cuCtxGetCurrent)(context) || !*context)
		return NULL;
	pool = find(*context);
	if (!pool)
		return may_make ? make(*context) : NULL;
	if (hz_unlikely(!is_same(pool, *context)))
		forget(pool, *context);
	return has_failed(pool) ? NULL : pool;
}

/* ---- reading ---- */

bool hz_cu_may_ask(void)
{
	return __atomic_load_n(&hz_gpu_timing, __ATOMIC_ACQUIRE) &&
	       !hz_gpu_capturing();
}

static bool has_asked(void)
{
	return __atomic_load_n(&asked, __ATOMIC_RELAXED) != 0;
}

static void note(const struct hz_cu_pair *p, float ms)
{
	if (ms >= 0)
		hz_gpu_time_took(&p->what, (uint64_t)((double)ms * 1e6));
}

/* False: the device has not come so far. */
static bool read_pair(struct hz_cu_pool *pool, struct hz_cu_pair *p)
{
	enum { NOT_READY = 600 };
	const char *what = "cuEventQuery";
	CUresult rc = HZ_REAL(cuEventQuery)(p->to);
	float ms = 0;

	if (!rc) {
		what = "cuEventElapsedTime";
		rc = HZ_REAL(cuEventElapsedTime)(&ms, p->from, p->to);
	}
	if (!rc)
		note(p, ms);
	else if (rc != NOT_READY && !hz_cu_pair_lost(p))
		hz_cu_pool_fail(pool, what, rc);
	give(p, rc == NOT_READY ? ASKED : IDLE);
	return rc != NOT_READY;
}

/* Some that were asked for, beginning behind those of the last time. */
static void read_some(struct hz_cu_pool *pool)
{
	uint32_t from = __atomic_load_n(&pool->next, __ATOMIC_RELAXED);
	unsigned waiting = 0, i;
	RELAX();

	for (i = 0; i < PAIRS && waiting < READS && !has_failed(pool); i++) {
		struct hz_cu_pair *p = &pool->pair[(from + i) % PAIRS];

		if (change(p, ASKED, TAKEN) && !read_pair(pool, p))
			waiting++;
	}
	__atomic_store_n(&pool->next, (from + i) % PAIRS, __ATOMIC_RELAXED);
}

void hz_cu_pool_read(struct hz_cu_pool *pool)
{
	if (has_asked())
		read_some(pool);
}

void hz_cu_waited(void)
{
	struct hz_cu_pool *pool;
	CUcontext context;

	hz_gpu_refresh();
	if (hz_likely(!has_asked()) || !hz_cu_may_ask())
		return;
	pool = hz_cu_pool(false, &context);
	if (pool)
		read_some(pool);
}

/* ---- taking ---- */

static bool fill(struct hz_cu_pool *pool, struct hz_cu_pair *p)
{
	CUresult rc;
	RELAX();

	rc = HZ_REAL(cuEventCreate)(&p->from, 0);
	if (!rc) {
		rc = HZ_REAL(cuEventCreate)(&p->to, 0);
		if (rc)
			HZ_REAL(cuEventDestroy_v2)(p->from);
	}
	if (rc)
		hz_cu_pool_fail(pool, "cuEventCreate", rc);
	return !rc;
}

/* drop() says first that the context is gone, then looks at the pairs. */
static bool still_of(const struct hz_cu_pool *pool, CUcontext context)
{
	return __atomic_load_n(&pool->context, __ATOMIC_SEQ_CST) == context;
}

struct hz_cu_pair *hz_cu_pair_take(struct hz_cu_pool *pool, CUcontext context)
{
	static const uint32_t from[] = {IDLE, EMPTY};

	for (unsigned i = 0; i < 2 * PAIRS && !has_failed(pool); i++) {
		struct hz_cu_pair *p = &pool->pair[i % PAIRS];
		uint32_t was = from[i / PAIRS];

		if (!change(p, was, TAKEN))
			continue;
		if (still_of(pool, context) && (was == IDLE || fill(pool, p)))
			return p;
		give(p, was);
		break;
	}
	return NULL;
}

/* ---- the end of a context ---- */

static void destroy(struct hz_cu_pair *p)
{
	HZ_REAL(cuEventDestroy_v2)(p->from);
	HZ_REAL(cuEventDestroy_v2)(p->to);
	give(p, EMPTY);
}

static void drop(struct hz_cu_pool *pool)
{
	RELAX();

	__atomic_store_n(&pool->context, NOBODY, __ATOMIC_SEQ_CST);
	for (unsigned i = 0; i < PAIRS; i++) {
		struct hz_cu_pair *p = &pool->pair[i];
		bool unread = change(p, ASKED, TAKEN);

		if (unread && hz_cu_may_ask() && !has_failed(pool))
			read_pair(pool, p);
		else if (unread)
			give(p, IDLE);
		if (change(p, IDLE, TAKEN) || change(p, ASKED, TAKEN))
			destroy(p);
		else
			change(p, TAKEN, LOST);
	}
	__atomic_store_n(&pool->context, NULL, __ATOMIC_RELEASE);
}

void hz_cu_time_drop(CUcontext context)
{
	struct hz_cu_pool *pool;

	if (!context || context == NOBODY)
		return;
	while ((pool = find(context))) {
		if (!is_same(pool, context))
			forget(pool, context);
		drop(pool);
	}
}
