/* SPDX-License-Identifier: Apache-2.0 */
/*
 * mremap: contents follow, what is new reads as zeros, what is gone faults,
 * and nothing leaks.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <pthread.h>
#include <sys/mman.h>
#include "tiered.h"

#ifndef MREMAP_DONTUNMAP
#define MREMAP_DONTUNMAP 4
#endif

#define LEN (12 * MIB)

/* Even blocks out, odd ones in. */
static void mix(char *p, size_t len)
{
	CHECK(evicted(p, len));
	for (size_t i = BLOCK; i < len; i += 2 * BLOCK)
		(void)*(volatile char *)(p + i);
}

static void grow_in_place(void)
{
	char *p = map(LEN), *q;

	fill(p, LEN, 1);
	mix(p, LEN);
	q = mremap(p, LEN, LEN + 5 * MIB, MREMAP_MAYMOVE);
	NEED(q != MAP_FAILED);
	CHECK(filled(q, LEN, 1));
	CHECK(zeros(q + LEN, 5 * MIB));
	CHECK(!munmap(q, LEN + 5 * MIB));
	CHECK(faults_on_read(q) && faults_on_read(q + LEN));
}

/* Something behind it: it has to move. */
static void grow_by_moving(void)
{
	char *p = map(LEN), *wall = map(LEN), *q;

	fill(p, LEN, 2);
	fill(wall, LEN, 3);
	mix(p, LEN);
	mix(wall, LEN);
	q = mremap(p, LEN, 3 * LEN, MREMAP_MAYMOVE);
	NEED(q != MAP_FAILED);
	CHECK(filled(q, LEN, 2));
	CHECK(zeros(q + LEN, 2 * LEN));
	CHECK(filled(wall, LEN, 3));
	if (q != p)
		CHECK(faults_on_read(p));
	CHECK(evicted(q, 3 * LEN));
	CHECK(filled(q, LEN, 2));
	CHECK(!munmap(q, 3 * LEN));
	CHECK(!munmap(wall, LEN));
	p = map(LEN);
	q = map(LEN);
	errno = 0;
	if (mremap(p, LEN, 2 * LEN, 0) == MAP_FAILED)
		CHECK(errno == ENOMEM && !munmap(p, LEN));
	else
		CHECK(!munmap(p, 2 * LEN));
	CHECK(!munmap(q, LEN));
}

static void shrink_and_regrow(void)
{
	char *p = map(LEN);

	fill(p, LEN, 4);
	mix(p, LEN);
	/* a page, half a block, blocks */
	for (size_t cut = 4096; cut < LEN; cut *= 8) {
		char *q = mremap(p, LEN, LEN - cut, 0);

		CHECK(q == p);
		CHECK(filled(p, LEN - cut, 4));
		q = mremap(p, LEN - cut, LEN, MREMAP_MAYMOVE);
		NEED(q != MAP_FAILED);
		p = q;
		CHECK(filled(p, LEN - cut, 4));
		CHECK(zeros(p + LEN - cut, cut));
		fill_at(p + LEN - cut, cut, 4, LEN - cut);
		mix(p, LEN);
	}
	CHECK(!munmap(p, LEN));
}

/* To an address that the program chose, outside and back. */
static void fixed_out_and_in(void)
{
	char *p = map(LEN), *q = map(LEN), *r;
	char *out = mmap(NULL, LEN, PROT_NONE, ANON | MAP_NORESERVE, -1, 0);

	NEED(out != MAP_FAILED);
	fill(p, LEN, 5);
	fill(q, LEN, 6);
	mix(p, LEN);
	mix(q, LEN);
	r = mremap(p, LEN, LEN, MREMAP_MAYMOVE | MREMAP_FIXED, out);
	CHECK(r == out);
	CHECK(filled(out, LEN, 5));
	CHECK(faults_on_read(p));
	r = mremap(out, LEN, LEN, MREMAP_MAYMOVE | MREMAP_FIXED, q);
	CHECK(r == q);
	CHECK(filled(q, LEN, 5));
	fill(q, LEN, 7);
	evict(q, LEN);
	CHECK(filled(q, LEN, 7));
	CHECK(!munmap(q, LEN));
	CHECK(faults_on_read(q) && faults_on_read(q + LEN - 1));
}

/* From one place of ours over another. */
static void fixed_within(void)
{
	char *p = map(LEN), *q = map(LEN);

	fill(p, LEN, 8);
	fill(q, LEN, 9);
	mix(p, LEN);
	mix(q, LEN);
	CHECK(mremap(p, LEN, LEN, MREMAP_MAYMOVE | MREMAP_FIXED, q) == q);
	CHECK(filled(q, LEN, 8));
	CHECK(faults_on_read(p));
	CHECK(!munmap(q, LEN));
}

