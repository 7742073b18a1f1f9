/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A private map of a file shows the file where nothing was changed, under
 * whatever pressure, and what is only read is never written to the store.
 */
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tiered.h"

#define PAGE	  ((size_t)4096)
#define ODD	  (3 * PAGE + 123) /* neither a page nor a block */
#define LEN	  (10 * MIB + ODD)
#define BIG	  (96 * MIB) /* more than the budget */
#define SEED	  7
#define TMPFS     0x01021994
#define PIECE	  (128 * KIB)

static bool works;

/* A file with the pattern of SEED; without a name. */
static int make_file(size_t len)
{
	const char *dir = getenv("TMPDIR") ? getenv("TMPDIR") : "/var/tmp";
	char path[512], *buf = malloc(PIECE);
	struct statfs fs;
	int fd;

	NEED(buf);
	snprintf(path, sizeof(path), "%s/file_map.XXXXXX", dir);
	fd = mkstemp(path);
	NEED(fd >= 0 && !unlink(path) && !fstatfs(fd, &fs));
	if (fs.f_type == TMPFS) {
		fprintf(stderr, "%s is in memory: set TMPDIR\n", dir);
		_Exit(SKIP);
	}
	for (size_t at = 0; at < len; at += PIECE) {
		size_t n = len - at < PIECE ? len - at : PIECE;

		fill_at(buf, n, SEED, at);
		NEED(pwrite(fd, buf, n, (off_t)at) == (ssize_t)n);
	}
	free(buf);
	return fd;
}

static char *map_file(int fd, size_t len, size_t off, int more)
{
	char *p = mmap(NULL, len, RW, MAP_PRIVATE | more, fd, (off_t)off);

	NEED(p != MAP_FAILED);
	return p;
}

/* Where the engine works the map must be its own, or the test shows nothing. */
static char *tiered_map(int fd, size_t len, size_t off)
{
	char *p = map_file(fd, len, off, 0);

	NEED(!works || owned(p));
	return p;
}

/* No page of it is mapped any more, where we have it. */
static bool gone(char *p, size_t len)
{
	unsigned char there[LEN / 4096 + 1];
	size_t pages = (len + PAGE - 1) / PAGE;

	if (!owned(p))
		return true;
	evict(p, len);
	NEED(pages <= sizeof(there) && !mincore(p, len, there));
	for (size_t i = 0; i < len / BLOCK * (BLOCK / PAGE); i++)
		if (there[i] & 1)
			return false;
	return true;
}

/* ---- content ---- */

static void content(void)
{
	uint64_t written = counter("store_write");
	uint64_t drops = counter("clean_drops");
	int fd = make_file(LEN);
	char *p = tiered_map(fd, LEN, 0);

	CHECK(!close(fd)); /* nor has it a name */
	for (int i = 0; i < 3; i++) {
		CHECK(filled(p, LEN, SEED));
		CHECK(zeros(p + LEN, PAGE - LEN % PAGE));
		CHECK(gone(p, LEN));
	}
	CHECK(counter("store_write") == written);
	CHECK(!owned(p) || counter("clean_drops") >= drops + 3 * (LEN / BLOCK));
	CHECK(!munmap(p, LEN));
}

static void more_than_the_budget(void)
{
	uint64_t written = counter("store_write");
	int fd = make_file(BIG);
	char *p = tiered_map(fd, BIG, 0);

	for (int i = 0; i < 2; i++)
		CHECK(filled(p, BIG, SEED));
	CHECK(counter("store_write") == written);
	CHECK(!munmap(p, BIG));
	close(fd);
}

static void odd_offset(void)
{
	size_t off = MIB + 5 * PAGE;
	int fd = make_file(LEN);
	char *p = tiered_map(fd, LEN - off, off);

	CHECK(filled_at(p, LEN - off, SEED, off));
	CHECK(gone(p, LEN - off));
	CHECK(filled_at(p, LEN - off, SEED, off));
	CHECK(!munmap(p, LEN - off));
	p = map_file(fd, LEN - off, off, MAP_POPULATE | MAP_NORESERVE);
	CHECK(filled_at(p, LEN - off, SEED, off));
	CHECK(!munmap(p, LEN - off));
	close(fd);
}

