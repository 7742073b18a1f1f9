/* SPDX-License-Identifier: Apache-2.0 */
/*
 * SOFTCUDA_LINK: copies and migrations take at least the time of the link, and
 * a prefetch on an idle stream takes the caller's. Only lower bounds are looked
 * at.
 */
#include <time.h>
#include "testing.h"

#define MIB ((size_t)1 << 20)

static double now_ms(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (double)ts.tv_sec * 1e3 + (double)ts.tv_nsec / 1e6;
}

int main(void)
{
	static char bytes[MIB];
	CUmemLocation device = {CU_MEM_LOCATION_TYPE_DEVICE, 0},
		      host = {CU_MEM_LOCATION_TYPE_HOST, 0};
	CUevent a, b;
	CUdeviceptr p, m;
	CUstream s;
	double start;
	float ms;

	setenv("SOFTCUDA_LINK", "64M,32M", 1);
	open_context();
	ok(CALL(cuStreamCreate)(&s, CU_STREAM_NON_BLOCKING));
	ok(CALL(cuEventCreate)(&a, 0));
	ok(CALL(cuEventCreate)(&b, 0));
	ok(CALL(cuMemAlloc_v2)(&p, MIB));
	ok(CALL(cuEventRecord)(a, s));
	ok(CALL(cuMemcpyHtoDAsync_v2)(p, bytes, MIB, s));
	ok(CALL(cuEventRecord)(b, s));
	ok(CALL(cuEventSynchronize)(b));
	ok(CALL(cuEventElapsedTime)(&ms, a, b));
	expect(ms > 15);
	ok(CALL(cuMemAllocManaged)(&m, 2 * MIB, CU_MEM_ATTACH_GLOBAL));
	*(char *)m = 1;
	start = now_ms();
	ok(CALL(cuMemPrefetchAsync_v2)(m, 2 * MIB, device, 0, s));
	expect(now_ms() - start > 31);
	start = now_ms();
	ok(CALL(cuMemPrefetchAsync_v2)(m, 2 * MIB, host, 0, s));
	expect(now_ms() - start > 62);
	ok(CALL(cuMemFree_v2)(m));
	ok(CALL(cuMemFree_v2)(p));
	return 0;
}
