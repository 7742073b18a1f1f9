/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Item 4: what may be called while a stream is captured (mode GLOBAL). Each
 * call is made outside of capture, on the capturing stream, on another stream
 * of the same thread, by another thread, and by another thread in RELAXED mode.
 * A cell is [code of the call, code of cuStreamEndCapture, nodes].
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include "probe.h"

#define BYTES (4 * MIB)

/* What the calls work on. */
static struct {
	CUdeviceptr managed, native;
	void *host;
	CUevent event;
	CUfunction nothing;
	CUstream other;
} on;

/* ---- the calls ---- */

static CUresult op_launch(CUstream s)
{
	return cuLaunchKernel(on.nothing, 1, 1, 1, 1, 1, 1, 0, s, NULL, NULL);
}

static CUresult op_memset(CUstream s)
{
	return cuMemsetD8Async(on.native, 0, BYTES, s);
}

static CUresult op_prefetch(CUstream s)
{
	return cuMemPrefetchAsync(on.managed, BYTES, probe_gpu(), 0, s);
}

static CUresult op_prefetch_batch(CUstream s)
{
	CUmemLocation where = probe_gpu();
	size_t bytes = BYTES, first = 0;

	return cuMemPrefetchBatchAsync(&on.managed, &bytes, 1, &where, &first,
				       1, 0, s);
}

static CUresult op_discard(CUstream s)
{
	size_t bytes = BYTES;

	return cuMemDiscardBatchAsync(&on.managed, &bytes, 1, 0, s);
}

static CUresult op_memcpy_batch(CUstream s)
{
	CUmemcpyAttributes how = {.srcAccessOrder =
					  CU_MEMCPY_SRC_ACCESS_ORDER_STREAM};
	CUdeviceptr to = on.native, from = on.native + BYTES / 2;
	size_t bytes = BYTES / 2, first = 0;

	return cuMemcpyBatchAsync(&to, &from, &bytes, 1, &how, &first, 1, s);
}

static CUresult op_write_value(CUstream s)
{
	return cuStreamWriteValue32(s, on.native, 1, 0);
}

static CUresult op_event_record(CUstream s)
{
	CUevent e;
	CUresult code = cuEventCreate(&e, CU_EVENT_DISABLE_TIMING);

	if (!code) {
		code = cuEventRecord(e, s);
		cuEventDestroy(e);
	}
	return code;
}

static CUresult op_alloc_async(CUstream s)
{
	CUdeviceptr p;
	CUresult code = cuMemAllocAsync(&p, BYTES, s);

	return code ? code : cuMemFreeAsync(p, s);
}

static CUresult op_stream_query(CUstream s)
{
	return cuStreamQuery(s);
}

static CUresult op_stream_sync(CUstream s)
{
	return cuStreamSynchronize(s);
}

static CUresult op_advise(CUstream s)
{
	return cuMemAdvise(on.managed, BYTES,
			   CU_MEM_ADVISE_SET_PREFERRED_LOCATION, probe_gpu());
}

static CUresult op_event_query(CUstream s)
{
	return cuEventQuery(on.event);
}

static CUresult op_host_register(CUstream s)
{
	CUresult code =
		cuMemHostRegister(on.host, BYTES, CU_MEMHOSTREGISTER_PORTABLE);

	return code ? code : cuMemHostUnregister(on.host);
}

static CUresult op_alloc(CUstream s)
{
	CUdeviceptr p;
	CUresult code = cuMemAlloc(&p, BYTES);

	return code ? code : cuMemFree(p);
}

static CUresult op_alloc_managed(CUstream s)
{
	CUdeviceptr p;
	CUresult code = cuMemAllocManaged(&p, BYTES, CU_MEM_ATTACH_GLOBAL);

	return code ? code : cuMemFree(p);
}

static CUresult op_mem_info(CUstream s)
{
	size_t left, total;

	return cuMemGetInfo(&left, &total);
}

static CUresult op_param_info(CUstream s)
{
	size_t offset, size;
	CUresult code = cuFuncGetParamInfo(on.nothing, 0, &offset, &size);

	/* It has none: INVALID_VALUE is the answer. */
	return code == CUDA_ERROR_INVALID_VALUE ? CUDA_SUCCESS : code;
}

static CUresult op_ctx_sync(CUstream s)
{
	return cuCtxSynchronize();
}