static bool file_is(int fd, size_t len)
{
	char *buf = malloc(len);
	bool same;

	NEED(buf && pread(fd, buf, len, 0) == (ssize_t)len);
	same = filled(buf, len, SEED);
	free(buf);
	return same;
}

/* A change stays with its map, in the store and back, and nowhere else. */
static void changes(void)
{
	size_t at = 3 * MIB + 17;
	int fd = make_file(LEN);
	char *p = tiered_map(fd, LEN, 0), *q = tiered_map(fd, LEN, 0);

	for (unsigned i = 0; i < 3; i++) {
		fill_at(p + at, 1000, i, 0);
		CHECK(gone(p, LEN));
		CHECK(filled_at(p, at, SEED, 0));
		CHECK(filled_at(p + at, 1000, i, 0));
		CHECK(filled_at(p + at + 1000, LEN - at - 1000, SEED,
				at + 1000));
	}
	CHECK(!owned(p) || counter("store_write"));
	CHECK(!msync(p, PAGE * (LEN / PAGE), MS_SYNC));
	CHECK(filled(q, LEN, SEED));
	CHECK(file_is(fd, LEN));
	CHECK(!munmap(p, LEN));
	CHECK(filled(q, LEN, SEED));
	CHECK(!munmap(q, LEN));
	close(fd);
}

static void changed_back(void)
{
	uint64_t written = counter("store_write");
	int fd = make_file(LEN);
	char *p = tiered_map(fd, LEN, 0);
	char old = p[BLOCK];

	p[BLOCK] = (char)~old;
	p[BLOCK] = old;
	CHECK(gone(p, LEN));
	CHECK(filled(p, LEN, SEED));
	CHECK(counter("store_write") == written);
	CHECK(!munmap(p, LEN));
	close(fd);
}

static void read_into(void)
{
	int fd = make_file(LEN);
	char *p = tiered_map(fd, LEN, 0);

	CHECK(gone(p, LEN));
	CHECK(pread(fd, p + BLOCK - 100, 300, 0) == 300);
	CHECK(filled_at(p, BLOCK - 100, SEED, 0));
	CHECK(filled_at(p + BLOCK - 100, 300, SEED, 0));
	CHECK(filled_at(p + BLOCK + 200, BLOCK, SEED, BLOCK + 200));
	CHECK(pwrite(fd, p + 2 * BLOCK, MIB, 2 * BLOCK) == MIB);
	CHECK(file_is(fd, LEN));
	CHECK(!munmap(p, LEN));
	close(fd);
}

/* ---- the end of the file ---- */

static sigjmp_buf back;

static void jump_back(int sig)
{
	siglongjmp(back, 1);
}

static bool raises_bus(volatile char *p)
{
	struct sigaction sa = {.sa_handler = jump_back}, old;
	volatile bool hit = true;

	sigaction(SIGBUS, &sa, &old);
	if (!sigsetjmp(back, 1)) {
		(void)*p;
		hit = false;
	}
	sigaction(SIGBUS, &old, NULL);
	return hit;
}

static void truncated(void)
{
	size_t left = 5 * MIB + 10;
	int fd = make_file(LEN);
	char *p = tiered_map(fd, LEN, 0);

	CHECK(filled(p, MIB, SEED));
	CHECK(!ftruncate(fd, (off_t)left));
	CHECK(filled(p, left, SEED));
	CHECK(zeros(p + left, PAGE - left % PAGE));
	CHECK(raises_bus(p + left + PAGE));
	CHECK(raises_bus(p + 4 * BLOCK));
	CHECK(raises_bus(p + LEN - 1));
	CHECK(!ftruncate(fd, LEN)); /* and longer again */
	CHECK(zeros(p + left + PAGE, LEN - left - PAGE));
	p[4 * BLOCK] = 1;
	CHECK(filled(p, left, SEED));
	CHECK(!munmap(p, LEN));
	close(fd);
}

