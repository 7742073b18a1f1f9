/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Instantiated graphs. The plan of one is replaced by a changed clone when
 * something in it is set, so that launches that wait in a queue keep theirs.
 */
#include <stdlib.h>
#include <string.h>
#include "graph.h"

#define FLAGS 15u

CUresult soft_instantiate(CUgraphExec *out, CUgraph g, uint64_t flags,
			  CUgraphInstantiateResult *why)
{
	CUgraphExec e;
	CUgraph plan;

	if (why)
		*why = CUDA_GRAPH_INSTANTIATE_ERROR;
	if (!out || soft_check(g, SOFT_GRAPH) || (flags & ~(uint64_t)FLAGS))
		return CUDA_ERROR_INVALID_VALUE;
	if (flags & CUDA_GRAPH_INSTANTIATE_FLAG_DEVICE_LAUNCH)
		return CUDA_ERROR_NOT_SUPPORTED;
	plan = soft_graph_clone(g, false);
	if (!soft_graph_sort(plan)) {
		soft_graph_put(plan);
		if (why)
			*why = CUDA_GRAPH_INSTANTIATE_INVALID_STRUCTURE;
		return CUDA_ERROR_INVALID_VALUE;
	}
	e = soft_new(SOFT_EXEC, sizeof(*e));
	if (!e) {
		soft_graph_put(plan);
		return CUDA_ERROR_OUT_OF_MEMORY;
	}
	e->plan = plan;
	e->flags = flags;
	soft_count(live_graphs, 1);
	if (why)
		*why = CUDA_GRAPH_INSTANTIATE_SUCCESS;
	*out = e;
	return CUDA_SUCCESS;
}

SOFT_API(cuGraphInstantiate_v2,
	 (CUgraphExec * out, CUgraph g, CUgraphNode *error, char *log,
	  size_t bytes),
	 (out, g, error, log, bytes))
{
	if (error)
		*error = NULL;
	if (log && bytes)
		*log = '\0';
	return soft_instantiate(out, g, 0, NULL);
}

SOFT_API(cuGraphInstantiateWithFlags,
	 (CUgraphExec * out, CUgraph g, unsigned long long flags),
	 (out, g, flags))
{
	return soft_instantiate(out, g, flags, NULL);
}

SOFT_STREAM_API(cuGraphInstantiateWithParams,
		(CUgraphExec * out, CUgraph g,
		 CUDA_GRAPH_INSTANTIATE_PARAMS *p),
		(out, g, p))
{
	if (!p)
		return CUDA_ERROR_INVALID_VALUE;
	p->hErrNode_out = NULL;
	return soft_instantiate(out, g, p->flags, &p->result_out);
}

SOFT_API(cuGraphExecDestroy, (CUgraphExec e), (e))
{
	if (soft_check(e, SOFT_EXEC))
		return CUDA_ERROR_INVALID_VALUE;
	soft_graph_put(e->plan);
	soft_uncount(live_graphs, 1);
	soft_delete(e);
	return CUDA_SUCCESS;
}

SOFT_API(cuGraphExecGetFlags, (CUgraphExec e, cuuint64_t *out), (e, out))
{
	if (!out || soft_check(e, SOFT_EXEC))
		return CUDA_ERROR_INVALID_VALUE;
	*out = e->flags;
	return CUDA_SUCCESS;
}

SOFT_STREAM_API(cuGraphUpload, (CUgraphExec e, CUstream handle), (e, handle))
{
	CUstream s;
	CUresult res = soft_stream(handle, pt, &s);

	if (!res && soft_check(e, SOFT_EXEC))
		res = CUDA_ERROR_INVALID_VALUE;
	return res;
}

