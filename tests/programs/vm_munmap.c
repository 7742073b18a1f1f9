/* SPDX-License-Identifier: Apache-2.0 */
/*
 * munmap of all, of the front, the middle, the back, of half blocks: what is
 * gone faults, what is left keeps its contents, a new mapping reads as zeros.
 */
#include <pthread.h>
#include <sys/mman.h>
#include "tiered.h"

#define LEN (16 * MIB)

static void cut(size_t at, size_t n)
{
	char *p = map(LEN);

	fill(p, LEN, 1);
	CHECK(evicted(p, LEN));
	CHECK(!munmap(p + at, n));
	CHECK(faults_on_read(p + at) && faults_on_read(p + at + n - 1));
	CHECK(filled(p, at, 1));
	CHECK(filled_at(p + at + n, LEN - at - n, 1, at + n));
	evict(p, at);
	evict(p + at + n, LEN - at - n);
	CHECK(filled(p, at, 1));
	CHECK(filled_at(p + at + n, LEN - at - n, 1, at + n));
	CHECK(!munmap(p, LEN)); /* holes are no error */
	CHECK(faults_on_read(p) && faults_on_read(p + LEN - 1));
}

static void in_pieces(void)
{
	char *p = map(LEN);

	fill(p, LEN, 2);
	CHECK(evicted(p, LEN));
	for (size_t i = 0; i < LEN; i += MIB) {
		CHECK(filled_at(p + i, LEN - i, 2, i));
		CHECK(!munmap(p + i, MIB));
		CHECK(faults_on_read(p + i));
	}
}

static void reuse(void)
{
	char *p[8];

	for (int round = 0; round < 4; round++) {
		for (int i = 0; i < 8; i++) {
			p[i] = map(LEN / 2);
			CHECK(zeros(p[i], LEN / 2));
			fill(p[i], LEN / 2, (unsigned)i);
		}
		for (int i = 0; i < 8; i++) {
			CHECK(filled(p[i], LEN / 2, (unsigned)i));
			CHECK(!munmap(p[i], LEN / 2));
		}
	}
}

static char *shared_map;

static void *unmap_odd(void *arg)
{
	for (size_t i = BLOCK; i < LEN; i += 2 * BLOCK)
		CHECK(!munmap(shared_map + i, BLOCK));
	return arg;
}

/* Two threads, disjoint parts of one mapping. */
static void by_two(void)
{
	pthread_t t;

	shared_map = map(LEN);
	fill(shared_map, LEN, 3);
	CHECK(evicted(shared_map, LEN));
	CHECK(!mprotect(shared_map + 4 * BLOCK, 2 * BLOCK, PROT_READ));
	NEED(!pthread_create(&t, NULL, unmap_odd, NULL));
	for (size_t i = 0; i < LEN; i += 2 * BLOCK)
		CHECK(!munmap(shared_map + i, BLOCK));
	pthread_join(t, NULL);
	for (size_t i = 0; i < LEN; i += BLOCK)
		CHECK(faults_on_read(shared_map + i));
}

static void errors(void)
{
	char *p = map(LEN);

	fill(p, LEN, 4);
	errno = 0;
	CHECK(munmap(p + 1, LEN - 1) == -1 && errno == EINVAL);
	errno = 0;
	CHECK(munmap(p, 0) == -1 && errno == EINVAL);
	CHECK(filled(p, LEN, 4));
	CHECK(!munmap(p, LEN - 1)); /* rounded up */
	CHECK(faults_on_read(p + LEN - 1));
	CHECK(!munmap(p, LEN)); /* again: nothing there, no error */
}

/* Calls across a hole, small or large, do what they do without Horizon. */
static void across_a_hole(size_t hole)
{
	char *p = map(LEN);

	fill(p, LEN, 9);
	evict(p, LEN);
	CHECK(!munmap(p + 5 * MIB, hole));
	errno = 0;
	CHECK(mremap(p, LEN, 2 * LEN, MREMAP_MAYMOVE) == MAP_FAILED);
	CHECK(errno == EFAULT);
	errno = 0;
	CHECK(msync(p, LEN, MS_SYNC) == -1 && errno == ENOMEM);
	CHECK(filled(p, 5 * MIB, 9));
	CHECK(filled_at(p + 5 * MIB + hole, LEN - 5 * MIB - hole, 9,
			5 * MIB + hole));
	errno = 0;
	CHECK(madvise(p, LEN, MADV_DONTNEED) == -1 && errno == ENOMEM);
	CHECK(zeros(p, 5 * MIB));
	CHECK(zeros(p + 5 * MIB + hole, LEN - 5 * MIB - hole));
	CHECK(faults_on_read(p + 5 * MIB));
	CHECK(!munmap(p, LEN));
}

int main(void)
{
	tiered_start();
	for (int i = 0; i < 3; i++) {
		cut(0, LEN);
		cut(0, 4 * MIB);
		cut(0, 3 * MIB);
		cut(4 * MIB, 4 * MIB);
		cut(5 * MIB, 4 * MIB);
		cut(5 * MIB, 4096);
		cut(LEN - 6 * MIB, 6 * MIB);
		cut(LEN - 3 * MIB, 3 * MIB);
		cut(MIB, LEN - 2 * MIB);
		in_pieces();
		reuse();
		by_two();
		errors();
		across_a_hole(4096);
		across_a_hole(MIB);
		across_a_hole(3 * MIB);
	}
	CHECK(counter("native_bytes") == 0);
	CHECK(counter("ranges") == 0 && counter("range_bytes") == 0);
	return tiered_end();
}
