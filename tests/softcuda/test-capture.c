/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Capture: what becomes a node, what is refused and whether the capture
 * survives it, forks and joins by events, modes and threads.
 */
#include <pthread.h>
#include "testing.h"

static CUfunction add;
static CUdeviceptr p;
static CUstream s;

static unsigned value(void)
{
	unsigned v;

	ok(CALL(cuMemcpyDtoH_v2)(&v, p, 4));
	return v;
}

static void begin(CUstreamCaptureMode mode)
{
	ok(CALL(cuStreamBeginCapture_v2)(s, mode));
}

/* Ends in the code that is expected; the graph is dropped. */
static void end(CUresult code)
{
	CUgraph g = NULL;

	expect_code(CALL(cuStreamEndCapture)(s, &g), code);
	expect(!code == (g != NULL));
	if (g)
		ok(CALL(cuGraphDestroy)(g));
}

static void records(void)
{
	CUstreamCaptureStatus status;
	CUgraphExec exec;
	CUgraph g;
	size_t n = 0;

	ok(CALL(cuMemsetD32_v2)(p, 100, 1));
	begin(CU_STREAM_CAPTURE_MODE_GLOBAL);
	ok(CALL(cuStreamIsCapturing)(s, &status));
	expect(status == CU_STREAM_CAPTURE_STATUS_ACTIVE);
	ok(CALL(cuMemsetD32Async)(p, 1, 1, s));
	ok(launch_add(add, s, p, 1, 2));
	ok(launch_add(add, s, p, 1, 3));
	ok(CALL(cuStreamEndCapture)(s, &g));
	ok(CALL(cuStreamIsCapturing)(s, &status));
	expect(status == CU_STREAM_CAPTURE_STATUS_NONE);
	expect(value() == 100); /* nothing has run */
	ok(CALL(cuGraphGetNodes)(g, NULL, &n));
	expect(n == 3);
	ok(CALL(cuGraphGetEdges)(g, NULL, NULL, &n));
	expect(n == 2);
	ok(CALL(cuGraphInstantiateWithFlags)(&exec, g, 0));
	ok(CALL(cuGraphDestroy)(g));
	ok(CALL(cuGraphLaunch)(exec, s));
	ok(CALL(cuGraphLaunch)(exec, s));
	ok(CALL(cuStreamSynchronize)(s));
	expect(value() == 6);
	ok(CALL(cuGraphExecDestroy)(exec));
}