/* Two launches of the same one never overlap. */
SOFT_STREAM_API(cuGraphLaunch, (CUgraphExec e, CUstream handle), (e, handle))
{
	struct soft_op op = {.kind = SOFT_OP_GRAPH};
	uint64_t again = CUDA_GRAPH_INSTANTIATE_FLAG_AUTO_FREE_ON_LAUNCH, seq;
	CUstream s;
	CUresult res = soft_stream(handle, pt, &s);

	if (!res && soft_check(e, SOFT_EXEC))
		res = CUDA_ERROR_INVALID_VALUE;
	if (res)
		return res;
	if (!s->capture)
		res = soft_graph_memory_take(e->plan, e->flags & again);
	if (res)
		return res;
	atomic_fetch_add(&e->plan->refs, 1);
	op.graph = e->plan;
	if (e->last.stream && !s->capture) {
		op.dep = e->last;
		op.n_deps = 1;
	}
	res = soft_submit(s, &op, &seq);
	if (res || !seq)
		return res;
	soft_count(graph_launches, 1);
	e->last.stream = s;
	e->last.seq = seq;
	return CUDA_SUCCESS;
}

/* ---- changes ---- */

/* A plan that nobody else holds. */
static void own_plan(CUgraphExec e)
{
	CUgraph old = e->plan, plan;

	if (atomic_load(&old->refs) == 1)
		return;
	plan = soft_graph_clone(old, false);
	for (unsigned i = 0; i < plan->n_nodes; i++)
		plan->nodes[i]->origin = old->nodes[i]->origin;
	soft_graph_sort(plan);
	e->plan = plan;
	soft_graph_put(old);
}

/* The node of the plan that a program's node became. */
static CUgraphNode of_plan(CUgraphExec e, CUgraphNode node)
{
	if (soft_check(e, SOFT_EXEC))
		return NULL;
	own_plan(e);
	for (unsigned i = 0; i < e->plan->n_nodes; i++)
		if (e->plan->nodes[i]->origin == node)
			return e->plan->nodes[i];
	return NULL;
}

static CUresult set(CUgraphExec e, CUgraphNode node, struct soft_op *op)
{
	CUgraphNode mine = of_plan(e, node);

	if (mine)
		return soft_node_set(mine, op);
	soft_op_release(op);
	return CUDA_ERROR_INVALID_VALUE;
}

SOFT_API(cuGraphExecKernelNodeSetParams,
	 (CUgraphExec e, CUgraphNode node, const CUDA_KERNEL_NODE_PARAMS_v1 *p),
	 (e, node, p))
{
	struct soft_op op;
	CUresult res = soft_kernel_op(&op, p, NULL);

	return res ? res : set(e, node, &op);
}

SOFT_API(cuGraphExecKernelNodeSetParams_v2,
	 (CUgraphExec e, CUgraphNode node, const CUDA_KERNEL_NODE_PARAMS *p),
	 (e, node, p))
{
	struct soft_op op;
	CUresult res = soft_kernel_op(&op,
				      (const CUDA_KERNEL_NODE_PARAMS_v1 *)p,
				      p ? p->kern : NULL);

	return res ? res : set(e, node, &op);
}

SOFT_API(cuGraphExecMemcpyNodeSetParams,
	 (CUgraphExec e, CUgraphNode node, const CUDA_MEMCPY3D *p,
	  CUcontext ctx),
	 (e, node, p, ctx))
{
	struct soft_op op;
	CUresult res = p ? soft_copy_3d(&op, p) : CUDA_ERROR_INVALID_VALUE;

	return res ? res : set(e, node, &op);
}

SOFT_API(cuGraphExecMemsetNodeSetParams,
	 (CUgraphExec e, CUgraphNode node, const CUDA_MEMSET_NODE_PARAMS *p,
	  CUcontext ctx),
	 (e, node, p, ctx))
{
	struct soft_op op;
	CUresult res;

	if (!p)
		return CUDA_ERROR_INVALID_VALUE;
	res = soft_set_prepare(&op, p->dst, p->pitch, p->value, p->elementSize,
			       p->width, p->height);
	return res ? res : set(e, node, &op);
}

SOFT_API(cuGraphExecHostNodeSetParams,
	 (CUgraphExec e, CUgraphNode node, const CUDA_HOST_NODE_PARAMS *p),
	 (e, node, p))
{
	struct soft_op op = {.kind = SOFT_OP_HOST};

	if (!p || !p->fn)
		return CUDA_ERROR_INVALID_VALUE;
	op.host.fn = p->fn;
	op.host.user = p->userData;
	return set(e, node, &op);
}

