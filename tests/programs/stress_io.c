/* SPDX-License-Identifier: Apache-2.0 */
/*
 * stress_shadow: the kernel and devices read and write the arrays: read(2),
 * write(2), O_DIRECT, process_vm_readv, io_uring with registered buffers that
 * stay registered (pinned) while other things happen.
 */
#include <fcntl.h>
#include <sys/uio.h>
#include <unistd.h>
#include "stress.h"

#define PIECE	  (128 * KIB)
#define IN_FLIGHT 16

void io_start(struct worker *w)
{
	char name[] = "/var/tmp/stress_shadow.XXXXXX";

	w->bounce = untiered(FILE_BYTES);
	w->scratch = mkstemp(name);
	NEED(w->scratch >= 0 && !pipe(w->pipe));
	w->scratch_direct = open(name, O_RDWR | O_DIRECT);
	NEED(!unlink(name) && !ftruncate(w->scratch, (off_t)FILE_BYTES));
	w->has_ring = !io_uring_queue_init(IN_FLIGHT, &w->ring, 0);
	if (!w->has_ring && w->number == 1)
		fprintf(stderr, "stress: no io_uring here\n");
}

void io_end(struct worker *w)
{
	if (w->has_ring)
		io_uring_queue_exit(&w->ring);
	if (w->scratch_direct >= 0)
		close(w->scratch_direct);
	close(w->scratch);
	close(w->pipe[0]);
	close(w->pipe[1]);
	NEED(!munmap(w->bounce, FILE_BYTES));
}

/* ---- read(2), write(2) ---- */

/* The kernel wrote `n` bytes of the file to `at`. */
static void arrived(struct worker *w, struct array *a, size_t at, size_t n)
{
	if (!filled(a->p + at, n, 1))
		wrong(w, a, "what the kernel wrote is not there");
	restore(a, at, n);
}

void read_into(struct worker *w, struct array *a)
{
	size_t at = below(w, 2) ? below(w, a->len) : 0, n = a->len - at;
	int fd = stress_file;
	char *p;

	if (stress_direct >= 0 && below(w, 2)) {
		part_of(w, a, &p, &n);
		at = (size_t)(p - a->p);
		fd = stress_direct;
	}
	n = n < FILE_BYTES ? n : FILE_BYTES;
	if (below(w, 2))
		evict(a->p, a->len);
	if (pread(fd, a->p + at, n, 0) != (ssize_t)n)
		wrong(w, a, "read(2)");
	arrived(w, a, at, n);
}

/* Only of the pattern, and what is read back is not tiered. */
void write_out(struct worker *w, struct array *a)
{
	size_t n, at;
	int fd = w->scratch;
	char *p;

	part_of(w, a, &p, &n);
	at = (size_t)(p - a->p);
	n = n < FILE_BYTES ? n : FILE_BYTES;
	if (at + n > a->pattern)
		return;
	if (w->scratch_direct >= 0 && below(w, 2))
		fd = w->scratch_direct;
	if (below(w, 2))
		evict(a->p, a->len);
	if (pwrite(fd, p, n, 0) != (ssize_t)n)
		wrong(w, a, "write(2)");
	if (pread(fd, w->bounce, n, 0) != (ssize_t)n ||
	    !filled_at(w->bounce, n, a->seed, at))
		wrong(w, a, "what the kernel read is something else");
}

void vm_read_write(struct worker *w, struct array *a)
{
	size_t n = a->len < FILE_BYTES ? a->len : FILE_BYTES;
	size_t at = below(w, a->len - n + 1);
	struct iovec here = {w->bounce, n}, there = {a->p + at, n};

	if (below(w, 2))
		evict(a->p, a->len);
	if (below(w, 2)) {
		fill(w->bounce, n, 1);
		if (process_vm_writev(getpid(), &here, 1, &there, 1, 0) !=
		    (ssize_t)n)
			wrong(w, a, "process_vm_writev");
		arrived(w, a, at, n);
		return;
	}
	if (process_vm_readv(getpid(), &here, 1, &there, 1, 0) != (ssize_t)n)
		wrong(w, a, "process_vm_readv");
	if (at + n <= a->pattern && !filled_at(w->bounce, n, a->seed, at))
		wrong(w, a, "process_vm_readv has something else");
}

/* ---- a ring ---- */

void unpin(struct worker *w)
{
	if (!w->pinned)
		return;
	verify(w, w->pinned, "pinned until now");
	NEED(!io_uring_unregister_buffers(&w->ring));
	w->pinned = NULL;
}

/* Registered until something is done to the array that a pin would not
 * survive, or until another takes its place. */
void pin_it(struct worker *w, struct array *a)
{
	struct iovec v;

	unpin(w);
	if (!w->has_ring)
		return;
	part_of(w, a, &w->pin, &w->pin_len);
	w->pin_len = w->pin_len < FILE_BYTES ? w->pin_len : FILE_BYTES;
	v = (struct iovec){w->pin, w->pin_len};
	if (below(w, 2))
		evict(a->p, a->len);
	if (io_uring_register_buffers(&w->ring, &v, 1))
		return; /* RLIMIT_MEMLOCK */
	w->pinned = a;
}

static unsigned submit(struct worker *w, int fd, char *p, size_t len,
		       bool fixed)
{
	unsigned n = 0;

	for (size_t at = 0; at < len && n < IN_FLIGHT; at += PIECE, n++) {
		struct io_uring_sqe *sqe = io_uring_get_sqe(&w->ring);
		unsigned part = (unsigned)(len - at < PIECE ? len - at : PIECE);

		NEED(sqe);
		if (fixed)
			io_uring_prep_read_fixed(sqe, fd, p + at, part, at, 0);
		else
			io_uring_prep_read(sqe, fd, p + at, part, at);
		sqe->user_data = part;
	}
	NEED(io_uring_submit(&w->ring) == (int)n);
	return n;
}

static void complete(struct worker *w, struct array *a, unsigned n)
{
	struct io_uring_cqe *cqe;

	while (n--) {
		int rc;

		do {
			rc = io_uring_wait_cqe(&w->ring, &cqe);
		} while (rc == -EINTR);
		NEED(!rc);
		if (cqe->res != (int)cqe->user_data)
			wrong(w, a, "a transfer of the ring is short");
		io_uring_cqe_seen(&w->ring, cqe);
	}
}

/* Transfers are in flight while the blocks around are evicted and another
 * array wants the memory. */
void read_by_ring(struct worker *w, struct array *a)
{
	struct array *other = &w->a[below(w, ARRAYS)];
	bool fixed = w->pinned && below(w, 4);
	size_t len = w->pin_len;
	char *p = w->pin;
	unsigned n;

	if (!w->has_ring)
		return;
	if (fixed)
		a = w->pinned;
	else
		part_of(w, a, &p, &len);
	len = len < IN_FLIGHT * PIECE ? len : IN_FLIGHT * PIECE;
	n = submit(w, stress_direct >= 0 ? stress_direct : stress_file, p, len,
		   fixed);
	evict(a->p, a->len);
	if (other->p && other != a)
		verify(w, other, "beside a transfer");
	complete(w, a, n);
	arrived(w, a, (size_t)(p - a->p), len);
}
