/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Item 6: virtual memory management as the second mechanism. Chunks of the
 * card and of the host in one reservation, remapping idle and under load, two
 * mappings of one chunk, graphs across a remap; `vmm stray` touches an unmapped
 * range, which ends its context and so wants a process of its own.
 */
#define _GNU_SOURCE
#include <stdio.h>
#include <string.h>

#include "probe.h"

#define CHUNK (32 * MIB)
#define WORDS (CHUNK / sizeof(unsigned))

typedef CUmemGenericAllocationHandle handle;

static CUfunction spin, fill, differ;
static CUdeviceptr count; /* of differing words */
static int host_node;

/* ---- chunks ---- */

static CUmemAllocationProp prop_of(bool host)
{
	CUmemAllocationProp p = {.type = CU_MEM_ALLOCATION_TYPE_PINNED,
				 .location = probe_gpu()};

	if (host) {
		p.location.type = CU_MEM_LOCATION_TYPE_HOST_NUMA;
		p.location.id = host_node;
	}
	return p;
}

static CUresult create(handle *h, size_t bytes, bool host)
{
	CUmemAllocationProp p = prop_of(host);

	return cuMemCreate(h, bytes, &p, 0);
}

static CUresult allow(CUdeviceptr p, size_t bytes, bool host)
{
	CUmemAccessDesc a = {.location = prop_of(host).location,
			     .flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE};

	return cuMemSetAccess(p, bytes, &a, 1);
}

static CUdeviceptr reserve(size_t bytes)
{
	CUdeviceptr p;

	need(cuMemAddressReserve(&p, bytes, 0, 0, 0));
	return p;
}

static void map_chunk(CUdeviceptr p, size_t bytes, handle h)
{
	need(cuMemMap(p, bytes, 0, h, 0));
	need(allow(p, bytes, false));
}

static void put_words(CUdeviceptr p, unsigned value)
{
	unsigned long n = WORDS;
	void *args[] = {&p, &n, &value};

	probe_launch(fill, 264, 512, NULL, args);
}

/* How many words of a chunk are not VALUE, as the GPU reads them. */
static unsigned long long differing(CUdeviceptr p, unsigned value)
{
	unsigned long n = WORDS;
	unsigned long long result;
	void *args[] = {&p, &n, &value, &count};

	need(cuMemsetD8(count, 0, sizeof(result)));
	probe_launch(differ, 264, 512, NULL, args);
	need(cuCtxSynchronize());
	need(cuMemcpyDtoH(&result, count, sizeof(result)));
	return result;
}

/* ---- device and host chunks side by side ---- */

static void say_granularity(void)
{
	for (int host = 0; host < 2; host++) {
		CUmemAllocationProp p = prop_of(host);
		size_t least = 0, best = 0;

		fact_int(cuMemGetAllocationGranularity(
				 &least, &p, CU_MEM_ALLOC_GRANULARITY_MINIMUM),
			 "%s_granularity_code", host ? "host" : "device");
		cuMemGetAllocationGranularity(
			&best, &p, CU_MEM_ALLOC_GRANULARITY_RECOMMENDED);
		fact_int((long long)(least / KIB), "%s_granularity_min_kib",
			 host ? "host" : "device");
		fact_int((long long)(best / KIB),
			 "%s_granularity_recommended_kib",
			 host ? "host" : "device");
	}
}

static void say_kind(CUdeviceptr p, const char *key)
{
	unsigned type = 0;
	size_t range = 0;

	cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, p);
	cuPointerGetAttribute(&range, CU_POINTER_ATTRIBUTE_RANGE_SIZE, p);
	fact_int(type, "%s_memory_type", key);
	fact_int((long long)(range / MIB), "%s_range_mib", key);
}

/* The CPU and the GPU see each other's words in the host chunk. */
static void zero_copy(CUdeviceptr p)
{
	double start, seconds;
	CUresult code = allow(p, CHUNK, true);

	put_words(p, 7);
	need(cuCtxSynchronize());
	fact_int((long long)differing(p, 7), "host_chunk_gpu_sees_differing");
	start = now_s();
	differing(p, 7);
	seconds = now_s() - start;
	fact_num((double)CHUNK / (double)GIB / seconds,
		 "host_chunk_gpu_read_gib_s");
	fact_int(code, "host_chunk_cpu_access_code");
	if (code)
		return;
	fact_int(((unsigned *)p)[WORDS - 1], "host_chunk_cpu_sees_7");
	for (size_t i = 0; i < WORDS; i++)
		((unsigned *)p)[i] = 9;
	fact_int((long long)differing(p, 9), "host_chunk_cpu_wrote_differing");
}

