/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Graphs that are built node by node, and what may change in one that was
 * instantiated: a launch that is queued keeps what it was launched with.
 */
#include "testing.h"

static CUfunction add, hold;
static CUdeviceptr p, flag;
static unsigned *host_flag;
static CUstream s;

static unsigned value(void)
{
	unsigned v;

	ok(CALL(cuMemcpyDtoH_v2)(&v, p, 4));
	return v;
}

static CUDA_KERNEL_NODE_PARAMS add_params(void **args)
{
	CUDA_KERNEL_NODE_PARAMS k = {.func = add,
				     .gridDimX = 1,
				     .gridDimY = 1,
				     .gridDimZ = 1,
				     .blockDimX = 32,
				     .blockDimY = 1,
				     .blockDimZ = 1,
				     .kernelParams = args};

	return k;
}

/* set to 3, then +v: in whatever order the nodes were added. */
static CUgraph build(CUgraphNode *kernel, unsigned v)
{
	CUDA_MEMSET_NODE_PARAMS m = {.dst = p,
				     .value = 3,
				     .elementSize = 4,
				     .width = 1,
				     .height = 1};
	unsigned n = 1;
	void *args[] = {&p, &n, &v};
	CUDA_KERNEL_NODE_PARAMS k = add_params(args);
	CUcontext ctx;
	CUgraphNode set;
	CUgraph g;

	ok(CALL(cuCtxGetCurrent)(&ctx));
	ok(CALL(cuGraphCreate)(&g, 0));
	ok(CALL(cuGraphAddKernelNode_v2)(kernel, g, NULL, 0, &k));
	ok(CALL(cuGraphAddMemsetNode)(&set, g, NULL, 0, &m, ctx));
	ok(CALL(cuGraphAddDependencies_v2)(g, &set, kernel, NULL, 1));
	return g;
}

static void ordered(void)
{
	CUDA_KERNEL_NODE_PARAMS got;
	CUgraphNode kernel, root;
	CUgraphExec exec;
	CUgraphNodeType type;
	CUgraph g = build(&kernel, 4);
	size_t n = 1;

	ok(CALL(cuGraphGetRootNodes)(g, &root, &n));
	expect(n == 1 && root != kernel);
	ok(CALL(cuGraphNodeGetType)(root, &type));
	expect(type == CU_GRAPH_NODE_TYPE_MEMSET);
	ok(CALL(cuGraphKernelNodeGetParams_v2)(kernel, &got));
	expect(got.func == add && *(unsigned *)got.kernelParams[2] == 4);
	expect(*(CUdeviceptr *)got.kernelParams[0] == p);
	ok(CALL(cuGraphInstantiate_v2)(&exec, g, NULL, NULL, 0));
	ok(CALL(cuGraphLaunch)(exec, s));
	ok(CALL(cuStreamSynchronize)(s));
	expect(value() == 7);
	ok(CALL(cuGraphExecDestroy)(exec));
	ok(CALL(cuGraphDestroy)(g));
}

static void cycle(void)
{
	CUgraphNode a, b;
	CUgraphExec exec;
	CUgraph g;

	ok(CALL(cuGraphCreate)(&g, 0));
	ok(CALL(cuGraphAddEmptyNode)(&a, g, NULL, 0));
	ok(CALL(cuGraphAddEmptyNode)(&b, g, &a, 1));
	ok(CALL(cuGraphAddDependencies_v2)(g, &b, &a, NULL, 1));
	expect_code(CALL(cuGraphInstantiateWithFlags)(&exec, g, 0),
		    CUDA_ERROR_INVALID_VALUE);
	ok(CALL(cuGraphDestroy)(g));
	expect_code(CALL(cuGraphDestroy)(g), CUDA_ERROR_INVALID_VALUE);
}

/* The first launch waits in the queue while the exec is changed. */
static void changed_behind_a_launch(void)
{
	unsigned n = 1, v = 10;
	void *args[] = {&p, &n, &v}, *hold_args[] = {&flag};
	CUDA_KERNEL_NODE_PARAMS k = add_params(args);
	CUgraphNode kernel;
	CUgraphExec exec;
	CUgraph g = build(&kernel, 4);
	unsigned first = 0;

	ok(CALL(cuGraphInstantiateWithFlags)(&exec, g, 0));
	__atomic_store_n(host_flag, 0, __ATOMIC_RELEASE);
	ok(CALL(cuLaunchKernel)(hold, 1, 1, 1, 1, 1, 1, 0, s, hold_args, NULL));
	ok(CALL(cuGraphLaunch)(exec, s));
	ok(CALL(cuMemcpyDtoDAsync_v2)(p + 4, p, 4, s));
	ok(CALL(cuGraphExecKernelNodeSetParams_v2)(exec, kernel, &k));
	ok(CALL(cuGraphLaunch)(exec, s));
	__atomic_store_n(host_flag, 1, __ATOMIC_RELEASE);
	ok(CALL(cuStreamSynchronize)(s));
	ok(CALL(cuMemcpyDtoH_v2)(&first, p + 4, 4));
	expect(first == 7);
	expect(value() == 13);
	ok(CALL(cuGraphNodeSetEnabled)(exec, kernel, 0));
	ok(CALL(cuGraphLaunch)(exec, s));
	ok(CALL(cuStreamSynchronize)(s));
	expect(value() == 3);
	ok(CALL(cuGraphExecDestroy)(exec));
	ok(CALL(cuGraphDestroy)(g));
}

