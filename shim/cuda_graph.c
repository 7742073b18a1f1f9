/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Graphs. However a graph was made - captured, node by node, cloned - its
 * nodes can be asked when it is instantiated or when it updates another; so
 * this is where they are read. Nodes that are changed in an instantiated
 * graph add to what it names.
 */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif
#include "base/os.h"
#include "base/util.h"
#include "cuda_hooks.h"

#define DEPTH_MAX 16

static void named(struct hz_cu_words *w)
{
	for (uint32_t i = 0; i < w->n; i++)
		hz_gpu_exec_names(w->exec, w->word[i]);
}

void hz_cu_graph_kernel(CUgraphExec exec, CUfunction f, void **params,
			void **extra)
{
	struct hz_cu_words w;

	w.full = named;
	w.exec = exec;
	if (!hz_cu_gather(&w, f, params, extra))
		hz_gpu_exec_unknown(exec);
	named(&w);
}

void hz_cu_graph_copy(CUgraphExec exec, const CUDA_MEMCPY3D *c)
{
	hz_gpu_exec_names(exec, hz_cu_copy_3d_to(c));
	hz_gpu_exec_names(exec, hz_cu_copy_3d_from(c));
}

static void kernel_node(CUgraphExec exec, CUgraphNode node)
{
	CUDA_KERNEL_NODE_PARAMS p = {0};
	CUresult rc;

	if (hz_cu_has(HZ_CU_cuGraphKernelNodeGetParams_v2))
		rc = HZ_REAL(cuGraphKernelNodeGetParams_v2)(node, &p);
	else
		rc = HZ_REAL(cuGraphKernelNodeGetParams)(
			node, (CUDA_KERNEL_NODE_PARAMS_v1 *)&p);
	if (rc)
		hz_gpu_exec_unknown(exec);
	else
		hz_cu_graph_kernel(exec, p.func ? p.func : (CUfunction)p.kern,
				   p.kernelParams, p.extra);
}

static void add_nodes(CUgraphExec exec, CUgraph graph, int depth);

static void other_node(CUgraphExec exec, CUgraphNode node, int type, int depth)
{
	CUDA_MEMCPY3D copy;
	CUDA_MEMSET_NODE_PARAMS set;
	CUgraph child;

	if (type == CU_NODE_MEMCPY &&
	    !HZ_REAL(cuGraphMemcpyNodeGetParams)(node, &copy))
		hz_cu_graph_copy(exec, &copy);
	else if (type == CU_NODE_MEMSET &&
		 !HZ_REAL(cuGraphMemsetNodeGetParams)(node, &set))
		hz_gpu_exec_names(exec, set.dst);
	else if (type == CU_NODE_GRAPH && depth < DEPTH_MAX &&
		 !HZ_REAL(cuGraphChildGraphNodeGetGraph)(node, &child))
		add_nodes(exec, child, depth + 1);
	else if (type == CU_NODE_CONDITIONAL)
		hz_gpu_exec_unknown(exec); /* its bodies are not looked at */
}

static void add_nodes(CUgraphExec exec, CUgraph graph, int depth)
{
	CUgraphNode *nodes;
	size_t n = 0, bytes;
	CUgraphNodeType type;

	if (HZ_REAL(cuGraphGetNodes)(graph, NULL, &n) || !n)
		return;
	bytes = hz_align_up(n * sizeof(*nodes), HZ_PAGE_SIZE);
	nodes = hz_os_reserve(bytes);
	if (!nodes || HZ_REAL(cuGraphGetNodes)(graph, nodes, &n))
		n = 0;
	for (size_t i = 0; i < n; i++) {
		if (HZ_REAL(cuGraphNodeGetType)(nodes[i], &type))
			continue;
		if (type == CU_NODE_KERNEL)
			kernel_node(exec, nodes[i]);
		else
			other_node(exec, nodes[i], type, depth);
	}
	if (nodes)
		hz_os.munmap(nodes, bytes);
}

void hz_cu_graph_add(CUgraphExec exec, CUgraph graph)
{
	add_nodes(exec, graph, 0);
}

void hz_cu_graph_made(CUgraphExec exec, CUgraph graph)
{
	hz_gpu_exec_new(exec);
	add_nodes(exec, graph, 0);
}

/* A node of a graph that is being built: only memory is of interest now. */
void hz_cu_graph_node(const CUgraphNodeParams *p)
{
	if (p->type == CU_NODE_MEM_ALLOC)
		hz_cu_alloc(p->alloc.dptr, p->alloc.bytesize, HZ_GPU_GRAPH);
}

void hz_cu_graph_params(CUgraphExec exec, const CUgraphNodeParams *p)
{
	if (p->type == CU_NODE_KERNEL)
		hz_cu_graph_kernel(exec,
				   p->kernel.func ? p->kernel.func
						  : (CUfunction)p->kernel.kern,
				   p->kernel.kernelParams, p->kernel.extra);
	else if (p->type == CU_NODE_MEMCPY)
		hz_cu_graph_copy(exec, &p->memcpy.copyParams);
	else if (p->type == CU_NODE_MEMSET)
		hz_gpu_exec_names(exec, p->memset.dst);
	else if (p->type == CU_NODE_GRAPH)
		hz_cu_graph_add(exec, p->graph);
}
