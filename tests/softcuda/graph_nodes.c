/* SPDX-License-Identifier: Apache-2.0 */
/* Making graphs and their nodes, and what can be set and asked of a node. */
#include <stdlib.h>
#include <string.h>
#include "graph.h"

SOFT_API(cuGraphCreate, (CUgraph * out, unsigned int flags), (out, flags))
{
	if (!out || flags)
		return CUDA_ERROR_INVALID_VALUE;
	*out = soft_graph_new(soft_ctx_or_null(), true);
	return CUDA_SUCCESS;
}

SOFT_API(cuGraphDestroy, (CUgraph g), (g))
{
	CUresult res = soft_check(g, SOFT_GRAPH);

	if (res)
		return CUDA_ERROR_INVALID_VALUE;
	soft_graph_put(g);
	return CUDA_SUCCESS;
}

SOFT_API(cuGraphClone, (CUgraph * out, CUgraph g), (out, g))
{
	if (!out || soft_check(g, SOFT_GRAPH))
		return CUDA_ERROR_INVALID_VALUE;
	*out = soft_graph_clone(g, true);
	return CUDA_SUCCESS;
}

SOFT_API(cuGraphNodeFindInClone,
	 (CUgraphNode * out, CUgraphNode original, CUgraph clone),
	 (out, original, clone))
{
	if (!out || soft_check(clone, SOFT_GRAPH))
		return CUDA_ERROR_INVALID_VALUE;
	for (unsigned i = 0; i < clone->n_nodes; i++)
		if (clone->nodes[i]->origin == original) {
			*out = clone->nodes[i];
			return CUDA_SUCCESS;
		}
	return CUDA_ERROR_INVALID_VALUE;
}

/* Takes what op owns. */
static CUresult add(CUgraphNode *out, CUgraph g, const CUgraphNode *deps,
		    size_t n, struct soft_op *op)
{
	CUgraphNode node;

	if (!out || soft_check(g, SOFT_GRAPH) || (n && !deps))
		return CUDA_ERROR_INVALID_VALUE;
	for (size_t i = 0; i < n; i++)
		if (!soft_is(deps[i], SOFT_NODE) || deps[i]->graph != g)
			return CUDA_ERROR_INVALID_VALUE;
	node = soft_node_add(g, soft_node_type(op->kind), deps, n);
	if (!node)
		return CUDA_ERROR_OUT_OF_MEMORY;
	node->op = *op;
	*out = node;
	return CUDA_SUCCESS;
}

static CUresult add_or_release(CUgraphNode *out, CUgraph g,
			       const CUgraphNode *deps, size_t n,
			       struct soft_op *op)
{
	CUresult res = add(out, g, deps, n, op);

	if (res)
		soft_op_release(op);
	return res;
}

CUresult soft_kernel_op(struct soft_op *op, const CUDA_KERNEL_NODE_PARAMS_v1 *p,
			CUkernel kern)
{
	unsigned d[6];
	CUfunction f;

	if (!p)
		return CUDA_ERROR_INVALID_VALUE;
	memset(op, 0, sizeof(*op));
	f = p->func ? p->func : (CUfunction)(void *)kern;
	d[0] = p->gridDimX;
	d[1] = p->gridDimY;
	d[2] = p->gridDimZ;
	d[3] = p->blockDimX;
	d[4] = p->blockDimY;
	d[5] = p->blockDimZ;
	return soft_launch_prepare(op, f, d, p->sharedMemBytes,
				   p->kernelParams, p->extra);
}

SOFT_API(cuGraphAddKernelNode,
	 (CUgraphNode * out, CUgraph g, const CUgraphNode *deps, size_t n,
	  const CUDA_KERNEL_NODE_PARAMS_v1 *p),
	 (out, g, deps, n, p))
{
	struct soft_op op;
	CUresult res = soft_kernel_op(&op, p, NULL);

	return res ? res : add_or_release(out, g, deps, n, &op);
}

SOFT_API(cuGraphAddKernelNode_v2,
	 (CUgraphNode * out, CUgraph g, const CUgraphNode *deps, size_t n,
	  const CUDA_KERNEL_NODE_PARAMS *p),
	 (out, g, deps, n, p))
{
	struct soft_op op;
	/* the newer structure begins with the older one */
	CUresult res = soft_kernel_op(&op,
				      (const CUDA_KERNEL_NODE_PARAMS_v1 *)p,
				      p ? p->kern : NULL);

	return res ? res : add_or_release(out, g, deps, n, &op);
}