static void updated(void)
{
	CUgraphExecUpdateResultInfo info;
	CUgraphNode kernel, other, extra;
	CUgraphExec exec;
	CUgraph g = build(&kernel, 4), h = build(&other, 20);

	ok(CALL(cuGraphInstantiateWithFlags)(&exec, g, 0));
	ok(CALL(cuGraphExecUpdate_v2)(exec, h, &info));
	ok(CALL(cuGraphLaunch)(exec, s));
	ok(CALL(cuStreamSynchronize)(s));
	expect(value() == 23);
	ok(CALL(cuGraphAddEmptyNode)(&extra, h, NULL, 0));
	expect_code(CALL(cuGraphExecUpdate_v2)(exec, h, &info),
		    CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE);
	expect(info.result == CU_GRAPH_EXEC_UPDATE_ERROR_TOPOLOGY_CHANGED);
	ok(CALL(cuGraphExecDestroy)(exec));
	ok(CALL(cuGraphDestroy)(g));
	ok(CALL(cuGraphDestroy)(h));
}

static void children(void)
{
	CUgraphNode kernel, child, copy;
	CUgraphExec exec;
	CUgraph g = build(&kernel, 4), outer, clone;

	ok(CALL(cuGraphCreate)(&outer, 0));
	ok(CALL(cuGraphAddChildGraphNode)(&child, outer, NULL, 0, g));
	ok(CALL(cuGraphDestroy)(g)); /* it was cloned into the node */
	ok(CALL(cuGraphClone)(&clone, outer));
	ok(CALL(cuGraphNodeFindInClone)(&copy, child, clone));
	expect(copy != child);
	ok(CALL(cuGraphInstantiateWithFlags)(&exec, clone, 0));
	ok(CALL(cuMemsetD32_v2)(p, 0, 1));
	ok(CALL(cuCtxSynchronize)());
	ok(CALL(cuGraphLaunch)(exec, s));
	ok(CALL(cuStreamSynchronize)(s));
	expect(value() == 7);
	ok(CALL(cuGraphExecDestroy)(exec));
	ok(CALL(cuGraphDestroy)(clone));
	ok(CALL(cuGraphDestroy)(outer));
}

/* A wait node waits for what was recorded last when it runs, a record node
 * records for whoever waits for the event. */
static void event_nodes(void)
{
	void *hold_args[] = {&flag};
	CUgraphNode wait, record;
	CUgraphExec exec;
	CUstream other;
	CUevent in, out;
	CUgraph g;

	ok(CALL(cuStreamCreate)(&other, CU_STREAM_NON_BLOCKING));
	ok(CALL(cuEventCreate)(&in, 0));
	ok(CALL(cuEventCreate)(&out, 0));
	ok(CALL(cuGraphCreate)(&g, 0));
	ok(CALL(cuGraphAddEventWaitNode)(&wait, g, NULL, 0, in));
	ok(CALL(cuGraphAddEventRecordNode)(&record, g, &wait, 1, out));
	ok(CALL(cuGraphInstantiateWithFlags)(&exec, g, 0));
	__atomic_store_n(host_flag, 0, __ATOMIC_RELEASE);
	ok(CALL(cuLaunchKernel)(hold, 1, 1, 1, 1, 1, 1, 0, other, hold_args,
				NULL));
	ok(CALL(cuEventRecord)(in, other));
	ok(CALL(cuGraphLaunch)(exec, s));
	expect_code(CALL(cuStreamQuery)(s), CUDA_ERROR_NOT_READY);
	__atomic_store_n(host_flag, 1, __ATOMIC_RELEASE);
	ok(CALL(cuStreamSynchronize)(s));
	ok(CALL(cuEventQuery)(in));
	ok(CALL(cuEventQuery)(out));
	ok(CALL(cuGraphExecDestroy)(exec));
	ok(CALL(cuGraphDestroy)(g));
	ok(CALL(cuEventDestroy_v2)(in));
	ok(CALL(cuEventDestroy_v2)(out));
	ok(CALL(cuStreamDestroy_v2)(other));
}

int main(void)
{
	CUmodule m;
	void *host;

	open_context();
	m = open_module();
	add = function(m, "add");
	hold = function(m, "hold");
	ok(CALL(cuMemAllocHost_v2)(&host, 4));
	ok(CALL(cuMemHostGetDevicePointer_v2)(&flag, host, 0));
	host_flag = host;
	ok(CALL(cuMemAlloc_v2)(&p, 64));
	ok(CALL(cuStreamCreate)(&s, CU_STREAM_NON_BLOCKING));
	ordered();
	cycle();
	changed_behind_a_launch();
	updated();
	children();
	event_nodes();
	expect(counters().live_graphs == 0);
	return 0;
}
