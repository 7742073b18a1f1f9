/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The program's own io_uring on tiered memory: plain transfers into evicted
 * blocks; registered buffers, which pin their pages; transfers in flight while
 * everything around is evicted. No byte of them is lost.
 */
#include <fcntl.h>
#include <pthread.h>
#include <sys/mman.h>
#include <unistd.h>
#include <liburing.h>
#include "tiered.h"

#define LEN   (8 * MIB)
#define PIECE (256 * KIB)

static struct io_uring ring;
static int file; /* pattern 1 */
static bool stop;

static int transfer_all(char *p, bool fixed, bool out)
{
	struct io_uring_cqe *cqe;
	unsigned n = 0;

	for (size_t at = 0; at < LEN; at += PIECE, n++) {
		struct io_uring_sqe *sqe = io_uring_get_sqe(&ring);

		NEED(sqe);
		if (fixed && out)
			io_uring_prep_write_fixed(sqe, file, p + at, PIECE,
						  at, 0);
		else if (fixed)
			io_uring_prep_read_fixed(sqe, file, p + at, PIECE,
						 at, 0);
		else if (out)
			io_uring_prep_write(sqe, file, p + at, PIECE, at);
		else
			io_uring_prep_read(sqe, file, p + at, PIECE, at);
	}
	if (io_uring_submit(&ring) != (int)n)
		return -1;
	evict(p, LEN); /* what is in flight stays */
	while (n--) {
		int res;

		if (io_uring_wait_cqe(&ring, &cqe))
			return -1;
		res = cqe->res;
		io_uring_cqe_seen(&ring, cqe);
		if (res != (int)PIECE) {
			fprintf(stderr, "a transfer says %d\n", res);
			return -1;
		}
	}
	return 0;
}

static void plain(void)
{
	char *p = map(LEN);

	fill(p, LEN, 2);
	CHECK(evicted(p, LEN));
	CHECK(!transfer_all(p, false, false));
	CHECK(filled(p, LEN, 1));
	CHECK(evicted(p, LEN));
	CHECK(!transfer_all(p, false, true));
	CHECK(filled(p, LEN, 1));
	CHECK(!munmap(p, LEN));
}

/* Pinned memory cannot be evicted, and all that others do goes by it. */
static void registered(void)
{
	char *p = map(LEN);
	struct iovec v = { p, LEN };

	fill(p, LEN, 3);
	CHECK(evicted(p, LEN));
	if (io_uring_register_buffers(&ring, &v, 1)) {
		fprintf(stderr, "buffers cannot be registered: %m\n");
		CHECK(!munmap(p, LEN));
		return;
	}
	CHECK(evict(p, LEN) <= 0);
	CHECK(filled(p, LEN, 3));
	for (int i = 0; i < 3; i++) {
		fill(p, LEN, 4);
		evict(p, LEN);
		CHECK(!transfer_all(p, true, false));
		CHECK(filled(p, LEN, 1));
		evict(p, LEN);
		CHECK(!transfer_all(p, true, true));
	}
	io_uring_unregister_buffers(&ring);
	/* The kernel lets go of the pages a little later. */
	for (int i = 0; i < 1000 && evict(p, LEN) == 0; i++)
		usleep(10000);
	CHECK(filled(p, LEN, 1));
	CHECK(!munmap(p, LEN));
}

/* A small part of a block pinned; the block freed while it is. */
static void part_of_block(void)
{
	char *p = malloc(LEN), *q;
	struct iovec v = { p + 3 * MIB, 64 * KIB };

	NEED(p);
	fill(p, LEN, 5);
	evict(p, LEN);
	if (io_uring_register_buffers(&ring, &v, 1)) {
		free(p);
		return;
	}
	evict(p, LEN);
	CHECK(filled(p, LEN, 5));
	free(p);
	q = calloc(1, LEN);
	NEED(q);
	CHECK(zeros(q, LEN));
	fill(q, LEN, 6);
	evict(q, LEN);
	io_uring_unregister_buffers(&ring);
	CHECK(filled(q, LEN, 6));
	free(q);
}

/* After MADV_DONTNEED the pin holds pages that nobody sees any more, with
 * Horizon and without. */
static void discarded(void)
{
	char *p = map(LEN);
	struct iovec v = { p, LEN };

	fill(p, LEN, 7);
	if (io_uring_register_buffers(&ring, &v, 1)) {
		CHECK(!munmap(p, LEN));
		return;
	}
	CHECK(!madvise(p, LEN, MADV_DONTNEED));
	CHECK(zeros(p, LEN));
	CHECK(!transfer_all(p, true, false));
	CHECK(zeros(p, LEN));
	io_uring_unregister_buffers(&ring);
	fill(p, LEN, 8);
	evict(p, LEN);
	CHECK(filled(p, LEN, 8));
	CHECK(!munmap(p, LEN));
}

static void *press(void *arg)
{
	size_t n = 48 * MIB;
	char *p = map(n);
	unsigned seed = (unsigned)(uintptr_t)arg;

	fill(p, n, seed);
	while (!__atomic_load_n(&stop, __ATOMIC_RELAXED))
		CHECK(filled(p, n, seed));
	CHECK(!munmap(p, n));
	return NULL;
}

/* O_DIRECT in flight for ever while two threads want all of the memory. */
static void under_pressure(void)
{
	char *p = map(LEN), *pinned = map(LEN);
	struct iovec v = { pinned + MIB, 3 * MIB };
	pthread_t t[2];
	bool reg;

	fill(pinned, LEN, 9);
	reg = !io_uring_register_buffers(&ring, &v, 1);
	for (uintptr_t i = 0; i < 2; i++)
		NEED(!pthread_create(&t[i], NULL, press, (void *)(i + 20)));
	for (int i = 0; i < 40; i++) {
		memset(p, 0, LEN);
		CHECK(!transfer_all(p, false, false));
		CHECK(filled(p, LEN, 1));
	}
	CHECK(filled(pinned, LEN, 9));
	__atomic_store_n(&stop, true, __ATOMIC_RELAXED);
	for (int i = 0; i < 2; i++)
		pthread_join(t[i], NULL);
	if (reg)
		io_uring_unregister_buffers(&ring);
	CHECK(filled(pinned, LEN, 9));
	CHECK(!munmap(p, LEN) && !munmap(pinned, LEN));
}

int main(void)
{
	char name[] = "/var/tmp/ring_on_evicted.XXXXXX", *p;
	int rc = io_uring_queue_init(64, &ring, 0);

	if (rc < 0) {
		fprintf(stderr, "no io_uring here: %s\n", strerror(-rc));
		return SKIP;
	}
	tiered_start();
	file = mkstemp(name);
	NEED(file >= 0 && (p = malloc(LEN)));
	fill(p, LEN, 1);
	NEED(write(file, p, LEN) == (ssize_t)LEN);
	fsync(file);
	close(file);
	file = open(name, O_RDWR | O_DIRECT);
	if (file < 0)
		file = open(name, O_RDWR);
	NEED(file >= 0 && !unlink(name));
	free(p);
	for (int i = 0; i < 2; i++) {
		plain();
		registered();
		part_of_block();
		discarded();
	}
	under_pressure();
	return tiered_end();
}
