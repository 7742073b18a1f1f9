/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Handlers of the program run whenever they like, also while Horizon works for
 * the thread that they interrupt, and touch evicted memory: nothing hangs. Its
 * own faults still reach its own SIGSEGV handler, on its own stack.
 */
#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>
#include "tiered.h"

#define LEN (24 * MIB)

static volatile char *touched;
static volatile unsigned ticks, wrong;

static void on_tick(int sig)
{
	size_t at = ticks++ * 37 % (LEN / BLOCK) * BLOCK;
	int saved = errno;

	if (touched[at + 5] != 'x')
		wrong++;
	touched[at + 6] = 'y';
	errno = saved;
}

/* Blocks come and go under a storm of signals. */
static void storm(void)
{
	struct sigaction sa = { .sa_handler = on_tick,
				.sa_flags = SA_RESTART };
	struct itimerval every = { { 0, 500 }, { 0, 500 } }, never = { 0 };

	touched = map(LEN);
	memset((char *)touched, 'x', LEN);
	evict((char *)touched, LEN);
	sigaction(SIGALRM, &sa, NULL);
	setitimer(ITIMER_REAL, &every, NULL);
	for (unsigned i = 0; ticks < 2000; i++) {
		size_t n = 300 * KIB + i % 40 * 131072;
		char *p = malloc(n), *q = map(4 * MIB);

		NEED(p);
		p[0] = q[0] = 1;
		p = realloc(p, 2 * n);
		NEED(p && p[0] == 1);
		CHECK(!madvise(q, 4 * MIB, MADV_DONTNEED) && !q[0]);
		if (i % 8 == 0)
			evict((char *)touched, LEN);
		free(p);
		CHECK(!munmap(q, 4 * MIB));
	}
	setitimer(ITIMER_REAL, &never, NULL);
	CHECK(!wrong);
}

static volatile bool stop;

static void *busy(void *arg)
{
	while (!stop) {
		char *p = malloc(3 * MIB);

		NEED(p);
		p[0] = p[2 * MIB] = 1;
		free(p);
	}
	return arg;
}

/* Directed at a thread of ours or not: ours take none. */
static void to_all(void)
{
	struct timespec ms = { .tv_nsec = 1000000 };
	pthread_t t;

	NEED(!pthread_create(&t, NULL, busy, NULL));
	for (int i = 0; i < 500; i++) {
		kill(getpid(), SIGALRM);
		pthread_kill(t, SIGALRM);
		nanosleep(&ms, NULL);
		if (i % 50 == 0)
			evict((char *)touched, LEN);
	}
	stop = true;
	pthread_join(t, NULL);
	CHECK(!wrong);
}

static sigset_t seen;

static void note_mask(int sig)
{
	pthread_sigmask(SIG_BLOCK, NULL, &seen);
}

/* The mask is the program's own after every call. */
static void masks(void)
{
	struct sigaction sa = { .sa_handler = note_mask };
	sigset_t usr2, now;
	char *p;

	sigemptyset(&usr2);
	sigaddset(&usr2, SIGUSR2);
	pthread_sigmask(SIG_BLOCK, &usr2, NULL);
	p = map(LEN);
	p[0] = 1;
	CHECK(!mprotect(p, 4096, PROT_READ));
	CHECK(!munmap(p, LEN));
	free(malloc(LEN));
	pthread_sigmask(SIG_BLOCK, NULL, &now);
	for (int s = 1; s < 32; s++)
		CHECK(sigismember(&now, s) == (s == SIGUSR2));
	sigaction(SIGUSR1, &sa, NULL);
	raise(SIGUSR1);
	CHECK(sigismember(&seen, SIGUSR2) && !sigismember(&seen, SIGINT));
	pthread_sigmask(SIG_UNBLOCK, &usr2, NULL);
}

static volatile char *faulty;
static volatile int caught, code;
static void *volatile where;
static volatile uintptr_t stack;

static void on_segv(int sig, siginfo_t *info, void *context)
{
	char here;

	caught++;
	code = info->si_code;
	where = info->si_addr;
	stack = (uintptr_t)&here;
	mprotect((void *)((uintptr_t)info->si_addr & ~(uintptr_t)4095), 4096,
		 RW);
}

/* A write barrier, as garbage collectors have it, in tiered memory. */
static void own_faults(void)
{
	static char alternate[64 * KIB];
	stack_t ss = { .ss_sp = alternate, .ss_size = sizeof(alternate) };
	struct sigaction sa = { .sa_sigaction = on_segv,
				.sa_flags = SA_SIGINFO | SA_ONSTACK },
			 old;
	char *p = map(LEN);

	fill(p, LEN, 3);
	evict(p, LEN);
	NEED(!sigaltstack(&ss, NULL));
	sigaction(SIGSEGV, &sa, &old);
	CHECK(!mprotect(p, LEN, PROT_READ));
	for (size_t i = 0; i < LEN; i += 3 * MIB) {
		int before = caught;

		faulty = p + i;
		*faulty = *faulty;
		CHECK(caught == before + 1 && where == p + i);
		CHECK(code == SEGV_ACCERR);
		CHECK(stack - (uintptr_t)alternate < sizeof(alternate));
	}
	sigaction(SIGSEGV, &old, NULL);
	CHECK(!mprotect(p, LEN, RW));
	CHECK(filled(p, LEN, 3));
	CHECK(!munmap(p, LEN));
	CHECK(faults_on_read(NULL));
}

/* The alternate stack itself in evicted memory. */
static void stack_evicted(void)
{
	char *p = map(LEN);
	stack_t ss = { .ss_sp = p, .ss_size = LEN },
		none = { .ss_flags = SS_DISABLE };
	struct sigaction sa = { .sa_handler = note_mask,
				.sa_flags = SA_ONSTACK };

	memset(p, 1, LEN);
	NEED(!sigaltstack(&ss, NULL));
	sigaction(SIGUSR1, &sa, NULL);
	for (int i = 0; i < 5; i++) {
		evict(p, LEN);
		raise(SIGUSR1);
	}
	sigaltstack(&none, NULL);
	CHECK(!munmap(p, LEN));
}

int main(void)
{
	tiered_start();
	storm();
	to_all();
	masks();
	own_faults();
	stack_evicted();
	return tiered_end();
}
