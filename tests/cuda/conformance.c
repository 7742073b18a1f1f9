/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Every family of allocation, resolved in four ways, from a library that was
 * opened with RTLD_DEEPBIND, and by eight threads at once: the driver answers
 * as without us, and our count of its memory is right to the byte.
 */
#include <dlfcn.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include "driver.h"

#define THREADS 8
#define ROUNDS	200

static CUresult(*get_address) HZ_SIG_cuGetProcAddress_v2;

/* ---- four ways to one function ---- */

static void four_ways(void)
{
	void *by_symbol = driver_symbol("cuMemAlloc_v2");
	void *by_address = driver_get("cuMemAlloc", 3020, 0);
	void *old = NULL, *via = NULL;
	CUresult(*other) HZ_SIG_cuGetProcAddress;
	CUresult(*alloc[4]) HZ_SIG_cuMemAlloc_v2;
	uint64_t vram = counted("vram_resident", 0), sum = 0;
	CUdeviceptr p[4];

	/* The first form, and the one that cuGetProcAddress itself names. */
	other = SYM(cuGetProcAddress);
	ok(other("cuMemAlloc", &old, 3020, 0));
	other = driver_get("cuGetProcAddress", 11030, 0);
	ok(other("cuMemAlloc", &via, 3020, 0));
	alloc[0] = (CUresult(*) HZ_SIG_cuMemAlloc_v2)by_symbol;
	alloc[1] = (CUresult(*) HZ_SIG_cuMemAlloc_v2)by_address;
	alloc[2] = (CUresult(*) HZ_SIG_cuMemAlloc_v2)old;
	alloc[3] = (CUresult(*) HZ_SIG_cuMemAlloc_v2)via;
	for (unsigned i = 0; i < 4; i++) {
		ok(alloc[i](&p[i], 1000 + i));
		sum += 1000 + i;
		expect(counted("vram_resident", vram + sum) == vram + sum);
	}
	for (unsigned i = 0; i < 4; i++)
		ok(SYM(cuMemFree_v2)(p[i]));
	expect(counted("vram_resident", vram) == vram);
}

static void odd_questions(void)
{
	void *f = &f;
	int status = 77;

	get_address = SYM(cuGetProcAddress_v2);
	printf("empty %d", get_address("", &f, 0, 0, NULL));
	printf(", unknown %d", get_address("cuNope", &f, 13000, 0, &status));
	printf(" %d %s", status, f ? "set" : "NULL");
	printf(", too old %d", get_address("cuMemAllocAsync", &f, 2000, 0,
					   &status));
	printf(" %d\n", status);
}

/* ---- families ---- */

static void physical(void)
{
	CUresult (*reserve)(CUdeviceptr *, size_t, size_t, CUdeviceptr,
			    unsigned long long) =
		driver_get("cuMemAddressReserve", 10020, 0);
	CUresult (*unreserve)(CUdeviceptr, size_t) =
		driver_get("cuMemAddressFree", 10020, 0);
	CUmemAllocationProp prop = {.type = 1, .location = {1, 0}};
	uint64_t vram = counted("vram_resident", 0);
	const size_t two = 2 << 20;
	CUmemGenericAllocationHandle h, again;
	CUdeviceptr p;

	ok(reserve(&p, 2 * two, 0, 0, 0));
	expect(counted("vram_resident", vram) == vram);
	ok(SYM(cuMemCreate)(&h, two, &prop, 0));
	expect(counted("vram_resident", vram + two) == vram + two);
	/* Two mappings are not twice the memory. */
	ok(SYM(cuMemMap)(p, two, 0, h, 0));
	ok(SYM(cuMemMap)(p + two, two, 0, h, 0));
	expect(counted("vram_resident", vram + two) == vram + two);
	expect(counted("gpu_allocations", 2) == 2);
	ok(SYM(cuMemRetainAllocationHandle)(&again, (void *)(uintptr_t)p));
	ok(SYM(cuMemRelease)(h));
	ok(SYM(cuMemRelease)(again));
	expect(counted("vram_resident", vram + two) == vram + two);
	ok(SYM(cuMemUnmap)(p, two));
	expect(counted("vram_resident", vram + two) == vram + two);
	ok(SYM(cuMemUnmap)(p + two, two));
	expect(counted("vram_resident", vram) == vram);
	expect(counted("gpu_allocations", 0) == 0);
	ok(unreserve(p, 2 * two));
}

