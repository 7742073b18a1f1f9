/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Graphs: nodes that hold queue entries. A program changes its own graphs
 * only; what is instantiated or queued is a clone, held by references and
 * never changed, so that a launch runs what was there when it was made.
 */
#include <stdlib.h>
#include <string.h>
#include "graph.h"

pthread_mutex_t soft_graph_lock = PTHREAD_MUTEX_INITIALIZER;

CUgraph soft_graph_new(CUcontext ctx, bool counted)
{
	CUgraph g = soft_new(SOFT_GRAPH, sizeof(*g));

	if (!g)
		abort();
	atomic_store(&g->refs, 1);
	g->ctx = ctx;
	g->counted = counted;
	if (counted)
		soft_count(live_graphs, 1);
	return g;
}

/* Memory of an allocation node goes with the last node that names it. */
static void memory_put(struct soft_alloc *a)
{
	bool last;

	pthread_mutex_lock(&soft_map_lock);
	last = !--a->refs;
	if (last)
		soft_map_remove(a);
	pthread_mutex_unlock(&soft_map_lock);
	if (last)
		soft_alloc_destroy(a);
}

/* Its graph forgets it first. */
void soft_node_free(CUgraphNode node)
{
	if (node->op.kind == SOFT_OP_ALLOC)
		memory_put(node->op.alloc);
	soft_op_release(&node->op);
	free(node->deps);
	free(node->param_list);
	soft_delete(node);
}

void soft_graph_put(CUgraph g)
{
	if (atomic_fetch_sub(&g->refs, 1) != 1)
		return;
	for (unsigned i = 0; i < g->n_nodes; i++)
		soft_node_free(g->nodes[i]);
	free(g->nodes);
	free(g->order);
	if (g->counted)
		soft_uncount(live_graphs, 1);
	soft_delete(g);
}

bool soft_node_link(CUgraphNode node, CUgraphNode dep)
{
	CUgraphNode *more;

	for (unsigned i = 0; i < node->n_deps; i++)
		if (node->deps[i] == dep)
			return false;
	more = realloc(node->deps, (node->n_deps + 1) * sizeof(*more));
	if (!more)
		abort();
	more[node->n_deps++] = dep;
	node->deps = more;
	return true;
}

CUgraphNode soft_node_add(CUgraph g, unsigned type, const CUgraphNode *deps,
			  size_t n_deps)
{
	CUgraphNode node = soft_new(SOFT_NODE, sizeof(*node));

	if (!node)
		return NULL;
	soft_guard(soft_graph_lock);
	if (g->n_nodes == g->room) {
		g->room = g->room ? g->room * 2 : 16;
		g->nodes = realloc(g->nodes, g->room * sizeof(*g->nodes));
		if (!g->nodes)
			abort();
	}
	node->graph = g;
	node->type = type;
	node->enabled = true;
	node->index = g->n_nodes;
	g->nodes[g->n_nodes++] = node;
	for (size_t i = 0; i < n_deps; i++)
		soft_node_link(node, deps[i]);
	return node;
}

/* What an entry owns is copied, or one more reference taken. */
static void op_copy(struct soft_op *to, const struct soft_op *from)
{
	*to = *from;
	if (from->kind == SOFT_OP_KERNEL && from->launch.params) {
		to->launch.params = malloc(from->launch.kernel->params_bytes);
		if (!to->launch.params)
			abort();
		memcpy(to->launch.params, from->launch.params,
		       from->launch.kernel->params_bytes);
	}
	if (from->kind == SOFT_OP_CHILD)
		atomic_fetch_add(&from->graph->refs, 1);
	if (from->kind == SOFT_OP_ALLOC) {
		soft_guard(soft_map_lock);
		from->alloc->refs++;
	}
}

CUgraph soft_graph_clone(CUgraph g, bool counted)
{
	CUgraph c = soft_graph_new(g->ctx, counted);

	for (unsigned i = 0; i < g->n_nodes; i++) {
		CUgraphNode from = g->nodes[i];
		CUgraphNode to = soft_node_add(c, from->type, NULL, 0);

		if (!to)
			abort();
		op_copy(&to->op, &from->op);
		to->copy = from->copy;
		to->enabled = from->enabled;
		to->origin = from;
	}
	for (unsigned i = 0; i < g->n_nodes; i++)
		for (unsigned j = 0; j < g->nodes[i]->n_deps; j++)
			soft_node_link(c->nodes[i],
				       c->nodes[g->nodes[i]->deps[j]->index]);
	return c;
}

/* An order in which each node follows its dependencies; false: a cycle. */
bool soft_graph_sort(CUgraph g)
{
	bool *placed = calloc(g->n_nodes + 1, 1), moved = true;
	unsigned n = 0;

	free(g->order);
	g->order = calloc(g->n_nodes + 1, sizeof(*g->order));
	if (!placed || !g->order)
		abort();
	while (n < g->n_nodes && moved) {
		moved = false;
		for (unsigned i = 0; i < g->n_nodes; i++) {
			bool ready = !placed[i];

			for (unsigned j = 0; j < g->nodes[i]->n_deps; j++)
				ready &= placed[g->nodes[i]->deps[j]->index];
			if (!ready)
				continue;
			placed[i] = moved = true;
			g->order[n++] = g->nodes[i];
		}
	}
	free(placed);
	return n == g->n_nodes;
}

/* On the stream's thread: one node after the other is an order that the
 * dependencies allow. */
void soft_graph_run(CUstream s, CUgraph g)
{
	for (unsigned i = 0; i < g->n_nodes; i++) {
		CUgraphNode node = g->order[i];

		if (node->enabled)
			soft_execute(s, &node->op);
	}
}

/* ---- memory of allocation nodes ---- */

/* The address now, the bytes when a launch takes them. */
CUresult soft_graph_memory_new(CUdevice handle, size_t bytes,
			       struct soft_alloc **out)
{
	struct soft_device *dev;
	struct soft_alloc *a;
	CUresult res = soft_device(handle, &dev);

	if (!res)
		res = soft_device_alloc(NULL, dev, bytes, SOFT_MEM_GRAPH, &a);
	if (res)
		return res;
	soft_uncharge(dev, a->charged);
	soft_uncount(device_bytes, a->size);
	a->charged = 0;
	a->idle = true;
	a->refs = 1;
	*out = a;
	return CUDA_SUCCESS;
}

/* Freed, by a node or by the program; the address stays the graph's. */
void soft_graph_memory_give(struct soft_alloc *a)
{
	soft_guard(soft_map_lock);
	if (a->idle)
		return;
	soft_uncharge(&soft_devices[a->dev], a->charged);
	soft_uncount(device_bytes, a->size);
	a->charged = 0;
	a->idle = true;
	a->freeing = false;
}

static CUresult take(struct soft_alloc *a, bool again)
{
	struct soft_device *dev = &soft_devices[a->dev];
	CUresult res;

	if (!a->idle)
		return again ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
	res = soft_charge(dev, a->span);
	if (res)
		return res;
	a->charged = a->span;
	a->idle = false;
	a->freeing = false;
	soft_count(device_bytes, a->size);
	return CUDA_SUCCESS;
}

CUresult soft_graph_memory_take(CUgraph g, bool again)
{
	CUresult res = CUDA_SUCCESS;

	for (unsigned i = 0; !res && i < g->n_nodes; i++)
		if (g->nodes[i]->op.kind == SOFT_OP_ALLOC)
			res = take(g->nodes[i]->op.alloc, again);
	return res;
}
