/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The address that hides in a descriptor which is passed by value is known to
 * the one who saw the descriptor being made.
 */
#include "driver.h"

int main(void)
{
	CUresult (*encode) HZ_SIG_cuTensorMapEncodeTiled =
		driver_get("cuTensorMapEncodeTiled", 12000, 0);
	CUtensorMap map;
	CUdeviceptr arena;
	cuuint64_t dim[2] = {64, 64}, stride[1] = {256}, n = 1;
	cuuint32_t box[2] = {16, 16}, step[2] = {1, 1};
	void *params[] = {&map, &n};
	uint64_t before;

	driver_start();
	ok(SYM(cuMemAlloc_v2)(&arena, 1 << 20));
	before = counted("gpu_tensors", 0);
	ok(encode(&map, 7 /* float32 */, 2,
		  (void *)(uintptr_t)(arena + 65536), dim, stride, box, step,
		  0, 0, 0, 0));
	driver_launch(driver_kernel("described"), NULL, params);
	expect(counted("gpu_tensors", before + 1) == before + 1);
	ok(SYM(cuTensorMapReplaceAddress)(
		&map, (void *)(uintptr_t)(arena + 131072)));
	driver_launch(driver_kernel("described"), NULL, params);
	expect(counted("gpu_tensors", before + 2) == before + 2);
	driver_end();
	puts("done");
	return 0;
}