static void middle_part(void)
{
	char *p = map(LEN);
	char *out = mmap(NULL, LEN, PROT_NONE, ANON | MAP_NORESERVE, -1, 0);
	size_t at = 3 * MIB + 4096, n = 4 * MIB;

	NEED(out != MAP_FAILED);
	fill(p, LEN, 10);
	mix(p, LEN);
	CHECK(mremap(p + at, n, n, MREMAP_MAYMOVE | MREMAP_FIXED, out) == out);
	CHECK(filled_at(out, n, 10, at));
	CHECK(filled(p, at, 10));
	CHECK(filled_at(p + at + n, LEN - at - n, 10, at + n));
	CHECK(faults_on_read(p + at) && faults_on_read(p + at + n - 1));
	CHECK(!munmap(p, LEN) && !munmap(out, LEN));
	CHECK(faults_on_read(p) && faults_on_read(p + LEN - 1));
}

/* The old place stays, empty. */
static void dontunmap(void)
{
	char *p = map(LEN);
	char *q;

	fill(p, LEN, 11);
	mix(p, LEN);
	q = mremap(p, LEN, LEN, MREMAP_MAYMOVE | MREMAP_DONTUNMAP, NULL);
	if (q == MAP_FAILED && errno == EINVAL) {
		CHECK(!munmap(p, LEN));
		return;
	}
	NEED(q != MAP_FAILED && q != p);
	CHECK(filled(q, LEN, 11));
	CHECK(zeros(p, LEN));
	fill(p, LEN, 12);
	CHECK(filled(p, LEN, 12) && filled(q, LEN, 11));
	CHECK(!munmap(p, LEN) && !munmap(q, LEN));
}

/* After a shrink of memory that we gave to the kernel, its tail is gone, and
 * what comes there later is somebody's own. */
static void shrink_protected(void)
{
	char *p = map(LEN), *q;

	fill(p, LEN, 13);
	mix(p, LEN);
	CHECK(!mprotect(p, LEN, PROT_READ));
	CHECK(mremap(p, LEN, LEN / 2, 0) == p);
	CHECK(filled(p, LEN / 2, 13));
	CHECK(faults_on_read(p + LEN / 2) && faults_on_read(p + LEN - 1));
	q = mmap(NULL, LEN / 2, PROT_READ, ANON, -1, 0);
	NEED(q != MAP_FAILED);
	CHECK(!owned(q));
	CHECK(!munmap(q, LEN / 2) && faults_on_read(q));
	CHECK(!munmap(p, LEN / 2) && faults_on_read(p));
}

/* Part of it was mapped anew: for the program that is one mapping. */
static void mapped_over(int flags)
{
	char *p = map(LEN), *to = NULL, *q;

	fill(p, LEN, 15);
	mix(p, LEN);
	CHECK(mmap(p + 3 * MIB, BLOCK, RW, ANON | MAP_FIXED, -1, 0) ==
	      p + 3 * MIB);
	CHECK(zeros(p + 3 * MIB, BLOCK));
	fill_at(p + 3 * MIB, BLOCK, 15, 3 * MIB);
	if (flags & MREMAP_FIXED)
		to = mmap(NULL, 2 * LEN, PROT_NONE, ANON, -1, 0);
	q = mremap(p, LEN, 2 * LEN, MREMAP_MAYMOVE | flags, to);
	NEED(q != MAP_FAILED);
	CHECK(!to || q == to);
	CHECK(filled(q, LEN, 15));
	CHECK(zeros(q + LEN, LEN));
	CHECK(faults_on_read(p) && faults_on_read(p + LEN - 1));
	q = mremap(q, 2 * LEN, 3 * LEN, MREMAP_MAYMOVE);
	NEED(q != MAP_FAILED);
	CHECK(filled(q, LEN, 15));
	CHECK(!munmap(q, 3 * LEN));
}

static bool small_end;

/* Its mappings must not land where one of ours was just now. */
static void *small_mappings(void *arg)
{
	unsigned seed = 0;

	while (!__atomic_load_n(&small_end, __ATOMIC_ACQUIRE)) {
		char *p = mmap(NULL, 256 * KIB, RW, ANON, -1, 0);

		NEED(p != MAP_FAILED);
		fill(p, 256 * KIB, ++seed);
		CHECK(filled(p, 256 * KIB, seed));
		CHECK(!munmap(p, 256 * KIB));
	}
	return arg;
}

