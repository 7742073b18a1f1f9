/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Slots: one process, and what forks, exits, kills and exec do to them.
 */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif
#include <criterion/criterion.h>
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include "backend/store.h"

static struct hz_slots *s;

static pid_t fork_slots(void)
{
	pid_t pid;

	cr_assert_geq(hz_slots_fork_prepare(s), 0);
	pid = fork();
	if (pid == 0) {
		alarm(60);
		hz_slots_fork_child(s);
	} else {
		hz_slots_fork_parent(s, pid);
	}
	return pid;
}

/* The dead are looked for at times only. */
static void pause_ms(long ms)
{
	nanosleep(&(struct timespec){.tv_nsec = ms * 1000000}, NULL);
}

static void take(uint32_t from, uint32_t to)
{
	for (uint32_t i = from; i < to; i++)
		cr_assert_eq(hz_slots_get(s), i);
}

static void end_child(pid_t pid, int signo)
{
	if (signo)
		kill(pid, signo);
	cr_assert_eq(waitpid(pid, NULL, 0), pid);
	pause_ms(50);
}

Test(slots, full_and_free_again)
{
	s = hz_slots_create(200, 100);
	take(0, 100);
	cr_assert_eq(hz_slots_used(s), 100);
	cr_assert_eq(hz_slots_get(s), HZ_NONE);
	hz_slots_put(s, 37);
	hz_slots_put(s, 37);
	cr_assert_eq(hz_slots_used(s), 99);
	cr_assert_eq(hz_slots_get(s), 37);
	cr_assert_eq(hz_slots_get(s), HZ_NONE);
}

Test(slots, holes_come_before_growth)
{
	s = hz_slots_create(1 << 20, 1 << 20);
	take(0, 1000);
	for (uint32_t i = 200; i < 600; i++)
		hz_slots_put(s, i);
	for (int i = 0; i < 200; i++)
		cr_assert_lt(hz_slots_get(s), 1000);
	cr_assert_eq(hz_slots_used(s), 800);
}

Test(slots, neighbours_stay_together)
{
	uint32_t last;

	s = hz_slots_create(1 << 20, 1 << 20);
	take(0, 1000);
	for (uint32_t i = 200; i < 600; i++)
		hz_slots_put(s, i);
	last = hz_slots_get(s);
	for (int i = 0; i < 100; i++) {
		uint32_t slot = hz_slots_get(s);

		cr_assert_eq(slot, last + 1);
		last = slot;
	}
}

Test(slots, no_slot_twice)
{
	static unsigned char held[3000];
	unsigned seed = 7, count = 0;

	s = hz_slots_create(3000, 3000);
	for (int i = 0; i < 200000; i++) {
		uint32_t slot = (uint32_t)rand_r(&seed) % 3000;

		if (held[slot]) {
			hz_slots_put(s, slot);
			held[slot] = 0;
			count--;
		} else {
			slot = hz_slots_get(s);
			cr_assert_lt(slot, 3000);
			cr_assert_eq(held[slot], 0);
			held[slot] = 1;
			count++;
		}
	}
	cr_assert_eq(hz_slots_used(s), count);
}

Test(slots, none_usable)
{
	s = hz_slots_create(1, 0);
	cr_assert_eq(hz_slots_get(s), HZ_NONE);
}

Test(fork, slots_are_shared_until_the_child_ends, .timeout = 60)
{
	pid_t pid;

	s = hz_slots_create(10, 10);
	take(0, 10);
	cr_assert_not(hz_slots_shared(s, 3));
	pid = fork_slots();
	if (!pid)
		for (;;)
			pause();
	cr_assert(hz_slots_shared(s, 3));
	hz_slots_put(s, 3);
	cr_assert_eq(hz_slots_get(s), HZ_NONE, "the child has it still");
	end_child(pid, SIGTERM);
	cr_assert_eq(hz_slots_get(s), 3);
	cr_assert_not(hz_slots_shared(s, 4));
}

Test(fork, a_killed_child_frees_its_own, .timeout = 60)
{
	int pipe_[2];
	pid_t pid;
	char c;

	s = hz_slots_create(10, 10);
	take(0, 4);
	cr_assert_eq(pipe(pipe_), 0);
	pid = fork_slots();
	if (!pid) {
		while (hz_slots_get(s) != HZ_NONE)
			;
		if (write(pipe_[1], "", 1) == 1)
			pause();
		_exit(1);
	}
	cr_assert_eq(read(pipe_[0], &c, 1), 1);
	cr_assert_eq(hz_slots_used(s), 10);
	cr_assert_eq(hz_slots_get(s), HZ_NONE);
	end_child(pid, SIGKILL);
	for (int i = 0; i < 6; i++)
		cr_assert_neq(hz_slots_get(s), HZ_NONE);
	cr_assert_eq(hz_slots_get(s), HZ_NONE);
	cr_assert_eq(hz_slots_used(s), 10);
}

Test(fork, a_zombie_is_dead, .timeout = 60)
{
	siginfo_t info;
	pid_t pid;

	s = hz_slots_create(10, 10);
	take(0, 10);
	pid = fork_slots();
	if (!pid)
		_exit(0);
	cr_assert_eq(waitid(P_PID, (id_t)pid, &info, WEXITED | WNOWAIT), 0);
	pause_ms(50);
	cr_assert_not(hz_slots_shared(s, 0));
	end_child(pid, 0);
}

