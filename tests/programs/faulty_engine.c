/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The whole engine on a store that fails: reads and writes that fail, late,
 * in a random order, in pieces, or with a wrong bit. Every case runs in a
 * process of its own, in which threads read, check and change blocks at
 * random, free ranges and allocate them again: so that a block is freed and
 * taken by another thread at any moment of its eviction or return.
 *
 * The linker puts store_faulty in the place of both backends; the case
 * chooses which of them is behind it. See programs.am.
 */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include "base/os.h"
#include "engine_check.h"
#include "horizon.h"
#include "store_faulty.h"

extern const struct hz_store_ops __real_hz_store_threads;
extern const struct hz_store_ops __real_hz_store_uring;

enum { THREADS = 4, RANGES = 7, BLOCKS = 4, STEPS = 300 };

#define BLOCK ((size_t)2 << 20)
#define WORDS (BLOCK / sizeof(uint64_t))

/* One thread's. */
struct range {
	uint64_t *mem;
	uint64_t version[BLOCKS]; /* 0: never written */
	bool lost[BLOCKS];
};

struct mill {
	pthread_t id;
	uint32_t random;
	struct range range[RANGES];
	unsigned lost;
};

struct test {
	const char *name, *io, *verify, *faults;
	int free; /* one step in so many frees a range and allocates another */
	bool pieces; /* transfers come in pieces */
	const char *line; /* must stand on stderr */
	void (*check)(unsigned lost);
};

static const struct test *test;

static uint32_t draw(struct mill *m)
{
	m->random ^= m->random << 13;
	m->random ^= m->random >> 17;
	m->random ^= m->random << 5;
	return m->random;
}

static uint64_t counter(const char *id)
{
	uint64_t v;

	CHECK(horizon_counter(id, &v) == 0);
	return v;
}

/* ---- one block ---- */

static __thread sigjmp_buf caught;
static __thread volatile sig_atomic_t expecting;

static void on_bus(int sig)
{
	if (!expecting)
		_exit(3);
	siglongjmp(caught, 1);
}

static uint64_t word_of(const uint64_t *base, uint64_t version, size_t w)
{
	return ((uintptr_t)base / BLOCK * WORDS + w + version) *
	       0x9e3779b97f4a7c15u;
}

static void use(struct range *r, unsigned b)
{
	uint64_t *p = r->mem + b * WORDS, was = r->version[b];

	for (size_t w = 0; was && w < WORDS; w += 3)
		CHECK(p[w] == word_of(p, was, w));
	r->version[b]++;
	for (size_t w = 0; w < WORDS; w++)
		p[w] = word_of(p, r->version[b], w);
}

/* A lost block raises SIGBUS at each touch; nothing else does. */
static void visit(struct mill *m, struct range *r, unsigned b)
{
	expecting = 1;
	if (!sigsetjmp(caught, 1)) {
		use(r, b);
		CHECK(!r->lost[b]);
	} else if (!r->lost[b]) {
		r->lost[b] = true;
		m->lost++;
	}
	expecting = 0;
}

static void take(struct range *r)
{
	memset(r, 0, sizeof(*r));
	r->mem = horizon_alloc(BLOCKS * BLOCK);
	CHECK(r->mem);
}

static void *grind(void *arg)
{
	struct mill *m = arg;

	for (int step = 0; step < STEPS; step++) {
		struct range *r = &m->range[draw(m) % RANGES];

		visit(m, r, draw(m) % BLOCKS);
		if (test->free && draw(m) % (unsigned)test->free == 0) {
			horizon_free(r->mem);
			take(r);
		}
	}
	return NULL;
}

/* Nothing fails any more: afterwards every block that was lost is known. */
static void visit_all(struct mill *m)
{
	for (unsigned i = 0; i < RANGES; i++)
		for (unsigned b = 0; b < BLOCKS; b++)
			visit(m, &m->range[i], b);
}

/* ---- one case ---- */

static void run_case(void)
{
	static struct mill mill[THREADS];
	struct sigaction act = {.sa_handler = on_bus};
	unsigned lost = 0;

	setenv("HORIZON_RAM", "64M", 1);
	setenv("HORIZON_STORE_SIZE", "1G", 1);
	setenv("HORIZON_IO", test->io, 1);
	setenv("HORIZON_VERIFY", test->verify, 1);
	store_faulty_inner = strcmp(test->io, "uring") ?
				     &__real_hz_store_threads :
				     &__real_hz_store_uring;
	sigaction(SIGBUS, &act, NULL);
	alarm(120);
	if (horizon_start() < 0)
		_exit(77);
	for (unsigned t = 0; t < THREADS; t++) {
		mill[t].random = 12345 + t;
		for (unsigned i = 0; i < RANGES; i++)
			take(&mill[t].range[i]);
	}
	if (test->pieces)
		store_faulty_pieces();
	memset(&store_fault_counts, 0, sizeof(store_fault_counts));
	CHECK(store_faults_parse(test->faults));
	for (unsigned t = 0; t < THREADS; t++)
		CHECK(!pthread_create(&mill[t].id, NULL, grind, &mill[t]));
	for (unsigned t = 0; t < THREADS; t++)
		pthread_join(mill[t].id, NULL);
	memset(&store_faults, 0, sizeof(store_faults));
	for (unsigned t = 0; t < THREADS; t++) {
		visit_all(&mill[t]);
		lost += mill[t].lost;
	}
	CHECK(store_fault_counts.writes > 20);
	test->check(lost);
	_exit(0);
}