/* Refused with 900, and 901 at the end. */
static void invalidating(void)
{
	CUdeviceptr q;
	void *h;

	begin(CU_STREAM_CAPTURE_MODE_GLOBAL);
	expect_code(CALL(cuStreamSynchronize)(s),
		    CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
	expect_code(launch_add(add, s, p, 1, 1),
		    CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
	end(CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
	begin(CU_STREAM_CAPTURE_MODE_GLOBAL);
	expect_code(CALL(cuStreamQuery)(s),
		    CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
	end(CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
	begin(CU_STREAM_CAPTURE_MODE_GLOBAL);
	expect_code(CALL(cuMemAlloc_v2)(&q, 16),
		    CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
	end(CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
	begin(CU_STREAM_CAPTURE_MODE_THREAD_LOCAL);
	expect_code(CALL(cuMemHostAlloc)(&h, 16, 0),
		    CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
	end(CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
	begin(CU_STREAM_CAPTURE_MODE_RELAXED);
	ok(CALL(cuMemAlloc_v2)(&q, 16)); /* relaxed */
	expect_code(CALL(cuCtxSynchronize)(),
		    CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
	end(CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
	ok(CALL(cuMemFree_v2)(q));
	begin(CU_STREAM_CAPTURE_MODE_GLOBAL);
	expect_code(CALL(cuMemsetD32_v2)(p, 0, 1), /* s does not block it */
		    CUDA_SUCCESS);
	end(CUDA_SUCCESS);
}

/* A stream that synchronises with the legacy one forbids its use. */
static void legacy(void)
{
	CUstream blocking;
	CUgraph g;

	ok(CALL(cuStreamCreate)(&blocking, CU_STREAM_DEFAULT));
	expect_code(CALL(cuStreamBeginCapture_v2)(
			    NULL, CU_STREAM_CAPTURE_MODE_GLOBAL),
		    CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
	ok(CALL(cuStreamBeginCapture_v2)(blocking,
					 CU_STREAM_CAPTURE_MODE_GLOBAL));
	expect_code(CALL(cuMemsetD32_v2)(p, 0, 1),
		    CUDA_ERROR_STREAM_CAPTURE_IMPLICIT);
	expect_code(CALL(cuStreamEndCapture)(blocking, &g),
		    CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
	ok(CALL(cuStreamDestroy_v2)(blocking));
}

/* Refused with 900, and the capture ends well without them. */
static void absent(void)
{
	CUmemcpyAttributes a = {
		.srcAccessOrder = CU_MEMCPY_SRC_ACCESS_ORDER_STREAM};
	CUmemLocation l = {.type = CU_MEM_LOCATION_TYPE_DEVICE};
	CUdeviceptr m, dst = p, src = p + 16;
	size_t len = (size_t)2 << 20, four = 4, first = 0, n = 0;
	CUgraph g;

	ok(CALL(cuMemAllocManaged)(&m, len, CU_MEM_ATTACH_GLOBAL));
	begin(CU_STREAM_CAPTURE_MODE_GLOBAL);
	expect_code(CALL(cuMemPrefetchAsync_v2)(m, len, l, 0, s),
		    CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
	expect_code(CALL(cuMemcpyBatchAsync_v2)(&dst, &src, &four, 1, &a,
						&first, 1, s),
		    CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
	expect_code(CALL(cuMemDiscardBatchAsync)(&m, &len, 1, 0, s),
		    CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
	ok(launch_add(add, s, p, 1, 1));
	ok(CALL(cuStreamEndCapture)(s, &g));
	ok(CALL(cuGraphGetNodes)(g, NULL, &n));
	expect(n == 1);
	ok(CALL(cuGraphDestroy)(g));
	ok(CALL(cuMemFree_v2)(m));
}

static void fork_and_join(void)
{
	CUstream other;
	CUgraphExec exec;
	CUevent fork_at, join_at;
	CUgraph g;

	ok(CALL(cuStreamCreate)(&other, CU_STREAM_NON_BLOCKING));
	ok(CALL(cuEventCreate)(&fork_at, CU_EVENT_DISABLE_TIMING));
	ok(CALL(cuEventCreate)(&join_at, CU_EVENT_DISABLE_TIMING));
	begin(CU_STREAM_CAPTURE_MODE_GLOBAL);
	ok(CALL(cuMemsetD32Async)(p, 1, 2, s));
	ok(CALL(cuEventRecord)(fork_at, s));
	expect_code(CALL(cuEventQuery)(fork_at), CUDA_ERROR_CAPTURED_EVENT);
	ok(CALL(cuStreamWaitEvent)(other, fork_at, 0));
	ok(launch_add(add, other, p + 4, 1, 5));
	ok(launch_add(add, s, p, 1, 4));
	ok(CALL(cuEventRecord)(join_at, other));
	ok(CALL(cuStreamWaitEvent)(s, join_at, 0));
	ok(CALL(cuMemcpyDtoDAsync_v2)(p + 8, p + 4, 4, s));
	expect_code(CALL(cuStreamEndCapture)(other, &g),
		    CUDA_ERROR_STREAM_CAPTURE_UNMATCHED);
	end(CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);

	begin(CU_STREAM_CAPTURE_MODE_GLOBAL);
	ok(CALL(cuMemsetD32Async)(p, 1, 2, s));
	ok(CALL(cuEventRecord)(fork_at, s));
	ok(CALL(cuStreamWaitEvent)(other, fork_at, 0));
	ok(launch_add(add, other, p + 4, 1, 5));
	end(CUDA_ERROR_STREAM_CAPTURE_UNJOINED);

	begin(CU_STREAM_CAPTURE_MODE_GLOBAL);
	ok(CALL(cuMemsetD32Async)(p, 1, 2, s));
	ok(CALL(cuEventRecord)(fork_at, s));
	ok(CALL(cuStreamWaitEvent)(other, fork_at, 0));
	ok(launch_add(add, other, p + 4, 1, 5));
	ok(launch_add(add, s, p, 1, 4));
	ok(CALL(cuEventRecord)(join_at, other));
	ok(CALL(cuStreamWaitEvent)(s, join_at, 0));
	ok(CALL(cuMemcpyDtoDAsync_v2)(p, p + 4, 4, s));
	ok(CALL(cuStreamEndCapture)(s, &g));
	ok(CALL(cuGraphInstantiateWithFlags)(&exec, g, 0));
	ok(CALL(cuGraphLaunch)(exec, other));
	ok(CALL(cuStreamSynchronize)(other));
	expect(value() == 6);
	ok(CALL(cuGraphExecDestroy)(exec));
	ok(CALL(cuGraphDestroy)(g));
	ok(CALL(cuEventDestroy_v2)(fork_at));
	ok(CALL(cuEventDestroy_v2)(join_at));
	ok(CALL(cuStreamDestroy_v2)(other));
}

/* An event of before the capture is no dependency that a graph can have. */
static void isolation(void)
{
	CUevent e;

	ok(CALL(cuEventCreate)(&e, 0));
	ok(CALL(cuEventRecord)(e, s));
	begin(CU_STREAM_CAPTURE_MODE_GLOBAL);
	expect_code(CALL(cuStreamWaitEvent)(s, e, 0),
		    CUDA_ERROR_STREAM_CAPTURE_ISOLATION);
	end(CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
	ok(CALL(cuEventDestroy_v2)(e));
}

struct other {
	CUstreamCaptureMode mode;
	CUresult alloc, end;
};

static void *elsewhere(void *arg)
{
	struct other *o = arg;
	CUcontext ctx;
	CUdeviceptr q;
	CUgraph g;

	ok(CALL(cuDevicePrimaryCtxRetain)(&ctx, 0));
	ok(CALL(cuCtxSetCurrent)(ctx));
	ok(CALL(cuThreadExchangeStreamCaptureMode)(&o->mode));
	o->alloc = CALL(cuMemAlloc_v2)(&q, 16);
	if (!o->alloc)
		ok(CALL(cuMemFree_v2)(q));
	o->end = CALL(cuStreamEndCapture)(s, &g);
	ok(CALL(cuDevicePrimaryCtxRelease_v2)(0));
	return NULL;
}

static struct other in_a_thread(CUstreamCaptureMode mode)
{
	struct other o = {.mode = mode};
	pthread_t thread;

	pthread_create(&thread, NULL, elsewhere, &o);
	pthread_join(thread, NULL);
	return o;
}

/* A global capture watches all threads that did not relax. */
static void threads(void)
{
	struct other o;

	begin(CU_STREAM_CAPTURE_MODE_GLOBAL);
	o = in_a_thread(CU_STREAM_CAPTURE_MODE_RELAXED);
	expect(o.alloc == CUDA_SUCCESS);
	expect(o.end == CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD);
	o = in_a_thread(CU_STREAM_CAPTURE_MODE_GLOBAL);
	expect(o.alloc == CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
	end(CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
	begin(CU_STREAM_CAPTURE_MODE_THREAD_LOCAL);
	o = in_a_thread(CU_STREAM_CAPTURE_MODE_GLOBAL);
	expect(o.alloc == CUDA_SUCCESS);
	end(CUDA_SUCCESS);
}

static void states(void)
{
	CUgraph g;

	expect_code(CALL(cuStreamEndCapture)(s, &g), CUDA_ERROR_ILLEGAL_STATE);
	begin(CU_STREAM_CAPTURE_MODE_GLOBAL);
	expect_code(CALL(cuStreamBeginCapture_v2)(
			    s, CU_STREAM_CAPTURE_MODE_GLOBAL),
		    CUDA_ERROR_ILLEGAL_STATE);
	end(CUDA_SUCCESS);
}

/* Memory that is made in a graph is there while a launch has taken it. */
static void memory_nodes(void)
{
	unsigned long long before = counters().device_bytes;
	CUgraphExec exec;
	CUdeviceptr q;
	CUgraph g;

	begin(CU_STREAM_CAPTURE_MODE_GLOBAL);
	ok(CALL(cuMemAllocAsync)(&q, 4096, s));
	ok(CALL(cuMemsetD32Async)(q, 8, 1, s));
	ok(CALL(cuMemcpyDtoDAsync_v2)(p, q, 4, s));
	ok(CALL(cuStreamEndCapture)(s, &g));
	ok(CALL(cuGraphInstantiateWithFlags)(&exec, g, 0));
	expect(counters().device_bytes == before);
	ok(CALL(cuGraphLaunch)(exec, s));
	expect(counters().device_bytes == before + 4096);
	expect_code(CALL(cuGraphLaunch)(exec, s), CUDA_ERROR_INVALID_VALUE);
	ok(CALL(cuStreamSynchronize)(s));
	expect(value() == 8);
	ok(CALL(cuMemFreeAsync)(q, s));
	ok(CALL(cuStreamSynchronize)(s));
	expect(counters().device_bytes == before);
	ok(CALL(cuGraphLaunch)(exec, s));
	ok(CALL(cuMemFree_v2)(q));
	expect_code(CALL(cuMemFree_v2)(q), CUDA_ERROR_INVALID_VALUE);
	ok(CALL(cuGraphExecDestroy)(exec));
	ok(CALL(cuGraphDestroy)(g));
}

int main(void)
{
	open_context();
	add = function(open_module(), "add");
	ok(CALL(cuStreamCreate)(&s, CU_STREAM_NON_BLOCKING));
	ok(CALL(cuMemAlloc_v2)(&p, 64));
	records();
	invalidating();
	legacy();
	absent();
	fork_and_join();
	isolation();
	threads();
	states();
	memory_nodes();
	ok(CALL(cuMemFree_v2)(p));
	ok(CALL(cuStreamDestroy_v2)(s));
	expect(counters().live_graphs == 0);
	expect(counters().live_allocations == 0);
	return 0;
}
