/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Memory that is used all over: what must cost no transfer costs none. Pages
 * of zeros are neither written nor read, a pass over unchanged memory writes
 * nothing, and no more leaves than is asked for. Whatever is saved, the
 * content is right.
 */
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>
#include "tiered.h"

#define LEN   (96 * MIB)
#define PAGE  ((size_t)4096)
#define PAGES (LEN / PAGE)

static uint32_t state = 1;
static uint8_t version[PAGES]; /* 0: the page is all zero */

static bool measured(const char *p)
{
	return owned(p) && !getenv("TIERED_IDLE");
}

static void put(char *p, size_t page, uint8_t v)
{
	version[page] = v;
	if (v)
		fill(p + page * PAGE, PAGE, (unsigned)(page << 8 | v));
	else
		memset(p + page * PAGE, 0, PAGE);
}

static bool right(const char *p, size_t page)
{
	const char *at = p + page * PAGE;

	return version[page] ? filled(at, PAGE,
				      (unsigned)(page << 8 | version[page]))
			     : zeros(at, PAGE);
}

static void check_all(const char *p)
{
	size_t wrong = 0;

	for (size_t i = 0; i < PAGES; i++)
		wrong += !right(p, i);
	CHECK(wrong == 0);
}

static void look_around(const char *p, unsigned n)
{
	for (unsigned i = 0; i < n; i++)
		CHECK(right(p, rnd(&state) % PAGES));
}

/* Every `some`th page has content, and it is known for being used all over. */
static char *sparse(size_t some)
{
	char *p = map(LEN);

	for (size_t i = 0; i < PAGES; i++)
		put(p, i, 1);
	evicted(p, LEN);
	look_around(p, 1000);
	for (size_t i = 0; i < PAGES; i++)
		if (i % some)
			put(p, i, 0);
	evicted(p, LEN);
	return p;
}

/* ---- cases ---- */

static void zeros_are_not_read(void)
{
	char *p = sparse(16);
	uint64_t reads = counter("store_read"), zero = counter("fault_zero");

	for (unsigned i = 0; i < 2000; i++) {
		size_t page = rnd(&state) % PAGES;

		if (page % 16)
			CHECK(right(p, page));
	}
	if (measured(p)) {
		CHECK(counter("store_read") - reads < 4 * MIB);
		CHECK(counter("fault_zero") - zero > 500);
	}
	check_all(p);
	munmap(p, LEN);
}

static void zeros_are_not_written(void)
{
	char *p = sparse(1);
	uint64_t wrote = counter("store_write");

	for (size_t i = 0; i < PAGES; i++)
		put(p, i, 0);
	CHECK(evicted(p, LEN));
	if (measured(p))
		CHECK(counter("store_write") - wrote < 8 * MIB);
	check_all(p);
	/* and some of them are something again */
	for (unsigned i = 0; i < 3000; i++)
		put(p, rnd(&state) % PAGES, (uint8_t)(rnd(&state) % 3));
	CHECK(evicted(p, LEN));
	check_all(p);
	munmap(p, LEN);
}

/* A table that is allocated as zeros, and filled at random. */
static void first_touches_take_a_page(void)
{
	char *p = sparse(1);
	uint64_t wrote;

	CHECK(madvise(p, LEN, MADV_DONTNEED) == 0);
	memset(version, 0, sizeof(version));
	wrote = counter("store_write");
	for (unsigned i = 0; i < 2000; i++)
		put(p, rnd(&state) % PAGES, 1);
	CHECK(evicted(p, LEN));
	if (measured(p))
		CHECK(counter("store_write") - wrote < LEN / 2 + 16 * MIB);
	check_all(p);
	munmap(p, LEN);
}

/* The same from end to end: a block takes some faults, not one for each piece
 * of 16 pages. */
static void first_touches_in_order(void)
{
	char *p = sparse(1);
	uint64_t faults;

	CHECK(madvise(p, LEN, MADV_DONTNEED) == 0);
	memset(version, 0, sizeof(version));
	faults = counter("fault_zero") + counter("piece_faults");
	for (unsigned i = 0; i < PAGES; i++)
		put(p, i, 1);
	if (measured(p))
		CHECK(counter("fault_zero") + counter("piece_faults") - faults <
		      LEN / BLOCK * 24);
	check_all(p);
	munmap(p, LEN);
}

static void pass(const char *p, const char *to)
{
	int fd = open(to, O_WRONLY);

	NEED(fd >= 0);
	for (size_t at = 0; at < LEN; at += MIB)
		CHECK(write(fd, p + at, MIB) == (ssize_t)MIB);
	close(fd);
}

/* A checkpoint: all is read in order, and stays as it is. */
static void a_pass_writes_nothing(void)
{
	char *p = sparse(2);
	uint64_t wrote;

	look_around(p, 1000);
	CHECK(evicted(p, LEN));
	wrote = counter("store_write");
	for (unsigned i = 0; i < 3; i++) {
		pass(p, "/dev/null"); /* which looks at nothing */
		check_all(p);
		look_around(p, 300);
	}
	if (measured(p))
		CHECK(counter("store_write") - wrote < 16 * MIB);
	CHECK(evicted(p, LEN));
	check_all(p);
	munmap(p, LEN);
}

/* Each step of an eviction may free pages that make no frame: a few blocks
 * are wanted, and everything left. */
static void no_more_leaves_than_is_asked_for(void)
{
	char *p = sparse(1), *q;
	uint64_t out;

	look_around(p, 20000); /* memory is full of pages like the slots' */
	q = map(32 * MIB);
	if (measured(p))
		sleep(8); /* the waits for them are forgotten */
	out = counter("move_out_bytes");
	for (size_t at = 0; at < 8 * MIB; at += BLOCK) {
		q[at] = 1;
		if (measured(p))
			usleep(200000); /* a step at a time */
	}
	if (measured(p))
		CHECK(counter("move_out_bytes") - out < 24 * MIB);
	munmap(q, 32 * MIB);
	check_all(p);
	munmap(p, LEN);
}

int main(void)
{
	tiered_start();
	zeros_are_not_read();
	zeros_are_not_written();
	first_touches_take_a_page();
	first_touches_in_order();
	a_pass_writes_nothing();
	no_more_leaves_than_is_asked_for();
	CHECK(counter("poisoned") == 0);
	return tiered_end();
}
