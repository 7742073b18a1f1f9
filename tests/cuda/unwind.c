/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A stack can be unwound from the forwarders of the driver's functions: from
 * every single instruction of ours in a first call, which goes the long way,
 * and in a second one, the unwinder comes to the caller; and so it does from
 * inside of the driver. Single steps need the trap flag of an x86.
 */
#include <execinfo.h>
#include <signal.h>
#include <string.h>
#include <ucontext.h>
#include <unwind.h>
#include "driver.h"

#include <dlfcn.h>

static volatile unsigned steps, lost;
static unsigned long first_lost;
static uintptr_t ours_from, ours_to;
static int (*volatile called)(int *);
static volatile unsigned long flag; /* that makes the processor trap */

__attribute__((noinline)) static int caller(int *out);

struct search {
	const void *function;
	bool found;
};

static _Unwind_Reason_Code frame(struct _Unwind_Context *c, void *arg)
{
	struct search *s = arg;
	void *ip = (void *)(_Unwind_GetIP(c) - 1);

	if (_Unwind_FindEnclosingFunction(ip) == s->function)
		s->found = true;
	return s->found ? _URC_END_OF_STACK : _URC_NO_REASON;
}

static bool comes_to(const void *function)
{
	struct search s = {function, false};

	_Unwind_Backtrace(frame, &s);
	return s.found;
}

/* ---- step by step ---- */

#if defined(__x86_64__)
#define TRAP_FLAG 0x100ul

static void on_trap(int sig, siginfo_t *info, void *context)
{
	ucontext_t *u = context;
	uintptr_t at = (uintptr_t)u->uc_mcontext.gregs[REG_RIP];

	(void)sig, (void)info;
	if (at < ours_from || at >= ours_to)
		return;
	steps++;
	if (comes_to((const void *)caller))
		return;
	if (!lost++)
		first_lost = at - ours_from;
}

__attribute__((noinline)) static int caller(int *out)
{
	int rc;

	__asm__ volatile("pushfq; orq %0, (%%rsp); popfq" ::"r"(flag)
			 : "cc", "memory");
	rc = called(out);
	__asm__ volatile("pushfq; andq %0, (%%rsp); popfq" ::"r"(~flag)
			 : "cc", "memory");
	return rc;
}
#else
#define TRAP_FLAG 0ul

static void on_trap(int sig, siginfo_t *info, void *context)
{
	(void)sig, (void)info, (void)context;
}

__attribute__((noinline)) static int caller(int *out)
{
	int rc = called(out);

	__asm__ volatile("" ::: "memory");
	return rc;
}
#endif

/* Where the code of the file is that has the symbol. */
static void find_ours(const void *symbol)
{
	char line[512], file[256];
	uintptr_t from, to;
	Dl_info info;
	FILE *maps = fopen("/proc/self/maps", "r");
	char rights[8];

	expect(maps && dladdr(symbol, &info));
	while (fgets(line, sizeof(line), maps)) {
		if (sscanf(line, "%zx-%zx %7s %*s %*s %*s %255s", &from, &to,
			   rights, file) != 4 ||
		    rights[2] != 'x' || (uintptr_t)symbol < from ||
		    (uintptr_t)symbol >= to)
			continue;
		ours_from = from;
		ours_to = to;
	}
	fclose(maps);
	expect(ours_from);
}

/* ---- from inside of the driver ---- */

static bool seen;

static size_t no_memory(int threads)
{
	void *at[64];
	int n = backtrace(at, 64);

	(void)threads;
	for (int i = 0; i < n; i++)
		seen |= _Unwind_FindEnclosingFunction((char *)at[i] - 1) ==
			(const void *)caller;
	seen &= comes_to((const void *)caller);
	return 0;
}

static int (*occupancy)(int *, int *, CUfunction, size_t (*)(int), size_t, int);

static int through(int *out)
{
	int grid;

	return occupancy(&grid, out, driver_kernel("add"), no_memory, 0, 0);
}

int main(void)
{
	struct sigaction act = {.sa_sigaction = on_trap,
				.sa_flags = SA_SIGINFO};
	int version = 0, block = 0;
	void *warm[4];

	driver_start();
	backtrace(warm, 4); /* loads the unwinder */
	called = (int (*)(int *))driver_symbol("cuDriverGetVersion");
	find_ours((const void *)called);
	sigaction(SIGTRAP, &act, NULL);
	flag = TRAP_FLAG;
	ok(caller(&version));
	expect(version > 0);
	ok(caller(&version));
	if (lost)
		fprintf(stderr, "%u of %u, first at %#lx\n", lost, steps,
			first_lost);
	expect(!lost);
#if defined(__x86_64__)
	/* Saving and restoring alone is 40. */
	expect(steps > (watched() ? 40 : 0));
#endif
	flag = 0;
	occupancy =
		(int (*)(int *, int *, CUfunction, size_t (*)(int), size_t,
			 int))driver_symbol("cuOccupancyMaxPotentialBlockSize");
	called = through;
	ok(caller(&block));
	expect(block > 0 && seen);
	driver_end();
	puts("done");
	return 0;
}
