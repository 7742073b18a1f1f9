/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The other ways to a new process: vfork, posix_spawn, system, popen, fork
 * and exec; with what they are given in evicted memory. Afterwards nothing
 * is shared: all can be evicted.
 */
#include <spawn.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>
#include "tiered.h"

#define LEN (16 * MIB)

extern char **environ;
static char *p;

/* A command line in blocks that are out. */
static char **arguments(void)
{
	char **argv = (char **)(p + BLOCK);

	argv[0] = strcpy(p + 2 * BLOCK, "sh");
	argv[1] = strcpy(p + 3 * BLOCK, "-c");
	argv[2] = strcpy(p + 4 * BLOCK, "exit 7");
	argv[3] = NULL;
	CHECK(evicted_soon(p, LEN));
	return argv;
}

static void by_spawn(void)
{
	pid_t pid;

	CHECK(!posix_spawn(&pid, "/bin/sh", NULL, NULL, arguments(),
			   environ));
	CHECK(status_of(pid) == 7);
}

static void by_vfork(void)
{
	char **argv = arguments();
	pid_t pid = vfork();

	if (!pid) {
		execv("/bin/sh", argv);
		_exit(99);
	}
	CHECK(status_of(pid) == 7);
}

static void by_fork(void)
{
	char **argv = arguments();
	pid_t pid = fork();

	if (!pid) {
		execv("/bin/sh", argv);
		_exit(99);
	}
	CHECK(status_of(pid) == 7);
}

static void by_system(void)
{
	char *command = strcpy(p + BLOCK, "exit 9");
	int status;

	CHECK(evicted_soon(p, LEN));
	status = system(command);
	CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 9);
}

static void by_popen(void)
{
	FILE *f;
	char *line = p + BLOCK;

	strcpy(line, "echo one two");
	CHECK(evicted_soon(p, LEN));
	f = popen(line, "r");
	NEED(f);
	CHECK(evicted_soon(p, LEN));
	CHECK(fgets(line, 100, f) && !strcmp(line, "one two\n"));
	CHECK(pclose(f) == 0);
}

int main(void)
{
	tiered_start();
	p = map(LEN);
	for (int i = 0; i < 10; i++) {
		by_spawn();
		by_vfork();
		by_fork();
		by_system();
		by_popen();
		fill(p, LEN, (unsigned)i);
		CHECK(evicted_soon(p, LEN));
		CHECK(filled(p, LEN, (unsigned)i));
	}
	return tiered_end();
}