static CUresult add_copy(CUgraphNode *out, CUgraph g, const CUgraphNode *deps,
			 size_t n, const CUDA_MEMCPY3D *p)
{
	struct soft_op op;
	CUresult res;

	if (!p)
		return CUDA_ERROR_INVALID_VALUE;
	res = soft_copy_3d(&op, p);
	if (!res)
		res = add_or_release(out, g, deps, n, &op);
	if (!res)
		(*out)->copy = *p;
	return res;
}

SOFT_API(cuGraphAddMemcpyNode,
	 (CUgraphNode * out, CUgraph g, const CUgraphNode *deps, size_t n,
	  const CUDA_MEMCPY3D *p, CUcontext ctx),
	 (out, g, deps, n, p, ctx))
{
	return add_copy(out, g, deps, n, p);
}

SOFT_API(cuGraphAddMemsetNode,
	 (CUgraphNode * out, CUgraph g, const CUgraphNode *deps, size_t n,
	  const CUDA_MEMSET_NODE_PARAMS *p, CUcontext ctx),
	 (out, g, deps, n, p, ctx))
{
	struct soft_op op;
	CUresult res;

	if (!p)
		return CUDA_ERROR_INVALID_VALUE;
	res = soft_set_prepare(&op, p->dst, p->pitch, p->value, p->elementSize,
			       p->width, p->height);
	return res ? res : add_or_release(out, g, deps, n, &op);
}

SOFT_API(cuGraphAddHostNode,
	 (CUgraphNode * out, CUgraph g, const CUgraphNode *deps, size_t n,
	  const CUDA_HOST_NODE_PARAMS *p),
	 (out, g, deps, n, p))
{
	struct soft_op op = {.kind = SOFT_OP_HOST};

	if (!p || !p->fn)
		return CUDA_ERROR_INVALID_VALUE;
	op.host.fn = p->fn;
	op.host.user = p->userData;
	return add(out, g, deps, n, &op);
}

SOFT_API(cuGraphAddEmptyNode,
	 (CUgraphNode * out, CUgraph g, const CUgraphNode *deps, size_t n),
	 (out, g, deps, n))
{
	struct soft_op op = {.kind = SOFT_OP_EMPTY};

	return add(out, g, deps, n, &op);
}

static CUresult add_child(CUgraphNode *out, CUgraph g, const CUgraphNode *deps,
			  size_t n, CUgraph child)
{
	struct soft_op op = {.kind = SOFT_OP_CHILD};

	if (soft_check(child, SOFT_GRAPH))
		return CUDA_ERROR_INVALID_VALUE;
	op.graph = soft_graph_clone(child, false);
	if (!soft_graph_sort(op.graph)) {
		soft_op_release(&op);
		return CUDA_ERROR_INVALID_VALUE;
	}
	return add_or_release(out, g, deps, n, &op);
}

SOFT_API(cuGraphAddChildGraphNode,
	 (CUgraphNode * out, CUgraph g, const CUgraphNode *deps, size_t n,
	  CUgraph child),
	 (out, g, deps, n, child))
{
	return add_child(out, g, deps, n, child);
}

SOFT_API(cuGraphChildGraphNodeGetGraph, (CUgraphNode node, CUgraph *out),
	 (node, out))
{
	if (!out || soft_check(node, SOFT_NODE) ||
	    node->op.kind != SOFT_OP_CHILD)
		return CUDA_ERROR_INVALID_VALUE;
	*out = node->op.graph;
	return CUDA_SUCCESS;
}

static CUresult add_event(CUgraphNode *out, CUgraph g, const CUgraphNode *deps,
			  size_t n, CUevent e, enum soft_op_kind kind)
{
	struct soft_op op = {.kind = kind};

	if (soft_check(e, SOFT_EVENT))
		return CUDA_ERROR_INVALID_VALUE;
	op.record.event = e;
	return add(out, g, deps, n, &op);
}

SOFT_API(cuGraphAddEventRecordNode,
	 (CUgraphNode * out, CUgraph g, const CUgraphNode *deps, size_t n,
	  CUevent e),
	 (out, g, deps, n, e))
{
	return add_event(out, g, deps, n, e, SOFT_OP_RECORD);
}

