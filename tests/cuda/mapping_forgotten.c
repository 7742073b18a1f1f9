/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A mapping that was unmapped unseen, and one over it: the memory behind the
 * first is gone when the second is there, and all is gone at the end.
 */
#include <dlfcn.h>
#include <stdlib.h>
#include "driver.h"

#define BYTES ((size_t)4 << 20)

static const CUmemAllocationProp vram = {.type = 1, /* pinned: the only one */
					 .location = {.type = 1, .id = 0}};

static CUmemGenericAllocationHandle mapped(CUdeviceptr at)
{
	CUmemGenericAllocationHandle h;

	ok(SYM(cuMemCreate)(&h, BYTES, &vram, 0));
	ok(SYM(cuMemMap)(at, BYTES, 0, h, 0));
	return h;
}

/* Under another name the driver is not ours. */
static void unmap_unseen(CUdeviceptr at)
{
	const char *file = getenv("SOFTCUDA_SELF");
	void *driver = file ? dlopen(file, RTLD_NOW) : NULL;
	CUresult (*unmap)(CUdeviceptr, size_t) = NULL;

	if (driver)
		unmap = (CUresult(*)(CUdeviceptr, size_t))dlsym(driver,
								"cuMemUnmap");
	expect(unmap);
	ok(unmap(at, BYTES));
}

int main(void)
{
	CUresult (*reserve)(CUdeviceptr *, size_t, size_t, CUdeviceptr,
			    unsigned long long) =
		driver_get("cuMemAddressReserve", 10020, 0);
	CUmemGenericAllocationHandle first, second;
	CUdeviceptr at;

	driver_start();
	ok(reserve(&at, BYTES, 0, 0, 0));
	first = mapped(at);
	ok(SYM(cuMemRelease)(first));
	expect(counted("vram_resident", BYTES) == BYTES);
	unmap_unseen(at);
	second = mapped(at);
	expect(counted("vram_resident", BYTES) == BYTES);
	ok(SYM(cuMemRelease)(second));
	expect(counted("vram_resident", BYTES) == BYTES);
	ok(SYM(cuMemUnmap)(at, BYTES));
	expect(counted("vram_resident", 0) == 0);
	driver_end();
	puts("done");
	return 0;
}
