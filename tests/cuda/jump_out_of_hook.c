/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A signal handler that jumps, in a program that is nearly always in the map
 * of the GPU's memory: another thread, which is there as often, goes on, and
 * so does the one that jumped. The driver does nothing itself, so that the
 * jumps leave nothing of its own behind.
 */
#include <dlfcn.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/time.h>
#include "pieces.h"

#define JUMPS  20

static sigjmp_buf home;
static volatile sig_atomic_t jumps, ready;
static unsigned long others; /* atomic: calls of the other thread */
static bool over;	     /* atomic */

static void on_alarm(int sig)
{
	(void)sig;
	if (!ready)
		return;
	jumps++;
	siglongjmp(home, 1);
}

static void *other(void *arg)
{
	while (!__atomic_load_n(&over, __ATOMIC_RELAXED)) {
		driver_memset(area, 0, PIECES * PIECE);
		__atomic_fetch_add(&others, 1, __ATOMIC_RELAXED);
	}
	return arg;
}

/* It hangs here if the lock was left behind. */
static void sees_others_go_on(void)
{
	unsigned long now = __atomic_load_n(&others, __ATOMIC_RELAXED);

	while (__atomic_load_n(&others, __ATOMIC_RELAXED) < now + 3)
		driver_memset(area, 0, 1);
}

int main(void)
{
	struct itimerval often = {{0, 3000}, {0, 3000}}, never;
	struct sigaction act = {.sa_handler = on_alarm};
	sigset_t alarm_only;
	pthread_t id;

	memset(&never, 0, sizeof(never));
	if (!make_pieces())
		return 1;
	/* The signal is for this thread alone: the other one has none of the
	 * stack that is jumped to. */
	sigemptyset(&alarm_only);
	sigaddset(&alarm_only, SIGALRM);
	pthread_sigmask(SIG_BLOCK, &alarm_only, NULL);
	pthread_create(&id, NULL, other, NULL);
	pthread_sigmask(SIG_UNBLOCK, &alarm_only, NULL);
	sigaction(SIGALRM, &act, NULL);
	setitimer(ITIMER_REAL, &often, NULL);
	while (jumps < JUMPS) {
		if (!sigsetjmp(home, 1)) {
			ready = 1;
			for (;;)
				driver_memset(area, 0, PIECES * PIECE);
		}
		ready = 0;
		sees_others_go_on();
	}
	setitimer(ITIMER_REAL, &never, NULL);
	__atomic_store_n(&over, true, __ATOMIC_RELAXED);
	pthread_join(id, NULL);
	puts("went on");
	return 0;
}
