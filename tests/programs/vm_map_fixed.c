/* SPDX-License-Identifier: Apache-2.0 */
/*
 * MAP_FIXED over tiered memory: over a part, over all of it, of anonymous
 * memory and of a file, and where nothing is mapped any more.
 */
#include <sys/mman.h>
#include <unistd.h>
#include "tiered.h"

#define LEN (12 * MIB)

static int file;

static void anonymous(size_t at, size_t n)
{
	char *p = map(LEN), *q;

	fill(p, LEN, 1);
	CHECK(evicted(p, LEN));
	q = mmap(p + at, n, RW, ANON | MAP_FIXED, -1, 0);
	CHECK(q == p + at);
	CHECK(zeros(q, n));
	fill(q, n, 2);
	evict(p, LEN);
	CHECK(filled(p, at, 1));
	CHECK(filled(q, n, 2));
	CHECK(filled_at(p + at + n, LEN - at - n, 1, at + n));
	CHECK(!munmap(p, LEN));
	CHECK(faults_on_read(p) && faults_on_read(q));
}

static void of_file(size_t at, size_t n, int flags)
{
	char *p = map(LEN), *q;

	fill(p, LEN, 3);
	CHECK(evicted(p, LEN));
	q = mmap(p + at, n, RW, flags | MAP_FIXED, file, 0);
	CHECK(q == p + at);
	CHECK(filled(q, n, 99));
	fill(q, 4096, 4);
	CHECK(filled(q, 4096, 4));
	fill(q, 4096, 99);
	CHECK(filled(p, at, 3));
	CHECK(filled_at(p + at + n, LEN - at - n, 3, at + n));
	CHECK(!munmap(q, n));
	CHECK(faults_on_read(q) && faults_on_read(q + n - 1));
	CHECK(filled(p, at, 3));
	CHECK(!munmap(p, LEN));
}

/* The place of a mapping that is gone belongs to who maps it next. */
static void after_munmap(void)
{
	char *p = map(LEN), *q, *r[8];

	fill(p, LEN, 5);
	CHECK(!munmap(p, LEN));
	q = mmap(p, LEN, RW, MAP_SHARED | MAP_FIXED, file, 0);
	CHECK(q == p);
	for (int i = 0; i < 8; i++) {
		r[i] = map(LEN);
		CHECK(r[i] + LEN <= q || r[i] >= q + LEN);
		fill(r[i], LEN, 6);
	}
	CHECK(filled(q, LEN, 99));
	for (int i = 0; i < 8; i++)
		CHECK(!munmap(r[i], LEN));
	CHECK(filled(q, LEN, 99));
	CHECK(!munmap(q, LEN));
	CHECK(faults_on_read(q));
}

/* Refused, and nothing is lost. */
static void refused(void)
{
	char *p = map(LEN);

	fill(p, LEN, 7);
	CHECK(evicted(p, LEN));
	CHECK(mmap(p, LEN, RW, MAP_SHARED | MAP_FIXED, -1, 0) == MAP_FAILED);
	CHECK(filled(p, LEN, 7));
	errno = 0;
	CHECK(mmap(p, LEN, RW, ANON | MAP_FIXED_NOREPLACE, -1, 0) ==
		      MAP_FAILED &&
	      errno == EEXIST);
	CHECK(filled(p, LEN, 7));
	CHECK(!munmap(p, LEN));
}

/* One page comes back beside one that is gone: the last to go takes the rest
 * of the range with it. */
static void page_beside_gone(void)
{
	char *p = map(LEN);

	fill(p, LEN, 8);
	CHECK(!munmap(p, 4096));
	CHECK(mmap(p + 4096, 4096, RW, ANON | MAP_FIXED, -1, 0) == p + 4096);
	CHECK(zeros(p + 4096, 4096));
	CHECK(filled_at(p + 8192, LEN - 8192, 8, 8192));
	CHECK(!munmap(p + 4096, LEN - 4096));
}

int main(void)
{
	char name[] = "/var/tmp/vm_map_fixed.XXXXXX", *p;

	tiered_start();
	file = mkstemp(name);
	NEED(file >= 0 && !unlink(name) && !ftruncate(file, LEN));
	p = mmap(NULL, LEN, RW, MAP_SHARED, file, 0);
	NEED(p != MAP_FAILED);
	fill(p, LEN, 99);
	for (int i = 0; i < 3; i++) {
		anonymous(0, LEN);
		anonymous(4 * MIB, 4 * MIB);
		anonymous(3 * MIB, 4096);
		anonymous(0, 5 * MIB);
		anonymous(LEN - 3 * MIB, 3 * MIB);
		of_file(4 * MIB, 2 * MIB, MAP_PRIVATE);
		of_file(MIB, 5 * MIB, MAP_SHARED);
		of_file(0, LEN, MAP_SHARED);
		after_munmap();
		page_beside_gone();
		refused();
	}
	CHECK(filled(p, LEN, 99));
	CHECK(counter("native_bytes") == 0);
	CHECK(counter("ranges") == 0);
	return tiered_end();
}
