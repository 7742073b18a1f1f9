/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The two default streams: what is asked for with the flag of per-thread
 * streams is another function, and each ends in the driver's function of
 * exactly that name.
 */
#include <string.h>
#include "driver.h"

static const struct {
	const char *name, *legacy, *own;
	int version;
} pairs[] = {
	{"cuLaunchKernel", "cuLaunchKernel", "cuLaunchKernel_ptsz", 7000},
	{"cuMemcpyHtoD", "cuMemcpyHtoD_v2", "cuMemcpyHtoD_v2_ptds", 7000},
	{"cuMemcpyAsync", "cuMemcpyAsync", "cuMemcpyAsync_ptsz", 7000},
	{"cuMemsetD8", "cuMemsetD8_v2", "cuMemsetD8_v2_ptds", 7000},
	{"cuMemAllocAsync", "cuMemAllocAsync", "cuMemAllocAsync_ptsz", 11020},
	{"cuStreamSynchronize", "cuStreamSynchronize",
	 "cuStreamSynchronize_ptsz", 7000},
};

/* Wrong arguments, which the driver refuses after it has counted the call. */
static void call(void *f)
{
	((CUresult(*)(void *, void *, void *, void *, void *, void *, void *,
		      void *, void *, void *, void *))f)(
		NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL,
		NULL);
}

static void lands(void *f, const char *in, const char *not_in)
{
	uint64_t a = soft_calls(in), b = soft_calls(not_in);

	call(f);
	if (soft_calls(in) != a + 1)
		driver_fail(in, 0, "was not called once", 0);
	if (soft_calls(not_in) != b)
		driver_fail(not_in, 0, "was called too", 0);
}

int main(void)
{
	driver_start();
	for (size_t i = 0; i < sizeof(pairs) / sizeof(pairs[0]); i++) {
		void *legacy = driver_get(pairs[i].name, pairs[i].version, 0);
		void *own = driver_get(pairs[i].name, pairs[i].version,
				       PER_THREAD);

		expect(legacy != own);
		lands(legacy, pairs[i].legacy, pairs[i].own);
		lands(own, pairs[i].own, pairs[i].legacy);
		lands(driver_symbol(pairs[i].legacy), pairs[i].legacy,
		      pairs[i].own);
		lands(driver_symbol(pairs[i].own), pairs[i].own,
		      pairs[i].legacy);
	}
	driver_end();
	puts("done");
	return 0;
}