/* Locking or protecting what is not there any more raises no signal. */
static void truncated_calls(void)
{
	int fd = make_file(LEN);
	char *p = tiered_map(fd, LEN, 0);

	CHECK(!ftruncate(fd, MIB));
	mlock(p + 2 * BLOCK, BLOCK);
	munlock(p + 2 * BLOCK, BLOCK);
	CHECK(!mprotect(p + 3 * BLOCK, BLOCK, PROT_READ));
	CHECK(raises_bus(p + 3 * BLOCK));
	CHECK(filled(p, MIB, SEED));
	CHECK(!munmap(p, LEN));
	close(fd);
}

static void beyond_the_end(void)
{
	int fd = make_file(MIB);
	char *p = map_file(fd, LEN, 0, 0);

	CHECK(filled(p, MIB, SEED));
	CHECK(raises_bus(p + MIB));
	CHECK(!munmap(p, LEN));
	close(fd);
}

/* ---- the mmap family ---- */

static void discard(void)
{
	int fd = make_file(LEN);
	char *p = tiered_map(fd, LEN, 0);

	fill(p, LEN, SEED + 1);
	CHECK(madvise(p, BLOCK, MADV_FREE) < 0 && errno == EINVAL);
	CHECK(!madvise(p + BLOCK, BLOCK, MADV_DONTNEED));
	CHECK(filled_at(p + BLOCK, BLOCK, SEED, BLOCK));
	CHECK(gone(p, LEN));
	CHECK(!madvise(p + 3 * BLOCK + PAGE, 3 * PAGE, MADV_DONTNEED));
	CHECK(filled_at(p, BLOCK, SEED + 1, 0));
	CHECK(filled_at(p + 3 * BLOCK, PAGE, SEED + 1, 3 * BLOCK));
	CHECK(filled_at(p + 3 * BLOCK + PAGE, 3 * PAGE, SEED,
			3 * BLOCK + PAGE));
	CHECK(filled_at(p + 3 * BLOCK + 4 * PAGE, BLOCK, SEED + 1,
			3 * BLOCK + 4 * PAGE));
	CHECK(!madvise(p, LEN, MADV_DONTNEED));
	CHECK(filled(p, LEN, SEED));
	CHECK(zeros(p + LEN, PAGE - LEN % PAGE));
	memset(p, 0, LEN);
	CHECK(gone(p, LEN));
	CHECK(zeros(p, LEN));
	CHECK(!madvise(p, LEN, MADV_DONTNEED));
	CHECK(filled(p, LEN, SEED));
	CHECK(!munmap(p, LEN));
	close(fd);
}

static void protect(void)
{
	int fd = make_file(LEN);
	char *p = tiered_map(fd, LEN, 0);

	fill(p + BLOCK, PAGE, SEED + 1);
	CHECK(!mprotect(p + BLOCK, PAGE, PROT_READ)); /* changed */
	CHECK(!mprotect(p + 2 * BLOCK, PAGE, PROT_READ)); /* not */
	CHECK(filled_at(p + BLOCK, PAGE, SEED + 1, 0));
	CHECK(filled_at(p + BLOCK + PAGE, BLOCK - PAGE, SEED, BLOCK + PAGE));
	CHECK(filled_at(p + 2 * BLOCK, BLOCK, SEED, 2 * BLOCK));
	CHECK(faults_on_write(p + BLOCK));
	CHECK(faults_on_write(p + 2 * BLOCK));
	p[2 * BLOCK + PAGE] ^= 1;
	p[2 * BLOCK + PAGE] ^= 1;
	CHECK(!madvise(p, 3 * BLOCK, MADV_DONTNEED));
	CHECK(faults_on_write(p + BLOCK));
	CHECK(!mprotect(p, LEN, RW));
	CHECK(filled(p, LEN, SEED));
	CHECK(!munmap(p, LEN));
	close(fd);
}

