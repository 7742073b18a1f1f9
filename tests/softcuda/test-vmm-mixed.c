/* SPDX-License-Identifier: Apache-2.0 */
/* SOFTCUDA_VMM_MIXED=0: memory of host and device share no reservation. */
#include "testing.h"

#define BLOCK ((size_t)2 << 20)

int main(void)
{
	CUmemAllocationProp prop = {.type = CU_MEM_ALLOCATION_TYPE_PINNED};
	CUmemGenericAllocationHandle host, dev;
	CUdeviceptr va, other;

	setenv("SOFTCUDA_VMM_MIXED", "0", 1);
	open_context();
	prop.location.type = CU_MEM_LOCATION_TYPE_HOST_NUMA;
	ok(CALL(cuMemCreate)(&host, BLOCK, &prop, 0));
	prop.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
	ok(CALL(cuMemCreate)(&dev, BLOCK, &prop, 0));
	ok(CALL(cuMemAddressReserve)(&va, 4 * BLOCK, 0, 0, 0));
	ok(CALL(cuMemAddressReserve)(&other, BLOCK, 0, 0, 0));
	ok(CALL(cuMemMap)(va, BLOCK, 0, dev, 0));
	expect_code(CALL(cuMemMap)(va + 3 * BLOCK, BLOCK, 0, host, 0),
		    CUDA_ERROR_INVALID_VALUE);
	ok(CALL(cuMemMap)(other, BLOCK, 0, host, 0));
	return 0;
}
