/* SPDX-License-Identifier: Apache-2.0 */
/*
 * trace_ends VICTIM, under a trace. Threads of the program free what they used
 * while every descriptor that the engine may have in its own table is open here
 * too: the file VICTIM stays empty. And a child that was made behind the C
 * library's back, where no thread of ours lives, comes to its end.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define BYTES ((size_t)64 << 20)

static void allocate_and_free(void)
{
	for (int i = 0; i < 60; i++) {
		char *p = malloc(BYTES), *never = malloc(64 * BYTES);

		if (!p)
			exit(2);
		for (size_t at = 0; at < BYTES; at += 1 << 20)
			p[at] = 1;
		__asm__ volatile("" : : "r"(p), "r"(never) : "memory");
		free(never);
		free(p);
	}
}

int main(int argc, char **argv)
{
	char *hold = malloc(2 * BYTES);
	int status, fd = argc > 1 ? open(argv[1], O_RDWR | O_CREAT, 0600) : -1;
	struct stat st;
	long child;

	if (fd < 0 || !hold)
		return 2;
	memset(hold, 1, 2 * BYTES);
	for (int to = 3; to < 64; to++)
		if (to != fd)
			dup2(fd, to);
	allocate_and_free();
	alarm(60); /* a child that hangs is a failure */
	child = syscall(SYS_fork);
	if (child == 0)
		exit(0);
	if (child < 0 || waitpid((pid_t)child, &status, 0) != child || status)
		return 3;
	if (fstat(fd, &st) || st.st_size)
		return 4;
	puts("ended");
	return hold[BYTES] == 1 ? 0 : 5;
}
