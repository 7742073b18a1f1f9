/* SPDX-License-Identifier: Apache-2.0 */
/* What the files of the graph calls share. */
#ifndef SOFTCUDA_GRAPH_H
#define SOFTCUDA_GRAPH_H

#include "soft.h"

unsigned soft_node_type(enum soft_op_kind kind);
CUresult soft_graph_memory_new(CUdevice dev, size_t bytes,
			       struct soft_alloc **out);
CUresult soft_kernel_op(struct soft_op *op, const CUDA_KERNEL_NODE_PARAMS_v1 *p,
			CUkernel kern);
/* Of a kernel, memset, host or empty node. */
CUresult soft_any_op(struct soft_op *op, const CUgraphNodeParams *p);
void soft_node_free(CUgraphNode node);
CUresult soft_instantiate(CUgraphExec *out, CUgraph g, uint64_t flags,
			  CUgraphInstantiateResult *why);
CUresult soft_exec_update(CUgraphExec e, CUgraph g,
			  CUgraphExecUpdateResult *result);
/* Takes what op owns, on failure too. */
CUresult soft_node_set(CUgraphNode node, struct soft_op *op);

#endif
