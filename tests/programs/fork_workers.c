/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Workers that load data: a program with busy threads forks processes that
 * live long, start threads of their own, read the parent's arrays and send
 * batches through a pipe, while the parent goes on changing its memory. Some
 * are killed in the middle, and the next epoch has new ones.
 */
#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>
#include "tiered.h"

#define WORKERS 3
#define DATA	(24 * MIB)
#define BATCH	(384 * KIB)
#define BATCHES 8
#define EPOCHS	3

static char *data; /* pattern 1; the workers read it */
static bool stop;

static size_t place_of(unsigned worker, unsigned n)
{
	return (worker * 7 + n * 5) * MIB % (DATA - BATCH) / 4096 * 4096;
}

/* ---- a worker ---- */

struct loader {
	pthread_t id;
	unsigned worker, first;
	char **batch;
};

/* Every second batch. */
static void *load(void *arg)
{
	struct loader *l = arg;

	for (unsigned n = l->first; n < BATCHES; n += 2) {
		l->batch[n] = malloc(BATCH);
		NEED(l->batch[n]);
		memcpy(l->batch[n], data + place_of(l->worker, n), BATCH);
	}
	return NULL;
}

static void send_all(int fd, const char *p, size_t len)
{
	while (len) {
		ssize_t n = write(fd, p, len);

		if (n <= 0)
			_exit(1);
		p += n;
		len -= (size_t)n;
	}
}

static _Noreturn void work(unsigned worker, int fd)
{
	char *batch[BATCHES];
	struct loader l[2];

	alarm(300);
	for (unsigned i = 0; i < 2; i++) {
		l[i] = (struct loader){0, worker, i, batch};
		NEED(!pthread_create(&l[i].id, NULL, load, &l[i]));
	}
	for (unsigned i = 0; i < 2; i++)
		pthread_join(l[i].id, NULL);
	for (unsigned n = 0; n < BATCHES; n++) {
		send_all(fd, batch[n], BATCH);
		free(batch[n]);
	}
	_exit(0);
}

/* ---- the parent ---- */

static void *train(void *arg)
{
	unsigned seed = (unsigned)(uintptr_t)arg;
	char *p = map(DATA);

	for (unsigned n = 0; !__atomic_load_n(&stop, __ATOMIC_RELAXED); n++) {
		fill(p, DATA, seed + n);
		evict(p, DATA);
		CHECK(filled(p, DATA, seed + n));
	}
	CHECK(!munmap(p, DATA));
	return NULL;
}

static void receive(int fd, unsigned worker, unsigned batches)
{
	char *p = malloc(BATCH);

	NEED(p);
	for (unsigned n = 0; n < batches; n++) {
		for (size_t got = 0; got < BATCH;) {
			ssize_t r = read(fd, p + got, BATCH - got);

			NEED(r > 0);
			got += (size_t)r;
		}
		CHECK(filled_at(p, BATCH, 1, place_of(worker, n)));
		evict(p, BATCH);
	}
	free(p);
}

static void epoch(unsigned number)
{
	int fd[WORKERS][2];
	pid_t pid[WORKERS];

	for (unsigned w = 0; w < WORKERS; w++) {
		NEED(!pipe(fd[w]));
		evict(data, DATA);
		pid[w] = fork();
		NEED(pid[w] >= 0);
		if (!pid[w])
			work(w, fd[w][1]);
		close(fd[w][1]);
	}
	for (unsigned w = 0; w < WORKERS; w++) {
		/* the last one is not waited for */
		bool kill_it = w == WORKERS - 1 && number + 1 < EPOCHS;

		receive(fd[w][0], w, kill_it ? 1 : BATCHES);
		if (kill_it)
			kill(pid[w], SIGKILL);
		close(fd[w][0]);
		CHECK(status_of(pid[w]) == (kill_it ? 128 + SIGKILL : 0));
	}
}

int main(void)
{
	pthread_t t[2];

	tiered_start();
	data = map(DATA);
	fill(data, DATA, 1);
	for (uintptr_t i = 0; i < 2; i++)
		NEED(!pthread_create(&t[i], NULL, train,
				     (void *)(i * 1000 + 100)));
	for (unsigned n = 0; n < EPOCHS; n++)
		epoch(n);
	__atomic_store_n(&stop, true, __ATOMIC_RELAXED);
	for (int i = 0; i < 2; i++)
		pthread_join(t[i], NULL);
	CHECK(filled(data, DATA, 1));
	CHECK(!munmap(data, DATA));
	return tiered_end();
}
