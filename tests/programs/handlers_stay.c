/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the program set for each signal is still set after memory went out and
 * came back, and is called for the program's own faults: a mapping of a file
 * that became shorter, a null pointer. Runtimes replace such handlers, and
 * others' with them.
 */
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <sys/mman.h>
#include <unistd.h>
#include "tiered.h"

#define LEN (24 * MIB)

static struct sigaction before[NSIG];

static void mine(int sig)
{
}

static void remember(void)
{
	for (int s = 1; s < NSIG; s++)
		sigaction(s, NULL, &before[s]);
}

static void unchanged(void)
{
	for (int s = 1; s < NSIG; s++) {
		struct sigaction now = {0};

		if (sigaction(s, NULL, &now))
			continue;
		CHECK(now.sa_handler == before[s].sa_handler);
		CHECK(now.sa_flags == before[s].sa_flags);
	}
}

static void out_and_in(void)
{
	char *p = map(LEN);

	fill(p, LEN, 1);
	CHECK(evicted(p, LEN));
	CHECK(filled(p, LEN, 1));
	CHECK(!munmap(p, LEN));
}

static sigjmp_buf back;
static volatile sig_atomic_t caught, caught_code;

static void on_bus(int sig, siginfo_t *info, void *context)
{
	caught = sig;
	caught_code = info->si_code;
	siglongjmp(back, 1);
}

/* Whoever uses a file by mmap lives with this. */
static void short_file(void)
{
	char name[] = "/var/tmp/handlers_stay.XXXXXX";
	int fd = mkstemp(name);
	struct sigaction sa = {.sa_sigaction = on_bus, .sa_flags = SA_SIGINFO},
			 old;
	volatile char *p;

	NEED(fd >= 0 && !unlink(name) && !ftruncate(fd, 8192));
	p = mmap(NULL, 8192, RW, MAP_SHARED, fd, 0);
	NEED(p != MAP_FAILED);
	sigaction(SIGBUS, &sa, &old);
	remember();
	out_and_in();
	unchanged();
	NEED(!ftruncate(fd, 0));
	if (!sigsetjmp(back, 1))
		p[4096] = 1;
	CHECK(caught == SIGBUS && caught_code == BUS_ADRERR);
	sigaction(SIGBUS, &old, NULL);
	CHECK(!munmap((void *)p, 8192));
	close(fd);
}

int main(void)
{
	static const int some[] = {SIGSEGV, SIGBUS, SIGUSR1, SIGALRM, SIGCHLD};

	remember();
	tiered_start();
	out_and_in();
	unchanged(); /* nobody set anything */
	for (size_t i = 0; i < sizeof(some) / sizeof(*some); i++)
		signal(some[i], mine);
	remember();
	out_and_in();
	unchanged();
	for (size_t i = 0; i < sizeof(some) / sizeof(*some); i++)
		signal(some[i], SIG_DFL);
	short_file();
	CHECK(faults_on_read(NULL) && faults_on_write(NULL));
	return tiered_end();
}
