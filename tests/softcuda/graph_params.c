/* SPDX-License-Identifier: Apache-2.0 */
/* The parameters of nodes, as they are read and set; and the edges. */
#include <stdlib.h>
#include <string.h>
#include "graph.h"

CUresult soft_any_op(struct soft_op *op, const CUgraphNodeParams *p)
{
	memset(op, 0, sizeof(*op));
	switch ((int)p->type) {
	case CU_GRAPH_NODE_TYPE_KERNEL:
		return soft_kernel_op(
			op, (const CUDA_KERNEL_NODE_PARAMS_v1 *)&p->kernel,
			p->kernel.kern);
	case CU_GRAPH_NODE_TYPE_MEMCPY:
		return soft_copy_3d(op, &p->memcpy.copyParams);
	case CU_GRAPH_NODE_TYPE_MEMSET:
		return soft_set_prepare(op, p->memset.dst, p->memset.pitch,
					p->memset.value, p->memset.elementSize,
					p->memset.width, p->memset.height);
	case CU_GRAPH_NODE_TYPE_HOST:
		op->kind = SOFT_OP_HOST;
		op->host.fn = p->host.fn;
		op->host.user = p->host.userData;
		return p->host.fn ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
	case CU_GRAPH_NODE_TYPE_EMPTY:
		op->kind = SOFT_OP_EMPTY;
		return CUDA_SUCCESS;
	default:
		return CUDA_ERROR_NOT_SUPPORTED;
	}
}

/* A node keeps its type; a kernel node keeps its context. */
CUresult soft_node_set(CUgraphNode node, struct soft_op *op)
{
	if (node->op.kind != op->kind) {
		soft_op_release(op);
		return CUDA_ERROR_INVALID_VALUE;
	}
	soft_op_release(&node->op);
	free(node->param_list);
	node->param_list = NULL;
	node->op = *op;
	return CUDA_SUCCESS;
}

static bool is_node(CUgraphNode node, enum soft_op_kind kind)
{
	return !soft_check(node, SOFT_NODE) && node->op.kind == kind;
}

/* The argument pointers lie in the node, until it is set or destroyed. */
static CUresult kernel_get(CUgraphNode node, CUDA_KERNEL_NODE_PARAMS_v1 *p)
{
	struct soft_launch *l = &node->op.launch;
	char *args = l->params ? l->params : (char *)l->inline_params;
	uint32_t n = l->kernel->n_params;

	if (!node->param_list) {
		node->param_list = calloc(n + 1, sizeof(void *));
		if (!node->param_list)
			return CUDA_ERROR_OUT_OF_MEMORY;
		for (uint32_t i = 0; i < n; i++)
			node->param_list[i] = args +
					      l->kernel->params[i].offset;
	}
	*p = (CUDA_KERNEL_NODE_PARAMS_v1){
		.func = l->f,
		.gridDimX = l->grid.x,
		.gridDimY = l->grid.y,
		.gridDimZ = l->grid.z,
		.blockDimX = l->block.x,
		.blockDimY = l->block.y,
		.blockDimZ = l->block.z,
		.sharedMemBytes = l->shared,
		.kernelParams = n ? node->param_list : NULL,
	};
	return CUDA_SUCCESS;
}

SOFT_API(cuGraphKernelNodeGetParams,
	 (CUgraphNode node, CUDA_KERNEL_NODE_PARAMS_v1 *p), (node, p))
{
	if (!p || !is_node(node, SOFT_OP_KERNEL))
		return CUDA_ERROR_INVALID_VALUE;
	return kernel_get(node, p);
}

SOFT_API(cuGraphKernelNodeGetParams_v2,
	 (CUgraphNode node, CUDA_KERNEL_NODE_PARAMS *p), (node, p))
{
	if (!p || !is_node(node, SOFT_OP_KERNEL))
		return CUDA_ERROR_INVALID_VALUE;
	memset(p, 0, sizeof(*p));
	return kernel_get(node, (CUDA_KERNEL_NODE_PARAMS_v1 *)p);
}

static CUresult kernel_set(CUgraphNode node,
			   const CUDA_KERNEL_NODE_PARAMS_v1 *p, CUkernel kern)
{
	struct soft_op op;
	CUresult res;

	if (!is_node(node, SOFT_OP_KERNEL))
		return CUDA_ERROR_INVALID_VALUE;
	res = soft_kernel_op(&op, p, kern);
	return res ? res : soft_node_set(node, &op);
}

SOFT_API(cuGraphKernelNodeSetParams,
	 (CUgraphNode node, const CUDA_KERNEL_NODE_PARAMS_v1 *p), (node, p))
{
	return kernel_set(node, p, NULL);
}

SOFT_API(cuGraphKernelNodeSetParams_v2,
	 (CUgraphNode node, const CUDA_KERNEL_NODE_PARAMS *p), (node, p))
{
	return kernel_set(node, (const CUDA_KERNEL_NODE_PARAMS_v1 *)p,
			  p ? p->kern : NULL);
}

