/* SPDX-License-Identifier: Apache-2.0 */
/*
 * mprotect on tiered memory: the protection holds, the contents stay, and
 * memory that comes later is writable.
 */
#include <sys/mman.h>
#include "tiered.h"

#define LEN (8 * MIB)

static void read_only(void)
{
	char *p = map(LEN);

	fill(p, LEN, 1);
	CHECK(evicted(p, LEN));
	CHECK(!mprotect(p, LEN, PROT_READ));
	CHECK(filled(p, LEN, 1));
	CHECK(faults_on_write(p) && faults_on_write(p + LEN - 1));
	CHECK(!mprotect(p, LEN, RW));
	fill(p, LEN, 2);
	CHECK(filled(p, LEN, 2));
	CHECK(!munmap(p, LEN) && faults_on_read(p));
}

/* A guard in the middle, moved about. */
static void guard(void)
{
	char *p = map(LEN);
	size_t at = 3 * MIB + 8192;

	fill(p, LEN, 3);
	CHECK(evicted(p, LEN));
	CHECK(!mprotect(p + at, 4096, PROT_NONE));
	CHECK(faults_on_read(p + at) && !faults_on_read(p + at - 1) &&
	      !faults_on_read(p + at + 4096));
	evict(p, LEN);
	CHECK(filled(p, at, 3));
	CHECK(filled_at(p + at + 4096, LEN - at - 4096, 3, at + 4096));
	CHECK(!mprotect(p + at, 4096, PROT_NONE));
	CHECK(!mprotect(p + at, 4096, PROT_READ));
	CHECK(faults_on_write(p + at));
	CHECK(!mprotect(p, LEN, PROT_NONE));
	CHECK(faults_on_read(p) && faults_on_read(p + LEN - 1));
	CHECK(!mprotect(p, LEN, PROT_READ));
	CHECK(filled(p, LEN, 3));
	CHECK(!munmap(p + 2 * MIB, 4 * MIB));
	CHECK(faults_on_read(p + at));
	CHECK(!munmap(p, 2 * MIB) && !munmap(p + 6 * MIB, 2 * MIB));
}

/* What was never touched reads as zeros under any protection. */
static void untouched(void)
{
	char *p = map(LEN);

	CHECK(!mprotect(p, LEN, PROT_READ));
	CHECK(zeros(p, LEN));
	CHECK(!mprotect(p, LEN, PROT_NONE));
	CHECK(faults_on_read(p));
	CHECK(!mprotect(p, LEN, RW));
	CHECK(zeros(p, LEN));
	fill(p, LEN, 4);
	CHECK(filled(p, LEN, 4));
	CHECK(!munmap(p, LEN));
}

/* Memory of malloc, left protected by a careless owner; neighbours share its
 * blocks. */
static void of_malloc(void)
{
	size_t n = 6 * MIB + 300 * KIB;
	char *p, *near[8];

	for (int i = 0; i < 8; i++)
		NEED((near[i] = malloc(300 * KIB)));
	p = aligned_alloc(4096, n);
	NEED(p);
	for (int i = 0; i < 8; i++)
		fill(near[i], 300 * KIB, 10 + (unsigned)i);
	fill(p, n, 5);
	evict(p, n);
	CHECK(!mprotect(p, n & ~(size_t)4095, PROT_READ));
	CHECK(filled(p, n, 5));
	CHECK(faults_on_write(p));
	for (int i = 0; i < 8; i++) {
		CHECK(filled(near[i], 300 * KIB, 10 + (unsigned)i));
		fill(near[i], 300 * KIB, 20 + (unsigned)i);
		CHECK(filled(near[i], 300 * KIB, 20 + (unsigned)i));
	}
	CHECK(!mprotect(p, n & ~(size_t)4095, RW));
	free(p);
	for (int i = 0; i < 4; i++) {
		p = i & 1 ? calloc(n, 1) : malloc(n);
		NEED(p);
		CHECK(!(i & 1) || zeros(p, n));
		fill(p, n, 6);
		CHECK(filled(p, n, 6));
		free(p);
	}
	for (int i = 0; i < 8; i++) {
		CHECK(filled(near[i], 300 * KIB, 20 + (unsigned)i));
		free(near[i]);
	}
}

/* free() of memory that is not writable: the next owner can write to it.
 * Only a large mapping survives that in the C library as well. */
static void freed_protected(void)
{
	size_t n = 4 * MIB;
	char *p = aligned_alloc(BLOCK, n);

	NEED(p);
	fill(p, n, 7);
	evict(p, n);
	if (owned(p)) {
		CHECK(!mprotect(p, n, PROT_NONE));
		free(p);
	} else {
		free(p);
	}
	for (int i = 0; i < 3; i++) {
		p = calloc(1, n);
		NEED(p);
		CHECK(zeros(p, n));
		fill(p, n, 8);
		CHECK(filled(p, n, 8));
		free(p);
	}
}

static void errors(void)
{
	char *p = map(LEN);

	errno = 0;
	CHECK(mprotect(p + 1, 4096, PROT_READ) == -1 && errno == EINVAL);
	CHECK(!mprotect(p, 0, PROT_NONE));
	fill(p, LEN, 9);
	CHECK(filled(p, LEN, 9));
	CHECK(!munmap(p, LEN));
	errno = 0;
	CHECK(mprotect(p, LEN, PROT_READ) == -1 && errno == ENOMEM);
	errno = 0;
	CHECK(mprotect(p, LEN, RW) == -1 && errno == ENOMEM);
	CHECK(faults_on_read(p));
}

int main(void)
{
	tiered_start();
	for (int i = 0; i < 3; i++) {
		read_only();
		guard();
		untouched();
		of_malloc();
		freed_protected();
		errors();
	}
	CHECK(counter("native_bytes") == 0);
	return tiered_end();
}
