/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A signal handler that forks, in a program that is nearly always in the map
 * of the GPU's memory: a memset of an area of some thousand tensors, by a
 * driver that does nothing itself. Nobody waits for itself, in the parent or
 * in the child, and the map is as it was.
 */
#include <dlfcn.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>
#include "pieces.h"

#define HANDLED 40

static volatile sig_atomic_t handled, wrong;

static void on_alarm(int sig)
{
	pid_t pid = fork();
	int status;

	if (!pid) {
		driver_memset(area, 0, 1);
		_exit(0);
	}
	if (pid < 0 || waitpid(pid, &status, 0) != pid || status)
		wrong = 1;
	driver_memset(area, 0, 1);
	handled++;
}

static uint64_t tensors(void)
{
	int (*counter)(const char *, uint64_t *) =
		(int (*)(const char *, uint64_t *))dlsym(RTLD_DEFAULT,
							 "horizon_counter");
	uint64_t n = 0;

	return counter && !counter("gpu_tensors", &n) ? n : 0;
}

int main(void)
{
	struct itimerval often = {{0, 2000}, {0, 2000}}, never = {0};
	struct sigaction act = {.sa_handler = on_alarm, .sa_flags = SA_RESTART};

	if (!make_pieces())
		return 1;
	sigaction(SIGALRM, &act, NULL);
	setitimer(ITIMER_REAL, &often, NULL);
	while (handled < HANDLED)
		driver_memset(area, 0, PIECES * PIECE);
	setitimer(ITIMER_REAL, &never, NULL);
	printf("%s, %u tensors\n", wrong ? "wrong" : "right",
	       (unsigned)tensors());
	return wrong;
}
