/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The physics of managed memory, fact by fact; a device of 16 MiB is eight
 * blocks.
 */
#include "testing.h"

#define BLOCK ((size_t)2 << 20)

static CUfunction add;
static CUstream s;
static CUmemLocation device = {CU_MEM_LOCATION_TYPE_DEVICE, 0},
		     host = {CU_MEM_LOCATION_TYPE_HOST, 0};

static CUdeviceptr managed(size_t blocks)
{
	CUdeviceptr p;

	ok(CALL(cuMemAllocManaged)(&p, blocks * BLOCK, CU_MEM_ATTACH_GLOBAL));
	return p;
}

static size_t free_blocks(void)
{
	size_t n;

	ok(CALL(cuMemGetInfo_v2)(&n, NULL));
	return n / BLOCK;
}

/* A kernel that touches the first words of each block. */
static void touch(CUdeviceptr p, size_t blocks)
{
	for (size_t i = 0; i < blocks; i++)
		ok(launch_add(add, s, p + i * BLOCK, 8, 1));
	ok(CALL(cuStreamSynchronize)(s));
}

static void prefetch(CUdeviceptr p, size_t blocks, CUmemLocation to)
{
	ok(CALL(cuMemPrefetchAsync_v2)(p, blocks * BLOCK, to, 0, s));
	ok(CALL(cuStreamSynchronize)(s));
}

static unsigned long long in_blocks(unsigned long long bytes)
{
	expect(bytes % BLOCK == 0);
	return bytes / BLOCK;
}

/* Nothing is taken before the first touch; both sides see the same bytes. */
static void first_touch(void)
{
	CUdeviceptr p = managed(4);
	unsigned *words = (unsigned *)p;
	struct softcuda_counters c;

	expect(free_blocks() == 8);
	expect(counters().soft_host_bytes == 0);
	touch(p, 2);
	c = counters();
	expect(c.gpu_faults == 2 && c.cpu_faults == 0);
	expect(in_blocks(c.managed_resident_bytes) == 2);
	expect(c.soft_host_bytes == 0 && c.migrated_h2d_bytes == 0);
	expect(free_blocks() == 6);
	expect(words[0] == 1); /* faults it to the host */
	c = counters();
	expect(c.cpu_faults == 1);
	expect(in_blocks(c.migrated_d2h_bytes) == 1);
	expect(in_blocks(c.soft_host_bytes) == 1);
	touch(p, 1);
	expect(words[0] == 2);
	expect(in_blocks(counters().migrated_h2d_bytes) == 1);
	ok(CALL(cuMemFree_v2)(p));
	c = counters();
	expect(c.soft_host_bytes == 0 && c.managed_attached_bytes == 0);
	expect(free_blocks() == 8);
}

/* Host pages stay after the block has gone back to the device. */
static void sticky_host_pages(void)
{
	CUdeviceptr p = managed(4);

	touch(p, 4);
	prefetch(p, 4, host);
	expect(in_blocks(counters().soft_host_bytes) == 4);
	prefetch(p, 4, device);
	expect(in_blocks(counters().managed_resident_bytes) == 4);
	expect(in_blocks(counters().soft_host_bytes) == 4);
	ok(CALL(cuMemFree_v2)(p));
	expect(counters().soft_host_bytes == 0);
}

/* A demotion gives no device memory back, until somebody wants it. */
static void demotion_frees_nothing(void)
{
	struct softcuda_counters before = counters(), c;
	CUdeviceptr p = managed(6), native;

	touch(p, 6);
	prefetch(p, 4, host);
	expect(free_blocks() == 2);
	c = counters();
	expect(in_blocks(c.managed_attached_bytes) == 6);
	expect(in_blocks(c.managed_resident_bytes) == 2);
	/* unused blocks go first, without a copy */
	ok(CALL(cuMemAlloc_v2)(&native, 5 * BLOCK));
	c = counters();
	expect(c.evicted_unused - before.evicted_unused == 3);
	expect(c.evicted_used == before.evicted_used);
	expect(in_blocks(c.managed_resident_bytes) == 2);
	ok(CALL(cuMemFree_v2)(native));
	ok(CALL(cuMemFree_v2)(p));
}