static void host(void)
{
	size_t bytes = 1 << 20;
	void *p, *own = aligned_alloc(4096, bytes);

	expect(own);
	ok(SYM(cuMemHostAlloc)(&p, 5000, 0));
	expect(counted("gpu_pinned", 5000) == 5000);
	ok(SYM(cuMemFreeHost)(p));
	ok(SYM(cuMemAllocHost_v2)(&p, 6000));
	expect(counted("gpu_pinned", 6000) == 6000);
	ok(SYM(cuMemFreeHost)(p));
	ok(SYM(cuMemHostRegister_v2)(own, bytes, 0));
	expect(counted("gpu_pinned", bytes) == bytes);
	ok(SYM(cuMemHostUnregister)(own));
	expect(counted("gpu_pinned", 0) == 0);
	free(own);
}

static void on_streams(void)
{
	uint64_t vram = counted("vram_resident", 0);
	CUresult (*get)(CUmemoryPool *, CUdevice) =
		driver_get("cuDeviceGetDefaultMemPool", 11020, 0);
	CUmemoryPool pool;
	CUdeviceptr p[4];

	ok(get(&pool, 0));
	ok(SYM(cuMemAllocAsync)(&p[0], 10000, NULL));
	ok(SYM(cuMemAllocAsync_ptsz)(&p[1], 20000, NULL));
	ok(SYM(cuMemAllocFromPoolAsync)(&p[2], 30000, pool, NULL));
	ok(SYM(cuMemAllocFromPoolAsync_ptsz)(&p[3], 40000, pool, NULL));
	expect(counted("vram_resident", vram + 100000) == vram + 100000);
	ok(SYM(cuStreamSynchronize_ptsz)(NULL));
	ok(SYM(cuMemFreeAsync)(p[0], NULL));
	ok(SYM(cuMemFreeAsync_ptsz)(p[1], NULL));
	ok(SYM(cuMemFree_v2)(p[2]));
	ok(SYM(cuMemFreeAsync_ptsz)(p[3], NULL));
	ok(SYM(cuCtxSynchronize)());
	expect(counted("vram_resident", vram) == vram);
}

/* ---- a library that binds to itself first ---- */

static void deep(void)
{
	char *file = getenv("TEST_MODULE"), path[4096];
	char *slash = file ? strrchr(file, '/') : NULL;
	void *lib;
	CUresult (*alloc)(CUdeviceptr *, size_t);
	uint64_t vram = counted("vram_resident", 0);
	CUdeviceptr p;

	expect(slash);
	snprintf(path, sizeof(path), "%.*s/libtestother.so",
		 (int)(slash - file), file);
	lib = dlopen(path, RTLD_NOW | RTLD_DEEPBIND);
	expect(lib);
	alloc = (CUresult(*)(CUdeviceptr *, size_t))dlsym(lib, "test_alloc");
	expect(alloc);
	ok(alloc(&p, 4321));
	expect(counted("vram_resident", vram + 4321) == vram + 4321);
	ok(SYM(cuMemFree_v2)(p));
}

/* ---- eight threads ---- */

static void *churn(void *arg)
{
	CUcontext c = arg;
	CUresult (*current)(CUcontext) =
		driver_get("cuCtxSetCurrent", 4000, 0);
	uint32_t v = 1;

	ok(current(c));
	for (int i = 0; i < ROUNDS; i++) {
		CUdeviceptr p, q;
		void *params[] = {&q, &v};

		ok(SYM(cuMemAlloc_v2)(&p, 4096 + 64 * (size_t)i));
		q = p + 1024;
		driver_launch(driver_kernel("add"), NULL, params);
		ok(SYM(cuMemsetD8_v2)(p, 0, 512));
		ok(SYM(cuMemFree_v2)(p));
	}
	return NULL;
}

static void threads(void)
{
	uint64_t vram = counted("vram_resident", 0);
	uint64_t launches = counted("gpu_launches", 0);
	pthread_t id[THREADS];
	CUcontext c;

	ok(SYM(cuCtxGetCurrent)(&c));
	for (int i = 0; i < THREADS; i++)
		expect(!pthread_create(&id[i], NULL, churn, c));
	for (int i = 0; i < THREADS; i++)
		pthread_join(id[i], NULL);
	expect(counted("vram_resident", vram) == vram);
	expect(counted("gpu_allocations", 0) == 0);
	expect(counted("gpu_launches", launches + THREADS * ROUNDS) ==
	       launches + THREADS * ROUNDS);
}

int main(void)
{
	uint64_t live;

	odd_questions();
	driver_start();
	live = soft_live();
	four_ways();
	physical();
	host();
	on_streams();
	deep();
	threads();
	expect(soft_live() == live);
	expect(counted("gpu_unhooked", 0) == 0);
	expect(counted("gpu_untracked", 0) == 0);
	driver_end();
	puts("done");
	return 0;
}
