/* SPDX-License-Identifier: Apache-2.0 */
/*
 * main of the programs: run both ways, then report the worse status.
 */
#include "both.h"

#include <sys/wait.h>
#include <unistd.h>

#define INNER "BOTH_INNER" /* set in the processes that call run() */

bool preloaded;

static uint64_t pattern(size_t word, unsigned seed)
{
	return (word + 1) * 0x9e3779b97f4a7c15u ^ seed * 0xff51afd7ed558ccdu;
}

void fill(void *p, size_t len, unsigned seed)
{
	char *c = p;
	uint64_t w;

	for (size_t i = 0; i < len; i += sizeof(w)) {
		w = pattern(i / sizeof(w), seed);
		memcpy(c + i, &w, len - i < sizeof(w) ? len - i : sizeof(w));
	}
}

bool filled(const void *p, size_t len, unsigned seed)
{
	const char *c = p;
	size_t i = 0;
	uint64_t w, have;

	for (; i + sizeof(w) <= len; i += sizeof(w)) {
		memcpy(&have, c + i, sizeof(have));
		if (have != pattern(i / sizeof(w), seed))
			return false;
	}
	w = pattern(i / sizeof(w), seed);
	return !memcmp(c + i, &w, len - i);
}

bool all_zero(const void *p, size_t len)
{
	const unsigned char *c = p;

	return !len || (!c[0] && !memcmp(c, c + 1, len - 1));
}

uint32_t rnd(uint32_t *state)
{
	uint32_t x = *state;

	x ^= x << 13;
	x ^= x >> 17;
	x ^= x << 5;
	return *state = x;
}

/* The program again, in a process that differs in LD_PRELOAD only. */
static int inner(char **argv, const char *preload)
{
	int status;
	pid_t pid = fork();

	if (!pid) {
		setenv(INNER, "1", 1);
		if (preload)
			setenv("LD_PRELOAD", preload, 1);
		else
			unsetenv("LD_PRELOAD");
		execv("/proc/self/exe", argv);
		_exit(99);
	}
	if (pid < 0 || waitpid(pid, &status, 0) < 0)
		return 99;
	if (WIFSIGNALED(status)) {
		fprintf(stderr, "%s: signal %d (%s)\n", argv[0],
		        WTERMSIG(status), preload ? "preloaded" : "plain");
		return 1;
	}
	return WEXITSTATUS(status);
}

int main(int argc, char **argv)
{
	const char *preload = getenv("HORIZON_PRELOAD");
	int status;

	if (getenv(INNER)) {
		preloaded = getenv("LD_PRELOAD") != NULL;
		alarm(600); /* a hang is a failure */
		return run();
	}
	if (!preload || access(preload, R_OK)) {
		fprintf(stderr, "%s: HORIZON_PRELOAD names no library\n",
		        argv[0]);
		return 99;
	}
	status = inner(argv, NULL);
	return status ? status : inner(argv, preload);
}
