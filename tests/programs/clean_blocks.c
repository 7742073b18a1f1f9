/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What was only read, what was written again as it was, what is all zeros, and
 * what is gone, is not written to the store: disks wear out.
 */
#include <sys/mman.h>
#include "tiered.h"

#define LEN (24 * MIB)

static void read_only(char *p)
{
	uint64_t written = counter("store_write");
	uint64_t drops = counter("clean_drops");

	for (int i = 0; i < 5; i++) {
		CHECK(filled(p, LEN, 1));
		CHECK(evicted(p, LEN));
	}
	CHECK(counter("store_write") == written);
	CHECK(!owned(p) || counter("clean_drops") >= drops + 5 * LEN / BLOCK);
}

static void written_as_it_was(char *p)
{
	uint64_t written = counter("store_write");

	fill(p, LEN, 1);
	CHECK(evicted(p, LEN));
	CHECK(counter("store_write") == written);
	fill(p, BLOCK, 2); /* and one that is not */
	CHECK(evicted(p, LEN));
	CHECK(!owned(p) || counter("store_write") == written + BLOCK);
	CHECK(filled(p, BLOCK, 2));
	CHECK(filled_at(p + BLOCK, LEN - BLOCK, 1, BLOCK));
}

static void all_zeros(char *p)
{
	uint64_t written = counter("store_write");
	char *q = map(LEN);

	memset(q, 1, LEN);
	memset(q, 0, LEN);
	CHECK(evicted(q, LEN));
	CHECK(zeros(q, LEN));
	memset(p, 0, LEN);
	CHECK(evicted(p, LEN));
	CHECK(zeros(p, LEN));
	CHECK(counter("store_write") == written);
	CHECK(!munmap(q, LEN));
}

static void gone(void)
{
	uint64_t written = counter("store_write");

	for (unsigned i = 0; i < 20; i++) {
		char *q = malloc(LEN / 2);

		NEED(q);
		fill(q, LEN / 2, i);
		free(q);
	}
	CHECK(counter("store_write") == written);
}

int main(void)
{
	char *p;

	tiered_start();
	p = map(LEN);
	fill(p, LEN, 1);
	CHECK(evicted(p, LEN));
	read_only(p);
	written_as_it_was(p);
	all_zeros(p);
	gone();
	CHECK(!munmap(p, LEN));
	return tiered_end();
}