/* The order of eviction is that of arrival; a prefetch to where a block
 * already is refreshes it, an access does not. */
static void eviction_order(void)
{
	struct softcuda_counters before, c;
	CUdeviceptr p = managed(8), native;

	touch(p, 8);
	prefetch(p, 2, device); /* blocks 0 and 1 are now the youngest */
	touch(p + 2 * BLOCK, 2); /* 2 and 3 stay the oldest */
	before = counters();
	expect(before.refreshed >= 2);
	ok(CALL(cuMemAlloc_v2)(&native, 2 * BLOCK));
	c = counters();
	expect(c.evicted_used - before.evicted_used == 2);
	expect(in_blocks(c.migrated_d2h_bytes - before.migrated_d2h_bytes) ==
	       2);
	before = c;
	touch(p, 2); /* still there */
	touch(p + 4 * BLOCK, 4);
	c = counters();
	expect(c.migrated_h2d_bytes == before.migrated_h2d_bytes);
	expect(c.evictions == before.evictions);
	touch(p + 2 * BLOCK, 1); /* comes back and pushes block 4 out */
	c = counters();
	expect(in_blocks(c.migrated_h2d_bytes - before.migrated_h2d_bytes) ==
	       1);
	expect(c.evicted_used - before.evicted_used == 1);
	ok(CALL(cuMemFree_v2)(native));
	ok(CALL(cuMemFree_v2)(p));
}

/* Native memory is never pushed out. */
static void native_stays(void)
{
	struct softcuda_counters before = counters(), c;
	CUdeviceptr native, p = managed(4), more;

	ok(CALL(cuMemAlloc_v2)(&native, 7 * BLOCK));
	touch(p, 4); /* through one block's room */
	c = counters();
	expect(c.evicted_used - before.evicted_used == 3);
	expect_code(CALL(cuMemAlloc_v2)(&more, 2 * BLOCK),
		    CUDA_ERROR_OUT_OF_MEMORY);
	for (unsigned i = 0; i < 4; i++)
		expect(*(unsigned *)(p + i * BLOCK) == 1);
	ok(CALL(cuMemFree_v2)(native));
	ok(CALL(cuMemFree_v2)(p));
}

/* Discarded bytes are poison, and cost host memory when they are evicted. */
static void discards(void)
{
	struct softcuda_counters before, c;
	CUdeviceptr p = managed(8), native;
	size_t len = 4 * BLOCK;

	touch(p, 8);
	before = counters();
	ok(CALL(cuMemDiscardBatchAsync)(&p, &len, 1, 0, s));
	c = counters();
	expect(c.discards - before.discards == 4);
	expect(free_blocks() == 0);
	ok(CALL(cuMemAlloc_v2)(&native, 2 * BLOCK));
	c = counters();
	expect(c.evicted_discarded - before.evicted_discarded == 2);
	expect(c.migrated_d2h_bytes == before.migrated_d2h_bytes);
	expect(in_blocks(c.soft_host_bytes - before.soft_host_bytes) == 2);
	/* a write revives a block */
	ok(CALL(cuMemsetD32Async)(p + 2 * BLOCK, 6, 4, s));
	ok(CALL(cuStreamSynchronize)(s));
	c = counters();
	expect(c.discards_revived - before.discards_revived == 1);
	expect(*(unsigned *)(p + 2 * BLOCK) == 6);
	expect(*(unsigned *)(p + 3 * BLOCK) == 0xdbdbdbdb);
	expect(*(unsigned *)(p + 4 * BLOCK) == 1);
	ok(CALL(cuMemFree_v2)(native));
	ok(CALL(cuMemFree_v2)(p));
	expect_code(CALL(cuMemDiscardBatchAsync)(&p, &len, 1, 0, NULL),
		    CUDA_ERROR_INVALID_VALUE); /* the legacy stream */
}

