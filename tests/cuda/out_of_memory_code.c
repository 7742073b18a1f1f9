/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Every allocation that the driver refuses comes back with the driver's code,
 * 2 for no memory, and leaves nothing behind: frameworks free their caches
 * and try again only if it is that code.
 */
#include <string.h>
#include "driver.h"

static uint64_t live, vram;

static CUresult alloc(CUdeviceptr *p)
{
	return SYM(cuMemAlloc_v2)(p, 4096);
}
static CUresult pitch(CUdeviceptr *p)
{
	size_t out;

	return SYM(cuMemAllocPitch_v2)(p, &out, 512, 8, 4);
}
static CUresult managed(CUdeviceptr *p)
{
	return SYM(cuMemAllocManaged)(p, 4096, 1);
}
static CUresult async(CUdeviceptr *p)
{
	return SYM(cuMemAllocAsync)(p, 4096, NULL);
}
static CUresult async_own(CUdeviceptr *p)
{
	return SYM(cuMemAllocAsync_ptsz)(p, 4096, NULL);
}
static CUresult host(CUdeviceptr *p)
{
	void *h = NULL;
	CUresult rc = SYM(cuMemHostAlloc)(&h, 4096, 0);

	*p = (uintptr_t)h;
	return rc;
}

static const struct {
	const char *symbol;
	CUresult (*call)(CUdeviceptr *p);
} calls[] = {
	{"cuMemAlloc_v2", alloc},     {"cuMemAllocPitch_v2", pitch},
	{"cuMemAllocManaged", managed}, {"cuMemAllocAsync", async},
	{"cuMemAllocAsync_ptsz", async_own}, {"cuMemHostAlloc", host},
};

static void refuse(size_t i, int code)
{
	char rule[96];
	CUdeviceptr p = 0;
	CUresult rc;

	snprintf(rule, sizeof(rule), "%s:1:%d", calls[i].symbol, code);
	soft_fail(rule);
	rc = calls[i].call(&p);
	if (rc != code)
		driver_fail(calls[i].symbol, code, "was not refused", rc);
	expect(soft_live() == live);
	expect(counted("vram_resident", vram) == vram);
	expect(counted("gpu_allocations", 0) == 0);
}

int main(void)
{
	CUdeviceptr p;

	driver_start();
	live = soft_live();
	vram = counted("vram_resident", 0);
	for (size_t i = 0; i < sizeof(calls) / sizeof(calls[0]); i++) {
		refuse(i, ERROR_OUT_OF_MEMORY);
		refuse(i, 999);
	}
	/* More than the device has. */
	expect(SYM(cuMemAlloc_v2)(&p, (size_t)1 << 44) == ERROR_OUT_OF_MEMORY);
	/* A free that fails leaves the allocation where it is. */
	ok(SYM(cuMemAlloc_v2)(&p, 8192));
	soft_fail("cuMemFree_v2:1:999");
	expect(SYM(cuMemFree_v2)(p) == 999);
	expect(counted("vram_resident", vram + 8192) == vram + 8192);
	ok(SYM(cuMemFree_v2)(p));
	expect(counted("vram_resident", vram) == vram);
	expect(soft_live() == live);
	driver_end();
	puts("done");
	return 0;
}
