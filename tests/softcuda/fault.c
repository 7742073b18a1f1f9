/* SPDX-License-Identifier: Apache-2.0 */
/*
 * SIGSEGV and SIGBUS. On managed memory they are how residency is noticed;
 * on a thread of the driver anything else ends the entry it runs; whatever is
 * left belongs to the program and goes to the handler that was there before.
 */
#include <setjmp.h>
#include <signal.h>
#include <stdlib.h>
#include "soft.h"

__thread int soft_running_on = -1;
__thread sigjmp_buf *soft_fault_env;

static struct sigaction before[2];

static void pass_on(int sig, siginfo_t *info, void *context)
{
	const struct sigaction *old = &before[sig == SIGBUS];

	if (old->sa_flags & SA_SIGINFO) {
		old->sa_sigaction(sig, info, context);
		return;
	}
	if (old->sa_handler != SIG_DFL && old->sa_handler != SIG_IGN) {
		old->sa_handler(sig);
		return;
	}
	signal(sig, SIG_DFL); /* the instruction runs again, and ends it */
}

static void on_fault(int sig, siginfo_t *info, void *context)
{
	uintptr_t addr = (uintptr_t)info->si_addr;

	/* an address that the kernel did not give is nobody's page */
	if (info->si_code > 0 && soft_phys_fault(addr, soft_running_on))
		return;
	if (soft_fault_env)
		siglongjmp(*soft_fault_env, 1);
	pass_on(sig, info, context);
}

static void arm(void)
{
	struct sigaction act = {.sa_sigaction = on_fault,
				.sa_flags = SA_SIGINFO | SA_NODEFER |
					    SA_ONSTACK};

	sigemptyset(&act.sa_mask);
	sigaction(SIGSEGV, &act, &before[0]);
	sigaction(SIGBUS, &act, &before[1]);
}

void soft_fault_arm(void)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;

	pthread_once(&once, arm);
}