static void unmap_parts(void)
{
	int fd = make_file(LEN);
	char *p = tiered_map(fd, LEN, 0);

	p[0] ^= 1;
	CHECK(!munmap(p + PAGE, 2 * PAGE));	     /* changed */
	CHECK(!munmap(p + BLOCK + PAGE, 2 * PAGE)); /* not */
	CHECK(!munmap(p + 2 * BLOCK, BLOCK));
	CHECK(faults_on_read(p + PAGE));
	CHECK(faults_on_read(p + BLOCK + PAGE));
	CHECK(faults_on_read(p + 2 * BLOCK));
	p[0] ^= 1;
	CHECK(filled(p, PAGE, SEED));
	CHECK(filled_at(p + 3 * PAGE, BLOCK - 2 * PAGE, SEED, 3 * PAGE));
	CHECK(gone(p + 3 * BLOCK, BLOCK));
	CHECK(filled_at(p + 3 * BLOCK, LEN - 3 * BLOCK, SEED, 3 * BLOCK));
	CHECK(!munmap(p, LEN));
	close(fd);
}

static void map_over(void)
{
	int fd = make_file(LEN);
	char *p = tiered_map(fd, LEN, 0);
	char *q = mmap(p + BLOCK + PAGE, PAGE, RW, ANON | MAP_FIXED, -1, 0);

	CHECK(q == p + BLOCK + PAGE && zeros(q, PAGE));
	CHECK(filled_at(p + BLOCK, PAGE, SEED, BLOCK));
	CHECK(filled_at(q + PAGE, BLOCK, SEED, BLOCK + 2 * PAGE));
	CHECK(!munmap(p, LEN));
	close(fd);
}

static void remap(void)
{
	size_t half = 2 * BLOCK + PAGE, pages = (LEN + PAGE - 1) / PAGE * PAGE;
	int fd = make_file(LEN);
	char *p = tiered_map(fd, half, 0), *q;

	p[BLOCK + 5] ^= 1;
	p = mremap(p, half, BLOCK + PAGE, MREMAP_MAYMOVE); /* shrink */
	NEED(p != MAP_FAILED);
	q = mremap(p, BLOCK + PAGE, LEN, MREMAP_MAYMOVE); /* and grow */
	NEED(q != MAP_FAILED);
	q[BLOCK + 5] ^= 1;
	CHECK(filled(q, LEN, SEED));
	CHECK(!munmap(q, LEN));
	p = tiered_map(fd, LEN, 0);
	memset(p, 0, PAGE);
	q = mmap(NULL, pages, PROT_NONE, ANON, -1, 0);
	NEED(q != MAP_FAILED);
	CHECK(mremap(p, pages, pages, MREMAP_MAYMOVE | MREMAP_FIXED, q) == q);
	CHECK(zeros(q, PAGE));
	CHECK(filled_at(q + PAGE, LEN - PAGE, SEED, PAGE));
	CHECK(faults_on_read(p));
	CHECK(!munmap(q, LEN));
	/* a part in the middle */
	p = tiered_map(fd, LEN, 0);
	p[BLOCK] ^= 1;
	q = mremap(p + BLOCK, BLOCK, 2 * BLOCK, MREMAP_MAYMOVE);
	NEED(q != MAP_FAILED);
	q[0] ^= 1;
	CHECK(filled_at(q, 2 * BLOCK, SEED, BLOCK));
	CHECK(filled(p, BLOCK, SEED));
	CHECK(faults_on_read(p + BLOCK));
	CHECK(filled_at(p + 2 * BLOCK, LEN - 2 * BLOCK, SEED, 2 * BLOCK));
	CHECK(!munmap(q, 2 * BLOCK));
	CHECK(!munmap(p, LEN));
	close(fd);
}

/* ---- fork ---- */

