/* SPDX-License-Identifier: Apache-2.0 */
/*
 * counts NAME: what the counter says at the start of main.
 */
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>

int main(int argc, char **argv)
{
	int (*counter)(const char *, uint64_t *) =
		(int (*)(const char *, uint64_t *))dlsym(RTLD_DEFAULT,
							 "horizon_counter");
	uint64_t n;

	if (argc != 2 || !counter || counter(argv[1], &n))
		return 1;
	printf("%llu\n", (unsigned long long)n);
	return 0;
}
