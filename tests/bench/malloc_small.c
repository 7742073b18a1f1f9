/* SPDX-License-Identifier: Apache-2.0 */
/*
 * malloc_small [PAIRS]: nanoseconds of processor time a pair of malloc and free
 * of small sizes. Processor time, so that other work on the machine disturbs
 * less.
 *
 * Each thread owns a ring of slots. A step frees what a random slot holds and
 * allocates a random size into it, so that lifetimes vary and sizes mix; every
 * block is written at both ends. Run it once plain and once under each
 * allocator to compare, several times in turn.
 */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { SLOTS = 1024, THREADS = 2 };

struct job {
	size_t min, max;
	long pairs;
	uint64_t seed;
	uint64_t sum;
	double ns; /* processor time of the thread */
};

static uint64_t rnd(uint64_t *s)
{
	*s ^= *s << 13;
	*s ^= *s >> 7;
	*s ^= *s << 17;
	return *s;
}

static double now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &ts);
	return (double)ts.tv_sec * 1e9 + (double)ts.tv_nsec;
}

static void *work(void *arg)
{
	struct job *job = arg;
	char *slot[SLOTS] = {0};
	uint64_t s = job->seed, sum = 0; /* a job shares its line with others */
	double start = now();

	for (long i = 0; i < job->pairs; i++) {
		uint64_t r = rnd(&s);
		size_t n = job->min + (r >> 32) % (job->max - job->min + 1);
		char **p = &slot[r % SLOTS];

		free(*p);
		*p = malloc(n);
		if (!*p)
			abort();
		(*p)[0] = (char)r;
		(*p)[n - 1] = (char)i;
		sum += (unsigned char)(*p)[0];
	}
	for (int i = 0; i < SLOTS; i++)
		free(slot[i]);
	job->ns = now() - start;
	job->sum = sum;
	return NULL;
}

static void measure(size_t min, size_t max, int threads, long pairs)
{
	struct job job[THREADS];
	pthread_t t[THREADS];
	double ns = 0;

	for (int i = 0; i < threads; i++) {
		job[i] =
		        (struct job){.min = min,
		                     .max = max,
		                     .pairs = pairs,
		                     .seed = 0x9e3779b97f4a7c15u + (unsigned)i};
		if (pthread_create(&t[i], NULL, work, &job[i]))
			abort();
	}
	for (int i = 0; i < threads; i++) {
		pthread_join(t[i], NULL);
		ns += job[i].ns;
	}
	printf("sizes %zu-%zu threads %d ns/pair %.2f\n", min, max, threads,
	       ns / (double)pairs / threads);
}

int main(int argc, char **argv)
{
	long pairs = argc > 1 ? atol(argv[1]) : 10000000;

	for (int threads = 1; threads <= THREADS; threads++) {
		measure(8, 512, threads, pairs);
		measure(8, 32 << 10, threads, pairs / 4);
	}
	return 0;
}
