/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Memory of a pool, freed on a stream: the free reaches the driver, its code
 * comes back, and nothing is left in the driver or in the counters.
 */
#include "driver.h"

static void with(CUmemoryPool pool, bool own)
{
	uint64_t before = soft_live(), vram = counted("vram_resident", 0);
	CUdeviceptr p;

	if (own)
		ok(SYM(cuMemAllocFromPoolAsync_ptsz)(&p, 5000, pool, NULL));
	else
		ok(SYM(cuMemAllocFromPoolAsync)(&p, 5000, pool, NULL));
	expect(soft_live() == before + 1);
	expect(counted("vram_resident", 5000) - vram == 5000);
	if (own)
		ok(SYM(cuMemFreeAsync_ptsz)(p, NULL));
	else
		ok(SYM(cuMemFreeAsync)(p, NULL));
	ok(SYM(cuStreamSynchronize)(NULL));
	ok(SYM(cuCtxSynchronize)());
	expect(soft_live() == before);
	expect(counted("vram_resident", vram) == vram);
	/* A second time it is the driver's to refuse. */
	expect(SYM(cuMemFreeAsync)(p, NULL) != 0);
}

int main(void)
{
	CUresult (*get)(CUmemoryPool *, CUdevice) =
		driver_get("cuDeviceGetDefaultMemPool", 11020, 0);
	CUmemoryPool pool;

	driver_start();
	ok(get(&pool, 0));
	with(pool, false);
	with(pool, true);
	driver_end();
	puts("done");
	return 0;
}
