/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Order: a stream lies behind the program until somebody waits; the legacy
 * stream waits for the blocking ones and they for it; per-thread streams are
 * another one; events carry an order between streams.
 */
#include <pthread.h>
#include "testing.h"

static CUfunction add, hold;
static CUdeviceptr p, flag;
static volatile unsigned *host_flag;

static void raise_flag(unsigned v)
{
	__atomic_store_n(host_flag, v, __ATOMIC_RELEASE);
}

static void block(CUstream s)
{
	void *args[] = {&flag};

	raise_flag(0);
	ok(CALL(cuLaunchKernel)(hold, 1, 1, 1, 1, 1, 1, 0, s, args, NULL));
}

static unsigned value(void)
{
	unsigned v;

	ok(CALL(cuMemcpyDtoH_v2)(&v, p, 4));
	return v;
}

/* A launch returns while its stream stands. */
static void runs_behind(void)
{
	CUstream s;
	CUevent e;

	ok(CALL(cuStreamCreate)(&s, CU_STREAM_NON_BLOCKING));
	ok(CALL(cuEventCreate)(&e, CU_EVENT_DISABLE_TIMING));
	ok(CALL(cuEventQuery)(e)); /* never recorded */
	block(s);
	ok(launch_add(add, s, p, 1, 1));
	ok(CALL(cuEventRecord)(e, s));
	expect_code(CALL(cuEventQuery)(e), CUDA_ERROR_NOT_READY);
	expect_code(CALL(cuStreamQuery)(s), CUDA_ERROR_NOT_READY);
	raise_flag(1);
	ok(CALL(cuEventSynchronize)(e));
	ok(CALL(cuStreamQuery)(s));
	expect(value() == 1);
	ok(CALL(cuEventDestroy_v2)(e));
	expect_code(CALL(cuEventDestroy_v2)(e), CUDA_ERROR_INVALID_HANDLE);
	ok(CALL(cuStreamDestroy_v2)(s));
	expect_code(CALL(cuStreamSynchronize)(s), CUDA_ERROR_INVALID_HANDLE);
}

/* Work in the legacy stream is behind the blocking stream, and before what
 * comes later; a stream that does not block goes its way. */
static void legacy_order(void)
{
	CUstream blocking, free_one;
	unsigned v;

	ok(CALL(cuStreamCreate)(&blocking, CU_STREAM_DEFAULT));
	ok(CALL(cuStreamCreate)(&free_one, CU_STREAM_NON_BLOCKING));
	ok(CALL(cuMemsetD32_v2)(p, 0, 1));
	ok(CALL(cuStreamSynchronize)(NULL));
	block(blocking);
	ok(CALL(cuMemsetD32Async)(p, 5, 1, NULL)); /* must wait */
	ok(CALL(cuMemcpyDtoHAsync_v2)(&v, p, 4, free_one));
	expect(v == 0);
	ok(launch_add(add, blocking, p, 1, 2)); /* behind the memset */
	raise_flag(1);
	ok(CALL(cuStreamSynchronize)(blocking));
	ok(CALL(cuMemcpyDtoHAsync_v2)(&v, p, 4, free_one));
	expect(v == 7);
	ok(CALL(cuStreamDestroy_v2)(blocking));
	ok(CALL(cuStreamDestroy_v2)(free_one));
}

static void events_between(void)
{
	CUstream a, b;
	CUevent e, before;
	float ms;

	ok(CALL(cuStreamCreate)(&a, CU_STREAM_NON_BLOCKING));
	ok(CALL(cuStreamCreate)(&b, CU_STREAM_NON_BLOCKING));
	ok(CALL(cuEventCreate)(&e, 0));
	ok(CALL(cuEventCreate)(&before, 0));
	ok(CALL(cuMemsetD32_v2)(p, 1, 1));
	ok(CALL(cuStreamSynchronize)(NULL));
	ok(CALL(cuEventRecord)(before, a));
	block(a);
	ok(CALL(cuMemsetD32Async)(p, 10, 1, a));
	ok(CALL(cuEventRecord)(e, a));
	ok(CALL(cuStreamWaitEvent)(b, e, 0));
	ok(launch_add(add, b, p, 1, 3));
	expect_code(CALL(cuEventElapsedTime)(&ms, before, e),
		    CUDA_ERROR_NOT_READY);
	expect_code(CALL(cuStreamQuery)(b), CUDA_ERROR_NOT_READY);
	raise_flag(1);
	ok(CALL(cuStreamSynchronize)(b));
	ok(CALL(cuEventElapsedTime)(&ms, before, e));
	expect(ms >= 0);
	expect(value() == 13);
	ok(CALL(cuEventDestroy_v2)(e));
	ok(CALL(cuEventDestroy_v2)(before));
	ok(CALL(cuStreamDestroy_v2)(a));
	ok(CALL(cuStreamDestroy_v2)(b));
}

