/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Stream capture: the rules of what a thread may call meanwhile, and how work
 * becomes nodes. All of it is under soft_lock; a capture lives from its begin
 * to its end, and events that were recorded in one know it by its identity.
 */
#include <stdlib.h>
#include <string.h>
#include "array.h"
#include "capture.h"
#include "graph.h"

static LIST_HEAD(capture_list, soft_capture) captures =
	LIST_HEAD_INITIALIZER(captures);
static _Atomic unsigned n_captures;
static __thread unsigned thread_mode = CU_STREAM_CAPTURE_MODE_GLOBAL;

static void invalidate(struct soft_capture *c)
{
	if (c->invalidated)
		return;
	c->invalidated = true;
	soft_count(captures_invalidated, 1);
}

static CUresult refuse(CUresult code)
{
	soft_count(capture_refusals, 1);
	return code;
}

/* May this thread not make an unsafe call because of c? */
static bool watches(const struct soft_capture *c)
{
	if (thread_mode == CU_STREAM_CAPTURE_MODE_RELAXED)
		return false;
	if (pthread_equal(c->thread, pthread_self()))
		return c->mode != CU_STREAM_CAPTURE_MODE_RELAXED;
	return thread_mode == CU_STREAM_CAPTURE_MODE_GLOBAL &&
	       c->mode == CU_STREAM_CAPTURE_MODE_GLOBAL;
}

CUresult soft_capture_unsafe(void)
{
	CUresult res = CUDA_SUCCESS;
	struct soft_capture *c;

	if (!atomic_load(&n_captures))
		return CUDA_SUCCESS;
	soft_guard(soft_lock);
	LIST_FOREACH(c, &captures, link) {
		if (!watches(c))
			continue;
		invalidate(c);
		res = CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
	}
	return res ? refuse(res) : res;
}

