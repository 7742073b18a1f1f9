/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Pointers of four origins, freed by a function of another family, as the
 * driver allows: each free is the driver's, and nothing is left.
 */
#include "driver.h"

static uint64_t live, vram;

static void nothing_left(void)
{
	ok(SYM(cuCtxSynchronize)());
	expect(soft_live() == live);
	expect(counted("vram_resident", vram) == vram);
}

int main(void)
{
	CUdeviceptr p, unknown = 0x123456000;
	size_t pitch;

	driver_start();
	live = soft_live();
	vram = counted("vram_resident", 0);

	ok(SYM(cuMemAlloc_v2)(&p, 70000));
	expect(counted("vram_resident", vram + 70000) == vram + 70000);
	ok(SYM(cuMemFree_v2)(p));
	nothing_left();

	ok(SYM(cuMemAllocPitch_v2)(&p, &pitch, 1000, 7, 4));
	expect(counted("vram_resident", vram + 7 * pitch) == vram + 7 * pitch);
	ok(SYM(cuMemFree_v2)(p));
	nothing_left();

	/* By the synchronous free. */
	ok(SYM(cuMemAllocAsync)(&p, 12345, NULL));
	expect(counted("vram_resident", vram + 12345) == vram + 12345);
	ok(SYM(cuMemFree_v2)(p));
	nothing_left();

	ok(SYM(cuMemAllocManaged)(&p, 1 << 20, 1));
	expect(counted("gpu_managed", 1 << 20) == 1 << 20);
	ok(SYM(cuMemFree_v2)(p));
	nothing_left();

	/* What nobody allocated, and what is freed already: the driver's own
	 * answers, printed to be compared. NULL is no error. */
	printf("unknown %d, twice %d, NULL %d\n", SYM(cuMemFree_v2)(unknown),
	       SYM(cuMemFree_v2)(p), SYM(cuMemFree_v2)(0));
	nothing_left();
	driver_end();
	return 0;
}