/* 1024 entries fit; the next call waits. */
static void *release(void *arg)
{
	while (!counters().queue_blocked)
		;
	raise_flag(1);
	return NULL;
}

static void full_queue(void)
{
	pthread_t thread;
	CUstream s;

	ok(CALL(cuStreamCreate)(&s, CU_STREAM_NON_BLOCKING));
	ok(CALL(cuMemsetD32_v2)(p, 0, 1));
	ok(CALL(cuStreamSynchronize)(NULL));
	block(s);
	expect(counters().queue_blocked == 0);
	for (unsigned i = 1; i < 1024; i++)
		ok(launch_add(add, s, p, 1, 1));
	expect(counters().queue_blocked == 0);
	pthread_create(&thread, NULL, release, NULL);
	ok(launch_add(add, s, p, 1, 1));
	pthread_join(thread, NULL);
	ok(CALL(cuStreamSynchronize)(s));
	expect(value() == 1024);
	expect(counters().queue_blocked == 1);
	expect(counters().queue_deepest == 1024);
	ok(CALL(cuStreamDestroy_v2)(s));
}

/* Handle 0 is the thread's own stream in the _ptsz family. */
static void per_thread(void)
{
	unsigned long long legacy, mine, named;

	ok(CALL(cuStreamGetId)(NULL, &legacy));
	ok(CALL(cuStreamGetId_ptsz)(NULL, &mine));
	expect(legacy != mine);
	ok(CALL(cuStreamGetId)(CU_STREAM_PER_THREAD, &named));
	expect(named == mine);
	ok(CALL(cuStreamGetId_ptsz)(CU_STREAM_LEGACY, &named));
	expect(named == legacy);
}

static void *other_thread(void *arg)
{
	unsigned long long *id = arg;

	ok(CALL(cuCtxSetCurrent)(open_context()));
	ok(CALL(cuStreamGetId_ptsz)(NULL, id));
	ok(CALL(cuDevicePrimaryCtxRelease_v2)(0));
	return NULL;
}

static void threads_have_their_own(void)
{
	unsigned long long mine, other;
	pthread_t thread;

	ok(CALL(cuStreamGetId_ptsz)(NULL, &mine));
	pthread_create(&thread, NULL, other_thread, &other);
	pthread_join(thread, NULL);
	expect(mine != other);
}

static void called(void *user)
{
	/* no driver in here */
	expect_code(CALL(cuMemAlloc_v2)((CUdeviceptr[1]){0}, 4),
		    CUDA_ERROR_NOT_PERMITTED);
	expect_code(CALL(cuStreamSynchronize)(NULL), CUDA_ERROR_NOT_PERMITTED);
	*(unsigned *)user = 77;
}

static void host_function(void)
{
	unsigned seen = 0;

	ok(CALL(cuLaunchHostFunc)(NULL, called, &seen));
	ok(CALL(cuCtxSynchronize)());
	expect(seen == 77);
}

/* A progress word in mapped memory is seen without any further call. */
static void progress_word(void)
{
	CUstream s;

	ok(CALL(cuStreamCreate)(&s, CU_STREAM_NON_BLOCKING));
	raise_flag(0);
	ok(CALL(cuStreamWriteValue32_v2)(s, flag, 9, 0));
	while (__atomic_load_n(host_flag, __ATOMIC_ACQUIRE) != 9)
		;
	ok(CALL(cuStreamWaitValue32_v2)(s, flag, 12, CU_STREAM_WAIT_VALUE_GEQ));
	ok(CALL(cuMemsetD32Async)(p, 4, 1, s));
	expect_code(CALL(cuStreamQuery)(s), CUDA_ERROR_NOT_READY);
	raise_flag(13);
	ok(CALL(cuStreamSynchronize)(s));
	expect(value() == 4);
	ok(CALL(cuStreamDestroy_v2)(s));
}

int main(void)
{
	CUmodule m;
	void *host;

	open_context();
	m = open_module();
	add = function(m, "add");
	hold = function(m, "hold");
	ok(CALL(cuMemHostAlloc)(&host, 4096, CU_MEMHOSTALLOC_DEVICEMAP));
	ok(CALL(cuMemHostGetDevicePointer_v2)(&flag, host, 0));
	host_flag = host;
	ok(CALL(cuMemAlloc_v2)(&p, 4096));
	ok(CALL(cuMemsetD32_v2)(p, 0, 1));
	ok(CALL(cuStreamSynchronize)(NULL));
	runs_behind();
	legacy_order();
	events_between();
	full_queue();
	per_thread();
	threads_have_their_own();
	host_function();
	progress_word();
	expect(counters().live_streams == 0 && counters().live_events == 0);
	return 0;
}
