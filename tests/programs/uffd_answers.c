/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Answers of userfaultfd that are misread in public: EAGAIN with a negative
 * count of bytes, a part of the bytes, EEXIST for a page that came meanwhile
 * and whose waiters nobody woke. First the backend alone on a made-up kernel,
 * whose every call is compared; then the engine, on the machine's kernel with
 * such answers in between: it must lose no byte and wake every thread.
 */
#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>
#include "backend/fault.h"
#include "backend/uffd_abi.h"
#include "base/os.h"
#include "base/util.h"
#include "engine_check.h"
#include "horizon.h"

#define PAGE  ((uint64_t)4096)
#define BLOCK ((size_t)2 << 20)
#define DST   0x100000000u
#define SRC   0x200000000u

/* ---- the backend alone ---- */

/* One call that must come, and its answer. */
struct answer {
	unsigned long req;
	uint64_t dst, len; /* what is asked for */
	int64_t count;	   /* what is said to be done */
	int rc;
};

static const struct answer *next_answer, *last_answer;

/* The count of a move and of a copy is at the same place. */
_Static_assert(offsetof(struct uffdio_move, move) ==
		       offsetof(struct uffdio_copy, copy),
	       "uffdio_move and uffdio_copy");

static int scripted(int fd, unsigned long req, void *arg)
{
	const struct answer *a = next_answer++;
	struct uffdio_move *mv = arg;

	CHECK(fd == 7 && a < last_answer);
	CHECK(req == a->req && mv->dst == a->dst);
	if (req == UFFDIO_ZEROPAGE)
		return a->rc;
	if (req == UFFDIO_WAKE) { /* struct uffdio_range */
		CHECK(mv->src == a->len);
		return a->rc;
	}
	CHECK(mv->len == a->len);
	mv->move = a->count;
	return a->rc;
}

enum kind { MOVE, COPY, ZERO };

static int ask(enum kind kind, size_t len)
{
	const struct hz_fault_ops *f = &hz_fault_uffd;
	void *dst = (void *)DST, *src = (void *)SRC;

	if (kind == MOVE)
		return f->move(7, dst, src, len);
	return kind == COPY ? f->copy(7, dst, src, len) : f->zero_page(7, dst);
}

static void expect(const char *name, enum kind kind, uint64_t len, int want,
		   const struct answer *a, unsigned n)
{
	int rc;

	next_answer = a;
	last_answer = a + n;
	rc = ask(kind, len);
	if (rc == want && next_answer == last_answer)
		return;
	fprintf(stderr, "%s: %d, not %d, after %d of %u calls\n", name, rc,
		want, (int)(next_answer - a), n);
	_exit(1);
}

#define EXPECT(name_, kind_, len_, want_, ...)                                \
	expect(name_, kind_, len_, want_, (const struct answer[])__VA_ARGS__, \
	       sizeof((const struct answer[])__VA_ARGS__) /                   \
		       sizeof(struct answer))

static void backend(void)
{
	hz_os.ioctl = scripted;
	EXPECT("a move that did nothing is asked for again", MOVE, 2 * PAGE, 0,
	       {{UFFDIO_MOVE, DST, 2 * PAGE, -EAGAIN, -EAGAIN},
		{UFFDIO_MOVE, DST, 2 * PAGE, -EAGAIN, -EAGAIN},
		{UFFDIO_MOVE, DST, 2 * PAGE, 2 * PAGE, 0}});
	EXPECT("a move goes on behind what is done", MOVE, 4 * PAGE, 0,
	       {{UFFDIO_MOVE, DST, 4 * PAGE, PAGE, -EAGAIN},
		{UFFDIO_MOVE, DST + PAGE, 3 * PAGE, -EAGAIN, -EAGAIN},
		{UFFDIO_MOVE, DST + PAGE, 3 * PAGE, 3 * PAGE, 0}});
	EXPECT("a pin in the middle: what moved goes back", MOVE, 4 * PAGE,
	       -EBUSY,
	       {{UFFDIO_MOVE, DST, 4 * PAGE, 2 * PAGE, -EAGAIN},
		{UFFDIO_MOVE, DST + 2 * PAGE, 2 * PAGE, -EBUSY, -EBUSY},
		/* is there one more than it counted? */
		{UFFDIO_MOVE, SRC + 2 * PAGE, PAGE, -ENOENT, -ENOENT},
		{UFFDIO_MOVE, SRC, 2 * PAGE, 2 * PAGE, 0}});
	EXPECT("a page is there already", MOVE, PAGE, -EEXIST,
	       {{UFFDIO_MOVE, DST, PAGE, -EEXIST, -EEXIST},
		{UFFDIO_MOVE, SRC, PAGE, -ENOENT, -ENOENT}});
	EXPECT("a copy that did nothing is asked for again", COPY, 2 * PAGE, 0,
	       {{UFFDIO_COPY, DST, 2 * PAGE, -EAGAIN, -EAGAIN},
		{UFFDIO_COPY, DST, 2 * PAGE, 2 * PAGE, 0}});
	EXPECT("a copy goes on behind what is done", COPY, 3 * PAGE, 0,
	       {{UFFDIO_COPY, DST, 3 * PAGE, PAGE, -EAGAIN},
		{UFFDIO_COPY, DST + PAGE, 2 * PAGE, 2 * PAGE, 0}});
	EXPECT("a copy leaves what is there, and wakes", COPY, 2 * PAGE, 0,
	       {{UFFDIO_COPY, DST, 2 * PAGE, -EEXIST, -EEXIST},
		{UFFDIO_WAKE, DST, PAGE, 0, 0},
		{UFFDIO_COPY, DST + PAGE, PAGE, PAGE, 0}});
	EXPECT("a copy says what else is wrong", COPY, 2 * PAGE, -ENOMEM,
	       {{UFFDIO_COPY, DST, 2 * PAGE, -ENOMEM, -ENOMEM}});
	EXPECT("zeros are asked for again", ZERO, PAGE, 0,
	       {{UFFDIO_ZEROPAGE, DST, PAGE, 0, -EAGAIN},
		{UFFDIO_ZEROPAGE, DST, PAGE, 0, 0}});
	EXPECT("zeros that are there already", ZERO, PAGE, -EEXIST,
	       {{UFFDIO_ZEROPAGE, DST, PAGE, 0, -EEXIST}});
	hz_os.ioctl = hz_os_linux.ioctl;
}