static int child(char *p, int from_parent)
{
	char c;

	/* Go on when the parent has ended, and its engine with it. */
	if (from_parent >= 0 && read(from_parent, &c, 1))
		return 2;
	if (!filled_at(p, BLOCK, SEED + 1, 0) ||
	    !filled_at(p + BLOCK, LEN - BLOCK, SEED, BLOCK))
		return 3;
	fill(p + BLOCK, BLOCK, SEED + 2);
	if (!gone(p, LEN) || !filled(p + BLOCK, BLOCK, SEED + 2))
		return 4;
	if (madvise(p, LEN, MADV_DONTNEED) || !filled(p, LEN, SEED))
		return 5;
	return tiered_failures != 0;
}

static void forks(void)
{
	int fd = make_file(LEN), pid, status;
	char *p = tiered_map(fd, LEN, 0);

	close(fd);
	fill(p, BLOCK, SEED + 1);
	CHECK(filled_at(p + BLOCK, BLOCK, SEED, BLOCK));
	CHECK(gone(p, LEN));
	pid = fork();
	if (!pid)
		_Exit(child(p, -1));
	status = status_of(pid);
	CHECK(!status);
	CHECK(filled_at(p, BLOCK, SEED + 1, 0));
	CHECK(filled_at(p + BLOCK, LEN - BLOCK, SEED, BLOCK));
	CHECK(!munmap(p, LEN));
}

/* A grandchild whose parent is gone. */
static void forks_and_ends(void)
{
	int fd = make_file(LEN), ends[2], said[2];
	char *p = tiered_map(fd, LEN, 0), c = 1;

	close(fd);
	fill(p, BLOCK, SEED + 1);
	CHECK(gone(p, LEN));
	NEED(!pipe(ends) && !pipe(said));
	if (!fork()) {
		if (!fork()) {
			close(ends[1]);
			c = (char)child(p, ends[0]);
			_Exit(write(said[1], &c, 1) != 1);
		}
		_Exit(0);
	}
	wait(NULL);
	close(ends[1]);
	CHECK(read(said[0], &c, 1) == 1 && !c);
	close(ends[0]);
	close(said[0]);
	close(said[1]);
	CHECK(!munmap(p, LEN));
}

/* ---- what is left to the kernel, and descriptors ---- */

static void not_taken(void)
{
	int fd = make_file(LEN);
	char *p = mmap(NULL, LEN, PROT_READ, MAP_PRIVATE, fd, 0);

	NEED(p != MAP_FAILED);
	CHECK(!owned(p) && filled(p, LEN, SEED));
	CHECK(!munmap(p, LEN));
	p = mmap(NULL, LEN, RW, MAP_SHARED, fd, 0);
	NEED(p != MAP_FAILED);
	CHECK(!owned(p) && filled(p, LEN, SEED));
	CHECK(!munmap(p, LEN));
	CHECK(mmap(NULL, LEN, RW, MAP_PRIVATE, -1, 0) == MAP_FAILED);
	CHECK(errno == EBADF);
	CHECK(mmap(NULL, LEN, RW, MAP_PRIVATE, fd, 100) == MAP_FAILED);
	CHECK(errno == EINVAL);
	close(fd);
}

/* Many maps, one after the other: none keeps its file. */
static void descriptors(void)
{
	int fd = make_file(2 * BLOCK), before = open_fds();

	for (int i = 0; i < 1200; i++) {
		char *p = tiered_map(fd, 2 * BLOCK, 0);

		CHECK(p[i % 100 * PAGE] ||
		      filled_at(p + i % 100 * PAGE, 1, SEED, i % 100 * PAGE));
		CHECK(!munmap(p, 2 * BLOCK));
	}
	CHECK(open_fds() == before);
	close(fd);
}

int main(void)
{
	works = tiered_start();
	content();
	more_than_the_budget();
	odd_offset();
	changes();
	changed_back();
	read_into();
	truncated();
	truncated_calls();
	beyond_the_end();
	discard();
	protect();
	unmap_parts();
	map_over();
	remap();
	forks();
	forks_and_ends();
	not_taken();
	descriptors();
	return tiered_end();
}
