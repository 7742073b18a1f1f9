/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fork when the program has no free descriptor left: the child reads what was
 * evicted all the same.
 */
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>
#include "tiered.h"

#define LEN (96 * MIB)

static void use_all_descriptors(void)
{
	struct rlimit few = { 64, 64 };

	NEED(setrlimit(RLIMIT_NOFILE, &few) == 0);
	while (dup(0) >= 0 || errno == EINTR)
		;
	NEED(errno == EMFILE);
}

int main(void)
{
	pid_t pid;
	char *p;

	tiered_start();
	p = map(LEN);
	fill(p, LEN, 4);
	CHECK(evicted(p, LEN));
	use_all_descriptors();
	pid = fork();
	NEED(pid >= 0);
	if (!pid) {
		CHECK(filled(p, LEN, 4));
		_exit(tiered_end());
	}
	CHECK(status_of(pid) == 0);
	CHECK(filled(p, LEN, 4));
	return tiered_end();
}
