/* SPDX-License-Identifier: Apache-2.0 */
/* Taking graphs apart, and the rest of what a node may be asked. */
#include <stdlib.h>
#include <string.h>
#include "graph.h"

static bool unlink_dep(CUgraphNode node, CUgraphNode dep)
{
	for (unsigned i = 0; i < node->n_deps; i++) {
		if (node->deps[i] != dep)
			continue;
		node->deps[i] = node->deps[--node->n_deps];
		return true;
	}
	return false;
}

static CUresult remove_edges(CUgraph g, const CUgraphNode *from,
			     const CUgraphNode *to, size_t n)
{
	if (soft_check(g, SOFT_GRAPH) || (n && (!from || !to)))
		return CUDA_ERROR_INVALID_VALUE;
	for (size_t i = 0; i < n; i++)
		if (!soft_is(from[i], SOFT_NODE) ||
		    !soft_is(to[i], SOFT_NODE) || to[i]->graph != g ||
		    !unlink_dep(to[i], from[i]))
			return CUDA_ERROR_INVALID_VALUE;
	return CUDA_SUCCESS;
}

SOFT_API(cuGraphRemoveDependencies,
	 (CUgraph g, const CUgraphNode *from, const CUgraphNode *to, size_t n),
	 (g, from, to, n))
{
	return remove_edges(g, from, to, n);
}

SOFT_API(cuGraphRemoveDependencies_v2,
	 (CUgraph g, const CUgraphNode *from, const CUgraphNode *to,
	  const CUgraphEdgeData *data, size_t n),
	 (g, from, to, data, n))
{
	return remove_edges(g, from, to, n);
}

SOFT_API(cuGraphDestroyNode, (CUgraphNode node), (node))
{
	CUgraph g;

	if (soft_check(node, SOFT_NODE) || node->op.kind == SOFT_OP_ALLOC ||
	    node->op.kind == SOFT_OP_FREE)
		return CUDA_ERROR_INVALID_VALUE;
	g = node->graph;
	for (unsigned i = 0; i < g->n_nodes; i++)
		unlink_dep(g->nodes[i], node);
	g->n_nodes--;
	for (unsigned i = node->index; i < g->n_nodes; i++) {
		g->nodes[i] = g->nodes[i + 1];
		g->nodes[i]->index = i;
	}
	soft_node_free(node);
	return CUDA_SUCCESS;
}

static CUresult dependents(CUgraphNode node, CUgraphNode *out, size_t *n)
{
	size_t have = 0;

	if (soft_check(node, SOFT_NODE) || !n)
		return CUDA_ERROR_INVALID_VALUE;
	for (unsigned i = 0; i < node->graph->n_nodes; i++) {
		CUgraphNode other = node->graph->nodes[i];

		for (unsigned j = 0; j < other->n_deps; j++) {
			if (other->deps[j] != node)
				continue;
			if (out && have < *n)
				out[have] = other;
			have++;
		}
	}
	for (size_t i = have; out && i < *n; i++)
		out[i] = NULL;
	if (!out || *n > have)
		*n = have;
	return CUDA_SUCCESS;
}

SOFT_API(cuGraphNodeGetDependentNodes,
	 (CUgraphNode node, CUgraphNode *out, size_t *n), (node, out, n))
{
	return dependents(node, out, n);
}

SOFT_API(cuGraphNodeGetDependentNodes_v2,
	 (CUgraphNode node, CUgraphNode *out, CUgraphEdgeData *data, size_t *n),
	 (node, out, data, n))
{
	CUresult res = dependents(node, out, n);

	if (!res && data)
		memset(data, 0, *n * sizeof(*data));
	return res;
}

/* ---- event nodes ---- */

static CUresult event_get(CUgraphNode node, CUevent *out,
			  enum soft_op_kind kind)
{
	if (!out || soft_check(node, SOFT_NODE) || node->op.kind != kind)
		return CUDA_ERROR_INVALID_VALUE;
	*out = node->op.record.event;
	return CUDA_SUCCESS;
}

static CUresult event_set(CUgraphNode node, CUevent e, enum soft_op_kind kind)
{
	if (soft_check(node, SOFT_NODE) || node->op.kind != kind ||
	    soft_check(e, SOFT_EVENT))
		return CUDA_ERROR_INVALID_VALUE;
	node->op.record.event = e;
	return CUDA_SUCCESS;
}

SOFT_API(cuGraphEventRecordNodeGetEvent, (CUgraphNode node, CUevent *out),
	 (node, out))
{
	return event_get(node, out, SOFT_OP_RECORD);
}

SOFT_API(cuGraphEventRecordNodeSetEvent, (CUgraphNode node, CUevent e),
	 (node, e))
{
	return event_set(node, e, SOFT_OP_RECORD);
}

SOFT_API(cuGraphEventWaitNodeGetEvent, (CUgraphNode node, CUevent *out),
	 (node, out))
{
	return event_get(node, out, SOFT_OP_WAIT);
}

SOFT_API(cuGraphEventWaitNodeSetEvent, (CUgraphNode node, CUevent e), (node, e))
{
	return event_set(node, e, SOFT_OP_WAIT);
}

/* ---- older forms ---- */

SOFT_API(cuGraphInstantiate,
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

SOFT_API(cuGraphExecUpdate,
	 (CUgraphExec e, CUgraph g, CUgraphNode *error,
	  CUgraphExecUpdateResult *result),
	 (e, g, error, result))
{
	if (!error || !result)
		return CUDA_ERROR_INVALID_VALUE;
	*error = NULL;
	return soft_exec_update(e, g, result);
}