SOFT_API(cuGraphAddEventWaitNode,
	 (CUgraphNode * out, CUgraph g, const CUgraphNode *deps, size_t n,
	  CUevent e),
	 (out, g, deps, n, e))
{
	return add_event(out, g, deps, n, e, SOFT_OP_WAIT);
}

static CUresult add_alloc(CUgraphNode *out, CUgraph g, const CUgraphNode *deps,
			  size_t n, CUDA_MEM_ALLOC_NODE_PARAMS *p)
{
	struct soft_op op = {.kind = SOFT_OP_ALLOC};
	CUresult res;

	if (!p || !p->bytesize ||
	    p->poolProps.location.type != CU_MEM_LOCATION_TYPE_DEVICE)
		return CUDA_ERROR_INVALID_VALUE;
	res = soft_graph_memory_new(p->poolProps.location.id, p->bytesize,
				    &op.alloc);
	if (res)
		return res;
	res = add(out, g, deps, n, &op);
	if (!res)
		p->dptr = op.alloc->base;
	return res;
}

SOFT_API(cuGraphAddMemAllocNode,
	 (CUgraphNode * out, CUgraph g, const CUgraphNode *deps, size_t n,
	  CUDA_MEM_ALLOC_NODE_PARAMS *p),
	 (out, g, deps, n, p))
{
	return add_alloc(out, g, deps, n, p);
}

static CUresult add_free(CUgraphNode *out, CUgraph g, const CUgraphNode *deps,
			 size_t n, CUdeviceptr p)
{
	struct soft_op op = {.kind = SOFT_OP_FREE};

	pthread_mutex_lock(&soft_map_lock);
	op.alloc = soft_map_find(p);
	pthread_mutex_unlock(&soft_map_lock);
	if (!op.alloc || op.alloc->base != p ||
	    op.alloc->kind != SOFT_MEM_GRAPH)
		return CUDA_ERROR_INVALID_VALUE;
	return add(out, g, deps, n, &op);
}

SOFT_API(cuGraphAddMemFreeNode,
	 (CUgraphNode * out, CUgraph g, const CUgraphNode *deps, size_t n,
	  CUdeviceptr p),
	 (out, g, deps, n, p))
{
	return add_free(out, g, deps, n, p);
}

static CUresult add_any(CUgraphNode *out, CUgraph g, const CUgraphNode *deps,
			size_t n, CUgraphNodeParams *p)
{
	struct soft_op op;
	CUresult res;

	if (!p)
		return CUDA_ERROR_INVALID_VALUE;
	switch ((int)p->type) {
	case CU_GRAPH_NODE_TYPE_MEMCPY:
		return add_copy(out, g, deps, n, &p->memcpy.copyParams);
	case CU_GRAPH_NODE_TYPE_GRAPH:
		return add_child(out, g, deps, n, p->graph.graph);
	case CU_GRAPH_NODE_TYPE_WAIT_EVENT:
		return add_event(out, g, deps, n, p->eventWait.event,
				 SOFT_OP_WAIT);
	case CU_GRAPH_NODE_TYPE_EVENT_RECORD:
		return add_event(out, g, deps, n, p->eventRecord.event,
				 SOFT_OP_RECORD);
	case CU_GRAPH_NODE_TYPE_MEM_ALLOC:
		return add_alloc(out, g, deps, n,
				 (CUDA_MEM_ALLOC_NODE_PARAMS *)&p->alloc);
	case CU_GRAPH_NODE_TYPE_MEM_FREE:
		return add_free(out, g, deps, n, p->free.dptr);
	default:
		break;
	}
	res = soft_any_op(&op, p);
	return res ? res : add_or_release(out, g, deps, n, &op);
}

SOFT_API(cuGraphAddNode,
	 (CUgraphNode * out, CUgraph g, const CUgraphNode *deps, size_t n,
	  CUgraphNodeParams *p),
	 (out, g, deps, n, p))
{
	return add_any(out, g, deps, n, p);
}

SOFT_API(cuGraphAddNode_v2,
	 (CUgraphNode * out, CUgraph g, const CUgraphNode *deps,
	  const CUgraphEdgeData *edges, size_t n, CUgraphNodeParams *p),
	 (out, g, deps, edges, n, p))
{
	return add_any(out, g, deps, n, p);
}
