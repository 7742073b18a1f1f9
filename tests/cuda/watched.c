/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A program to look at: an arena of 16 MiB with three tensors that are used
 * differently, a pinned buffer; "ready", and it ends with its input.
 */
#include "driver.h"

#define MIB ((size_t)1 << 20)

int main(void)
{
	CUdeviceptr arena, hot, cold;
	uint32_t v = 1;
	void *pinned, *params[] = {&hot, &v};

	driver_start();
	ok(SYM(cuMemAlloc_v2)(&arena, 16 * MIB));
	ok(SYM(cuMemHostAlloc)(&pinned, MIB, 0));
	hot = arena + 4 * MIB;
	cold = arena + 12 * MIB;
	for (int i = 0; i < 20; i++)
		driver_launch(driver_kernel("add"), NULL, params);
	ok(SYM(cuMemcpyHtoD_v2)(cold, pinned, MIB));
	ok(SYM(cuCtxSynchronize)());
	driver_show();
	driver_end();
	return 0;
}