static void advice(void)
{
	struct softcuda_counters before;
	CUdeviceptr p = managed(4);
	int value[2];

	ok(CALL(cuMemAdvise_v2)(p, 4 * BLOCK,
				CU_MEM_ADVISE_SET_PREFERRED_LOCATION, host));
	ok(CALL(cuMemRangeGetAttribute)(
		value, 4, CU_MEM_RANGE_ATTRIBUTE_PREFERRED_LOCATION, p,
		4 * BLOCK));
	expect(value[0] == CU_DEVICE_CPU);
	before = counters();
	touch(p, 1); /* read over the link, where it is */
	expect(counters().remote_maps - before.remote_maps == 1);
	expect(counters().managed_resident_bytes == 0);
	expect(counters().splits == 0);
	ok(CALL(cuMemAdvise_v2)(p, BLOCK / 2,
				CU_MEM_ADVISE_SET_READ_MOSTLY, device));
	expect(counters().splits == 1); /* for ever */
	ok(CALL(cuMemAdvise)(p, 4 * BLOCK, CU_MEM_ADVISE_SET_ACCESSED_BY, 0));
	ok(CALL(cuMemRangeGetAttribute)(
		value, 8, CU_MEM_RANGE_ATTRIBUTE_ACCESSED_BY, p, 4 * BLOCK));
	expect(value[0] == 0 && value[1] == CU_DEVICE_INVALID);
	expect_code(CALL(cuMemAdvise_v2)(p, 5 * BLOCK,
					 CU_MEM_ADVISE_SET_READ_MOSTLY, device),
		    CUDA_ERROR_INVALID_VALUE);
	ok(CALL(cuMemFree_v2)(p));
}

/* A prefetched read-mostly block has both copies: dropping it is free. */
static void read_mostly(void)
{
	struct softcuda_counters before;
	CUdeviceptr p = managed(2);

	*(unsigned *)p = 1;
	*(unsigned *)(p + BLOCK) = 2;
	ok(CALL(cuMemAdvise_v2)(p, BLOCK, CU_MEM_ADVISE_SET_READ_MOSTLY,
				device));
	prefetch(p, 2, device);
	before = counters();
	prefetch(p, 2, host);
	expect(in_blocks(counters().migrated_d2h_bytes -
			 before.migrated_d2h_bytes) == 1);
	ok(CALL(cuMemFree_v2)(p));
}

/* Behind a busy stream the prefetch is left to the stream. */
static void deferred(CUmodule m)
{
	CUfunction hold = function(m, "hold");
	CUdeviceptr p = managed(2), flag;
	void *word, *args[] = {&flag};
	unsigned long long before = counters().prefetches;

	ok(CALL(cuMemAllocHost_v2)(&word, 4));
	ok(CALL(cuMemHostGetDevicePointer_v2)(&flag, word, 0));
	*(unsigned *)word = 0;
	ok(CALL(cuLaunchKernel)(hold, 1, 1, 1, 1, 1, 1, 0, s, args, NULL));
	ok(CALL(cuMemPrefetchAsync_v2)(p, BLOCK, device, 0, s));
	expect(counters().prefetches == before);
	expect(counters().prefetches_deferred == 1);
	__atomic_store_n((unsigned *)word, 1, __ATOMIC_RELEASE);
	ok(CALL(cuStreamSynchronize)(s));
	expect(counters().prefetches == before + 1);
	ok(CALL(cuMemFreeHost)(word));
	ok(CALL(cuMemFree_v2)(p));
}

int main(void)
{
	CUmodule m;

	setenv("SOFTCUDA_VRAM", "16M", 1);
	open_context();
	m = open_module();
	add = function(m, "add");
	ok(CALL(cuStreamCreate)(&s, CU_STREAM_NON_BLOCKING));
	first_touch();
	sticky_host_pages();
	demotion_frees_nothing();
	eviction_order();
	native_stays();
	discards();
	advice();
	read_mostly();
	deferred(m);
	expect(counters().managed_attached_bytes == 0);
	expect(counters().managed_resident_bytes == 0);
	expect(counters().soft_host_bytes == 0);
	expect(counters().live_allocations == 0);
	return 0;
}
