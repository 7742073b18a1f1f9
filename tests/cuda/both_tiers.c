/* SPDX-License-Identifier: Apache-2.0 */
/*
 * both_tiers MIB PASSES: writes all of so much memory of the host in each
 * pass, and after each sixteenth of it launches a kernel. Prints how many.
 */
#include <stdlib.h>
#include <string.h>
#include "driver.h"

#define MIB ((size_t)1 << 20)

int main(int argc, char **argv)
{
	size_t bytes = argc == 3 ? (size_t)atoi(argv[1]) * MIB : 0;
	int passes = argc == 3 ? atoi(argv[2]) : 0;
	char *host = malloc(bytes);
	uint32_t one = 1, sum = 0, launches = 0;
	CUdeviceptr p;
	void *params[] = {&p, &one};

	expect(host && bytes >= 16 * MIB && passes > 0);
	driver_start();
	ok(SYM(cuMemAlloc_v2)(&p, MIB));
	ok(SYM(cuMemsetD8_v2)(p, 0, MIB));
	for (int i = 0; i < passes; i++)
		for (size_t at = 0; at < bytes; at += bytes / 16) {
			memset(host + at, i + 1, bytes / 16);
			driver_launch(driver_kernel("add"), NULL, params);
			launches++;
		}
	ok(SYM(cuMemcpyDtoH_v2)(&sum, p, sizeof(sum)));
	expect(sum == launches);
	for (size_t at = 0; at < bytes; at += 4096)
		expect(host[at] == (char)passes);
	printf("%u\n", launches);
	driver_end();
	return 0;
}
