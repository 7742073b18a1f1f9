/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Eight threads at once, each with streams, memory of every family, copies and
 * kernels of its own: what each one counts is right, and nothing is left.
 */
#include <pthread.h>
#include "testing.h"

#define THREADS 8
#define ROUNDS	20
#define BLOCK	((size_t)2 << 20)

static CUcontext ctx;
static CUfunction add;

static void check(CUstream s, CUdeviceptr p)
{
	unsigned v[256];

	ok(CALL(cuMemsetD32Async)(p, 1, 256, s));
	for (unsigned i = 0; i < 10; i++)
		ok(launch_add(add, s, p, 256, i));
	ok(CALL(cuMemcpyDtoHAsync_v2)(v, p, sizeof(v), s));
	ok(CALL(cuStreamSynchronize)(s));
	for (unsigned i = 0; i < 256; i++)
		expect(v[i] == 46);
}

static void round_trip(unsigned i)
{
	CUdeviceptr native, managed, pooled;
	CUevent e;
	CUstream s;

	ok(CALL(cuStreamCreate)(&s, i % 2));
	ok(CALL(cuEventCreate)(&e, 0));
	ok(CALL(cuMemAlloc_v2)(&native, 4096));
	ok(CALL(cuMemAllocManaged)(&managed, BLOCK, CU_MEM_ATTACH_GLOBAL));
	ok(CALL(cuMemAllocAsync)(&pooled, BLOCK, s));
	check(s, native);
	check(s, managed);
	check(s, pooled);
	expect(*(unsigned *)managed == 46);
	ok(CALL(cuEventRecord)(e, s));
	ok(CALL(cuMemFreeAsync)(pooled, s));
	ok(CALL(cuEventSynchronize)(e));
	ok(CALL(cuMemFree_v2)(managed));
	ok(CALL(cuMemFree_v2)(native));
	ok(CALL(cuEventDestroy_v2)(e));
	ok(CALL(cuStreamDestroy_v2)(s));
}

static void *run(void *unused)
{
	CUdeviceptr p;

	ok(CALL(cuCtxSetCurrent)(ctx));
	for (unsigned i = 0; i < ROUNDS; i++)
		round_trip(i);
	ok(CALL(cuMemAlloc_v2)(&p, 4096));
	check(CU_STREAM_PER_THREAD, p);
	check(NULL, p);
	ok(CALL(cuMemFree_v2)(p));
	return NULL;
}

int main(void)
{
	pthread_t threads[THREADS];
	struct softcuda_counters c;

	setenv("SOFTCUDA_VRAM", "64M", 1);
	ctx = open_context();
	add = function(open_module(), "add");
	for (unsigned i = 0; i < THREADS; i++)
		pthread_create(&threads[i], NULL, run, NULL);
	for (unsigned i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	ok(CALL(cuCtxSynchronize)());
	c = counters();
	expect(c.live_streams == 0 && c.live_events == 0);
	expect(c.live_allocations == 0 && c.device_bytes == 0);
	expect(c.device_charged_bytes == 0 && c.managed_attached_bytes == 0);
	expect(c.soft_host_bytes == 0 && c.sticky_errors == 0);
	expect(c.launches == THREADS * 10ull * (3 * ROUNDS + 2));
	return 0;
}
