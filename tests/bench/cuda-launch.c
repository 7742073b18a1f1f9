/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a launch costs behind the preload library, on a driver that does
 * nothing: one word that cuts a tensor of one allocation, 100 000 times; then
 * 12 argument words and 512 among these tensors, with the same arguments again
 * and again, with a step of 1000 different ones, and with arguments that never
 * come again.
 *
 *   LD_PRELOAD=libhorizon-cuda.so HORIZON_GPU=observe \
 *   HORIZON_CUDA_DRIVER=.../libfakecuda.so bench/cuda-launch [12|512]
 *
 * Processor time of the thread that launches, without what it takes to write
 * the arguments, and that of all other threads ("elsewhere"). HORIZON_GPU=off
 * gives the price of the call itself.
 */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif
#include <dlfcn.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define TENSORS	  100000u
#define BYTES	  (64u << 10)
#define STEP	  1000u /* launches after which the arguments come again */
#define WORDS_MAX 512u

static int (*alloc)(unsigned long long *p, size_t bytes);
static int (*free_)(unsigned long long p);
static int (*launch)(void *f, unsigned gx, unsigned gy, unsigned gz,
		     unsigned bx, unsigned by, unsigned bz, unsigned shared,
		     void *stream, void **params, void **extra);
static uint64_t arena;
static uint64_t *args; /* STEP times WORDS_MAX */

static uint64_t cpu_ns(clockid_t clock)
{
	struct timespec t;

	/* Other programs on the machine do not count. */
	clock_gettime(clock, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static uint64_t now_ns(void)
{
	return cpu_ns(CLOCK_THREAD_CPUTIME_ID);
}

/* What other threads took so far, once they have nothing left to do. */
static uint64_t others_ns(void)
{
	const struct timespec t = {.tv_nsec = 30000000};
	uint64_t had, has = 0;

	do {
		uint64_t own = now_ns(), all;

		had = has;
		nanosleep(&t, NULL);
		all = cpu_ns(CLOCK_PROCESS_CPUTIME_ID);
		has = all > own ? all - own : 0;
	} while (has > had + 1000000);
	return has;
}

static uint64_t random_tensor(void)
{
	static uint64_t state = 88172645463325252ull;

	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return arena + state % TENSORS * BYTES;
}

static bool dry; /* all but the launch itself */

/* As programs do: arguments are written, then launched. */
static void one(const uint64_t *word, unsigned words)
{
	uint64_t table[WORDS_MAX];
	void *params[WORDS_MAX];

	memcpy(table, word, words * sizeof(*word));
	params[0] = table;
	for (unsigned i = 1; words <= 100 && i < words; i++)
		params[i] = &table[i];
	__asm__ volatile("" : : "r"(table), "r"(params) : "memory");
	if (!dry)
		launch((void *)(uintptr_t)words, 1, 1, 1, 1, 1, 1, 0, NULL,
		       params, NULL);
}

/* Launches of one kind are timed in bursts; in between what they left to other
 * threads is done. The burst in the middle is told, and what it cost there. */
#define BURSTS 15u

struct kind {
	const char *what;
	unsigned words, burst;
	void (*launch)(const struct kind *k, uint64_t i);
};

static int by_size(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

static uint64_t burst(const struct kind *k, uint64_t *i, bool without)
{
	uint64_t from = now_ns();

	dry = without;
	for (unsigned n = 0; n < k->burst; n++)
		k->launch(k, (*i)++);
	dry = false;
	return now_ns() - from;
}

static void time_kind(const struct kind *k)
{
	uint64_t own[BURSTS], others[BURSTS], i = 0;

	/* Sets are made when words come for the second time. */
	while (i < 3 * STEP)
		k->launch(k, i++);
	for (unsigned b = 0; b < BURSTS; b++) {
		uint64_t before = others_ns(), loop = burst(k, &i, true);
		uint64_t all = burst(k, &i, false), after = others_ns();

		own[b] = all > loop ? all - loop : 0;
		others[b] = after > before ? after - before : 0;
	}
	qsort(own, BURSTS, sizeof(*own), by_size);
	qsort(others, BURSTS, sizeof(*others), by_size);
	printf("%3u words, %-23s %6.0f ns a launch, %6.0f elsewhere\n",
	       k->words, k->what, (double)own[BURSTS / 2] / k->burst,
	       (double)others[BURSTS / 2] / k->burst);
}

static void same(const struct kind *k, uint64_t i)
{
	one(args, k->words);
}

static void circle(const struct kind *k, uint64_t i)
{
	one(&args[i % STEP * WORDS_MAX], k->words);
}

/* One word changes each time: no two launches are the same. */
static void never(const struct kind *k, uint64_t i)
{
	uint64_t *word = &args[i % STEP * WORDS_MAX];

	word[i % k->words] = random_tensor();
	one(word, k->words);
}

/* The same tensors, and a word that is none and always another. */
static void counting(const struct kind *k, uint64_t i)
{
	uint64_t had = args[3];

	args[3] = i << 32 | 7;
	one(args, k->words);
	args[3] = had;
}

/* Memory that is freed makes the sets old. */
static void freeing(const struct kind *k, uint64_t i)
{
	unsigned long long p = 0;

	if (!dry)
		alloc(&p, 4096);
	one(&args[i % 8 * WORDS_MAX], k->words);
	if (!dry)
		free_(p);
}

static const struct kind kinds[] = {
	{"always the same", 12, 16384, same},
	{"1000 in a circle", 12, 16384, circle},
	{"a counter among them", 12, 16384, counting},
	{"alloc and free around", 12, 4096, freeing},
	{"never the same", 12, 4096, never},
	{"always the same", 512, 4096, same},
	{"1000 in a circle", 512, 4096, circle},
	{"a counter among them", 512, 4096, counting},
	{"alloc and free around", 512, 1024, freeing},
	{"never the same", 512, 1024, never},
	/* More than what can wait: the rest is looked up by launches. */
	{"never, 8192 at a time", 512, 8192, never},
};

int main(int argc, char **argv)
{
	unsigned only = argc > 1 ? (unsigned)atoi(argv[1]) : 0;
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
	printf("  1 word,  %-23s %6.0f ns a launch\n", "for the first time",
	       (double)(now_ns() - from) / TENSORS);
	args = calloc((size_t)STEP * WORDS_MAX, sizeof(*args));
	if (!args)
		return 1;
	for (size_t i = 0; i < (size_t)STEP * WORDS_MAX; i++)
		args[i] = random_tensor();
	for (size_t i = 0; i < sizeof(kinds) / sizeof(*kinds); i++)
		if (!only || kinds[i].words == only)
			time_kind(&kinds[i]);
	return 0;
}