static CUresult op_vmm_create(CUstream s)
{
	CUmemAllocationProp prop = {.type = CU_MEM_ALLOCATION_TYPE_PINNED,
				    .location = probe_gpu()};
	CUmemGenericAllocationHandle h;
	CUresult code = cuMemCreate(&h, BYTES, &prop, 0);

	return code ? code : cuMemRelease(h);
}

static const struct op {
	const char *name;
	CUresult (*call)(CUstream);
	bool stream; /* it is given one */
} ops[] = {
	{"launch", op_launch, true},
	{"memset", op_memset, true},
	{"prefetch", op_prefetch, true},
	{"prefetch_batch", op_prefetch_batch, true},
	{"discard", op_discard, true},
	{"memcpy_batch", op_memcpy_batch, true},
	{"write_value", op_write_value, true},
	{"event_record", op_event_record, true},
	{"alloc_async", op_alloc_async, true},
	{"stream_query", op_stream_query, true},
	{"stream_sync", op_stream_sync, true},
	{"advise", op_advise, false},
	{"event_query", op_event_query, false},
	{"host_register", op_host_register, false},
	{"alloc", op_alloc, false},
	{"alloc_managed", op_alloc_managed, false},
	{"mem_info", op_mem_info, false},
	{"param_info", op_param_info, false},
	{"vmm_create", op_vmm_create, false},
	{"ctx_sync", op_ctx_sync, false},
};

/* ---- where it is called ---- */

enum place { SAME, OTHER, THREAD, RELAXED, PLACES };

static const char *const place_name[] = {"same", "other", "thread", "relaxed"};

struct call {
	const struct op *op;
	enum place place;
	int code;
};

static void *other_thread(void *arg)
{
	struct call *c = arg;
	CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_RELAXED;

	probe_enter();
	if (c->place == RELAXED)
		need(cuThreadExchangeStreamCaptureMode(&mode));
	c->code = (int)c->op->call(on.other);
	return NULL;
}

static int make_call(const struct op *op, enum place place, CUstream s)
{
	struct call c = {op, place, 0};
	pthread_t t;

	if (place == SAME)
		return (int)op->call(s);
	if (place == OTHER)
		return (int)op->call(on.other);
	need(pthread_create(&t, NULL, other_thread, &c));
	need(pthread_join(t, NULL));
	return c.code;
}

/* A captured launch stands before the call, so that there is a node. */
static void one_cell(const struct op *op, enum place place)
{
	CUgraph graph = NULL;
	CUstream s;
	size_t nodes = 0;
	char cell[64];
	int code, end;

	need(cuStreamCreate(&s, CU_STREAM_NON_BLOCKING));
	need(cuStreamBeginCapture(s, CU_STREAM_CAPTURE_MODE_GLOBAL));
	need(op_launch(s));
	code = make_call(op, place, s);
	end = (int)cuStreamEndCapture(s, &graph);
	if (!end && graph) {
		need(cuGraphGetNodes(graph, NULL, &nodes));
		need(cuGraphDestroy(graph));
	}
	snprintf(cell, sizeof(cell), "[%d,%d,%zu]", code, end, nodes);
	fact_json(cell, "%s_%s", op->name, place_name[place]);
	need(cuCtxSynchronize());
	need(cuStreamDestroy(s));
}

static void one_row(const struct op *op)
{
	int code = (int)op->call(on.other);

	need(cuCtxSynchronize());
	fact_int(code, "%s_plain_code", op->name);
	for (enum place p = SAME; p < PLACES; p++)
		if (op->stream || p != OTHER)
			one_cell(op, p);
}

int main(void)
{
	probe_open();
	on.nothing = probe_kernel("probe_nothing");
	on.managed = probe_managed(BYTES);
	need(cuMemAlloc(&on.native, BYTES));
	need_true(!posix_memalign(&on.host, 2 * MIB, BYTES));
	need(cuEventCreate(&on.event, CU_EVENT_DISABLE_TIMING));
	need(cuStreamCreate(&on.other, CU_STREAM_NON_BLOCKING));
	need(cuEventRecord(on.event, on.other));
	need(cuMemsetD8(on.managed, 0, BYTES));
	need(cuCtxSynchronize());
	/* Once outside of capture: the module may be loaded lazily. */
	need(op_launch(on.other));
	need(cuCtxSynchronize());
	fact_str("[code, end code, nodes]", "cell");
	for (size_t i = 0; i < sizeof(ops) / sizeof(*ops); i++)
		one_row(&ops[i]);
	return 0;
}
