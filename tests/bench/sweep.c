/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sweep MIB PASSES: fill an array, then read, check and change every word of
 * it from the first to the last, PASSES times. A loop larger than memory is
 * what a cache of recent things serves worst.
 *
 * Prints `fill SECONDS` and `pass N SECONDS`; exits with 1 at a wrong word.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* What word i holds after `pass` passes. */
static uint64_t word(size_t i, uint64_t pass)
{
	return i * 0x9e3779b97f4a7c15u + pass * 0x100000001b3u;
}

static void fill(uint64_t *a, size_t n)
{
	double began = now();

	for (size_t i = 0; i < n; i++)
		a[i] = word(i, 0);
	printf("fill %.6f\n", now() - began);
	fflush(stdout);
}

/* Words that were not what they should be. */
static size_t sweep(uint64_t *a, size_t n, uint64_t pass)
{
	double began = now();
	size_t wrong = 0;

	for (size_t i = 0; i < n; i++) {
		wrong += a[i] != word(i, pass - 1);
		a[i] = word(i, pass);
	}
	printf("pass %llu %.6f\n", (unsigned long long)pass, now() - began);
	fflush(stdout);
	return wrong;
}

int main(int argc, char **argv)
{
	size_t n = argc == 3 ? strtoull(argv[1], NULL, 10) << 17 : 0;
	uint64_t passes = argc == 3 ? strtoull(argv[2], NULL, 10) : 0;
	size_t wrong = 0;
	uint64_t *a;

	if (!n || !passes) {
		fputs("usage: sweep MIB PASSES\n", stderr);
		return 2;
	}
	a = malloc(n * sizeof(*a));
	if (!a) {
		perror("sweep: malloc");
		return 2;
	}
	fill(a, n);
	for (uint64_t pass = 1; pass <= passes; pass++)
		wrong += sweep(a, n, pass);
	free(a);
	if (wrong)
		fprintf(stderr, "sweep: %zu wrong words\n", wrong);
	return wrong ? 1 : 0;
}
