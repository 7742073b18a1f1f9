/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a launch costs behind the preload library, on a driver that does
 * nothing: one word that cuts a tensor of one allocation, 100 000 times; then
 * 12 argument words and 512 among these tensors, with the same arguments again
 * and again, with a step of 1000 different ones, and with arguments that never
 * come again.
 *
 *   LD_PRELOAD=libhorizon-cuda.so HORIZON_GPU=observe \
 *   HORIZON_CUDA_DRIVER=.../libfakecuda.so bench/cuda-launch
 *
 * HORIZON_GPU=off gives the price of the loop itself.
 */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define TENSORS	   100000u
#define BYTES	   (64u << 10)
#define STEP	   1000u /* launches after which the arguments come again */
#define WORDS_MAX  512u
#define TIMED	   (1u << 17)

static int (*alloc)(unsigned long long *p, size_t bytes);
static int (*free_)(unsigned long long p);
static int (*launch)(void *f, unsigned gx, unsigned gy, unsigned gz,
		     unsigned bx, unsigned by, unsigned bz, unsigned shared,
		     void *stream, void **params, void **extra);
static uint64_t arena;
static uint64_t *args; /* STEP times WORDS_MAX */

static uint64_t now_ns(void)
{
	struct timespec t;

	/* Other programs on the machine do not count. */
	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static uint64_t random_tensor(void)
{
	static uint64_t state = 88172645463325252ull;

	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return arena + state % TENSORS * BYTES;
}

static void one(uint64_t *word, unsigned words)
{
	void *params[WORDS_MAX];

	if (words > 100)
		params[0] = word;
	for (unsigned i = 0; words <= 100 && i < words; i++)
		params[i] = &word[i];
	launch((void *)(uintptr_t)words, 1, 1, 1, 1, 1, 1, 0, NULL, params,
	       NULL);
}

static void run(const char *what, unsigned words, unsigned different)
{
	unsigned timed = words > 100 ? TIMED / 8 : TIMED;
	uint64_t from;

	/* Sets are made when words come for the second time. */
	for (unsigned i = 0; i < 3 * STEP; i++)
		one(&args[i % different * WORDS_MAX], words);
	from = now_ns();
	for (unsigned i = 0; i < timed; i++)
		one(&args[i % different * WORDS_MAX], words);
	printf("%3u words, %-22s %7.0f ns a launch\n", words, what,
	       (double)(now_ns() - from) / timed);
}

/* One word changes each time: no two launches are the same. */
static void run_new(unsigned words)
{
	unsigned timed = words > 100 ? TIMED / 64 : TIMED / 4;
	uint64_t from = now_ns();

	for (unsigned i = 0; i < timed; i++) {
		uint64_t *word = &args[i % STEP * WORDS_MAX];

		word[i % words] = random_tensor();
		one(word, words);
	}
	printf("%3u words, %-22s %7.0f ns a launch\n", words, "never the same",
	       (double)(now_ns() - from) / timed);
}

/* The same tensors, and a word that is none and always another. */
static void run_counting(unsigned words)
{
	unsigned timed = words > 100 ? TIMED / 8 : TIMED;
	uint64_t had = args[3], from;

	for (unsigned i = 0; i < 2; i++) {
		args[3] = 7;
		one(args, words);
	}
	from = now_ns();
	for (uint64_t i = 0; i < timed; i++) {
		args[3] = i << 32 | 7;
		one(args, words);
	}
	printf("%3u words, %-22s %7.0f ns a launch\n", words,
	       "a counter among them", (double)(now_ns() - from) / timed);
	args[3] = had;
}

/* Memory that is freed makes the sets old. */
static void run_freeing(unsigned words)
{
	unsigned timed = words > 100 ? TIMED / 64 : TIMED / 4;
	uint64_t from = now_ns();

	for (unsigned i = 0; i < timed; i++) {
		unsigned long long p;

		alloc(&p, 4096);
		one(&args[i % 8 * WORDS_MAX], words);
		free_(p);
	}
	printf("%3u words, %-22s %7.0f ns a launch\n", words,
	       "alloc and free around", (double)(now_ns() - from) / timed);
}

int main(void)
{
	void *lib = dlopen("libcuda.so.1", RTLD_NOW);
	int (*init)(unsigned);
	unsigned long long p;
	uint64_t from;

	if (!lib) {
		fprintf(stderr, "%s\n", dlerror());
		return 77;
	}
	init = (int (*)(unsigned))dlsym(lib, "cuInit");
	alloc = (int (*)(unsigned long long *, size_t))dlsym(lib,
							     "cuMemAlloc_v2");
	free_ = (int (*)(unsigned long long))dlsym(lib, "cuMemFree_v2");
	*(void **)&launch = dlsym(lib, "cuLaunchKernel");
	if (init(0) || alloc(&p, (size_t)TENSORS * BYTES))
		return 1;
	arena = p;
	from = now_ns();
	for (uint64_t i = 0; i < TENSORS; i++) {
		uint64_t word = arena + i * BYTES;

		one(&word, 1);
	}
	printf("  1 word,  %-22s %7.0f ns a launch\n", "for the first time",
	       (double)(now_ns() - from) / TENSORS);
	args = calloc((size_t)STEP * WORDS_MAX, sizeof(*args));
	if (!args)
		return 1;
	for (size_t i = 0; i < (size_t)STEP * WORDS_MAX; i++)
		args[i] = random_tensor();
	for (unsigned words = 12; words <= 512; words += 500) {
		run("always the same", words, 1);
		run("1000 in a circle", words, STEP);
		run_counting(words);
		run_freeing(words);
		run_new(words);
	}
	return 0;
}
