/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A capture that launches kernels never seen before, allocates and frees:
 * nothing that the program did not do may reach the driver, the graph is
 * whole, and a launch's status is the launch's. What the graph names counts
 * when it runs.
 */
#include "driver.h"

static CUstream stream;

static CUgraph capture(CUdeviceptr p)
{
	uint32_t v = 2;
	void *params[] = {&p, &v};
	CUgraph graph = NULL;
	CUdeviceptr inside;

	ok(SYM(cuStreamBeginCapture_v2)(stream, 0));
	driver_launch(driver_kernel("add"), stream, params);
	ok(SYM(cuMemAllocAsync)(&inside, 8192, stream));
	ok(SYM(cuMemsetD8Async)(inside, 0, 8192, stream));
	ok(SYM(cuMemcpyDtoDAsync_v2)(inside + 4096, inside, 64, stream));
	ok(SYM(cuMemFreeAsync)(inside, stream));
	driver_launch(driver_kernel("add"), stream, params);
	ok(SYM(cuStreamEndCapture)(stream, &graph));
	expect(graph);
	return graph;
}

int main(void)
{
	CUresult (*create)(CUstream *, unsigned) =
		driver_get("cuStreamCreate", 2000, 0);
	uint64_t runs, vram;
	CUdeviceptr p;
	CUgraph graph;
	CUgraphExec exec;
	uint32_t value = 1;

	driver_start();
	ok(create(&stream, 1));
	ok(SYM(cuMemAlloc_v2)(&p, 1 << 20));
	ok(SYM(cuMemsetD8_v2)(p, 0, 1 << 20));
	ok(SYM(cuCtxSynchronize)());
	vram = counted("vram_resident", 1 << 20);
	graph = capture(p + 65536);
	ok(SYM(cuGraphInstantiateWithFlags)(&exec, graph, 0));
	runs = counted("gpu_graph_launches", 0);
	for (int i = 0; i < 3; i++) {
		ok(SYM(cuGraphLaunch)(exec, stream));
		ok(SYM(cuStreamSynchronize)(stream));
	}
	ok(SYM(cuMemcpyDtoH_v2)(&value, p + 65536, sizeof(value)));
	expect(value == 12);
	expect(counted("gpu_graph_launches", runs + 3) == runs + 3);
	/* What was captured was not done; what runs is known. */
	expect(counted("gpu_launches", 0) == 0);
	expect(counted("gpu_memsets", 1) == 1);
	expect(counted("gpu_copies", 1) == 1);
	expect(counted("gpu_unknown", 0) == 0);
	/* Memory of a graph is not memory that was allocated. */
	expect(counted("vram_resident", vram) == vram);
	expect(counted("gpu_tensors", 3) >= 2);
	ok(SYM(cuGraphExecDestroy)(exec));
	puts("done");
	return 0;
}
