/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tensors inside one allocation are found by the addresses of launches,
 * however the address is passed: as an argument, in a table by value, in
 * extra[], in a descriptor, as operand of a copy or a memset.
 */
#include <string.h>
#include "driver.h"

static CUdeviceptr arena;
static uint64_t had;

static uint64_t tensors(void)
{
	return counted("gpu_tensors", 0) - had;
}

static void found(uint64_t n)
{
	if (watched() && tensors() != n) {
		fprintf(stderr, "%llu tensors\n",
			(unsigned long long)tensors());
		driver_fail(__FILE__, (int)n, "tensors expected", 0);
	}
}

static void by_argument(CUstream s)
{
	CUdeviceptr p = arena + 4096;
	uint32_t v = 3;
	void *params[] = {&p, &v};

	driver_launch(driver_kernel("add"), s, params);
	found(2);
	driver_launch(driver_kernel("add"), s, params);
	found(2);
}

static void by_table(CUstream s)
{
	struct {
		uint32_t n, pad;
		CUdeviceptr p[511];
	} t = {.n = 3};
	void *params[] = {&t};

	for (uint32_t i = 0; i < t.n; i++)
		t.p[i] = arena + 8192 + 4096 * i;
	/* What the kernel does not look at counts as well: nobody knows. */
	t.p[400] = arena + 32768;
	driver_launch(driver_kernel("table"), s, params);
	found(6);
}

static void by_extra(CUstream s)
{
	struct {
		CUdeviceptr p;
		uint32_t v;
	} packed = {arena + 65536, 1};
	size_t bytes = sizeof(packed);
	void *extra[] = {CU_EXTRA_BUFFER, &packed, CU_EXTRA_SIZE, &bytes,
			 CU_EXTRA_END};

	ok(SYM(cuLaunchKernel)(driver_kernel("add"), 1, 1, 1, 1, 1, 1, 0, s,
			       NULL, extra));
	found(7);
}

static void by_operand(void)
{
	char host[256] = {0};

	ok(SYM(cuMemcpyHtoD_v2)(arena + 131072, host, sizeof(host)));
	found(8);
	ok(SYM(cuMemsetD32_v2)(arena + 262144, 0, 64));
	found(9);
	/* Too little to be cut off. */
	ok(SYM(cuMemsetD8_v2)(arena + 262144 + 16, 0, 8));
	found(9);
}

int main(void)
{
	uint64_t launches = counted("gpu_launches", 0);
	CUstream s;
	CUresult (*create)(CUstream *, unsigned) =
		driver_get("cuStreamCreate", 2000, 0);

	driver_start();
	ok(create(&s, 1));
	had = counted("gpu_tensors", 0);
	ok(SYM(cuMemAlloc_v2)(&arena, 1 << 20));
	found(1);
	by_argument(s);
	by_table(s);
	by_extra(s);
	by_operand();
	ok(SYM(cuStreamSynchronize)(s));
	expect(counted("gpu_launches", launches + 4) == launches + 4);
	expect(counted("gpu_unknown", 0) == 0);
	ok(SYM(cuMemFree_v2)(arena));
	found(0);
	driver_end();
	puts("done");
	return 0;
}
