/* SPDX-License-Identifier: Apache-2.0 */
/*
 * All symbols are exported; cuGetProcAddress answers by version, flags and
 * generation; what is not implemented says so and is counted.
 */
#include "testing.h"

static const struct {
	const char *symbol, *asked;
	int version, per_thread;
} all[] = {
#define SYM(symbol_, asked_, version_, pt_) \
	{#symbol_, #asked_, version_, pt_},
#include "symbols.def"
#undef SYM
};
#define N (sizeof(all) / sizeof(all[0]))

static void *ask(const char *name, int version, int flags)
{
	CUdriverProcAddressQueryResult how;
	void *at = NULL;
	CUresult res = CALL(cuGetProcAddress_v2)(name, &at, version,
						 (cuuint64_t)flags, &how);

	expect(!res == (at != NULL));
	expect(!res == (how == CU_GET_PROC_ADDRESS_SUCCESS));
	return at;
}

static void exported(void)
{
	expect(N == 637);
	for (unsigned i = 0; i < N; i++)
		symbol(all[i].symbol);
}

/* Each is found under its own name, version and family. */
static void found(void)
{
	for (unsigned i = 0; i < N; i++)
		expect(ask(all[i].asked, all[i].version,
			   all[i].per_thread ? 2 : 0) == symbol(all[i].symbol));
}

static void rules(void)
{
	CUdriverProcAddressQueryResult how;
	void *at;

	expect(ask("cuMemAlloc", 13000, 0) == symbol("cuMemAlloc_v2"));
	expect(ask("cuMemAlloc", 2000, 0) == symbol("cuMemAlloc"));
	expect(ask("cuMemAlloc", 13000, 2) == symbol("cuMemAlloc_v2"));
	expect(ask("cuMemcpyHtoD", 13000, 2) ==
	       symbol("cuMemcpyHtoD_v2_ptds"));
	expect(ask("cuLaunchKernel", 7000, 2) == symbol("cuLaunchKernel_ptsz"));
	expect(ask("cuLaunchKernel", 4000, 2) == symbol("cuLaunchKernel"));
	expect(ask("cuMemPrefetchAsync", 12010, 0) ==
	       symbol("cuMemPrefetchAsync"));
	expect(ask("cuMemPrefetchAsync", 12020, 2) ==
	       symbol("cuMemPrefetchAsync_v2_ptsz"));
	expect(ask("cuGetProcAddress", 12000, 0) ==
	       symbol("cuGetProcAddress_v2"));
	expect(!ask("", 0, 0) && !ask("cuNoSuchName", 13000, 0));
	/* the last status may be left out */
	ok(CALL(cuGetProcAddress_v2)("cuInit", &at, 13000, 0, NULL));
	expect_code(CALL(cuGetProcAddress_v2)("cuMemAllocAsync", &at, 10000, 0,
					      &how),
		    CUDA_ERROR_NOT_FOUND);
	expect(how == CU_GET_PROC_ADDRESS_VERSION_NOT_SUFFICIENT);
	expect_code(CALL(cuGetProcAddress)("cuInit", &at, 13000, 4),
		    CUDA_ERROR_INVALID_VALUE);
}

static void unsupported(void)
{
	unsigned (*call)(void) = (unsigned (*)(void))symbol("cuLinkComplete");
	unsigned long long before = counters().unsupported_calls;

	ok(CALL(cuInit)(0));
	expect_code(call(), CUDA_ERROR_NOT_SUPPORTED);
	expect(counters().unsupported_calls == before + 1);
	expect(CALL(softcuda_calls)("cuLinkComplete") == 1);
	call = (unsigned (*)(void))symbol("cuGetExportTable");
	expect_code(call(), CUDA_ERROR_NOT_SUPPORTED);
}

int main(void)
{
	open_driver();
	exported();
	found();
	rules();
	unsupported();
	return 0;
}
