/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whatever way a busy program ends, it ends, and with the status that it
 * would have without Horizon.
 */
#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>
#include "tiered.h"

#define LEN (100 * MIB)

static char *late; /* read and freed after main */

static void *churn(void *arg)
{
	unsigned seed = (unsigned)(uintptr_t)arg;
	char *p = map(LEN / 2);

	for (;;) {
		char *q = malloc(3 * MIB);

		NEED(q);
		fill(p, LEN / 2, seed);
		q[0] = q[2 * MIB] = 1;
		free(q);
	}
	return NULL;
}

static void get_busy(void)
{
	pthread_t t;

	for (uintptr_t i = 0; i < 2; i++)
		NEED(!pthread_create(&t, NULL, churn, (void *)i));
	late = map(LEN / 2);
	fill(late, LEN / 2, 9);
	evict(late, LEN / 2);
}

static void at_exit(void)
{
	char *p = malloc(2 * MIB);

	if (!p || !filled(late, LEN / 2, 9))
		_exit(90);
	fill(p, 2 * MIB, 3);
	free(p);
	munmap(late, LEN / 2);
}

static void *leave(void *arg)
{
	usleep(200000);
	exit(16);
}

static void *leave_later(void *arg)
{
	char *p = map(LEN);

	usleep(200000); /* the first thread is gone */
	fill(p, LEN, 4);
	evict(p, LEN);
	if (!filled(p, LEN, 4))
		exit(91);
	if (status_of(fork() ?: (_exit(filled(p, LEN, 4) ? 5 : 6), 0)) != 5)
		exit(92);
	exit(17);
}

static void end(int how)
{
	pthread_t t;

	switch (how) {
	case 0:
		atexit(at_exit);
		exit(10);
	case 1:
		_exit(11);
	case 2:
		at_quick_exit(at_exit);
		quick_exit(12);
	case 3:
		abort();
	case 4:
		kill(getpid(), SIGKILL);
		pause();
		break;
	case 5:
		*(volatile char *)NULL = 1;
		break;
	case 6:
		NEED(!pthread_create(&t, NULL, leave, NULL));
		for (;;)
			fill(late, LEN / 2, 9);
	case 7:
		NEED(!pthread_create(&t, NULL, leave_later, NULL));
		pthread_exit(NULL);
	case 8:
		execl("/bin/sh", "sh", "-c", "exit 18", NULL);
		break;
	case 9:
		raise(SIGTERM);
		break;
	}
}

int main(void)
{
	static const int expected[] = { 10,	       11,  12, 128 + SIGABRT,
					128 + SIGKILL, 139, 16, 17,
					18,	       128 + SIGTERM };
	struct rlimit none = { 0, 0 };

	setrlimit(RLIMIT_CORE, &none);
	for (int how = 0; how < 10; how++) {
		pid_t pid = fork();
		int status;

		if (!pid) {
			alarm(60);
			tiered_start();
			get_busy();
			end(how);
			_exit(99);
		}
		status = status_of(pid);
		if (status == SKIP)
			return SKIP;
		if (status != expected[how]) {
			fprintf(stderr, "way %d: status %d, not %d\n", how,
				status, expected[how]);
			CHECK(!"the status is the program's own");
		}
	}
	return tiered_end();
}
