/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A program to look at: an arena of 16 MiB with three tensors that are used
 * differently, a pinned buffer; "ready", and it ends with its input.
 */
#include <poll.h>
#include "driver.h"

#define MIB ((size_t)1 << 20)

int main(void)
{
	CUdeviceptr arena, hot, cold;
	uint32_t v = 1;
	void *pinned, *params[] = {&hot, &v};
	struct pollfd in = {.fd = 0, .events = POLLIN};

	driver_start();
	ok(SYM(cuMemAlloc_v2)(&arena, 16 * MIB));
	ok(SYM(cuMemHostAlloc)(&pinned, MIB, 0));
	hot = arena + 4 * MIB;
	cold = arena + 12 * MIB;
	for (int i = 0; i < 20; i++)
		driver_launch(driver_kernel("add"), NULL, params);
	ok(SYM(cuMemcpyHtoD_v2)(cold, pinned, MIB));
	ok(SYM(cuCtxSynchronize)());
	puts("ready");
	fflush(stdout);
	/* Waiting for the device is when the table is written. */
	while (poll(&in, 1, 10) == 0)
		ok(SYM(cuCtxSynchronize)());
	driver_end();
	return 0;
}
