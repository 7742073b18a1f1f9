/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The kernel reads and writes evicted memory on the program's behalf as if it
 * had never been out: whole, never short, never EFAULT.
 */
#include <fcntl.h>
#include <linux/futex.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include "tiered.h"

#define LEN (8 * MIB)

static int file, direct; /* the same file; direct < 0: no O_DIRECT here */

/* The file holds pattern `seed`, written from evicted memory. */
static void write_file(unsigned seed)
{
	char *p = map(LEN);

	fill(p, LEN, seed);
	CHECK(evicted(p, LEN));
	CHECK(pwrite(file, p, LEN, 0) == (ssize_t)LEN);
	CHECK(!munmap(p, LEN));
}

static void reads_and_writes(void)
{
	char *p = map(LEN), *q = malloc(LEN);

	NEED(q);
	write_file(1);
	fill(p, LEN, 2);
	CHECK(evicted(p, LEN));
	CHECK(pread(file, p, LEN, 0) == (ssize_t)LEN);
	CHECK(filled(p, LEN, 1));
	fill(q, LEN, 3);
	evict(q, LEN);
	CHECK(pread(file, q + 100, LEN - 100, 100) == (ssize_t)LEN - 100);
	CHECK(filled_at(q + 100, LEN - 100, 1, 100));
	CHECK(filled(q, 100, 3));
	free(q);
	CHECK(!munmap(p, LEN));
}

static void vectors(void)
{
	char *p = map(LEN);
	struct iovec v[64];
	size_t each = LEN / 64;

	fill(p, LEN, 4);
	for (size_t i = 0; i < 64; i++) /* backwards: each in another block */
		v[i] = (struct iovec){ p + (63 - i) * each, each };
	CHECK(evicted(p, LEN));
	CHECK(pwritev(file, v, 64, 0) == (ssize_t)LEN);
	memset(p, 0, LEN);
	CHECK(evicted(p, LEN));
	CHECK(preadv(file, v, 64, 0) == (ssize_t)LEN);
	CHECK(filled(p, LEN, 4));
	CHECK(!munmap(p, LEN));
}

static void directly(void)
{
	char *p = map(LEN);

	if (direct < 0)
		return;
	write_file(5);
	fsync(file);
	fill(p, LEN, 6);
	CHECK(evicted(p, LEN));
	CHECK(pread(direct, p, LEN, 0) == (ssize_t)LEN);
	CHECK(filled(p, LEN, 5));
	fill(p, LEN, 7);
	CHECK(evicted(p, LEN));
	CHECK(pwrite(direct, p, LEN, 0) == (ssize_t)LEN);
	memset(p, 0, LEN);
	CHECK(evicted(p, LEN));
	CHECK(pread(direct, p + 4096, LEN - 4096, 4096) ==
	      (ssize_t)LEN - 4096);
	CHECK(zeros(p, 4096));
	CHECK(filled_at(p + 4096, LEN - 4096, 7, 4096));
	CHECK(!munmap(p, LEN));
}

static int pair[2];
static char *inbox;

static void *receive(void *arg)
{
	size_t got = 0;

	while (got < LEN) {
		ssize_t n = recv(pair[1], inbox + got, LEN - got, 0);

		if (n <= 0)
			break;
		got += (size_t)n;
	}
	CHECK(got == LEN);
	return arg;
}

static void sockets(void)
{
	char *p = map(LEN);
	pthread_t t;

	inbox = map(LEN);
	NEED(!socketpair(AF_UNIX, SOCK_STREAM, 0, pair));
	fill(p, LEN, 8);
	fill(inbox, LEN, 9);
	CHECK(evicted(p, LEN) && evicted(inbox, LEN));
	NEED(!pthread_create(&t, NULL, receive, NULL));
	for (size_t put = 0; put < LEN;) {
		ssize_t n = send(pair[0], p + put, LEN - put, 0);

		NEED(n > 0);
		put += (size_t)n;
	}
	pthread_join(t, NULL);
	CHECK(filled(inbox, LEN, 8));
	close(pair[0]);
	close(pair[1]);
	CHECK(!munmap(p, LEN) && !munmap(inbox, LEN));
}

static void other_process(void)
{
	char *p = map(LEN), *q = map(LEN);
	struct iovec here = { q, LEN }, there = { p, LEN };

	fill(p, LEN, 10);
	fill(q, LEN, 11);
	CHECK(evicted(p, LEN) && evicted(q, LEN));
	CHECK(process_vm_readv(getpid(), &here, 1, &there, 1, 0) ==
	      (ssize_t)LEN);
	CHECK(filled(q, LEN, 10));
	fill(q, LEN, 12);
	CHECK(evicted(p, LEN) && evicted(q, LEN));
	CHECK(process_vm_writev(getpid(), &here, 1, &there, 1, 0) ==
	      (ssize_t)LEN);
	CHECK(filled(p, LEN, 12));
	CHECK(!munmap(p, LEN) && !munmap(q, LEN));
}

static uint32_t *word;

static long futex(uint32_t *at, int op, uint32_t value)
{
	struct timespec limit = { .tv_sec = 20 };

	return syscall(SYS_futex, at, op | FUTEX_PRIVATE_FLAG, value,
		       op == FUTEX_WAIT ? &limit : NULL, NULL, 0);
}

