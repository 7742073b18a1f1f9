/* SPDX-License-Identifier: Apache-2.0 */
/*
 * mlock keeps its range in RAM, whatever else is evicted; munlock lets it go.
 * msync of private memory is a no-op that checks its arguments.
 */
#include <sys/mman.h>
#include <sys/resource.h>
#include "tiered.h"

#define LEN (8 * MIB)

static void locks(void)
{
	char *p = map(LEN), *big;

	fill(p, LEN, 1);
	CHECK(evicted(p, LEN));
	NEED(!mlock(p, LEN));
	CHECK(evict(p, LEN) <= 0);
	CHECK(filled(p, LEN, 1));
	big = map(100 * MIB);
	fill(big, 100 * MIB, 2);
	CHECK(evict(p, LEN) <= 0);
	CHECK(filled(p, LEN, 1) && filled(big, 100 * MIB, 2));
	CHECK(!munlock(p, LEN));
	CHECK(evicted(p, LEN));
	CHECK(filled(p, LEN, 1));
	CHECK(!munmap(p, LEN) && !munmap(big, 100 * MIB));
}

/* A lock goes with the mapping, and with mremap. */
static void follows(void)
{
	char *p = map(LEN), *wall = map(LEN), *q;

	fill(p, LEN, 3);
	NEED(!mlock(p, LEN));
	q = mremap(p, LEN, 2 * LEN, MREMAP_MAYMOVE);
	NEED(q != MAP_FAILED);
	CHECK(filled(q, LEN, 3) && zeros(q + LEN, LEN));
	CHECK(evict(q, LEN) <= 0);
	CHECK(!munmap(q, 2 * LEN) && !munmap(wall, LEN));
	p = map(2 * LEN);
	CHECK(zeros(p, 2 * LEN));
	fill(p, 2 * LEN, 4);
	CHECK(evicted(p, 2 * LEN));
	CHECK(filled(p, 2 * LEN, 4));
	CHECK(!munmap(p, 2 * LEN));
}

static void on_fault(void)
{
	char *p = map(LEN);

	fill(p, LEN, 5);
	CHECK(evicted(p, LEN));
	CHECK(!mlock2(p, LEN, 1 /* MLOCK_ONFAULT */));
	CHECK(filled(p, LEN, 5));
	CHECK(!munlock(p, LEN));
	errno = 0;
	CHECK(mlock2(p, LEN, 64) == -1 && errno == EINVAL);
	CHECK(!munmap(p, LEN));
}

static void msyncs(void)
{
	char *p = map(LEN);

	fill(p, LEN, 6);
	CHECK(evicted(p, LEN));
	CHECK(!msync(p, LEN, MS_SYNC) && !msync(p, LEN, MS_ASYNC));
	CHECK(!msync(p, LEN, MS_INVALIDATE));
	errno = 0;
	CHECK(msync(p + 1, LEN, MS_SYNC) == -1 && errno == EINVAL);
	errno = 0;
	CHECK(msync(p, LEN, MS_SYNC | MS_ASYNC) == -1 && errno == EINVAL);
	errno = 0;
	CHECK(msync(p, LEN, 64) == -1 && errno == EINVAL);
	CHECK(filled(p, LEN, 6));
	CHECK(!munmap(p, LEN));
	errno = 0;
	CHECK(mlock(p, LEN) == -1 && errno == ENOMEM);
	errno = 0;
	CHECK(msync(p, LEN, MS_SYNC) == -1 && errno == ENOMEM);
}

/* All of it, with the contents of what was out. */
static void all(void)
{
	char *p = map(LEN), *q;

	fill(p, LEN, 7);
	CHECK(evicted(p, LEN));
	NEED(!mlockall(MCL_CURRENT | MCL_FUTURE));
	CHECK(filled(p, LEN, 7));
	q = map(LEN);
	fill(q, LEN, 8);
	CHECK(filled(q, LEN, 8) && filled(p, LEN, 7));
	CHECK(!munmap(q, LEN));
	q = map(LEN);
	CHECK(zeros(q, LEN));
	CHECK(!munlockall());
	CHECK(evicted(p, LEN));
	CHECK(filled(p, LEN, 7));
	CHECK(!munmap(p, LEN) && !munmap(q, LEN));
}

int main(void)
{
	struct rlimit lim;

	tiered_start();
	if (!getrlimit(RLIMIT_MEMLOCK, &lim) && lim.rlim_max < 256 * MIB &&
	    mlock(map(64 * MIB), 64 * MIB)) {
		fprintf(stderr, "RLIMIT_MEMLOCK is too low here\n");
		return SKIP;
	}
	locks();
	follows();
	on_fault();
	msyncs();
	all();
	locks();
	return tiered_end();
}
