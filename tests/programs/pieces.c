/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Memory that is used all over is kept in pieces: of a block some pages are
 * mapped, others stored. Whatever the program does to it must do what it does
 * to plain memory.
 */
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
#include "tiered.h"

#define LEN   (96 * MIB)
#define PAGE  ((size_t)4096)
#define PAGES (LEN / PAGE)

static uint32_t state = 1;

static uint64_t *word(char *p, size_t page)
{
	return (uint64_t *)(void *)(p + page * PAGE);
}

static void paint(char *p, size_t pages)
{
	for (size_t i = 0; i < pages; i++)
		for (size_t k = 0; k < PAGE / 8; k++)
			word(p, i)[k] = (i << 16) + k + 1;
}

static bool painted(char *p, size_t page, size_t as)
{
	for (size_t k = 0; k < PAGE / 8; k++)
		if (word(p, page)[k] != (as << 16) + k + 1)
			return false;
	return true;
}

static void check_all(char *p, size_t pages)
{
	size_t wrong = 0;

	for (size_t i = 0; i < pages; i++)
		wrong += !painted(p, i, i);
	CHECK(wrong == 0);
}

/* Touch pages here and there; in a small budget this makes pieces of it. */
static void scatter(char *p, size_t pages, unsigned n)
{
	for (unsigned i = 0; i < n; i++) {
		size_t page = rnd(&state) % pages;

		CHECK(painted(p, page, page));
		if (rnd(&state) & 1)
			word(p, page)[1] = (page << 16) + 2; /* as it was */
	}
}

/* Out with it, then in by single pages. */
static char *in_pieces(void)
{
	uint64_t before;
	char *p = map(LEN);

	paint(p, PAGES);
	evicted(p, LEN);
	before = counter("piece_faults");
	scatter(p, PAGES, 1000);
	if (!getenv("TIERED_IDLE") && owned(p))
		CHECK(counter("piece_faults") > before + 100);
	return p;
}

/* ---- cases ---- */

static void comes_back(void)
{
	char *p = in_pieces();

	for (unsigned i = 0; i < 3; i++) {
		scatter(p, PAGES, 1000);
		check_all(p, PAGES);
	}
	munmap(p, LEN);
}

static void changes_are_kept(void)
{
	char *p = in_pieces();
	uint8_t *version = calloc(PAGES, 1);

	for (unsigned i = 0; i < 4000; i++) {
		size_t page = rnd(&state) % PAGES;

		CHECK(word(p, page)[9] ==
		      (page << 16) + 10 + ((uint64_t)version[page] << 56));
		version[page]++;
		word(p, page)[9] += 1ull << 56;
	}
	for (size_t i = 0; i < PAGES; i++) {
		word(p, i)[9] -= (uint64_t)version[i] << 56;
		CHECK(painted(p, i, i));
	}
	free(version);
	munmap(p, LEN);
}

static void discarded(char *p, size_t page, size_t n, bool unseen)
{
	char *at = p + page * PAGE;

	if (unseen)
		CHECK(syscall(SYS_madvise, at, n * PAGE, MADV_DONTNEED) == 0);
	else
		CHECK(madvise(at, n * PAGE, MADV_DONTNEED) == 0);
	CHECK(zeros(at, n * PAGE));
	for (size_t i = page; i < page + n; i++)
		for (size_t k = 0; k < PAGE / 8; k++)
			word(p, i)[k] = (i << 16) + k + 1;
}

static void pages_are_discarded(void)
{
	char *p = in_pieces();

	for (unsigned i = 0; i < 100; i++) {
		size_t page = rnd(&state) % (PAGES - 600);

		discarded(p, page, 1 + rnd(&state) % 5, false);
		scatter(p, PAGES, 4);
	}
	discarded(p, 700, 600, false);
	/* Only what is mapped: the kernel has nothing of the rest. */
	for (unsigned i = 0; i < 100; i++) {
		size_t page = rnd(&state) % PAGES;

		word(p, page)[5] = (page << 16) + 6;
		discarded(p, page, 1, true);
		scatter(p, PAGES, 4);
	}
	check_all(p, PAGES);
	munmap(p, LEN);
}