SOFT_API(cuGraphMemcpyNodeGetParams, (CUgraphNode node, CUDA_MEMCPY3D *p),
	 (node, p))
{
	if (!p || !is_node(node, SOFT_OP_COPY))
		return CUDA_ERROR_INVALID_VALUE;
	*p = node->copy;
	return CUDA_SUCCESS;
}

SOFT_API(cuGraphMemcpyNodeSetParams,
	 (CUgraphNode node, const CUDA_MEMCPY3D *p), (node, p))
{
	struct soft_op op;
	CUresult res;

	if (!p || !is_node(node, SOFT_OP_COPY))
		return CUDA_ERROR_INVALID_VALUE;
	res = soft_copy_3d(&op, p);
	if (!res)
		res = soft_node_set(node, &op);
	if (!res)
		node->copy = *p;
	return res;
}

SOFT_API(cuGraphMemsetNodeGetParams,
	 (CUgraphNode node, CUDA_MEMSET_NODE_PARAMS *p), (node, p))
{
	if (!p || !is_node(node, SOFT_OP_SET))
		return CUDA_ERROR_INVALID_VALUE;
	p->dst = (uintptr_t)node->op.set.dst;
	p->pitch = node->op.set.pitch;
	p->value = node->op.set.value;
	p->elementSize = node->op.set.elem;
	p->width = node->op.set.width;
	p->height = node->op.set.height;
	return CUDA_SUCCESS;
}

SOFT_API(cuGraphMemsetNodeSetParams,
	 (CUgraphNode node, const CUDA_MEMSET_NODE_PARAMS *p), (node, p))
{
	struct soft_op op;
	CUresult res;

	if (!p || !is_node(node, SOFT_OP_SET))
		return CUDA_ERROR_INVALID_VALUE;
	res = soft_set_prepare(&op, p->dst, p->pitch, p->value, p->elementSize,
			       p->width, p->height);
	return res ? res : soft_node_set(node, &op);
}

SOFT_API(cuGraphHostNodeGetParams, (CUgraphNode node, CUDA_HOST_NODE_PARAMS *p),
	 (node, p))
{
	if (!p || !is_node(node, SOFT_OP_HOST))
		return CUDA_ERROR_INVALID_VALUE;
	p->fn = node->op.host.fn;
	p->userData = node->op.host.user;
	return CUDA_SUCCESS;
}

SOFT_API(cuGraphHostNodeSetParams,
	 (CUgraphNode node, const CUDA_HOST_NODE_PARAMS *p), (node, p))
{
	if (!p || !p->fn || !is_node(node, SOFT_OP_HOST))
		return CUDA_ERROR_INVALID_VALUE;
	node->op.host.fn = p->fn;
	node->op.host.user = p->userData;
	return CUDA_SUCCESS;
}

SOFT_API(cuGraphMemAllocNodeGetParams,
	 (CUgraphNode node, CUDA_MEM_ALLOC_NODE_PARAMS *p), (node, p))
{
	if (!p || !is_node(node, SOFT_OP_ALLOC))
		return CUDA_ERROR_INVALID_VALUE;
	memset(p, 0, sizeof(*p));
	p->poolProps.allocType = CU_MEM_ALLOCATION_TYPE_PINNED;
	p->poolProps.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
	p->poolProps.location.id = node->op.alloc->dev;
	p->bytesize = node->op.alloc->size;
	p->dptr = node->op.alloc->base;
	return CUDA_SUCCESS;
}

SOFT_API(cuGraphMemFreeNodeGetParams, (CUgraphNode node, CUdeviceptr *p),
	 (node, p))
{
	if (!p || !is_node(node, SOFT_OP_FREE))
		return CUDA_ERROR_INVALID_VALUE;
	*p = node->op.alloc->base;
	return CUDA_SUCCESS;
}

SOFT_API(cuGraphNodeSetParams, (CUgraphNode node, CUgraphNodeParams *p),
	 (node, p))
{
	struct soft_op op;
	CUresult res;

	if (!p || soft_check(node, SOFT_NODE))
		return CUDA_ERROR_INVALID_VALUE;
	res = soft_any_op(&op, p);
	if (!res)
		res = soft_node_set(node, &op);
	if (!res && node->op.kind == SOFT_OP_COPY)
		node->copy = p->memcpy.copyParams;
	return res;
}

SOFT_API(cuGraphNodeGetType, (CUgraphNode node, CUgraphNodeType *out),
	 (node, out))
{
	if (!out || soft_check(node, SOFT_NODE))
		return CUDA_ERROR_INVALID_VALUE;
	*out = (CUgraphNodeType)node->type;
	return CUDA_SUCCESS;
}

/* ---- the shape ---- */