/* ---- the engine ---- */

enum { THREADS = 4, BLOCKS = 24, STEPS = 200 };

static unsigned moves, copies, nothing_done, parts, overtaken, refused;

static unsigned count(unsigned *n)
{
	return __atomic_add_fetch(n, 1, __ATOMIC_RELAXED);
}

static int again(__s64 *done)
{
	count(&nothing_done);
	*done = -EAGAIN;
	return -EAGAIN;
}

/* As if another thread had filled the block a moment ago, without waking. */
static int overtake(int fd, struct uffdio_move *mv)
{
	struct uffdio_copy cp = {.dst = mv->dst,
				 .src = mv->src,
				 .len = mv->len,
				 .mode = UFFDIO_COPY_MODE_DONTWAKE};

	if (hz_os_linux.ioctl(fd, UFFDIO_COPY, &cp) < 0)
		return hz_os_linux.ioctl(fd, UFFDIO_MOVE, mv);
	count(&overtaken);
	mv->move = -EEXIST;
	return -EEXIST;
}

static int part(int fd, struct uffdio_move *mv)
{
	struct uffdio_move some = *mv;
	int rc;

	some.len = mv->len / 2 / PAGE * PAGE;
	rc = hz_os_linux.ioctl(fd, UFFDIO_MOVE, &some);
	mv->move = rc ? some.move : (int64_t)some.len;
	if (rc)
		return rc;
	count(&parts);
	return -EAGAIN;
}

static int odd_move(int fd, struct uffdio_move *mv)
{
	bool in = horizon_owns((void *)(uintptr_t)mv->dst);

	switch (count(&moves) % 16) {
	case 3:
	case 4:
	case 8:
		return again(&mv->move);
	case 6:
		if (mv->len > PAGE)
			return part(fd, mv);
		break;
	case 11:
		if (in && mv->len == BLOCK)
			return overtake(fd, mv);
		break;
	case 13:
		if (!in)
			break;
		/* As if the mapping had been split: it is copied then. */
		count(&refused);
		return -EINVAL;
	}
	return hz_os_linux.ioctl(fd, UFFDIO_MOVE, mv);
}

static int odd(int fd, unsigned long req, void *arg)
{
	struct uffdio_copy *cp = arg;

	if (req == UFFDIO_MOVE)
		return odd_move(fd, arg);
	if (req == UFFDIO_COPY && count(&copies) % 7 == 0) {
		__s64 done;
		int rc = again(&done);

		cp->copy = done;
		return rc;
	}
	return hz_os_linux.ioctl(fd, req, arg);
}

static uint64_t word_of(unsigned thread, unsigned b, uint64_t version, size_t w)
{
	return (version << 32 | thread << 24 | b << 16 | 1) *
		       0x9e3779b97f4a7c15u +
	       w;
}

static void *grind(void *arg)
{
	unsigned me = (unsigned)(uintptr_t)arg;
	uint32_t random = me * 2654435761u | 1;
	uint64_t version[BLOCKS] = {0}, *mem = horizon_alloc(BLOCKS * BLOCK);

	CHECK(mem);
	for (int step = 0; step < STEPS; step++) {
		unsigned b = (random = random * 1664525 + 1013904223) >> 16;
		uint64_t *p;

		b %= BLOCKS;
		p = mem + b * (BLOCK / 8);
		for (size_t w = 0; w < BLOCK / 8; w += 61)
			CHECK(p[w] ==
			      (version[b] ? word_of(me, b, version[b], w) : 0));
		version[b]++;
		for (size_t w = 0; w < BLOCK / 8; w += 61)
			p[w] = word_of(me, b, version[b], w);
		if (step % 37 == 0)
			horizon_evict(mem, BLOCKS * BLOCK);
	}
	horizon_free(mem);
	return NULL;
}

static uint64_t counter(const char *id)
{
	uint64_t v;

	CHECK(horizon_counter(id, &v) == 0);
	return v;
}

static int engine(void)
{
	pthread_t id[THREADS];

	setenv("HORIZON_RAM", "64M", 1);
	setenv("HORIZON_STORE_SIZE", "1G", 1);
	alarm(240); /* a thread that nobody wakes */
	if (horizon_start() < 0)
		return 77;
	hz_os.ioctl = odd;
	for (uintptr_t i = 0; i < THREADS; i++)
		CHECK(!pthread_create(&id[i], NULL, grind, (void *)(i + 1)));
	for (unsigned i = 0; i < THREADS; i++)
		pthread_join(id[i], NULL);
	hz_os.ioctl = hz_os_linux.ioctl;
	CHECK(nothing_done && parts && overtaken && refused);
	CHECK(!counter("poisoned") && !counter("store_errors"));
	CHECK(!counter("range_bytes"));
	return 0;
}

int main(void)
{
	int status;

	backend();
	status = engine();
	if (status)
		fprintf(stderr, "uffd_answers: nothing can be tiered here\n");
	return status;
}
