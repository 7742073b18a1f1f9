/* SPDX-License-Identifier: Apache-2.0 */
/*
 * madvise on tiered memory: what it discards reads as zeros, in RAM or out,
 * and every other advice changes no byte.
 */
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>
#include "tiered.h"

#define LEN (8 * MIB)

static void discard(size_t at, size_t n, int advice, bool out)
{
	char *p = map(LEN);

	fill(p, LEN, 1);
	CHECK(!out || evicted(p, LEN));
	if (madvise(p + at, n, advice)) {
		CHECK(errno == EINVAL && advice == MADV_DONTNEED_LOCKED);
		CHECK(!munmap(p, LEN));
		return;
	}
	CHECK(filled(p, at, 1));
	if (advice != MADV_FREE)
		CHECK(zeros(p + at, n));
	CHECK(filled_at(p + at + n, LEN - at - n, 1, at + n));
	fill(p + at, n, 2);
	evict(p, LEN);
	CHECK(filled(p, at, 1));
	CHECK(filled(p + at, n, 2));
	CHECK(filled_at(p + at + n, LEN - at - n, 1, at + n));
	CHECK(!munmap(p, LEN));
}

static void discards(void)
{
	static const int advices[] = { MADV_DONTNEED, MADV_FREE,
				       MADV_DONTNEED_LOCKED };

	for (size_t i = 0; i < 3; i++)
		for (int out = 0; out < 2; out++) {
			discard(0, LEN, advices[i], out);
			discard(2 * MIB, 2 * MIB, advices[i], out);
			discard(3 * MIB, 3 * MIB, advices[i], out);
			discard(4096, 4096, advices[i], out);
			discard(LEN - MIB, MIB, advices[i], out);
		}
}

/* Also of memory that has another protection, or that malloc gave. */
static void discard_odd(void)
{
	char *p = map(LEN);
	size_t n = 3 * MIB;

	fill(p, LEN, 3);
	CHECK(!mprotect(p, LEN / 2, PROT_READ));
	evict(p, LEN);
	CHECK(!madvise(p, LEN, MADV_DONTNEED));
	CHECK(zeros(p, LEN));
	CHECK(faults_on_write(p) && !faults_on_write(p + LEN / 2));
	CHECK(!munmap(p, LEN));
	p = aligned_alloc(4096, n);
	NEED(p);
	fill(p, n, 4);
	evict(p, n);
	CHECK(!madvise(p + 4096, n - 4096, MADV_DONTNEED));
	CHECK(filled(p, 4096, 4));
	CHECK(zeros(p + 4096, n - 4096));
	free(p);
}

static void harmless(void)
{
	static const int advices[] = {
		MADV_NORMAL,	  MADV_RANDOM,	      MADV_SEQUENTIAL,
		MADV_WILLNEED,	  MADV_HUGEPAGE,      MADV_NOHUGEPAGE,
		MADV_MERGEABLE,	  MADV_UNMERGEABLE,   MADV_DONTDUMP,
		MADV_DODUMP,	  MADV_POPULATE_READ, MADV_POPULATE_WRITE,
		20 /* COLD */,	  21 /* PAGEOUT */,   25 /* COLLAPSE */,
		MADV_KEEPONFORK,  MADV_DOFORK,
	};

	for (size_t i = 0; i < sizeof(advices) / sizeof(*advices); i++) {
		char *p = map(LEN);

		fill(p, LEN, 5);
		CHECK(evicted(p, LEN));
		if (madvise(p, LEN, advices[i]))
			CHECK(errno == EINVAL || errno == EAGAIN ||
			      errno == EBUSY || errno == ENOMEM);
		CHECK(filled(p, LEN, 5));
		evict(p, LEN);
		CHECK(filled(p, LEN, 5));
		CHECK(!munmap(p, LEN));
	}
}

static void across_fork(void)
{
	char *p = map(LEN), *q = map(LEN);
	pid_t pid;

	fill(p, LEN, 6);
	fill(q, LEN, 7);
	CHECK(evicted(p, LEN) && evicted(q, LEN));
	CHECK(!madvise(p + MIB, 4 * MIB, MADV_DONTFORK));
	CHECK(!madvise(q + MIB, 4 * MIB, MADV_WIPEONFORK));
	pid = fork();
	if (!pid) {
		char *r;

		CHECK(filled(p, MIB, 6));
		CHECK(faults_on_read(p + MIB) &&
		      faults_on_read(p + 5 * MIB - 1));
		CHECK(filled_at(p + 5 * MIB, 3 * MIB, 6, 5 * MIB));
		CHECK(filled(q, MIB, 7));
		CHECK(zeros(q + MIB, 4 * MIB));
		CHECK(filled_at(q + 5 * MIB, 3 * MIB, 7, 5 * MIB));
		/* the hole is nobody else's */
		r = mmap(NULL, 2 * MIB, PROT_READ, ANON, -1, 0);
		CHECK(r != MAP_FAILED && !owned(r) && zeros(r, 2 * MIB));
		CHECK(!munmap(r, 2 * MIB) && faults_on_read(r));
		CHECK(!munmap(p, LEN) && !munmap(q, LEN));
		_exit(tiered_end());
	}
	CHECK(status_of(pid) == 0);
	CHECK(filled(p, LEN, 6) && filled(q, LEN, 7));
	CHECK(!munmap(p, LEN) && !munmap(q, LEN));
}

static void errors(void)
{
	char *p = map(LEN);
	uint64_t native = counter("native_bytes");

	fill(p, LEN, 8);
	CHECK(evicted(p, LEN));
	errno = 0;
	CHECK(madvise(p, LEN, 12345) == -1 && errno == EINVAL);
	errno = 0;
	CHECK(madvise(p, LEN, -1) == -1 && errno == EINVAL);
	errno = 0;
	CHECK(madvise(p, LEN, MADV_REMOVE) == -1 && errno == EINVAL);
	errno = 0;
	CHECK(madvise(p + 1, 4096, MADV_DONTNEED) == -1 && errno == EINVAL);
	CHECK(!madvise(p, 0, MADV_DONTNEED));
	CHECK(filled(p, LEN, 8));
	/* an advice that is none does not take it out of tiering */
	CHECK(counter("native_bytes") == native);
	CHECK(!munmap(p, LEN));
	errno = 0;
	CHECK(madvise(p, LEN, MADV_POPULATE_WRITE) == -1);
	CHECK(errno == ENOMEM || errno == EINVAL);
	errno = 0;
	CHECK(madvise(p, LEN, MADV_DONTNEED) == -1 && errno == ENOMEM);
}

int main(void)
{
	tiered_start();
	discards();
	discard_odd();
	harmless();
	across_fork();
	errors();
	CHECK(counter("native_bytes") == 0);
	CHECK(counter("ranges") == 0);
	return tiered_end();
}
