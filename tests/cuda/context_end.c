/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The end of a context frees all that was allocated in it; the map must not
 * keep what is gone.
 */
#include "driver.h"

int main(void)
{
	CUresult (*create)(CUcontext *, unsigned, CUdevice) =
		driver_get("cuCtxCreate", 3020, 0);
	CUresult (*retain)(CUcontext *, CUdevice) =
		driver_get("cuDevicePrimaryCtxRetain", 7000, 0);
	CUresult (*current)(CUcontext) =
		driver_get("cuCtxSetCurrent", 4000, 0);
	CUcontext c, primary;
	CUdeviceptr p;

	ok(SYM(cuInit)(0));
	ok(create(&c, 0, 0));
	for (int i = 0; i < 10; i++)
		ok(SYM(cuMemAlloc_v2)(&p, 3 << 20));
	expect(counted("vram_resident", 30 << 20) == 30 << 20);
	ok(SYM(cuCtxDestroy_v2)(c));
	expect(counted("vram_resident", 0) == 0);
	expect(counted("gpu_tensors", 0) == 0);

	ok(retain(&primary, 0));
	ok(current(primary));
	ok(SYM(cuMemAlloc_v2)(&p, 5000));
	expect(counted("vram_resident", 5000) == 5000);
	ok(SYM(cuDevicePrimaryCtxReset_v2)(0));
	expect(counted("vram_resident", 0) == 0);
	expect(counted("vram_peak", 30 << 20) == 30 << 20);
	puts("done");
	return 0;
}