static bool said(int fd, const char *line)
{
	static char text[65536];
	size_t n = 0;
	ssize_t got;

	while (n < sizeof(text) - 1 &&
	       (got = read(fd, text + n, sizeof(text) - 1 - n)) > 0)
		n += (size_t)got;
	text[n] = '\0';
	if (line ? strstr(text, line) != NULL : !n)
		return true;
	fprintf(stderr, "%s: expected: %s\n%s", test->name,
		line ? line : "silence", text);
	return false;
}

static int judge(void)
{
	char path[] = "/tmp/horizon-faulty-XXXXXX";
	int fd = mkstemp(path), status;
	pid_t pid;

	CHECK(fd >= 0 && unlink(path) == 0);
	pid = fork();
	CHECK(pid >= 0);
	if (!pid) {
		dup2(fd, 2);
		run_case();
	}
	CHECK(waitpid(pid, &status, 0) == pid);
	lseek(fd, 0, SEEK_SET);
	if (WIFEXITED(status) && WEXITSTATUS(status) == 77)
		return said(fd, "off") ? 77 : 1;
	if (!WIFEXITED(status) || WEXITSTATUS(status)) {
		said(fd, "an exit status of 0");
		fprintf(stderr, "%s: status %x\n", test->name, status);
		return 1;
	}
	status = !said(fd, test->line);
	close(fd);
	return status;
}

/* ---- what must be true afterwards ---- */

static void nothing_lost(unsigned lost)
{
	CHECK(!lost && !counter("poisoned") && !counter("store_errors"));
	CHECK(store_fault_counts.reads > 50 && !counter("over_budget"));
}

static void in_pieces(unsigned lost)
{
	nothing_lost(lost);
	CHECK(store_fault_counts.pieces > 100);
}

/* A read that fails is tried again. */
static void retried(unsigned lost)
{
	CHECK(!lost && !counter("poisoned"));
	CHECK(store_fault_counts.read_errors && counter("store_errors"));
}

/* What is lost is known, and only what was read wrong is lost. */
static void some_lost(unsigned lost)
{
	struct store_fault_counts *c = &store_fault_counts;

	CHECK(lost && lost == counter("poisoned"));
	CHECK(lost <= c->read_errors + c->corrupted);
	CHECK(counter("store_errors") >= lost);
}

/* A lost block that was freed is as good as new. */
static void some_freed(unsigned lost)
{
	CHECK(lost && lost <= counter("poisoned"));
}

static void writes_failed(unsigned lost)
{
	CHECK(!lost && !counter("poisoned"));
	CHECK(store_fault_counts.write_errors);
	/* Some may still be under way. */
	CHECK(counter("store_errors"));
	CHECK(counter("store_errors") <= store_fault_counts.write_errors);
}

static void got_full(unsigned lost)
{
	CHECK(!lost && !counter("poisoned"));
	CHECK(store_fault_counts.full && counter("store_full"));
	CHECK(counter("over_budget"));
	/* Not one vain write for every fault. */
	CHECK(store_fault_counts.full < 200);
}

static const struct test tests[] = {
	{"plain, threads", "threads", "0", "", 9, false, NULL,
	 nothing_lost},
	{"plain, uring", "uring", "1", "", 9, false, NULL, nothing_lost},
	{"late", "uring", "1", "delay-us=2000", 9, false, NULL,
	 nothing_lost},
	{"reordered", "uring", "1", "reorder=1,delay-us=3000,seed=7", 9,
	 false, NULL, nothing_lost},
	{"reordered, threads", "threads", "1", "reorder=1,seed=3", 9, false,
	 NULL, nothing_lost},
	{"freed all the time", "uring", "1", "delay-us=1000", 2, false, NULL,
	 nothing_lost},
	{"in pieces", "threads", "1", "", 9, true, NULL, in_pieces},
	{"some reads fail", "uring", "0", "read-error=23", 9, false, NULL,
	 retried},
	{"some reads fail, threads", "threads", "1",
	 "read-error=7,reorder=1,delay-us=500", 9, false, NULL, retried},
	{"no read succeeds", "uring", "0", "read-error=1", 0, false,
	 "Input/output error", some_lost},
	{"no read succeeds, threads", "threads", "0",
	 "read-error=1,reorder=1", 0, false, "access raises SIGBUS",
	 some_lost},
	{"no read succeeds, freed", "uring", "0", "read-error=1,delay-us=500",
	 9, false, "Input/output error", some_freed},
	{"wrong bits", "uring", "1", "corrupt=5", 0, false,
	 "Bad message", some_lost},
	{"wrong bits, freed", "threads", "1", "corrupt=5,reorder=1", 9,
	 false, "Bad message", some_freed},
	{"write errors", "uring", "0", "write-error=5", 9, false,
	 "a write failed", writes_failed},
	{"write errors, reordered", "threads", "0",
	 "write-error=3,reorder=1,delay-us=1000", 9, false,
	 "a write failed", writes_failed},
	{"full", "uring", "0", "full=20", 0, false, "budget exceeded",
	 got_full},
};

/* faulty_engine [CASE] */
int main(int argc, char **argv)
{
	unsigned ran = 0, bad = 0;

	for (size_t i = 0; i < hz_array_len(tests); i++) {
		int status;

		test = &tests[i];
		if (argc > 1 && strcmp(argv[1], test->name))
			continue;
		status = judge();
		ran += status != 77;
		bad += status == 1;
		if (status)
			fprintf(stderr, "faulty_engine: %s: %s\n", test->name,
				status == 77 ? "skipped" : "FAILED");
	}
	return bad ? 1 : ran ? 0 : 77;
}
