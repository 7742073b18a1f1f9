/* SPDX-License-Identifier: Apache-2.0 */
/*
 * access_time.so: how long each access of an unmodified fastText to a row of
 * its matrices takes, as fastText sees it.
 *
 * Preloaded. fastText reaches rows by four virtual functions only, and its
 * library fills the table of these by name, so that the ones here stand before
 * its own: a look at the clock, the real function, another look. What the
 * program waits for (a fault, a frame, the disk, a flush of other pages) is
 * inside. Counts in a histogram, which is two pages and hot, outside the
 * measured time.
 *
 * When the process ends, the file named by ACCESS_TIMES gets a line
 *   KIND NS COUNT
 * for each bucket, NS being its middle; a line "KIND max NS" for each kind, and
 * "clock NS", what a measurement of nothing shows. KIND is read (a row is added
 * to a vector), dot (multiplied with one) or update (a vector is added to it).
 * No file if there was no access.
 */
#include <dlfcn.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define VISIBLE __attribute__((visibility("default")))

#define ADD_ROW "_ZNK8fasttext11DenseMatrix14addRowToVectorERNS_6VectorEi"
#define ADD_ROW_TIMES \
	"_ZNK8fasttext11DenseMatrix14addRowToVectorERNS_6VectorEif"
#define DOT_ROW	   "_ZNK8fasttext11DenseMatrix6dotRowERKNS_6VectorEl"
#define UPDATE_ROW "_ZN8fasttext11DenseMatrix14addVectorToRowERKNS_6VectorElf"

void add_row(void *matrix, void *vector, int32_t row) __asm__(ADD_ROW);
void add_row_times(void *matrix, void *vector, int32_t row,
		   float by) __asm__(ADD_ROW_TIMES);
float dot_row(void *matrix, void *vector, int64_t row) __asm__(DOT_ROW);
void update_row(void *matrix, void *vector, int64_t row,
		float by) __asm__(UPDATE_ROW);

enum { READ, DOT, UPDATE, KINDS };
/* 32 steps to each power of two of nanoseconds. */
enum { LOG = 5, STEPS = 1 << LOG, BUCKETS = 36 * STEPS };

static const char *const kind_names[KINDS] = {"read", "dot", "update"};
static atomic_ullong took[KINDS][BUCKETS];
static atomic_ullong longest[KINDS];

static __typeof__(add_row) *real_add_row;
static __typeof__(add_row_times) *real_add_row_times;
static __typeof__(dot_row) *real_dot_row;
static __typeof__(update_row) *real_update_row;

static uint64_t now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

static int bucket(uint64_t ns)
{
	int power = 63 - __builtin_clzll(ns | STEPS);
	int step = (int)((ns >> (power - LOG)) & (STEPS - 1));
	/* Below the first power of two a step is a nanosecond. */
	int b = ns < STEPS ? (int)ns : (power - LOG + 1) * STEPS + step;

	return b < BUCKETS ? b : BUCKETS - 1;
}

static double bucket_ns(int b)
{
	int shift = b / STEPS - 1;

	if (shift <= 0)
		return b;
	return ((double)(b % STEPS + STEPS) + .5) * (double)(1ull << shift);
}

static void count(int kind, uint64_t began)
{
	uint64_t ns = now() - began;
	unsigned long long old =
		atomic_load_explicit(&longest[kind], memory_order_relaxed);

	atomic_fetch_add_explicit(&took[kind][bucket(ns)], 1,
				  memory_order_relaxed);
	while (ns > old &&
	       !atomic_compare_exchange_weak(&longest[kind], &old, ns))
		;
}

VISIBLE void add_row(void *matrix, void *vector, int32_t row)
{
	uint64_t began = now();

	real_add_row(matrix, vector, row);
	count(READ, began);
}

VISIBLE void add_row_times(void *matrix, void *vector, int32_t row, float by)
{
	uint64_t began = now();

	real_add_row_times(matrix, vector, row, by);
	count(READ, began);
}

VISIBLE float dot_row(void *matrix, void *vector, int64_t row)
{
	uint64_t began = now();
	float dot = real_dot_row(matrix, vector, row);

	count(DOT, began);
	return dot;
}

VISIBLE void update_row(void *matrix, void *vector, int64_t row, float by)
{
	uint64_t began = now();

	real_update_row(matrix, vector, row, by);
	count(UPDATE, began);
}

/* Programs without fastText's library find nothing, and call nothing. */
__attribute__((constructor)) static void find(void)
{
	*(void **)&real_add_row = dlsym(RTLD_NEXT, ADD_ROW);
	*(void **)&real_add_row_times = dlsym(RTLD_NEXT, ADD_ROW_TIMES);
	*(void **)&real_dot_row = dlsym(RTLD_NEXT, DOT_ROW);
	*(void **)&real_update_row = dlsym(RTLD_NEXT, UPDATE_ROW);
}

static void show_clock(FILE *f)
{
	enum { LOOKS = 10000 };
	uint64_t began = now();

	for (int i = 0; i < LOOKS; i++)
		now();
	fprintf(f, "clock %.1f\n", (double)(now() - began) / LOOKS);
}

static unsigned long long show_kind(FILE *f, int kind)
{
	unsigned long long all = 0;

	for (int b = 0; b < BUCKETS; b++) {
		unsigned long long n = took[kind][b];

		if (n)
			fprintf(f, "%s %.1f %llu\n", kind_names[kind],
				bucket_ns(b), n);
		all += n;
	}
	if (all)
		fprintf(f, "%s max %llu\n", kind_names[kind],
			(unsigned long long)longest[kind]);
	return all;
}

__attribute__((destructor)) static void show(void)
{
	const char *path = getenv("ACCESS_TIMES");
	FILE *f = real_add_row && path ? fopen(path, "w") : NULL;
	unsigned long long all = 0;

	if (!f)
		return;
	for (int kind = 0; kind < KINDS; kind++)
		all += show_kind(f, kind);
	show_clock(f);
	fclose(f);
	if (!all)
		remove(path);
}