/* As all these calls do it: the count, or up to *n of them, the rest NULL. */
static CUresult list(CUgraphNode const *nodes, size_t have, CUgraphNode *out,
		     size_t *n)
{
	if (!n)
		return CUDA_ERROR_INVALID_VALUE;
	for (size_t i = 0; out && i < *n; i++)
		out[i] = i < have ? nodes[i] : NULL;
	if (!out || *n > have)
		*n = have;
	return CUDA_SUCCESS;
}

SOFT_API(cuGraphGetNodes, (CUgraph g, CUgraphNode *out, size_t *n),
	 (g, out, n))
{
	if (soft_check(g, SOFT_GRAPH))
		return CUDA_ERROR_INVALID_VALUE;
	return list(g->nodes, g->n_nodes, out, n);
}

SOFT_API(cuGraphGetRootNodes, (CUgraph g, CUgraphNode *out, size_t *n),
	 (g, out, n))
{
	CUgraphNode *roots;
	size_t have = 0;
	CUresult res;

	if (soft_check(g, SOFT_GRAPH))
		return CUDA_ERROR_INVALID_VALUE;
	roots = calloc(g->n_nodes + 1, sizeof(*roots));
	if (!roots)
		return CUDA_ERROR_OUT_OF_MEMORY;
	for (unsigned i = 0; i < g->n_nodes; i++)
		if (!g->nodes[i]->n_deps)
			roots[have++] = g->nodes[i];
	res = list(roots, have, out, n);
	free(roots);
	return res;
}

static CUresult edges(CUgraph g, CUgraphNode *from, CUgraphNode *to, size_t *n)
{
	size_t have = 0;

	if (soft_check(g, SOFT_GRAPH) || !n || !from != !to)
		return CUDA_ERROR_INVALID_VALUE;
	for (unsigned i = 0; i < g->n_nodes; i++)
		for (unsigned j = 0; j < g->nodes[i]->n_deps; j++, have++) {
			if (!from || have >= *n)
				continue;
			from[have] = g->nodes[i]->deps[j];
			to[have] = g->nodes[i];
		}
	if (!from || *n > have)
		*n = have;
	return CUDA_SUCCESS;
}

SOFT_API(cuGraphGetEdges,
	 (CUgraph g, CUgraphNode *from, CUgraphNode *to, size_t *n),
	 (g, from, to, n))
{
	return edges(g, from, to, n);
}

SOFT_API(cuGraphGetEdges_v2,
	 (CUgraph g, CUgraphNode *from, CUgraphNode *to, CUgraphEdgeData *data,
	  size_t *n),
	 (g, from, to, data, n))
{
	CUresult res = edges(g, from, to, n);

	if (!res && data)
		memset(data, 0, *n * sizeof(*data));
	return res;
}

SOFT_API(cuGraphNodeGetDependencies,
	 (CUgraphNode node, CUgraphNode *out, size_t *n), (node, out, n))
{
	if (soft_check(node, SOFT_NODE))
		return CUDA_ERROR_INVALID_VALUE;
	return list(node->deps, node->n_deps, out, n);
}

SOFT_API(cuGraphNodeGetDependencies_v2,
	 (CUgraphNode node, CUgraphNode *out, CUgraphEdgeData *data, size_t *n),
	 (node, out, data, n))
{
	CUresult res;

	if (soft_check(node, SOFT_NODE))
		return CUDA_ERROR_INVALID_VALUE;
	res = list(node->deps, node->n_deps, out, n);
	if (!res && data)
		memset(data, 0, *n * sizeof(*data));
	return res;
}

static CUresult depend(CUgraph g, const CUgraphNode *from,
		       const CUgraphNode *to, size_t n)
{
	if (soft_check(g, SOFT_GRAPH) || (n && (!from || !to)))
		return CUDA_ERROR_INVALID_VALUE;
	for (size_t i = 0; i < n; i++)
		if (!soft_is(from[i], SOFT_NODE) || from[i]->graph != g ||
		    !soft_is(to[i], SOFT_NODE) || to[i]->graph != g ||
		    from[i] == to[i])
			return CUDA_ERROR_INVALID_VALUE;
	for (size_t i = 0; i < n; i++)
		if (!soft_node_link(to[i], from[i]))
			return CUDA_ERROR_INVALID_VALUE;
	return CUDA_SUCCESS;
}

SOFT_API(cuGraphAddDependencies,
	 (CUgraph g, const CUgraphNode *from, const CUgraphNode *to, size_t n),
	 (g, from, to, n))
{
	return depend(g, from, to, n);
}

SOFT_API(cuGraphAddDependencies_v2,
	 (CUgraph g, const CUgraphNode *from, const CUgraphNode *to,
	  const CUgraphEdgeData *data, size_t n),
	 (g, from, to, data, n))
{
	return depend(g, from, to, n);
}
