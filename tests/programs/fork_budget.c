/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A child that lives on shares its parent's memory, and the parent changes all
 * of it, many times. The two must not take twice the budget: in a cgroup that
 * is the end of both. (Public reports: loaders that are forked at the start of
 * each epoch, killed by the kernel in the middle of it.)
 *
 * Each process may hold what it works with; what the child has of its parent
 * and does not use has to give way. When the child reads it again, it is what
 * it was at the fork.
 */
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include "tiered.h"

#define BUDGET	 (64 * MIB) /* of run-tiered.sh */
#define SIZE	 (56 * MIB)
#define ROUNDS	 6
#define CHILDREN 2
/* Libraries, our tables and what the children touch. */
#define REST	(24 * MIB)
#define WAIT_MS 60000

static char *data;
static int go[2];

/* Bytes of RAM that count for this process: what is shared in parts. */
static size_t proportional(int pid)
{
	char path[64], line[256];
	size_t kib = 0;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/smaps_rollup", pid);
	f = fopen(path, "r");
	NEED(f);
	while (fgets(line, sizeof(line), f))
		if (sscanf(line, "Pss: %zu", &kib) == 1)
			break;
	fclose(f);
	return kib * KIB;
}

static _Noreturn void child(void)
{
	char c;

	alarm(300);
	NEED(read(go[0], &c, 1) == 1);
	CHECK(filled(data, SIZE, 1));
	fill(data, SIZE, 9);
	CHECK(evicted(data, 4 * MIB));
	CHECK(filled(data, SIZE, 9));
	_exit(tiered_failures != 0);
}

static size_t together(const pid_t *pid)
{
	size_t sum = proportional(getpid());

	for (unsigned i = 0; i < CHILDREN; i++)
		sum += proportional(pid[i]);
	return sum;
}

static bool fits(const pid_t *pid)
{
	size_t sum = 0;

	for (unsigned ms = 0; ms < WAIT_MS; ms += 20) {
		sum = together(pid);
		if (sum <= BUDGET + REST)
			return true;
		nanosleep(&(struct timespec){.tv_nsec = 20000000}, NULL);
	}
	fprintf(stderr, "%zu MiB are in use\n", sum / MIB);
	return false;
}

int main(void)
{
	bool tiered = tiered_start();
	pid_t pid[CHILDREN];

	data = map(SIZE);
	NEED(!pipe(go));
	fill(data, SIZE, 1);
	for (unsigned i = 0; i < CHILDREN; i++) {
		pid[i] = fork();
		NEED(pid[i] >= 0);
		if (!pid[i])
			child();
	}
	for (unsigned n = 0; n < ROUNDS; n++) {
		fill(data, SIZE, 2 + n);
		CHECK(filled(data, SIZE, 2 + n));
	}
	if (tiered)
		CHECK(fits(pid));
	NEED(write(go[1], "go", CHILDREN) == CHILDREN);
	for (unsigned i = 0; i < CHILDREN; i++)
		CHECK(status_of(pid[i]) == 0);
	CHECK(filled(data, SIZE, 1 + ROUNDS));
	if (tiered)
		CHECK(counter("fault_guard") > 0 && counter("fork_told") > 0);
	return tiered_end();
}