/* False where the driver refuses host chunks beside device chunks. */
static bool mixed(void)
{
	handle d, h;
	CUdeviceptr p;
	CUresult code = create(&h, CHUNK, true);

	fact_int(host_node, "host_node");
	fact_int(code, "host_numa_create_code");
	if (code)
		return false;
	need(create(&d, CHUNK, false));
	p = reserve(2 * CHUNK);
	need(cuMemMap(p, CHUNK, 0, d, 0));
	code = cuMemMap(p + CHUNK, CHUNK, 0, h, 0);
	fact_int(code, "mixed_map_code");
	if (!code) {
		code = allow(p, 2 * CHUNK, false);
		fact_int(code, "mixed_access_one_call_code");
		if (code) {
			need(allow(p, CHUNK, false));
			code = allow(p + CHUNK, CHUNK, false);
			fact_int(code, "mixed_access_each_code");
		}
	}
	if (!code) {
		say_kind(p, "device_chunk");
		say_kind(p + CHUNK, "host_chunk");
		zero_copy(p + CHUNK);
		need(cuMemUnmap(p + CHUNK, CHUNK));
	}
	need(cuMemUnmap(p, CHUNK));
	need(cuMemAddressFree(p, 2 * CHUNK));
	need(cuMemRelease(d));
	need(cuMemRelease(h));
	return !code;
}

/* ---- the times of a remap ---- */

#define ROUNDS 7

static void remap_times(size_t bytes, bool host, bool busy)
{
	double t[5][ROUNDS];
	static const char *const step[] = {"create", "map", "access", "unmap",
					   "release"};
	CUdeviceptr p = reserve(bytes);
	CUstream s;
	unsigned long long ns = 30000000;
	void *args[] = {&ns};

	need(cuStreamCreate(&s, CU_STREAM_NON_BLOCKING));
	for (unsigned i = 0; i < ROUNDS; i++) {
		double mark[6];
		handle h;

		if (busy)
			probe_launch(spin, 1, 1, s, args);
		mark[0] = now_s();
		need(create(&h, bytes, host));
		mark[1] = now_s();
		need(cuMemMap(p, bytes, 0, h, 0));
		mark[2] = now_s();
		need(allow(p, bytes, false));
		mark[3] = now_s();
		need(cuMemUnmap(p, bytes));
		mark[4] = now_s();
		need(cuMemRelease(h));
		mark[5] = now_s();
		for (unsigned k = 0; k < 5; k++)
			t[k][i] = mark[k + 1] - mark[k];
		need(cuCtxSynchronize());
	}
	for (unsigned k = 0; k < 5; k++)
		fact_num(median(t[k], ROUNDS) * 1e6, "%s_%zum_%s_%s_us",
			 host ? "host" : "device", bytes / MIB,
			 busy ? "busy" : "idle", step[k]);
	need(cuStreamDestroy(s));
	need(cuMemAddressFree(p, bytes));
}

/* A mapped range next door is read and written all the while. */
static void remap_beside_traffic(void)
{
	CUdeviceptr p = reserve(2 * CHUNK);
	handle a, b;
	double start, worst = 0;
	unsigned long long wrong;

	need(create(&a, CHUNK, false));
	need(create(&b, CHUNK, false));
	map_chunk(p, CHUNK, a);
	for (unsigned i = 0; i < 50; i++)
		put_words(p, i);
	for (unsigned i = 0; i < 20; i++) {
		start = now_s();
		map_chunk(p + CHUNK, CHUNK, b);
		need(cuMemUnmap(p + CHUNK, CHUNK));
		if (now_s() - start > worst)
			worst = now_s() - start;
	}
	wrong = differing(p, 49);
	fact_num(worst * 1e3, "beside_traffic_worst_remap_ms");
	fact_int((long long)wrong, "beside_traffic_differing");
	need(cuMemUnmap(p, CHUNK));
	need(cuMemRelease(a));
	need(cuMemRelease(b));
	need(cuMemAddressFree(p, 2 * CHUNK));
}

/* ---- one chunk, two mappings ---- */

static void alias(void)
{
	CUdeviceptr a = reserve(CHUNK), b = reserve(CHUNK);
	unsigned long long wrong = 0;
	handle h;

	need(create(&h, CHUNK, false));
	map_chunk(a, CHUNK, h);
	map_chunk(b, CHUNK, h);
	for (unsigned i = 1; i < 9; i++) {
		put_words(i & 1 ? a : b, i);
		wrong += differing(i & 1 ? b : a, i);
	}
	fact_int((long long)wrong, "alias_differing");
	need(cuMemUnmap(a, CHUNK));
	fact_int((long long)differing(b, 8), "alias_after_unmap_differing");
	need(cuMemUnmap(b, CHUNK));
	need(cuMemRelease(h));
	need(cuMemAddressFree(a, CHUNK));
	need(cuMemAddressFree(b, CHUNK));
}

