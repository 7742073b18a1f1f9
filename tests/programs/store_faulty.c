/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A store that fails on demand. Each queue keeps the transfers that the inner
 * queue has finished, or that never got there, until their time has come.
 */
#include "store_faulty.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "base/os.h"

#define BATCH 16

struct held {
	struct hz_xfer *x;
	uint64_t due;
};

struct hz_queue {
	struct hz_queue *inner;
	size_t len; /* of this struct */
	unsigned depth, inflight, count;
	uint64_t random;
	struct hz_xfer **doomed; /* depth of them: will fail with -EIO */
	struct held held[];
};

const struct hz_store_ops *store_faulty_inner = &hz_store_threads;
struct store_faults store_faults;
struct store_fault_counts store_fault_counts;

static unsigned count(unsigned *n)
{
	return __atomic_add_fetch(n, 1, __ATOMIC_RELAXED);
}

static bool nth(unsigned n, unsigned every)
{
	return every && n % every == 0;
}

static uint64_t draw(struct hz_queue *q)
{
	q->random ^= q->random << 13;
	q->random ^= q->random >> 7;
	q->random ^= q->random << 17;
	return q->random;
}

static int faulty_open(struct hz_store *store, unsigned depth, unsigned flags,
                       struct hz_queue **out)
{
	size_t head = sizeof(struct hz_queue) + depth * sizeof(struct held);
	size_t len = head + depth * sizeof(struct hz_xfer *);
	struct hz_queue *q = hz_os_reserve(len);
	int err;

	if (!q)
		return -ENOMEM;
	q->len = len;
	q->depth = depth;
	q->doomed = (struct hz_xfer **)((char *)q + head);
	q->random = store_faults.seed * 2654435769u + 88172645463325252u;
	err = store_faulty_inner->open(store, depth, flags, &q->inner);
	if (err)
		hz_os.munmap(q, len);
	else
		*out = q;
	return err;
}

static void faulty_close(struct hz_queue *q)
{
	store_faulty_inner->close(q->inner);
	hz_os.munmap(q, q->len);
}

static int faulty_watch(struct hz_queue *q, int fd)
{
	return store_faulty_inner->watch(q->inner, fd);
}

static void hold(struct hz_queue *q, struct hz_xfer *x)
{
	uint64_t late = store_faults.delay_ns;

	if (store_faults.reorder)
		late = draw(q) % (late ? late : 1000000);
	q->held[q->count++] = (struct held){x, hz_os.now() + late};
}

/* -errno for this transfer, or 0. */
static int fate(const struct hz_xfer *x)
{
	const struct store_faults *f = &store_faults;
	struct store_fault_counts *c = &store_fault_counts;
	unsigned n = count(x->write ? &c->writes : &c->reads);

	if (x->write && f->full_after && n >= f->full_after) {
		count(&c->full);
		return -ENOSPC;
	}
	if (x->write && nth(n, f->write_error_every)) {
		count(&c->write_errors);
		return -EIO;
	}
	if (!x->write && nth(n, f->read_error_every)) {
		count(&c->read_errors);
		return -EIO;
	}
	return 0;
}

/* A place among the doomed that holds `x` (NULL: an empty one), or NULL. */
static struct hz_xfer **find(struct hz_queue *q, struct hz_xfer *x)
{
	for (unsigned i = 0; i < q->depth; i++)
		if (q->doomed[i] == x)
			return &q->doomed[i];
	return NULL;
}

static int faulty_submit(struct hz_queue *q, struct hz_xfer *x)
{
	int res, err = 0;

	if (q->inflight == q->depth)
		return -EAGAIN;
	res = fate(x);
	if (res == -ENOSPC) {
		x->res = res;
		hold(q, x);
	} else {
		err = store_faulty_inner->submit(q->inner, x);
	}
	if (res == -EIO) /* it gets to the device, and fails there */
		*find(q, NULL) = x;
	q->inflight += !err;
	return err;
}

static int faulty_flush(struct hz_queue *q)
{
	return store_faulty_inner->flush(q->inner);
}

/* The inner queue is done with it: say what the spec wants said. */
static void spoil(struct hz_queue *q, struct hz_xfer *x)
{
	static unsigned good_reads;
	struct hz_xfer **at = find(q, x);
	unsigned char *p = x->buf;
	uint32_t len = hz_xfer_len(x);

	if (at) {
		*at = NULL;
		x->res = -EIO;
		if (!x->write) /* as a bad sector leaves it */
			memset(p + len / 2, 0xee, len / 2);
	} else if (!x->write && !x->res &&
	           nth(count(&good_reads), store_faults.corrupt_every)) {
		p[draw(q) % len] ^= 0x10;
		count(&store_fault_counts.corrupted);
	}
}