static void beside_small_mappings(void)
{
	pthread_t id;

	NEED(!pthread_create(&id, NULL, small_mappings, NULL));
	for (unsigned i = 0; i < 30; i++) {
		char *p = map(LEN), *q;

		fill(p, LEN, i);
		NEED(!mprotect(p, LEN, PROT_READ));
		NEED(!mprotect(p, LEN, RW));
		CHECK(mremap(p, LEN, LEN / 2, 0) == p);
		q = mremap(p, LEN / 2, LEN, MREMAP_MAYMOVE);
		NEED(q != MAP_FAILED);
		CHECK(filled(q, LEN / 2, i));
		CHECK(!munmap(q, LEN));
	}
	__atomic_store_n(&small_end, true, __ATOMIC_RELEASE);
	NEED(!pthread_join(id, NULL));
	small_end = false;
}

static void errors(void)
{
	char *p = map(LEN);

	fill(p, LEN, 14);
	errno = 0;
	CHECK(mremap(p, LEN, 0, MREMAP_MAYMOVE) == MAP_FAILED);
	CHECK(errno == EINVAL);
	errno = 0;
	CHECK(mremap(p + 1, LEN, LEN, MREMAP_MAYMOVE) == MAP_FAILED);
	CHECK(errno == EINVAL);
	errno = 0;
	CHECK(mremap(p, LEN, LEN, MREMAP_FIXED, p) == MAP_FAILED);
	CHECK(errno == EINVAL);
	errno = 0;
	CHECK(mremap(p, LEN, LEN, 64) == MAP_FAILED);
	CHECK(errno == EINVAL);
	errno = 0;
	CHECK(mremap(p + MIB, LEN / 2, (size_t)-100, MREMAP_MAYMOVE) ==
	      MAP_FAILED);
	CHECK(errno == EINVAL || errno == ENOMEM);
	errno = 0;
	CHECK(mremap(p, LEN / 2, LEN, MREMAP_MAYMOVE | MREMAP_DONTUNMAP,
		     NULL) == MAP_FAILED);
	CHECK(errno == EINVAL);
	errno = 0;
	CHECK(mremap(p, LEN, LEN, MREMAP_MAYMOVE | MREMAP_FIXED, p + MIB) ==
	      MAP_FAILED);
	CHECK(errno == EINVAL);
	CHECK(filled(p, LEN, 14));
	CHECK(!munmap(p, LEN));
}

static size_t resident_kib(void)
{
	unsigned long size, pages = 0;
	FILE *f = fopen("/proc/self/statm", "r");

	NEED(f && fscanf(f, "%lu %lu", &size, &pages) == 2);
	fclose(f);
	return pages * 4;
}

/* Memory that was never touched takes none when it moves. */
static void sparse(int flags)
{
	size_t len = 256 * MIB, before;
	char *p = map(len), *to = NULL, *q;

	p[0] = 1;
	p[len - 1] = 2;
	CHECK(mmap(p + 3 * MIB, BLOCK, RW, ANON | MAP_FIXED, -1, 0) ==
	      p + 3 * MIB);
	if (flags & MREMAP_FIXED)
		to = mmap(NULL, len + MIB, PROT_NONE, ANON, -1, 0);
	before = resident_kib();
	q = mremap(p, len, len + MIB, MREMAP_MAYMOVE | flags, to);
	NEED(q != MAP_FAILED);
	CHECK(q[0] == 1 && q[len - 1] == 2 && zeros(q + len, MIB));
	CHECK(resident_kib() < before + 64 * 1024);
	CHECK(!munmap(q, len + MIB));
}

/* Another protection goes with the memory. */
static void protected_part(void)
{
	char *p = map(LEN), *to;

	fill(p, LEN, 16);
	CHECK(!mprotect(p + MIB, MIB, PROT_READ));
	to = mmap(NULL, 2 * LEN, PROT_NONE, ANON, -1, 0);
	CHECK(mremap(p + MIB, MIB, 2 * MIB, MREMAP_MAYMOVE | MREMAP_FIXED,
		     to) == to);
	CHECK(filled_at(to, MIB, 16, MIB) && zeros(to + MIB, MIB));
	CHECK(faults_on_write(to) && faults_on_write(to + MIB));
	CHECK(faults_on_read(p + MIB));
	CHECK(!munmap(to, 2 * LEN) && !munmap(p, LEN));
}

int main(void)
{
	uint64_t bytes, ranges;

	tiered_start();
	bytes = counter("range_bytes");
	ranges = counter("ranges");
	for (int i = 0; i < 3; i++) {
		grow_in_place();
		grow_by_moving();
		shrink_and_regrow();
		fixed_out_and_in();
		fixed_within();
		middle_part();
		dontunmap();
		shrink_protected();
		mapped_over(0);
		mapped_over(MREMAP_FIXED);
		beside_small_mappings();
		sparse(0);
		sparse(MREMAP_FIXED);
		protected_part();
		errors();
	}
	CHECK(counter("range_bytes") == bytes);
	CHECK(counter("ranges") == ranges);
	CHECK(counter("native_bytes") == 0);
	return tiered_end();
}
