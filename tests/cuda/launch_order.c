/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Launches that hardly ever repeat, from several threads, while memory is freed
 * and allocated anew at the same addresses. What is launched is looked up
 * later; it still counts for what was there when it was launched.
 *
 * Prints "address launches" of each tensor at the end, then "ready"; the
 * segment must say the same. Ends with its input.
 */
#include <pthread.h>
#include <string.h>
#include "driver.h"

#define THREADS	 4u
#define ROUNDS	 25u
#define LAUNCHES 12u /* of a round */
#define PIECE	 4096u
#define KEPT	 256u /* pieces of a thread's arena */
#define BRIEF	 128u /* pieces of what comes and goes */
#define NAMED	 160u /* of the kept ones, by a launch */

struct table {
	uint32_t n, pad;
	CUdeviceptr p[511];
};

static struct worker {
	uint64_t state; /* of random() */
	CUdeviceptr kept, brief;
	uint64_t kept_launches[KEPT], brief_launches[BRIEF];
} workers[THREADS];

static CUcontext context;
static CUfunction kernel;
static unsigned again; /* atomic: memory came back where some had been */

static uint32_t below(struct worker *w, uint32_t n)
{
	w->state ^= w->state << 13;
	w->state ^= w->state >> 7;
	w->state ^= w->state << 17;
	return (uint32_t)(w->state >> 32) % n;
}

/* `n` of `of` pieces, in an order that will not come again. */
static void name_some(struct worker *w, struct table *t, unsigned *at,
		      CUdeviceptr from, uint64_t *launches, uint32_t of,
		      uint32_t n)
{
	uint32_t index[KEPT];

	for (uint32_t i = 0; i < of; i++)
		index[i] = i;
	for (uint32_t i = 0; i < n; i++) {
		uint32_t other = i + below(w, of - i), had = index[i];

		index[i] = index[other];
		index[other] = had;
		t->p[(*at)++] = from + (CUdeviceptr)index[i] * PIECE;
		launches[index[i]]++;
	}
}

/* Some are launched a second and a third time: those become sets. */
static void launch(struct worker *w)
{
	struct table t = {.n = 0};
	void *params[] = {&t};
	unsigned at = 0, more = below(w, 8) ? 0 : 2;

	name_some(w, &t, &at, w->kept, w->kept_launches, KEPT, NAMED);
	name_some(w, &t, &at, w->brief, w->brief_launches, BRIEF, BRIEF);
	driver_launch(kernel, NULL, params);
	for (unsigned i = 0; i < more; i++) {
		driver_launch(kernel, NULL, params);
		for (unsigned k = 0; k < at; k++) {
			uint64_t *n = k < NAMED ? w->kept_launches
						: w->brief_launches;
			CUdeviceptr from = k < NAMED ? w->kept : w->brief;

			n[(t.p[k] - from) / PIECE]++;
		}
	}
}

/* Where another thread's may have been a moment before. */
static void renew(struct worker *w)
{
	CUdeviceptr had = w->brief;

	if (had)
		ok(SYM(cuMemFree_v2)(had));
	ok(SYM(cuMemAlloc_v2)(&w->brief, BRIEF * PIECE));
	if (w->brief == had)
		__atomic_fetch_add(&again, 1, __ATOMIC_RELAXED);
	memset(w->brief_launches, 0, sizeof(w->brief_launches));
}

static void *work(void *arg)
{
	struct worker *w = arg;

	CUresult (*current)(CUcontext) = driver_get("cuCtxSetCurrent", 4000, 0);

	ok(current(context));
	ok(SYM(cuMemAlloc_v2)(&w->kept, KEPT * PIECE));
	for (unsigned r = 0; r < ROUNDS; r++) {
		renew(w);
		for (unsigned i = 0; i < LAUNCHES; i++)
			launch(w);
	}
	/* The last one: a few launches behind many. */
	renew(w);
	launch(w);
	return NULL;
}

static void print(CUdeviceptr from, const uint64_t *launches, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++)
		printf("0x%llx %llu\n",
		       (unsigned long long)from + (uint64_t)i * PIECE,
		       (unsigned long long)launches[i]);
}

int main(void)
{
	pthread_t id[THREADS];

	driver_start();
	ok(SYM(cuCtxGetCurrent)(&context));
	kernel = driver_kernel("table");
	for (unsigned i = 0; i < THREADS; i++) {
		workers[i].state = 88172645463325252ull + i;
		expect(!pthread_create(&id[i], NULL, work, &workers[i]));
	}
	for (unsigned i = 0; i < THREADS; i++)
		pthread_join(id[i], NULL);
	expect(again);
	for (unsigned i = 0; i < THREADS; i++) {
		print(workers[i].kept, workers[i].kept_launches, KEPT);
		print(workers[i].brief, workers[i].brief_launches, BRIEF);
	}
	driver_show();
	driver_end();
	return 0;
}