static void *wake(void *arg)
{
	__atomic_store_n(word, 2, __ATOMIC_SEQ_CST);
	while (futex(word, FUTEX_WAKE, 1) == 0 &&
	       __atomic_load_n(word, __ATOMIC_SEQ_CST) == 2) {
		evict(word, BLOCK);
		usleep(1000);
	}
	return arg;
}

static void futexes(void)
{
	char *p = map(LEN);
	pthread_t t;

	word = (uint32_t *)p;
	*word = 1;
	CHECK(evicted(p, LEN));
	errno = 0;
	CHECK(futex(word, FUTEX_WAIT, 7) == -1 && errno == EAGAIN);
	CHECK(evicted(p, LEN));
	NEED(!pthread_create(&t, NULL, wake, NULL));
	while (__atomic_load_n(word, __ATOMIC_SEQ_CST) == 1)
		futex(word, FUTEX_WAIT, 1);
	__atomic_store_n(word, 3, __ATOMIC_SEQ_CST);
	pthread_join(t, NULL);
	CHECK(!munmap(p, LEN));
}

/* Small results, by system calls without a wrapper. */
static void small_ones(void)
{
	char *p = map(LEN);
	struct timespec *ts = (void *)(p + BLOCK - 8); /* in two blocks */
	struct stat *st = (void *)(p + 2 * BLOCK);

	fill(p, LEN, 13);
	CHECK(evicted(p, LEN));
	CHECK(!syscall(SYS_clock_gettime, CLOCK_MONOTONIC, ts));
	CHECK(ts->tv_nsec < 1000000000);
	CHECK(filled(p, BLOCK - 8, 13));
	CHECK(evicted(p, LEN));
	CHECK(!fstat(file, st) && st->st_size == (off_t)LEN);
	strcpy(p, "/dev/null");
	CHECK(evicted(p, LEN));
	CHECK(!access(p, R_OK));
	CHECK(!munmap(p, LEN));
}

static void pipes(void)
{
	char *p = map(LEN), *q = map(LEN);
	int fds[2], pid;

	NEED(!pipe(fds));
	fill(p, LEN, 14);
	fill(q, LEN, 15);
	CHECK(evicted(p, LEN) && evicted(q, LEN));
	pid = fork();
	if (!pid) {
		close(fds[0]);
		for (size_t i = 0; i < LEN;)
			i += (size_t)write(fds[1], p + i, LEN - i);
		_exit(0);
	}
	close(fds[1]);
	for (size_t i = 0; i < LEN;) {
		ssize_t n = read(fds[0], q + i, LEN - i);

		NEED(n > 0);
		i += (size_t)n;
	}
	CHECK(status_of(pid) == 0);
	CHECK(filled(q, LEN, 14));
	close(fds[0]);
	CHECK(!munmap(p, LEN) && !munmap(q, LEN));
}

static void streams(void)
{
	char *p = map(LEN), *buf = map(LEN);
	FILE *f = fdopen(dup(file), "r+");

	NEED(f);
	setvbuf(f, buf, _IOFBF, 4 * MIB);
	fill(p, LEN, 16);
	CHECK(evicted(p, LEN) && evicted(buf, LEN));
	rewind(f);
	CHECK(fwrite(p, 1, LEN, f) == LEN && !fflush(f));
	memset(p, 0, LEN);
	CHECK(evicted(p, LEN) && evicted(buf, LEN));
	rewind(f);
	for (size_t i = 0; i < LEN; i += 1000)
		CHECK(fread(p + i, 1, 1000, f) == (LEN - i < 1000 ? LEN - i :
								     1000));
	CHECK(filled(p, LEN, 16));
	fclose(f);
	CHECK(!munmap(p, LEN) && !munmap(buf, LEN));
}

/* A pipe that refers to pages keeps them, whatever happens to the memory. */
static void spliced(void)
{
	char *p = map(LEN), *other = map(200 * MIB), got[64 * KIB];
	struct iovec v = {p + MIB, sizeof(got)};
	int fd[2];

	NEED(!pipe(fd));
	fill(p, LEN, 40);
	if (vmsplice(fd[1], &v, 1, 0) == (ssize_t)sizeof(got)) {
		evict(p, LEN);
		fill(other, 200 * MIB, 41); /* uses all frames again */
		NEED(read(fd[0], got, sizeof(got)) == (ssize_t)sizeof(got));
		CHECK(filled_at(got, sizeof(got), 40, MIB));
	}
	CHECK(filled(p, LEN, 40));
	CHECK(!close(fd[0]) && !close(fd[1]));
	CHECK(!munmap(p, LEN) && !munmap(other, 200 * MIB));
}

int main(void)
{
	char name[] = "/var/tmp/syscalls_on_evicted.XXXXXX";

	tiered_start();
	file = mkstemp(name);
	direct = open(name, O_RDWR | O_DIRECT);
	NEED(file >= 0 && !unlink(name));
	for (int i = 0; i < 3; i++) {
		reads_and_writes();
		vectors();
		directly();
		sockets();
		other_process();
		futexes();
		small_ones();
		pipes();
		streams();
		spliced();
	}
	return tiered_end();
}
