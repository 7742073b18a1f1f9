/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Locks: the order of ranks, in builds that check it, and exclusion.
 */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif
#include <criterion/criterion.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include "base/lock.h"

static struct hz_lock engine = HZ_LOCK_INIT(HZ_RANK_ENGINE, "the engine");
static struct hz_lock other = HZ_LOCK_INIT(HZ_RANK_ENGINE, "another");
static struct hz_lock store = HZ_LOCK_INIT(HZ_RANK_STORE, "the store");

/* Run in a child; its status, and what it said on stderr in `said`. */
static int run(void (*f)(void), char *said, size_t len)
{
	int p[2], status;
	ssize_t n;
	pid_t pid;

	cr_assert_eq(pipe(p), 0);
	pid = fork();
	cr_assert_geq(pid, 0);
	if (!pid) {
		signal(SIGABRT, SIG_DFL);
		dup2(p[1], 2);
		f();
		_exit(0);
	}
	close(p[1]);
	n = read(p[0], said, len - 1);
	said[n > 0 ? n : 0] = '\0';
	close(p[0]);
	cr_assert_eq(waitpid(pid, &status, 0), pid);
	return status;
}

/* `names` may be NULL. Builds without the check let everything pass. */
static void expect_abort(void (*f)(void), const char *first, const char *second)
{
	char said[600];
	int status = run(f, said, sizeof(said));

#ifdef HZ_DEBUG
	cr_expect(WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT,
		  "status %x", status);
	cr_expect(strstr(said, first), "%s", said);
	cr_expect(strstr(said, second), "%s", said);
#else
	cr_expect_eq(status, 0);
	cr_expect_str_eq(said, "");
#endif
}

static void in_order(void)
{
	for (int i = 0; i < 2; i++) {
		hz_lock(&engine);
		hz_lock(&store);
		hz_lock_assert_held(&engine);
		hz_lock_assert_held(&store);
		/* any order of release is right */
		hz_unlock(&engine);
		hz_lock_assert_held(&store);
		hz_unlock(&store);
	}
}

static void out_of_order(void)
{
	hz_lock(&store);
	hz_lock(&engine);
}

static void same_rank(void)
{
	hz_lock(&engine);
	hz_lock(&other);
}

static void not_held(void)
{
	hz_lock(&other);
	hz_lock_assert_held(&engine);
}

Test(lock, ascending_ranks_pass)
{
	char said[600];

	cr_expect_eq(run(in_order, said, sizeof(said)), 0, "%s", said);
}

Test(lock, descending_ranks_abort)
{
	expect_abort(out_of_order, "the engine", "the store");
}

Test(lock, equal_ranks_abort)
{
	expect_abort(same_rank, "the engine", "another");
}

Test(lock, assert_held_aborts)
{
	expect_abort(not_held, "the engine", "not held");
}

Test(lock, scoped)
{
	{
		HZ_SCOPED_LOCK(&engine);
		cr_expect_neq(pthread_mutex_trylock(&engine.mtx), 0);
	}
	cr_expect_eq(pthread_mutex_trylock(&engine.mtx), 0);
	pthread_mutex_unlock(&engine.mtx);
}

static void use_after_reset(void)
{
	hz_lock_reset(&engine);
	alarm(20); /* a lock that is still taken would wait for ever */
	hz_lock(&engine);
	hz_unlock(&engine);
}

Test(lock, reset_frees_it_in_a_child)
{
	char said[600];

	hz_lock(&engine);
	cr_expect_eq(run(use_after_reset, said, sizeof(said)), 0, "%s", said);
	hz_unlock(&engine);
}

static uint64_t total;

static void *add(void *arg)
{
	for (int i = 0; i < 20000; i++) {
		HZ_SCOPED_LOCK(&engine);
		*(volatile uint64_t *)&total = total + 1;
	}
	return NULL;
}

Test(lock, excludes)
{
	pthread_t t[3];

	for (int i = 0; i < 3; i++)
		cr_assert_eq(pthread_create(&t[i], NULL, add, NULL), 0);
	for (int i = 0; i < 3; i++)
		pthread_join(t[i], NULL);
	cr_expect_eq(total, 60000);
}
