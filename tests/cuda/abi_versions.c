/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Functions whose arguments changed: for each version that is asked for, the
 * call lands in the symbol with the arguments of that version.
 */
#include <dlfcn.h>
#include "driver.h"

static const struct {
	const char *name;
	int version;
	const char *symbol;
} forms[] = {
	{"cuCtxGetDevice", 2000, "cuCtxGetDevice"},
	{"cuCtxGetDevice", 13000, "cuCtxGetDevice_v2"},
	{"cuCtxSynchronize", 2000, "cuCtxSynchronize"},
	{"cuCtxSynchronize", 13000, "cuCtxSynchronize_v2"},
	{"cuMemAdvise", 8000, "cuMemAdvise"},
	{"cuMemAdvise", 12020, "cuMemAdvise_v2"},
	{"cuMemPrefetchAsync", 8000, "cuMemPrefetchAsync"},
	{"cuMemPrefetchAsync", 12020, "cuMemPrefetchAsync_v2"},
	{"cuMemcpyBatchAsync", 12080, "cuMemcpyBatchAsync"},
	{"cuMemcpyBatchAsync", 13000, "cuMemcpyBatchAsync_v2"},
	{"cuMemAlloc", 3020, "cuMemAlloc_v2"},
	{"cuGraphExecUpdate", 10020, "cuGraphExecUpdate"},
	{"cuGraphExecUpdate", 12000, "cuGraphExecUpdate_v2"},
	{"cuStreamGetCaptureInfo", 11030, "cuStreamGetCaptureInfo_v2"},
	{"cuStreamGetCaptureInfo", 12030, "cuStreamGetCaptureInfo_v3"},
};

static void lands_there(void)
{
	for (size_t i = 0; i < sizeof(forms) / sizeof(forms[0]); i++) {
		CUresult (*f)(void *, void *, void *, void *, void *, void *,
			      void *, void *, void *) =
			driver_get(forms[i].name, forms[i].version, 0);
		uint64_t before = soft_calls(forms[i].symbol);

		f(NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL);
		if (soft_calls(forms[i].symbol) != before + 1)
			driver_fail(forms[i].symbol, forms[i].version,
				    "was not called", 0);
	}
}

/* The arguments arrive: one batch of copies by each form. */
static void batch(bool with_index)
{
	CUdeviceptr to, from, both[2];
	size_t size = 4096, failed = 77, first = 0;
	struct {
		int order;
		CUmemLocation src, dst;
		unsigned flags;
	} attr = {.order = 1};
	uint64_t copies = counted("gpu_copies", 0);
	CUstream s;
	CUresult (*create)(CUstream *, unsigned) =
		driver_get("cuStreamCreate", 2000, 0);

	ok(create(&s, 1));
	ok(SYM(cuMemAlloc_v2)(&both[0], size));
	ok(SYM(cuMemAlloc_v2)(&both[1], size));
	ok(SYM(cuMemsetD8_v2)(both[1], 7, size));
	ok(SYM(cuCtxSynchronize)());
	to = both[0];
	from = both[1];
	if (with_index)
		ok(SYM(cuMemcpyBatchAsync)(&to, &from, &size, 1,
					   (CUmemcpyAttributes *)&attr, &first,
					   1, &failed, s));
	else
		ok(SYM(cuMemcpyBatchAsync_v2)(&to, &from, &size, 1,
					      (CUmemcpyAttributes *)&attr,
					      &first, 1, s));
	ok(SYM(cuStreamSynchronize)(s));
	{
		unsigned char byte = 0;

		ok(SYM(cuMemcpyDtoH_v2)(&byte, both[0] + size - 1, 1));
		expect(byte == 7);
	}
	expect(counted("gpu_copies", copies + 2) == copies + 2);
	ok(SYM(cuMemFree_v2)(both[0]));
	ok(SYM(cuMemFree_v2)(both[1]));
}

static void context_forms(void)
{
	CUresult (*old)(CUdevice *) = driver_get("cuCtxGetDevice", 2000, 0);
	CUresult (*new)(CUdevice *, CUcontext) =
		driver_get("cuCtxGetDevice", 13000, 0);
	CUcontext c;
	CUdevice a = -1, b = -1;

	ok(SYM(cuCtxGetCurrent)(&c));
	ok(old(&a));
	ok(new (&b, c));
	expect(a == 0 && b == 0);
	expect((void *)old != (void *)new);
}

int main(void)
{
	driver_start();
	context_forms();
	batch(true);
	batch(false);
	lands_there();
	puts("done");
	return 0;
}
