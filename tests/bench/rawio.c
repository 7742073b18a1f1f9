/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rawio DIRECTORY MIB SECONDS: what the disk below DIRECTORY gives to whoever
 * asks as Horizon does: 2 MiB a transfer on huge pages, O_DIRECT, 16 in
 * flight through io_uring. The file is unnamed and goes away by itself.
 *
 * Prints `read MIB_PER_SECOND`, `write ...` and `mixed ...`: reads and writes
 * by turns, both counted.
 */
#include <errno.h>
#include <fcntl.h>
#include <liburing.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

enum { DEPTH = 16, BLOCK = 2 << 20 };
enum mode { READ, WRITE, MIXED };

struct raw {
	int fd;
	unsigned blocks;
	struct io_uring ring;
	char *buf;          /* DEPTH blocks */
	unsigned long turn; /* transfers begun */
};

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static int fail(const char *what, int err)
{
	fprintf(stderr, "rawio: %s (%s)\n", what, strerror(err));
	return -err;
}

static int open_file(struct raw *r, const char *dir)
{
	r->fd = open(dir, O_TMPFILE | O_RDWR | O_DIRECT | O_CLOEXEC, 0600);
	return r->fd < 0 ? fail(dir, errno) : 0;
}

/* Aligned to 2 MiB and touched, so that huge pages are there. */
static int get_buffers(struct raw *r)
{
	size_t len = (size_t)(DEPTH + 1) * BLOCK;
	char *p = mmap(NULL, len, PROT_READ | PROT_WRITE,
	               MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (p == MAP_FAILED)
		return fail("mmap", errno);
	r->buf = p + (-(uintptr_t)p & (BLOCK - 1));
	madvise(r->buf, (size_t)DEPTH * BLOCK, MADV_HUGEPAGE);
	for (size_t i = 0; i < (size_t)DEPTH * BLOCK; i++)
		r->buf[i] = (char)(i * 2654435761u >> 13);
	return 0;
}

/* Start a transfer on buffer `b`: the next block of the file. */
static void begin(struct raw *r, enum mode mode, unsigned b)
{
	struct io_uring_sqe *sqe = io_uring_get_sqe(&r->ring);
	char *buf = r->buf + (size_t)b * BLOCK;
	off_t at = (off_t)(r->turn % r->blocks) * BLOCK;

	if (mode == WRITE || (mode == MIXED && r->turn % 2))
		io_uring_prep_write(sqe, r->fd, buf, BLOCK, (__u64)at);
	else
		io_uring_prep_read(sqe, r->fd, buf, BLOCK, (__u64)at);
	sqe->user_data = b;
	r->turn++;
}

/* One completion; its buffer or -errno. */
static int end(struct raw *r)
{
	struct io_uring_cqe *cqe;
	int err, res, b;

	do
		err = io_uring_submit_and_wait(&r->ring, 1);
	while (err == -EINTR || err == -EAGAIN);
	if (err >= 0)
		err = io_uring_peek_cqe(&r->ring, &cqe);
	if (err < 0)
		return fail("io_uring", -err);
	res = cqe->res;
	b = (int)cqe->user_data;
	io_uring_cqe_seen(&r->ring, cqe);
	if (res != BLOCK)
		return fail("a transfer", res < 0 ? -res : EIO);
	return b;
}

/* At least `least` blocks and `seconds`; MiB a second or -1. */
static double transfer(struct raw *r, enum mode mode, unsigned long least,
                       double seconds)
{
	double began = now();
	unsigned long done = 0;
	unsigned flying = DEPTH;

	r->turn = 0;
	for (unsigned b = 0; b < DEPTH; b++)
		begin(r, mode, b);
	while (flying) {
		int b = end(r);

		if (b < 0)
			return -1;
		done++;
		if (done + flying - 1 < least || now() - began < seconds)
			begin(r, mode, (unsigned)b);
		else
			flying--;
	}
	return (double)done * (BLOCK >> 20) / (now() - began);
}

static int measure(struct raw *r, double seconds)
{
	static const char *const name[] = {"read", "write", "mixed"};

	/* Lay the file out first: that is not what is asked. */
	if (transfer(r, WRITE, r->blocks, 0) < 0)
		return -EIO;
	for (int mode = READ; mode <= MIXED; mode++) {
		double rate = transfer(r, mode, DEPTH, seconds);

		if (rate < 0)
			return -EIO;
		printf("%s %.0f\n", name[mode], rate);
		fflush(stdout);
	}
	return 0;
}

int main(int argc, char **argv)
{
	struct raw r = {.fd = -1};
	double seconds = argc == 4 ? atof(argv[3]) : 0;
	int err;

	r.blocks = argc == 4 ? (unsigned)atoi(argv[2]) / 2 : 0;
	if (r.blocks <= DEPTH || seconds <= 0) {
		fputs("usage: rawio DIRECTORY MIB SECONDS\n", stderr);
		return 2;
	}
	err = open_file(&r, argv[1]);
	if (!err)
		err = get_buffers(&r);
	if (!err) {
		err = io_uring_queue_init(DEPTH, &r.ring, 0);
		if (err)
			fail("io_uring_queue_init", -err);
	}
	if (!err)
		err = measure(&r, seconds);
	return err ? 1 : 0;
}
