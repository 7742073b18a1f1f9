/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the programs of run-tiered.sh share.
 */
#include "tiered.h"

#include <dirent.h>
#include <setjmp.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "horizon.h"

#pragma weak horizon_start
#pragma weak horizon_evict
#pragma weak horizon_owns
#pragma weak horizon_counter

int tiered_failures;
static bool works;

void tiered_fail(const char *file, int line, const char *what)
{
	const char *name = strrchr(file, '/');
	int saved = errno;

	if (__atomic_add_fetch(&tiered_failures, 1, __ATOMIC_RELAXED) > 20)
		return;
	fprintf(stderr, "%s:%d: %s (errno %d, %s)\n", name ? name + 1 : file,
		line, what, saved, works ? "tiered" : "plain");
}

bool tiered_start(void)
{
	setvbuf(stdout, NULL, _IOLBF, 0);
	if (!horizon_start || getenv("TIERED_IDLE"))
		return false;
	if (horizon_start() < 0) {
		fprintf(stderr, "nothing can be tiered on this machine\n");
		_Exit(SKIP);
	}
	works = true;
	return true;
}

int tiered_end(void)
{
	if (!tiered_failures)
		return 0;
	fprintf(stderr, "%d checks failed (%s)\n", tiered_failures,
		works ? "tiered" : "plain");
	return 1;
}

long evict(void *p, size_t len)
{
	return works ? horizon_evict(p, len) : -1;
}

bool evicted(void *p, size_t len)
{
	uintptr_t from = ((uintptr_t)p + BLOCK - 1) / BLOCK;
	uintptr_t to = ((uintptr_t)p + len) / BLOCK;

	return !works || evict(p, len) == (long)(to > from ? to - from : 0);
}

bool evicted_soon(void *p, size_t len)
{
	for (int i = 0; i < 500; i++) {
		if (evicted(p, len))
			return true;
		usleep(20000);
	}
	return false;
}

bool owned(const void *p)
{
	return works && horizon_owns(p);
}

uint64_t counter(const char *name)
{
	uint64_t value = 0;

	if (works && horizon_counter(name, &value) < 0) {
		fprintf(stderr, "no counter %s\n", name);
		_Exit(1);
	}
	return value;
}

char *map(size_t len)
{
	char *p = mmap(NULL, len, RW, ANON, -1, 0);

	NEED(p != MAP_FAILED);
	NEED(!works || owned(p));
	return p;
}

/* ---- patterns ---- */

static uint64_t word_of(size_t word, unsigned seed)
{
	return (word + 1) * 0x9e3779b97f4a7c15u ^ seed * 0xff51afd7ed558ccdu;
}

static unsigned char byte_of(size_t at, unsigned seed)
{
	return (unsigned char)(word_of(at / 8, seed) >> at % 8 * 8);
}

void fill_at(void *p, size_t len, unsigned seed, size_t at)
{
	unsigned char *c = p;
	size_t i = 0;

	for (; i < len && (at + i) % 8; i++)
		c[i] = byte_of(at + i, seed);
	for (; i + 8 <= len; i += 8) {
		uint64_t w = word_of((at + i) / 8, seed);

		memcpy(c + i, &w, 8);
	}
	for (; i < len; i++)
		c[i] = byte_of(at + i, seed);
}

static bool differs(const void *p, size_t i, unsigned have, unsigned want)
{
	fprintf(stderr, "at %p + %#zx: %#x instead of %#x\n", p, i, have,
		want);
	return false;
}

bool filled_at(const void *p, size_t len, unsigned seed, size_t at)
{
	const unsigned char *c = p;

	for (size_t i = 0; i < len; i++) {
		uint64_t w;

		while ((at + i) % 8 == 0 && i + 8 <= len) {
			memcpy(&w, c + i, 8);
			if (w != word_of((at + i) / 8, seed))
				break;
			i += 8;
		}
		if (i < len && c[i] != byte_of(at + i, seed))
			return differs(p, i, c[i], byte_of(at + i, seed));
	}
	return true;
}

bool zeros(const void *p, size_t len)
{
	const unsigned char *c = p;

	for (size_t i = 0; i < len; i++) {
		uint64_t w = 0;

		while (i + 8 <= len && !w) {
			memcpy(&w, c + i, 8);
			i += w ? 0 : 8;
		}
		if (i < len && c[i])
			return differs(p, i, c[i], 0);
	}
	return true;
}

uint32_t rnd(uint32_t *state)
{
	uint32_t x = *state;

	x ^= x << 13;
	x ^= x >> 17;
	x ^= x << 5;
	return *state = x;
}

/* ---- the process ---- */

int open_fds(void)
{
	DIR *d = opendir("/proc/self/fd");
	int n = 0;

	NEED(d);
	while (readdir(d))
		n++;
	closedir(d);
	return n - 3; /* ".", "..", the directory itself */
}

static sigjmp_buf back;

static void jump_back(int sig)
{
	siglongjmp(back, 1);
}

static bool faults(volatile char *p, bool write)
{
	struct sigaction sa = { .sa_handler = jump_back }, old;
	volatile bool hit = true;

	sigaction(SIGSEGV, &sa, &old);
	if (!sigsetjmp(back, 1)) {
		char c = *p;

		if (write)
			*p = c;
		hit = false;
	}
	sigaction(SIGSEGV, &old, NULL);
	return hit;
}

bool faults_on_read(volatile char *p)
{
	return faults(p, false);
}

bool faults_on_write(volatile char *p)
{
	return faults(p, true);
}

int status_of(int pid)
{
	int status;

	if (pid < 0 || waitpid(pid, &status, 0) != pid)
		return -1;
	return WIFSIGNALED(status) ? 128 + WTERMSIG(status) :
				     WEXITSTATUS(status);
}
