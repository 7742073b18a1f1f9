/* SPDX-License-Identifier: Apache-2.0 */
/*
 * SOFTCUDA_DISCARD=keep: an access does not take a discard back, and what was
 * written is lost when the block is evicted. Only a prefetch clears it.
 */
#include "testing.h"

#define BLOCK ((size_t)2 << 20)

int main(void)
{
	CUmemLocation device = {CU_MEM_LOCATION_TYPE_DEVICE, 0};
	CUdeviceptr p, native;
	size_t len = BLOCK;
	CUstream s;

	setenv("SOFTCUDA_VRAM", "4M", 1);
	setenv("SOFTCUDA_DISCARD", "keep", 1);
	open_context();
	ok(CALL(cuStreamCreate)(&s, CU_STREAM_NON_BLOCKING));
	ok(CALL(cuMemAllocManaged)(&p, 2 * BLOCK, CU_MEM_ATTACH_GLOBAL));
	ok(CALL(cuMemsetD32Async)(p, 1, 2 * BLOCK / 4, s));
	ok(CALL(cuStreamSynchronize)(s));
	ok(CALL(cuMemDiscardBatchAsync)(&p, &len, 1, 0, s));
	ok(CALL(cuMemsetD32Async)(p, 2, BLOCK / 4, s));
	ok(CALL(cuStreamSynchronize)(s));
	ok(CALL(cuMemAlloc_v2)(&native, BLOCK)); /* evicts it */
	expect(counters().evicted_discarded == 1);
	expect(counters().writes_lost == 1);
	expect(*(unsigned *)p == 0xdbdbdbdb);
	ok(CALL(cuMemFree_v2)(native));
	/* with a prefetch in between nothing is lost */
	ok(CALL(cuMemDiscardBatchAsync)(&p, &len, 1, 0, s));
	ok(CALL(cuMemPrefetchAsync_v2)(p, BLOCK, device, 0, s));
	ok(CALL(cuMemsetD32Async)(p, 3, BLOCK / 4, s));
	ok(CALL(cuStreamSynchronize)(s));
	ok(CALL(cuMemAlloc_v2)(&native, BLOCK));
	ok(CALL(cuMemFree_v2)(native));
	expect(counters().writes_lost == 1);
	expect(*(unsigned *)p == 3);
	ok(CALL(cuMemFree_v2)(p));
	return 0;
}
