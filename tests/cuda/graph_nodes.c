/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A graph that was made node by node, with another graph inside: what its
 * nodes name is found when it runs, and what they name after an update.
 */
#include "driver.h"

static CUdeviceptr arena;
static uint64_t had;

static void found(uint64_t n)
{
	if (counted("gpu_tensors", had + n) != had + n)
		driver_fail(__FILE__, (int)n, "tensors expected", 0);
}

static CUDA_KERNEL_NODE_PARAMS adding(void **params)
{
	return (CUDA_KERNEL_NODE_PARAMS){.func = driver_kernel("add"),
					 .gridDimX = 1,
					 .gridDimY = 1,
					 .gridDimZ = 1,
					 .blockDimX = 1,
					 .blockDimY = 1,
					 .blockDimZ = 1,
					 .kernelParams = params};
}

int main(void)
{
	CUresult (*create)(CUgraph *, unsigned) =
		driver_get("cuGraphCreate", 10000, 0);
	CUresult (*add_kernel)(CUgraphNode *, CUgraph, const CUgraphNode *,
			       size_t, const CUDA_KERNEL_NODE_PARAMS *) =
		driver_get("cuGraphAddKernelNode", 12000, 0);
	CUresult (*add_set)(CUgraphNode *, CUgraph, const CUgraphNode *,
			    size_t, const CUDA_MEMSET_NODE_PARAMS *,
			    CUcontext) =
		driver_get("cuGraphAddMemsetNode", 10000, 0);
	CUresult (*add_child)(CUgraphNode *, CUgraph, const CUgraphNode *,
			      size_t, CUgraph) =
		driver_get("cuGraphAddChildGraphNode", 10000, 0);
	CUDA_MEMSET_NODE_PARAMS set = {
		.value = 0, .elementSize = 4, .width = 64, .height = 1};
	CUDA_KERNEL_NODE_PARAMS kernel;
	CUgraph graph, child;
	CUgraphNode node, other;
	CUgraphExec exec;
	CUcontext c;
	CUdeviceptr p;
	uint32_t v = 5, value = 0;
	void *params[] = {&p, &v};

	driver_start();
	ok(SYM(cuCtxGetCurrent)(&c));
	ok(SYM(cuMemAlloc_v2)(&arena, 1 << 20));
	ok(SYM(cuMemsetD8_v2)(arena, 0, 1 << 20));
	had = counted("gpu_tensors", 0);

	ok(create(&graph, 0));
	ok(create(&child, 0));
	p = arena + 65536;
	kernel = adding(params);
	ok(add_kernel(&node, graph, NULL, 0, &kernel));
	p = arena + 131072;
	ok(add_kernel(&other, child, NULL, 0, &kernel));
	ok(add_child(&other, graph, NULL, 0, child));
	set.dst = arena + 262144;
	ok(add_set(&other, graph, NULL, 0, &set, c));
	found(0);

	ok(SYM(cuGraphInstantiateWithFlags)(&exec, graph, 0));
	ok(SYM(cuGraphLaunch)(exec, NULL));
	ok(SYM(cuCtxSynchronize)());
	found(3);
	p = arena + 524288;
	ok(SYM(cuGraphExecKernelNodeSetParams_v2)(exec, node, &kernel));
	ok(SYM(cuGraphLaunch)(exec, NULL));
	ok(SYM(cuCtxSynchronize)());
	found(4);
	expect(counted("gpu_unknown", 0) == 0);
	ok(SYM(cuMemcpyDtoH_v2)(&value, arena + 524288, sizeof(value)));
	expect(value == 5);
	ok(SYM(cuMemcpyDtoH_v2)(&value, arena + 131072, sizeof(value)));
	expect(value == 10);
	ok(SYM(cuGraphExecDestroy)(exec));
	driver_end();
	puts("done");
	return 0;
}