CUresult soft_capture_sync(CUstream s)
{
	if (!atomic_load(&n_captures))
		return CUDA_SUCCESS;
	if (s->legacy)
		return soft_capture_legacy(s->ctx);
	soft_guard(soft_lock);
	if (!s->capture)
		return CUDA_SUCCESS;
	invalidate(s->capture);
	return refuse(CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
}

CUresult soft_capture_absent(CUstream s)
{
	if (!atomic_load(&n_captures))
		return CUDA_SUCCESS;
	soft_guard(soft_lock);
	return s->capture ? refuse(CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED)
			  : CUDA_SUCCESS;
}

static CUresult any_stream(CUcontext ctx, bool blocking_only, CUresult code)
{
	CUresult res = CUDA_SUCCESS;
	CUstream s;

	if (!atomic_load(&n_captures))
		return CUDA_SUCCESS;
	soft_guard(soft_lock);
	LIST_FOREACH(s, &ctx->streams, link) {
		if (!s->capture || (blocking_only &&
				    (s->flags & CU_STREAM_NON_BLOCKING)))
			continue;
		invalidate(s->capture);
		res = code;
	}
	return res ? refuse(res) : res;
}

CUresult soft_capture_ctx_sync(CUcontext ctx)
{
	CUresult res = any_stream(ctx, false,
				  CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);

	return res ? res : soft_capture_unsafe();
}

CUresult soft_capture_legacy(CUcontext ctx)
{
	return any_stream(ctx, true, CUDA_ERROR_STREAM_CAPTURE_IMPLICIT);
}

/* ---- a stream's place: the nodes that its next one depends on ---- */

static void deps_set(CUstream s, const CUgraphNode *nodes, unsigned n)
{
	CUgraphNode *copy = NULL;

	if (n) {
		copy = malloc(n * sizeof(*copy));
		if (!copy)
			abort();
		memcpy(copy, nodes, n * sizeof(*copy));
	}
	free(s->cap_deps);
	s->cap_deps = copy;
	s->n_cap_deps = n;
}

static void deps_merge(CUstream s, const CUgraphNode *nodes, unsigned n)
{
	unsigned have = s->n_cap_deps, add = 0;
	CUgraphNode *all = malloc((have + n + 1) * sizeof(*all));

	if (!all)
		abort();
	if (have)
		memcpy(all, s->cap_deps, have * sizeof(*all));
	for (unsigned i = 0; i < n; i++) {
		unsigned j = 0;

		while (j < have && all[j] != nodes[i])
			j++;
		if (j == have)
			all[have + add++] = nodes[i];
	}
	free(s->cap_deps);
	s->cap_deps = all;
	s->n_cap_deps = have + add;
}

static const unsigned node_types[] = {
	[SOFT_OP_EMPTY] = CU_GRAPH_NODE_TYPE_EMPTY,
	[SOFT_OP_KERNEL] = CU_GRAPH_NODE_TYPE_KERNEL,
	[SOFT_OP_COPY] = CU_GRAPH_NODE_TYPE_MEMCPY,
	[SOFT_OP_SET] = CU_GRAPH_NODE_TYPE_MEMSET,
	[SOFT_OP_HOST] = CU_GRAPH_NODE_TYPE_HOST,
	[SOFT_OP_RECORD] = CU_GRAPH_NODE_TYPE_EVENT_RECORD,
	[SOFT_OP_WAIT] = CU_GRAPH_NODE_TYPE_WAIT_EVENT,
	[SOFT_OP_WRITE] = CU_GRAPH_NODE_TYPE_BATCH_MEM_OP,
	[SOFT_OP_WAIT_VALUE] = CU_GRAPH_NODE_TYPE_BATCH_MEM_OP,
	[SOFT_OP_GRAPH] = CU_GRAPH_NODE_TYPE_GRAPH,
	[SOFT_OP_FREE] = CU_GRAPH_NODE_TYPE_MEM_FREE,
	[SOFT_OP_ALLOC] = CU_GRAPH_NODE_TYPE_MEM_ALLOC,
};

unsigned soft_node_type(enum soft_op_kind kind)
{
	return kind == SOFT_OP_CHILD ? CU_GRAPH_NODE_TYPE_GRAPH
				     : node_types[kind];
}

/* The description that a program may ask of a copy node. */
static void copy_node(CUgraphNode node, const struct soft_copy *c)
{
	node->copy = (CUDA_MEMCPY3D){
		.srcMemoryType = CU_MEMORYTYPE_UNIFIED,
		.srcDevice = (uintptr_t)c->src,
		.srcPitch = c->src_pitch,
		.srcHeight = c->height,
		.dstMemoryType = CU_MEMORYTYPE_UNIFIED,
		.dstDevice = (uintptr_t)c->dst,
		.dstPitch = c->dst_pitch,
		.dstHeight = c->height,
		.WidthInBytes = c->width,
		.Height = c->height,
		.Depth = c->depth,
	};
	soft_array_sides(&node->copy);
}

static CUresult add(CUstream s, struct soft_op *op)
{
	CUgraphNode node;

	if (!s->capture || s->capture->invalidated)
		return CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
	if (op->kind == SOFT_OP_PREFETCH || op->kind == SOFT_OP_DISCARD ||
	    op->kind == SOFT_OP_CALLBACK)
		return refuse(CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
	node = soft_node_add(s->capture->graph, soft_node_type(op->kind),
			     s->cap_deps, s->n_cap_deps);
	if (!node)
		return CUDA_ERROR_OUT_OF_MEMORY;
	node->op = *op;
	node->capture = s->capture->id;
	if (op->kind == SOFT_OP_GRAPH)
		node->op.kind = SOFT_OP_CHILD;
	if (op->kind == SOFT_OP_COPY)
		copy_node(node, &op->copy);
	deps_set(s, &node, 1);
	return CUDA_SUCCESS;
}

CUresult soft_capture_add(CUstream s, struct soft_op *op)
{
	CUresult res;

	soft_guard(soft_lock);
	res = add(s, op);
	if (res)
		soft_op_release(op);
	return res;
}

/* ---- events ---- */

CUresult soft_capture_record(CUstream s, CUevent e, bool *done)
{
	if (!atomic_load(&n_captures))
		return CUDA_SUCCESS;
	soft_guard(soft_lock);
	if (!s->capture)
		return CUDA_SUCCESS;
	if (s->capture->invalidated)
		return CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
	free(e->nodes);
	e->nodes = malloc((s->n_cap_deps + 1) * sizeof(*e->nodes));
	if (!e->nodes)
		return CUDA_ERROR_OUT_OF_MEMORY;
	if (s->n_cap_deps)
		memcpy(e->nodes, s->cap_deps,
		       s->n_cap_deps * sizeof(*e->nodes));
	e->n_nodes = s->n_cap_deps;
	e->capture = s->capture->id;
	*done = true;
	return CUDA_SUCCESS;
}

static struct soft_capture *by_id(uint64_t id)
{
	struct soft_capture *c;

	LIST_FOREACH(c, &captures, link)
		if (c->id == id)
			return c;
	return NULL;
}

/* An event of a capture takes another stream into it. */
static CUresult join(CUstream s, CUevent e)
{
	struct soft_capture *c = by_id(e->capture);

	if (!c)
		return CUDA_ERROR_CAPTURED_EVENT;
	if (c->invalidated)
		return CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
	if (s->capture && s->capture != c) {
		invalidate(c);
		invalidate(s->capture);
		return CUDA_ERROR_STREAM_CAPTURE_MERGE;
	}
	if (s->legacy) {
		invalidate(c);
		return CUDA_ERROR_STREAM_CAPTURE_IMPLICIT;
	}
	__atomic_store_n(&s->capture, c, __ATOMIC_RELEASE);
	deps_merge(s, e->nodes, e->n_nodes);
	return CUDA_SUCCESS;
}

CUresult soft_capture_wait_event(CUstream s, CUevent e, unsigned flags,
				 bool *done)
{
	struct soft_op op = {.kind = SOFT_OP_WAIT};

	soft_guard(soft_lock);
	if (e->capture && !flags) {
		*done = true;
		return join(s, e);
	}
	if (!s->capture)
		return CUDA_SUCCESS;
	*done = true;
	if (flags) { /* external: a node of its own */
		op.record.event = e;
		return add(s, &op);
	}
	if (!e->stream)
		return CUDA_SUCCESS;
	invalidate(s->capture);
	return CUDA_ERROR_STREAM_CAPTURE_ISOLATION;
}

/* ---- begin and end ---- */

static void leave(CUstream s)
{
	__atomic_store_n(&s->capture, NULL, __ATOMIC_RELEASE);
	deps_set(s, NULL, 0);
}

static void finish(struct soft_capture *c)
{
	CUstream s;

	LIST_FOREACH(s, &c->graph_ctx->streams, link)
		if (s->capture == c)
			leave(s);
	LIST_REMOVE(c, link);
	atomic_fetch_sub(&n_captures, 1);
	free(c);
}

/* A stream that is destroyed spoils the capture; its origin ends it. */
void soft_capture_drop(CUstream s)
{
	struct soft_capture *c;

	if (!atomic_load(&n_captures))
		return;
	soft_guard(soft_lock);
	c = s->capture;
	if (!c)
		return;
	invalidate(c);
	leave(s);
	if (c->origin != s)
		return;
	if (!c->given)
		soft_graph_put(c->graph);
	finish(c);
}

CUresult soft_capture_begin(CUstream s, CUgraph graph, const CUgraphNode *deps,
			    size_t n, unsigned mode)
{
	static uint64_t ids;
	struct soft_capture *c;

	if (mode > CU_STREAM_CAPTURE_MODE_RELAXED)
		return CUDA_ERROR_INVALID_VALUE;
	if (s->legacy)
		return refuse(CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
	soft_guard(soft_lock);
	if (s->capture)
		return CUDA_ERROR_ILLEGAL_STATE;
	c = calloc(1, sizeof(*c));
	if (!c)
		return CUDA_ERROR_OUT_OF_MEMORY;
	c->given = graph != NULL;
	c->graph = graph ? graph : soft_graph_new(s->ctx, true);
	c->graph_ctx = s->ctx;
	c->origin = s;
	c->mode = mode;
	c->thread = pthread_self();
	c->id = ++ids;
	LIST_INSERT_HEAD(&captures, c, link);
	atomic_fetch_add(&n_captures, 1);
	__atomic_store_n(&s->capture, c, __ATOMIC_RELEASE);
	deps_set(s, deps, (unsigned)n);
	soft_count(captures, 1);
	return CUDA_SUCCESS;
}

/* Every leaf that the capture made must lie before the origin's place. */
static bool unjoined(const struct soft_capture *c)
{
	CUgraph g = c->graph;
	CUstream s = c->origin;

	for (unsigned i = 0; i < g->n_nodes; i++) {
		CUgraphNode node = g->nodes[i];
		bool used = node->capture != c->id;

		for (unsigned j = 0; j < g->n_nodes && !used; j++)
			for (unsigned k = 0; k < g->nodes[j]->n_deps; k++)
				used |= g->nodes[j]->deps[k] == node;
		for (unsigned j = 0; j < s->n_cap_deps && !used; j++)
			used = s->cap_deps[j] == node;
		if (!used)
			return true;
	}
	return false;
}

CUresult soft_capture_end(CUstream s, CUgraph *out)
{
	CUresult res = CUDA_SUCCESS;
	struct soft_capture *c;
	CUgraph g;

	soft_guard(soft_lock);
	c = s->capture;
	if (!c)
		return CUDA_ERROR_ILLEGAL_STATE;
	if (c->mode != CU_STREAM_CAPTURE_MODE_RELAXED &&
	    !pthread_equal(c->thread, pthread_self()))
		return CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD;
	if (c->origin != s) {
		invalidate(c);
		return CUDA_ERROR_STREAM_CAPTURE_UNMATCHED;
	}
	g = c->graph;
	if (c->invalidated)
		res = CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
	else if (unjoined(c))
		res = CUDA_ERROR_STREAM_CAPTURE_UNJOINED;
	if (res && !c->given)
		soft_graph_put(g);
	if (out)
		*out = res ? NULL : g;
	finish(c);
	return res;
}

CUresult soft_capture_mode_exchange(CUstreamCaptureMode *mode)
{
	unsigned old = thread_mode;

	if (!mode || (unsigned)*mode > CU_STREAM_CAPTURE_MODE_RELAXED)
		return CUDA_ERROR_INVALID_VALUE;
	thread_mode = (unsigned)*mode;
	*mode = (CUstreamCaptureMode)old;
	return CUDA_SUCCESS;
}

CUresult soft_capture_look(CUstream s, struct soft_capture_view *out)
{
	CUstream other;

	memset(out, 0, sizeof(*out));
	if (!atomic_load(&n_captures))
		return CUDA_SUCCESS;
	soft_guard(soft_lock);
	if (s->legacy) {
		LIST_FOREACH(other, &s->ctx->streams, link)
			if (other->capture &&
			    !(other->flags & CU_STREAM_NON_BLOCKING))
				return CUDA_ERROR_STREAM_CAPTURE_IMPLICIT;
		return CUDA_SUCCESS;
	}
	if (!s->capture)
		return CUDA_SUCCESS;
	out->id = s->capture->id;
	out->status = s->capture->invalidated
			      ? CU_STREAM_CAPTURE_STATUS_INVALIDATED
			      : CU_STREAM_CAPTURE_STATUS_ACTIVE;
	out->graph = s->capture->graph;
	out->deps = s->cap_deps;
	out->n_deps = s->n_cap_deps;
	return CUDA_SUCCESS;
}

CUresult soft_capture_update(CUstream s, const CUgraphNode *nodes, size_t n,
			     unsigned flags)
{
	soft_guard(soft_lock);
	if (!s->capture)
		return CUDA_ERROR_ILLEGAL_STATE;
	for (size_t i = 0; i < n; i++)
		if (!soft_is(nodes[i], SOFT_NODE) ||
		    nodes[i]->graph != s->capture->graph)
			return CUDA_ERROR_INVALID_VALUE;
	if (flags == CU_STREAM_SET_CAPTURE_DEPENDENCIES)
		deps_set(s, nodes, (unsigned)n);
	else if (flags == CU_STREAM_ADD_CAPTURE_DEPENDENCIES)
		deps_merge(s, nodes, (unsigned)n);
	else
		return CUDA_ERROR_INVALID_VALUE;
	return CUDA_SUCCESS;
}
