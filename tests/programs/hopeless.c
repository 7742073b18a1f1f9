/* SPDX-License-Identifier: Apache-2.0 */
/*
 * hopeless MIB SECONDS: reads words at random places of so much memory.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

int main(int argc, char **argv)
{
	size_t len = argc > 2 ? strtoul(argv[1], NULL, 10) << 20 : 0;
	time_t end;
	uint64_t x = 88172645463325252u, sum = 0;
	char *p = malloc(len);

	if (!p || !len)
		return 1;
	memset(p, 1, len);
	end = time(NULL) + atoi(argv[2]);
	while (time(NULL) <= end) {
		x ^= x << 13;
		x ^= x >> 7;
		x ^= x << 17;
		sum += (uint64_t)p[x % len];
		p[x % len] = 1;
	}
	return sum == 0;
}