/* ---- graphs ---- */

/* Fills A with 3 by a kernel, then copies A to B. */
static CUgraphExec fill_and_copy(CUdeviceptr a, CUdeviceptr b, CUstream s)
{
	unsigned long n = WORDS;
	unsigned value = 3;
	void *args[] = {&a, &n, &value};
	CUgraph graph;
	CUgraphExec exec;

	need(cuStreamBeginCapture(s, CU_STREAM_CAPTURE_MODE_RELAXED));
	probe_launch(fill, 264, 512, s, args);
	need(cuMemcpyDtoDAsync(b, a, CHUNK, s));
	need(cuStreamEndCapture(s, &graph));
	need(cuGraphInstantiate(&exec, graph, 0));
	need(cuGraphDestroy(graph));
	return exec;
}

static void replay(CUgraphExec exec, CUstream s, CUdeviceptr a, CUdeviceptr b,
		   const char *key)
{
	CUresult code;

	need(cuMemsetD8(b, 0, CHUNK));
	code = cuGraphLaunch(exec, s);
	if (!code)
		code = cuStreamSynchronize(s);
	fact_int(code, "graph_%s_code", key);
	if (code)
		return;
	fact_int((long long)differing(a, 3), "graph_%s_kernel_differing", key);
	fact_int((long long)differing(b, 3), "graph_%s_copy_differing", key);
}

/* HOST also remaps the range of the graph to a host chunk, at the end. */
static void graphs(bool host)
{
	CUdeviceptr a = reserve(CHUNK), b;
	handle h[3];
	CUstream s;
	CUgraphExec exec;

	need(cuStreamCreate(&s, CU_STREAM_NON_BLOCKING));
	need(cuMemAlloc(&b, CHUNK));
	need(create(&h[0], CHUNK, false));
	need(create(&h[1], CHUNK, false));
	map_chunk(a, CHUNK, h[0]);
	exec = fill_and_copy(a, b, s);
	replay(exec, s, a, b, "as_captured");
	need(cuMemUnmap(a, CHUNK));
	map_chunk(a, CHUNK, h[1]);
	replay(exec, s, a, b, "remapped");
	if (host) {
		need(cuMemUnmap(a, CHUNK));
		need(create(&h[2], CHUNK, true));
		map_chunk(a, CHUNK, h[2]);
		replay(exec, s, a, b, "on_host_chunk");
	}
	need(cuGraphExecDestroy(exec));
}

/* ---- an access to a range that is not mapped ---- */

static int stray(void)
{
	CUdeviceptr p = reserve(CHUNK);
	handle h;
	const char *name = "";
	CUresult code;
	double start;

	need(create(&h, CHUNK, false));
	map_chunk(p, CHUNK, h);
	put_words(p, 1);
	need(cuCtxSynchronize());
	need(cuMemUnmap(p, CHUNK));
	put_words(p, 2);
	start = now_s();
	code = cuCtxSynchronize();
	fact_num((now_s() - start) * 1e3, "stray_seen_ms");
	cuGetErrorName(code, &name);
	fact_int(code, "stray_code");
	fact_str(name, "stray_name");
	fact_int(cuMemsetD8(count, 0, 8), "stray_next_call_code");
	return 0;
}

int main(int argc, char **argv)
{
	static const size_t sizes[] = {2 * MIB, 32 * MIB, 64 * MIB};
	CUdevice device;
	bool host;

	probe_open();
	spin = probe_kernel("probe_spin");
	fill = probe_kernel("probe_fill");
	differ = probe_kernel("probe_differ");
	need(cuMemAlloc(&count, sizeof(unsigned long long)));
	if (argc > 1 && !strcmp(argv[1], "stray"))
		return stray();
	need(cuCtxGetDevice(&device));
	need(cuDeviceGetAttribute(&host_node, CU_DEVICE_ATTRIBUTE_HOST_NUMA_ID,
				  device));
	/* Without NUMA the node to name is 0. */
	if (host_node < 0)
		host_node = 0;
	say_granularity();
	host = mixed();
	for (unsigned i = 0; i < 3; i++)
		for (int how = 0; how < (host ? 4 : 2); how++)
			remap_times(sizes[i], how >> 1, how & 1);
	remap_beside_traffic();
	alias();
	graphs(host);
	return 0;
}
