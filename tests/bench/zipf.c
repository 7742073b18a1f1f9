/* SPDX-License-Identifier: Apache-2.0 */
/*
 * zipf MIB SECONDS: rows of 400 bytes, as embedding tables have them, reached
 * at random: the k-th most wanted one with a probability of about k^-0.99, the
 * wanted ones strewn over the whole array. Every second access is an update.
 *
 * Fills the array, then works on it by one thread and by two, SECONDS each
 * after as long to warm up, and looks at all of it in the end. Prints
 *   threads T accesses N rate A/S p50 US p99 US slow N slow50 US slow99 US
 * where slow are those that took more than 2 us: as good as all that waited for
 * memory, and few that did not. Exits with 1 at a wrong row.
 *
 * A thread has half a row for its own, so that rows need no locks: a counter of
 * its updates and words that follow from it, all checked at each access.
 */
#include <math.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { THREADS = 2, WORDS = 25, SLOW_NS = 2000 };
/* Latencies: 16 steps to each power of two of nanoseconds. */
enum { STEPS = 16, BUCKETS = 40 * STEPS };

struct row {
	uint64_t half[THREADS][WORDS];
};

struct job {
	pthread_t thread;
	struct row *rows;
	uint64_t n, state, accesses, updates, wrong;
	int id;
	uint64_t from, to; /* when to count; nanoseconds */
	uint64_t took[BUCKETS];
};

static uint64_t now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

static uint64_t mix(uint64_t x)
{
	x = (x ^ (x >> 32)) * 0x9e3779b97f4a7c15u;
	return x ^ (x >> 29);
}

static uint64_t next(uint64_t *state)
{
	*state += 0x9e3779b97f4a7c15u;
	return mix(*state ^ (*state >> 31));
}

/* What word w of that half holds after so many updates. */
static uint64_t word(uint64_t row, int id, int w, uint64_t updates)
{
	return (row * THREADS + (uint64_t)id) * 0x100000001b3u +
	       (uint64_t)w * 0xc2b2ae3d27d4eb4fu + mix(updates);
}

static void set(struct row *rows, uint64_t row, int id, uint64_t updates)
{
	uint64_t *half = rows[row].half[id];

	half[0] = updates;
	for (int w = 1; w < WORDS; w++)
		half[w] = word(row, id, w, updates);
}

static bool right(const struct row *rows, uint64_t row, int id)
{
	const uint64_t *half = rows[row].half[id];
	uint64_t differ = 0;

	for (int w = 1; w < WORDS; w++)
		differ |= half[w] ^ word(row, id, w, half[0]);
	return !differ;
}

/* By the inverse of the integral of x^-0.99. */
static uint64_t zipf(uint64_t *state, uint64_t n)
{
	double u = (double)(next(state) >> 11) * 0x1p-53;
	double x = pow(1 + u * (pow((double)n + 1, .01) - 1), 100);
	uint64_t rank = (uint64_t)x - 1;

	return mix((rank < n ? rank : n - 1) + 1) % n;
}

static int bucket(uint64_t ns)
{
	int power = 63 - __builtin_clzll(ns | STEPS);
	int step = (int)((ns >> (power - 4)) & (STEPS - 1));
	int b = (power - 4) * STEPS + step;

	return b < BUCKETS ? b : BUCKETS - 1;
}

/* The middle of what falls into it, in microseconds. */
static double bucket_us(int b)
{
	int power = b / STEPS;
	double step = b % STEPS + STEPS + .5;

	return ldexp(step, power) / 1000;
}

static void access_row(struct job *job)
{
	uint64_t row = zipf(&job->state, job->n);

	job->wrong += !right(job->rows, row, job->id);
	if (next(&job->state) & 1) {
		set(job->rows, row, job->id,
		    job->rows[row].half[job->id][0] + 1);
		job->updates++;
	}
}

/* One look at the clock an access; what is between accesses is noise. */
static void *work(void *arg)
{
	struct job *job = arg;
	uint64_t before = now(), t;

	while (before < job->to) {
		access_row(job);
		t = now();
		if (before >= job->from) {
			job->accesses++;
			job->took[bucket(t - before)]++;
		}
		before = t;
	}
	return NULL;
}