SOFT_API(cuGraphExecNodeSetParams,
	 (CUgraphExec e, CUgraphNode node, CUgraphNodeParams *p), (e, node, p))
{
	struct soft_op op;
	CUresult res = p ? soft_any_op(&op, p) : CUDA_ERROR_INVALID_VALUE;

	return res ? res : set(e, node, &op);
}

SOFT_API(cuGraphNodeSetEnabled,
	 (CUgraphExec e, CUgraphNode node, unsigned int enabled),
	 (e, node, enabled))
{
	CUgraphNode mine = of_plan(e, node);

	if (!mine || (mine->op.kind != SOFT_OP_KERNEL &&
		      mine->op.kind != SOFT_OP_COPY &&
		      mine->op.kind != SOFT_OP_SET))
		return CUDA_ERROR_INVALID_VALUE;
	mine->enabled = enabled != 0;
	return CUDA_SUCCESS;
}

SOFT_API(cuGraphNodeGetEnabled,
	 (CUgraphExec e, CUgraphNode node, unsigned int *out), (e, node, out))
{
	CUgraphNode mine = of_plan(e, node);

	if (!mine || !out)
		return CUDA_ERROR_INVALID_VALUE;
	*out = mine->enabled;
	return CUDA_SUCCESS;
}

/* The same shape with the same types, node by node in the order made. */
static bool same_deps(CUgraphNode x, CUgraphNode y)
{
	if (x->n_deps != y->n_deps)
		return false;
	for (unsigned i = 0; i < x->n_deps; i++)
		if (x->deps[i]->index != y->deps[i]->index)
			return false;
	return true;
}

static CUgraphExecUpdateResult same_shape(CUgraph a, CUgraph b)
{
	if (a->n_nodes != b->n_nodes)
		return CU_GRAPH_EXEC_UPDATE_ERROR_TOPOLOGY_CHANGED;
	for (unsigned i = 0; i < a->n_nodes; i++) {
		CUgraphNode x = a->nodes[i], y = b->nodes[i];

		if (x->type != y->type)
			return CU_GRAPH_EXEC_UPDATE_ERROR_NODE_TYPE_CHANGED;
		if (!same_deps(x, y))
			return CU_GRAPH_EXEC_UPDATE_ERROR_TOPOLOGY_CHANGED;
		if (x->op.kind == SOFT_OP_ALLOC || x->op.kind == SOFT_OP_FREE)
			return CU_GRAPH_EXEC_UPDATE_ERROR_NOT_SUPPORTED;
	}
	return CU_GRAPH_EXEC_UPDATE_SUCCESS;
}

CUresult soft_exec_update(CUgraphExec e, CUgraph g,
			  CUgraphExecUpdateResult *result)
{
	CUgraph plan;

	if (soft_check(e, SOFT_EXEC) || soft_check(g, SOFT_GRAPH))
		return CUDA_ERROR_INVALID_VALUE;
	*result = same_shape(e->plan, g);
	if (*result != CU_GRAPH_EXEC_UPDATE_SUCCESS)
		return CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE;
	/* the nodes of the first graph stay the names of the plan's nodes */
	plan = soft_graph_clone(g, false);
	for (unsigned i = 0; i < plan->n_nodes; i++) {
		plan->nodes[i]->origin = e->plan->nodes[i]->origin;
		plan->nodes[i]->enabled = e->plan->nodes[i]->enabled;
	}
	soft_graph_sort(plan);
	soft_graph_put(e->plan);
	e->plan = plan;
	return CUDA_SUCCESS;
}

SOFT_API(cuGraphExecUpdate_v2,
	 (CUgraphExec e, CUgraph g, CUgraphExecUpdateResultInfo *info),
	 (e, g, info))
{
	if (!info)
		return CUDA_ERROR_INVALID_VALUE;
	memset(info, 0, sizeof(*info));
	return soft_exec_update(e, g, &info->result);
}
