/* SPDX-License-Identifier: Apache-2.0 */
/*
 * 300 forks while four threads are inside the allocator. Each child must be
 * able to allocate and sees what its parent had; a handler of the program's
 * own allocates on both sides.
 */
#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>
#include "both.h"

enum { THREADS = 4, FORKS = 300, BIG = 3 << 20 };

static int stop; /* atomic */
static char *known;

static void *work(void *arg)
{
	uint32_t s = 5u + (unsigned)(uintptr_t)arg;

	while (!__atomic_load_n(&stop, __ATOMIC_RELAXED)) {
		size_t n = rnd(&s) % 50 ? rnd(&s) % 20000 : BIG;
		char *p = malloc(n + 1);

		CHECK(p);
		p[n] = 1;
		free(p);
	}
	return NULL;
}

static void handler(void)
{
	char *p = malloc(100), *q = malloc(BIG);

	CHECK(p && q);
	p[99] = q[BIG - 1] = 1;
	free(p);
	free(q);
}

static void use_memory(void)
{
	for (size_t n = 8; n <= BIG; n *= 19) {
		char *p = malloc(n), *q = calloc(n, 1);

		CHECK(p && q);
		fill(p, n, 4);
		p = realloc(p, 2 * n);
		CHECK(p && filled(p, n, 4));
		free(p);
		free(q);
	}
	handler();
}

static void child(int i)
{
	int status;
	pid_t pid;

	alarm(120);
	CHECK(filled(known, i % 10 ? 5000 : BIG, 3));
	use_memory();
	if (i % 20 == 0) {
		pid = fork();
		if (!pid) {
			alarm(120);
			CHECK(filled(known, BIG, 3));
			use_memory();
			_exit(0);
		}
		CHECK(pid > 0 && waitpid(pid, &status, 0) == pid && !status);
	}
	if (i % 50 == 0)
		exit(0); /* with handlers and destructors */
	_exit(0);
}

int run(void)
{
	pthread_t t[THREADS];
	int status;

	known = malloc(BIG);
	CHECK(known);
	fill(known, BIG, 3);
	CHECK(!pthread_atfork(handler, handler, handler));
	for (uintptr_t i = 0; i < THREADS; i++)
		CHECK(!pthread_create(&t[i], NULL, work, (void *)i));
	for (int i = 0; i < FORKS; i++) {
		pid_t pid = fork();

		if (!pid)
			child(i);
		CHECK(pid > 0 && waitpid(pid, &status, 0) == pid);
		CHECK(!status);
	}
	__atomic_store_n(&stop, 1, __ATOMIC_RELAXED);
	for (int i = 0; i < THREADS; i++)
		CHECK(!pthread_join(t[i], NULL));
	CHECK(filled(known, BIG, 3));
	free(known);
	return 0;
}