Test(fork, exec_lets_go, .timeout = 60)
{
	pid_t pid;

	s = hz_slots_create(10, 10);
	take(0, 10);
	pid = fork_slots();
	if (!pid) {
		execlp("sleep", "sleep", "60", (char *)NULL);
		_exit(1);
	}
	while (hz_slots_shared(s, 0))
		pause_ms(25);
	cr_assert_eq(kill(pid, 0), 0, "it lives, as another program");
	end_child(pid, SIGKILL);
}

Test(fork, the_child_frees_what_it_took, .timeout = 60)
{
	pid_t pid;
	int status;

	s = hz_slots_create(10, 10);
	take(0, 5);
	pid = fork_slots();
	if (!pid) {
		uint32_t slot = hz_slots_get(s);

		hz_slots_put(s, slot);
		hz_slots_put(s, 0);
		_exit(slot == 5 && hz_slots_used(s) == 5 ? 0 : 1);
	}
	cr_assert_eq(waitpid(pid, &status, 0), pid);
	cr_assert_eq(status, 0);
	hz_slots_put(s, 0);
	cr_assert_eq(hz_slots_used(s), 4);
}

Test(fork, a_grandchild_keeps_them, .timeout = 60)
{
	int up[2], gone[2];
	pid_t child, grand;

	s = hz_slots_create(10, 10);
	take(0, 10);
	cr_assert_eq(pipe(up), 0);
	cr_assert_eq(pipe(gone), 0);
	child = fork_slots();
	if (!child) {
		grand = fork_slots();
		if (!grand) {
			close(gone[0]); /* only this process has gone[1] */
			pause();
		}
		_exit(write(up[1], &grand, sizeof(grand)) != sizeof(grand));
	}
	close(gone[1]);
	cr_assert_eq(read(up[0], &grand, sizeof(grand)), sizeof(grand));
	end_child(child, 0);
	cr_assert(hz_slots_shared(s, 2), "the grandchild has it");
	kill(grand, SIGKILL);
	cr_assert_eq(read(gone[0], &(char){0}, 1), 0);
	while (hz_slots_shared(s, 2))
		pause_ms(25);
}

Test(fork, a_failed_fork_leaves_nothing)
{
	s = hz_slots_create(10, 10);
	take(0, 5);
	cr_assert_geq(hz_slots_fork_prepare(s), 0);
	cr_assert(hz_slots_shared(s, 1));
	hz_slots_put(s, 1);
	hz_slots_fork_parent(s, -1);
	cr_assert_not(hz_slots_shared(s, 2));
	cr_assert_eq(hz_slots_used(s), 4);
}

Test(fork, processes_are_counted, .timeout = 60)
{
	pid_t pid[63];

	s = hz_slots_create(10, 10);
	take(0, 3);
	for (int i = 0; i < 63; i++) {
		pid[i] = fork_slots();
		if (!pid[i])
			for (;;)
				pause();
	}
	cr_assert_eq(hz_slots_fork_prepare(s), -ENOSPC);
	hz_slots_fork_parent(s, -1);
	end_child(pid[7], SIGKILL);
	cr_assert_geq(hz_slots_fork_prepare(s), 0, "the dead make room");
	hz_slots_fork_parent(s, -1);
	for (int i = 0; i < 63; i++)
		if (i != 7)
			kill(pid[i], SIGKILL);
	while (wait(NULL) > 0)
		;
	pause_ms(50);
	cr_assert_not(hz_slots_shared(s, 0));
}

Test(fork, a_child_without_a_row_gets_none, .timeout = 60)
{
	int status;
	pid_t pid;

	s = hz_slots_create(10, 10);
	take(0, 3);
	pid = fork(); /* as after a prepare that failed */
	if (!pid) {
		hz_slots_fork_child(s);
		hz_slots_put(s, 1);
		_exit(hz_slots_get(s) == HZ_NONE && hz_slots_shared(s, 1) &&
		                      hz_slots_used(s) == 3
		              ? 0
		              : 1);
	}
	cr_assert_eq(waitpid(pid, &status, 0), pid);
	cr_assert_eq(status, 0);
	cr_assert_eq(hz_slots_used(s), 3);
}

/* Children are killed at any point, with the lock too. */
Test(fork, a_kill_at_any_time_breaks_nothing, .timeout = 120)
{
	unsigned seed = 3, mine = 0;

	s = hz_slots_create(500, 500);
	for (int i = 0; i < 60; i++) {
		pid_t pid = fork_slots();

		if (!pid) {
			for (unsigned n = 0;; n++) {
				uint32_t slot = hz_slots_get(s);

				if (slot != HZ_NONE && n % 3)
					hz_slots_put(s, slot);
				else if (slot == HZ_NONE)
					for (uint32_t k = 0; k < 500; k++)
						hz_slots_put(s, k);
			}
		}
		pause_ms(rand_r(&seed) % 8 + 1);
		kill(pid, SIGKILL);
		cr_assert_eq(waitpid(pid, NULL, 0), pid);
	}
	pause_ms(50);
	while (hz_slots_get(s) != HZ_NONE)
		mine++;
	cr_assert_eq(mine, 500);
	cr_assert_eq(hz_slots_used(s), 500);
	for (uint32_t i = 0; i < 500; i++) {
		cr_assert_not(hz_slots_shared(s, i));
		hz_slots_put(s, i);
	}
	cr_assert_eq(hz_slots_used(s), 0);
}