static unsigned release(struct hz_queue *q, struct hz_xfer **done, unsigned max)
{
	uint64_t now = hz_os.now();
	unsigned n = 0;

	for (unsigned i = 0; i < q->count && n < max;) {
		if (q->held[i].due > now) {
			i++;
			continue;
		}
		done[n++] = q->held[i].x;
		q->held[i] = q->held[--q->count];
	}
	q->inflight -= n;
	return n;
}

static uint64_t soonest(const struct hz_queue *q, uint64_t end)
{
	for (unsigned i = 0; i < q->count; i++)
		if (q->held[i].due < end)
			end = q->held[i].due;
	return end;
}

static int faulty_wait(struct hz_queue *q, uint64_t timeout_ns,
                       struct hz_xfer **done, unsigned max, unsigned *ready)
{
	uint64_t now = hz_os.now(), end = now + timeout_ns, until;
	struct hz_xfer *some[BATCH];
	int n, out;

	if (end < now)
		end = UINT64_MAX;
	do {
		until = soonest(q, end);
		until = until == UINT64_MAX ? until
		        : until > now       ? until - now
		                            : 0;
		n = store_faulty_inner->wait(q->inner, until, some, BATCH,
		                             ready);
		for (int i = 0; i < n; i++) {
			spoil(q, some[i]);
			hold(q, some[i]);
		}
		out = (int)release(q, done, max);
		if (out || *ready)
			return out;
		if (n < 0)
			return n;
		now = hz_os.now();
	} while (now < end);
	return 0;
}

const struct hz_store_ops store_faulty = {
        .name = "faulty",
        .open = faulty_open,
        .close = faulty_close,
        .watch = faulty_watch,
        .submit = faulty_submit,
        .flush = faulty_flush,
        .wait = faulty_wait,
};

static bool set_fault(const char *name, size_t len, unsigned long v)
{
	struct store_faults *f = &store_faults;
	const struct {
		const char *name;
		unsigned *to;
	} row[] = {
	        {"read-error", &f->read_error_every},
	        {"write-error", &f->write_error_every},
	        {"full", &f->full_after},
	        {"corrupt", &f->corrupt_every},
	};

	for (size_t i = 0; i < hz_array_len(row); i++)
		if (strlen(row[i].name) == len &&
		    !memcmp(row[i].name, name, len)) {
			*row[i].to = (unsigned)v;
			return true;
		}
	if (len == 8 && !memcmp(name, "delay-us", 8))
		f->delay_ns = v * 1000;
	else if (len == 7 && !memcmp(name, "reorder", 7))
		f->reorder = v;
	else if (len == 4 && !memcmp(name, "seed", 4))
		f->seed = v;
	else
		return false;
	return true;
}

bool store_faults_parse(const char *spec)
{
	while (*spec) {
		size_t len = strcspn(spec, "=");
		char *end;
		unsigned long v;

		if (!spec[len])
			return false;
		v = strtoul(spec + len + 1, &end, 10);
		if (end == spec + len + 1 || (*end && *end != ',') ||
		    !set_fault(spec, len, v))
			return false;
		spec = *end ? end + 1 : end;
	}
	return true;
}

/* ---- transfers in pieces ---- */

/* Never nothing; `len` at last. */
static size_t piece_of(size_t len, unsigned n)
{
	size_t less = n * 2654435761u % len / 4096 * 4096;

	return less ? less : len;
}

static ssize_t pread_piece(int fd, void *buf, size_t len, off_t off)
{
	unsigned n = count(&store_fault_counts.pieces);

	if (n % 5 == 0)
		return -EINTR;
	return hz_os_linux.pread(fd, buf, piece_of(len, n), off);
}

static ssize_t pwrite_piece(int fd, const void *buf, size_t len, off_t off)
{
	unsigned n = count(&store_fault_counts.pieces);

	if (n % 7 == 0)
		return -EAGAIN;
	return hz_os_linux.pwrite(fd, buf, piece_of(len, n), off);
}

void store_faulty_pieces(void)
{
	hz_os.pread = pread_piece;
	hz_os.pwrite = pwrite_piece;
}