/* The time below which a share of the accesses slower than `least` is. */
static double percentile(const uint64_t *took, uint64_t least, double share)
{
	uint64_t all = 0, sum = 0;

	for (int b = bucket(least); b < BUCKETS; b++)
		all += took[b];
	for (int b = bucket(least); b < BUCKETS; b++) {
		sum += took[b];
		if (sum && (double)sum >= share * (double)all)
			return bucket_us(b);
	}
	return 0;
}

static void show(const struct job *jobs, int threads, double seconds)
{
	uint64_t took[BUCKETS] = {0}, accesses = 0, slow = 0;

	for (int i = 0; i < threads; i++) {
		accesses += jobs[i].accesses;
		for (int b = 0; b < BUCKETS; b++)
			took[b] += jobs[i].took[b];
	}
	for (int b = bucket(SLOW_NS); b < BUCKETS; b++)
		slow += took[b];
	printf("threads %d accesses %llu rate %.0f p50 %.2f p99 %.2f slow %llu "
	       "slow50 %.1f slow99 %.1f\n",
	       threads, (unsigned long long)accesses,
	       (double)accesses / seconds, percentile(took, 0, .5),
	       percentile(took, 0, .99), (unsigned long long)slow,
	       percentile(took, SLOW_NS, .5), percentile(took, SLOW_NS, .99));
	fflush(stdout);
}

/* Adds to the updates of each half; wrong accesses. */
static uint64_t measure(struct row *rows, uint64_t n, int threads,
			double seconds, uint64_t *updates)
{
	struct job jobs[THREADS] = {0};
	uint64_t began = now(), wrong = 0;

	for (int i = 0; i < threads; i++) {
		jobs[i].rows = rows;
		jobs[i].n = n;
		jobs[i].id = i;
		jobs[i].state = (uint64_t)(threads * THREADS + i);
		jobs[i].from = began + (uint64_t)(seconds * 1e9);
		jobs[i].to = began + (uint64_t)(seconds * 2e9);
		if (pthread_create(&jobs[i].thread, NULL, work, &jobs[i]))
			abort();
	}
	for (int i = 0; i < threads; i++) {
		pthread_join(jobs[i].thread, NULL);
		updates[i] += jobs[i].updates;
		wrong += jobs[i].wrong;
	}
	show(jobs, threads, seconds);
	return wrong;
}

static uint64_t check(const struct row *rows, uint64_t n, uint64_t *updates)
{
	uint64_t wrong = 0;

	for (uint64_t row = 0; row < n; row++)
		for (int id = 0; id < THREADS; id++) {
			wrong += !right(rows, row, id);
			updates[id] -= rows[row].half[id][0];
		}
	for (int id = 0; id < THREADS; id++)
		wrong += updates[id] != 0;
	return wrong;
}

int main(int argc, char **argv)
{
	uint64_t n = argc == 3 ? (strtoull(argv[1], NULL, 10) << 20) /
					 sizeof(struct row)
			       : 0;
	double seconds = argc == 3 ? atof(argv[2]) : 0;
	uint64_t updates[THREADS] = {0}, wrong = 0;
	struct row *rows;

	if (!n || seconds <= 0) {
		fputs("usage: zipf MIB SECONDS\n", stderr);
		return 2;
	}
	rows = malloc(n * sizeof(*rows));
	if (!rows) {
		perror("zipf: malloc");
		return 2;
	}
	for (uint64_t row = 0; row < n; row++)
		for (int id = 0; id < THREADS; id++)
			set(rows, row, id, 0);
	for (int threads = 1; threads <= THREADS; threads++)
		wrong += measure(rows, n, threads, seconds, updates);
	wrong += check(rows, n, updates);
	free(rows);
	if (wrong)
		fprintf(stderr, "zipf: %llu wrong rows\n",
			(unsigned long long)wrong);
	return wrong ? 1 : 0;
}
