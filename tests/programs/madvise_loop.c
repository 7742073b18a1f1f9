/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One thread throws its blocks away over and over while others fault theirs
 * in: all go on, and what was thrown away reads as zeros.
 */
#include <pthread.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>
#include "tiered.h"

#define LEN    (16 * MIB)
#define ROUNDS 40

static bool stop;

static void *fault(void *arg)
{
	unsigned seed = (unsigned)(uintptr_t)arg;
	size_t n = 24 * MIB;
	char *p = map(n);

	fill(p, n, seed);
	while (!__atomic_load_n(&stop, __ATOMIC_RELAXED)) {
		CHECK(filled(p, n, seed));
		evict(p, n / 2);
	}
	CHECK(!munmap(p, n));
	return NULL;
}

/* By the raw system call: nobody sees it, and it must not hang. */
static void *discard_raw(void *arg)
{
	char *p = map(LEN);

	while (!__atomic_load_n(&stop, __ATOMIC_RELAXED)) {
		for (size_t i = 0; i < LEN; i += 4096)
			p[i] = 1;
		CHECK(!syscall(SYS_madvise, p, LEN, MADV_DONTNEED));
	}
	CHECK(!munmap(p, LEN));
	return arg;
}

int main(void)
{
	pthread_t t[3];
	char *p;

	tiered_start();
	p = map(LEN);
	for (uintptr_t i = 0; i < 2; i++)
		NEED(!pthread_create(&t[i], NULL, fault, (void *)(i + 1)));
	NEED(!pthread_create(&t[2], NULL, discard_raw, NULL));
	for (unsigned i = 0; i < ROUNDS; i++) {
		size_t from = i % 4 * MIB, len = LEN - i % 3 * MIB - from;

		fill(p, LEN, i);
		if (i % 5 == 0)
			evict(p, LEN);
		CHECK(!madvise(p + from, len, MADV_DONTNEED));
		CHECK(filled(p, from, i));
		CHECK(zeros(p + from, len));
		CHECK(filled_at(p + from + len, LEN - from - len, i,
				from + len));
	}
	__atomic_store_n(&stop, true, __ATOMIC_RELAXED);
	for (int i = 0; i < 3; i++)
		pthread_join(t[i], NULL);
	CHECK(!munmap(p, LEN));
	return tiered_end();
}
