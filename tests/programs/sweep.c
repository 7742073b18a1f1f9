/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A program that uses more memory than it should be given: malloc, calloc and
 * mmap mixed, every word read, checked and written by several threads, pass
 * after pass. It knows nothing of Horizon; the scripts run it under odd
 * conditions and compare what it prints with what it prints without them.
 *
 *   sweep [-m MIB] [-t THREADS] [-p PASSES] [-w] [-f MIB] [-h FILE]
 *     -w  also print the peak of resident anonymous memory, in KiB
 *     -f  at the end free all, and wait until less than MIB is resident
 *     -h  after the first pass make FILE, and go on when it is gone
 */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#define KIB ((size_t)1 << 10)
#define MIB ((size_t)1 << 20)

enum { PIECES = 4096, THREADS = 64 };

static struct piece {
	uint64_t *word;
	size_t len;
	bool mapped;
} piece[PIECES];
static unsigned pieces, threads = 2, passes = 3;
static unsigned long wrong[THREADS];
static uint64_t sum[THREADS];

static const size_t size[] = {3 * MIB, 16 * MIB, MIB + 4 * KIB, 8 * MIB,
			      5 * MIB};

static _Noreturn void die(const char *what)
{
	fprintf(stderr, "sweep: %s: %s\n", what, strerror(errno));
	exit(2);
}

static void doze(long ms)
{
	struct timespec ts = {ms / 1000, ms % 1000 * 1000000};

	nanosleep(&ts, NULL);
}

static void allocate(struct piece *p, unsigned i)
{
	p->len = size[i % 5];
	p->mapped = i % 5 == 1 || i % 5 == 3;
	if (p->mapped)
		p->word = mmap(NULL, p->len, PROT_READ | PROT_WRITE,
			       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	else
		p->word = i % 2 ? calloc(1, p->len) : malloc(p->len);
	if (!p->word || p->word == MAP_FAILED)
		die("allocation");
}

static uint64_t expected(unsigned i, size_t w)
{
	return (w + 1) * 0x9e3779b97f4a7c15u ^ (i + 1) * 0xff51afd7ed558ccdu;
}

/* Pass 0 writes; the others read, check, and add one. */
static void work(unsigned t, unsigned i, unsigned pass)
{
	uint64_t *p = piece[i].word;
	size_t words = piece[i].len / sizeof(*p);

	for (size_t w = 0; w < words; w++) {
		uint64_t want = expected(i, w) + pass;

		if (pass)
			wrong[t] += p[w] != want - 1;
		p[w] = want;
		sum[t] ^= want;
	}
}

static unsigned first_pass, last_pass;

static void *sweep(void *arg)
{
	unsigned t = (unsigned)(uintptr_t)arg;

	for (unsigned pass = first_pass; pass < last_pass; pass++)
		for (unsigned i = t; i < pieces; i += threads)
			work(t, i, pass);
	return NULL;
}

/* Without threads (RLIMIT_NPROC) the work is done here. */
static void sweep_all(unsigned from, unsigned to)
{
	pthread_t id[THREADS];
	bool made[THREADS];

	first_pass = from;
	last_pass = to;
	for (unsigned t = 0; t < threads; t++)
		made[t] = !pthread_create(&id[t], NULL, sweep,
					  (void *)(uintptr_t)t);
	for (unsigned t = 0; t < threads; t++)
		if (made[t])
			pthread_join(id[t], NULL);
		else
			sweep((void *)(uintptr_t)t);
}

/* ---- what the kernel says of us ---- */

static unsigned long field(const char *text, const char *name)
{
	const char *p = strstr(text, name);

	return p ? strtoul(p + strlen(name), NULL, 10) : 0;
}

static unsigned long resident_kib(void)
{
	char text[8192];
	int fd = open("/proc/self/status", O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);

	if (n < 0)
		die("/proc/self/status");
	close(fd);
	text[n] = '\0';
	return field(text, "RssAnon:") + field(text, "RssShmem:");
}

static unsigned long peak;
static bool stop;

static void *watch(void *arg)
{
	while (!__atomic_load_n(&stop, __ATOMIC_RELAXED)) {
		unsigned long now = resident_kib();

		peak = now > peak ? now : peak;
		doze(2);
	}
	return arg;
}

static void release_all(unsigned long mib)
{
	for (unsigned i = 0; i < pieces; i++)
		if (piece[i].mapped)
			munmap(piece[i].word, piece[i].len);
		else
			free(piece[i].word);
	for (int i = 0; resident_kib() >= mib * KIB; i++) {
		if (i == 600) {
			fprintf(stderr, "sweep: %lu KiB resident after free\n",
				resident_kib());
			exit(3);
		}
		doze(100);
	}
}

static void hold(const char *path)
{
	int fd = open(path, O_CREAT | O_WRONLY | O_CLOEXEC, 0666);

	if (fd < 0)
		die(path);
	close(fd);
	while (!access(path, F_OK))
		doze(20);
}

int main(int argc, char **argv)
{
	size_t total = 0, wanted = 256 * MIB;
	unsigned long bad = 0, floor_mib = 0;
	const char *hold_path = NULL;
	uint64_t all = 0;
	bool watched = false;
	pthread_t watcher;
	int c;

	while ((c = getopt(argc, argv, "m:t:p:wf:h:")) != -1) {
		unsigned long n = optarg ? strtoul(optarg, NULL, 10) : 0;

		if (c == 'm')
			wanted = n * MIB;
		else if (c == 't' && n && n <= THREADS)
			threads = (unsigned)n;
		else if (c == 'p' && n)
			passes = (unsigned)n;
		else if (c == 'w')
			watched = true;
		else if (c == 'f')
			floor_mib = n;
		else if (c == 'h')
			hold_path = optarg;
		else
			return 64;
	}
	alarm(250); /* a hang is a failure */
	if (watched && pthread_create(&watcher, NULL, watch, NULL))
		die("watcher");
	for (; total < wanted && pieces < PIECES; pieces++) {
		allocate(&piece[pieces], pieces);
		total += piece[pieces].len;
	}
	sweep_all(0, 1);
	if (hold_path)
		hold(hold_path);
	sweep_all(1, passes);
	for (unsigned t = 0; t < threads; t++) {
		bad += wrong[t];
		all ^= sum[t];
	}
	printf("%lu words wrong, sum %016lx\n", bad, (unsigned long)all);
	if (watched) {
		__atomic_store_n(&stop, true, __ATOMIC_RELAXED);
		pthread_join(watcher, NULL);
		printf("peak %lu KiB\n", peak);
	}
	if (floor_mib)
		release_all(floor_mib);
	return bad != 0;
}