static void protection_and_holes(void)
{
	char *p = in_pieces();
	char *part = p + 11 * MIB;

	CHECK(mprotect(part, 64 * KIB, PROT_READ) == 0);
	CHECK(faults_on_write(part + 5 * PAGE));
	CHECK(painted(p, 11 * MIB / PAGE + 5, 11 * MIB / PAGE + 5));
	CHECK(mprotect(part, 64 * KIB, RW) == 0);
	check_all(p, 11 * MIB / PAGE);
	scatter(p, PAGES, 600);
	CHECK(munmap(p + 21 * MIB, 3 * MIB) == 0);
	CHECK(faults_on_read(p + 22 * MIB));
	check_all(p, 21 * MIB / PAGE);
	CHECK(painted(p, 24 * MIB / PAGE, 24 * MIB / PAGE));
	CHECK(painted(p, PAGES - 1, PAGES - 1));
	munmap(p, LEN);
}

static void grows_and_moves(void)
{
	char *p = in_pieces();
	char *q = mremap(p, LEN, LEN + 64 * MIB, MREMAP_MAYMOVE);

	NEED(q != MAP_FAILED);
	check_all(q, PAGES);
	CHECK(zeros(q + LEN, 64 * MIB));
	scatter(q, PAGES, 600);
	p = mremap(q, LEN + 64 * MIB, 16 * MIB, 0);
	CHECK(p == q);
	check_all(q, 16 * MIB / PAGE);
	munmap(q, 16 * MIB);
}

static void child(char *p)
{
	scatter(p, PAGES, 600);
	for (size_t i = 0; i < PAGES; i += 7)
		word(p, i)[0] = 0;
	for (size_t i = 0; i < PAGES; i++)
		CHECK(word(p, i)[0] == (i % 7 ? (i << 16) + 1 : 0) &&
		      word(p, i)[3] == (i << 16) + 4);
	_exit(tiered_failures != 0);
}

static void forks(void)
{
	char *p = in_pieces();

	for (unsigned i = 0; i < 3; i++) {
		pid_t pid = fork();

		NEED(pid >= 0);
		if (!pid)
			child(p);
		scatter(p, PAGES, 600);
		CHECK(status_of(pid) == 0);
		scatter(p, PAGES, 600);
	}
	check_all(p, PAGES);
	munmap(p, LEN);
}

static void system_calls(void)
{
	char *p = in_pieces(), path[] = "pieces-XXXXXX";
	int fd = mkstemp(path);

	NEED(fd >= 0);
	unlink(path);
	for (unsigned i = 0; i < 100; i++) {
		size_t page = rnd(&state) % (PAGES - 8);
		size_t n = (1 + rnd(&state) % 8) * PAGE;

		CHECK(pwrite(fd, p + page * PAGE, n, 0) == (ssize_t)n);
		memset(p + page * PAGE, 0xaa, n);
		scatter(p, page, page > 3 ? 3 : 0);
		CHECK(pread(fd, p + page * PAGE, n, 0) == (ssize_t)n);
	}
	close(fd);
	check_all(p, PAGES);
	munmap(p, LEN);
}

static void freed(void)
{
	char *p = in_pieces(), *q;

	munmap(p, LEN);
	q = map(LEN);
	CHECK(zeros(q, LEN));
	munmap(q, LEN);
	p = in_pieces();
	CHECK(madvise(p, LEN, MADV_DONTNEED) == 0);
	CHECK(zeros(p, LEN));
	munmap(p, LEN);
}

static void locked(void)
{
	char *p = in_pieces();

	CHECK(mlock(p + 8 * MIB, 8 * MIB) == 0);
	scatter(p, PAGES, 600);
	CHECK(munlock(p + 8 * MIB, 8 * MIB) == 0);
	check_all(p, PAGES);
	munmap(p, LEN);
}

int main(void)
{
	tiered_start();
	comes_back();
	changes_are_kept();
	pages_are_discarded();
	protection_and_holes();
	grows_and_moves();
	forks();
	system_calls();
	freed();
	locked();
	CHECK(counter("poisoned") == 0);
	return tiered_end();
}
