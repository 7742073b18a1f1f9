/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The program sees no descriptor of Horizon's, gets the numbers that it would
 * get without, and may close and overwrite all of them.
 */
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
#include "tiered.h"

#define LEN (16 * MIB)

static char *p;

/* Tiering works, here and in a child. */
static void works(unsigned seed)
{
	char *q = map(100 * MIB);
	pid_t pid;

	fill(q, 100 * MIB, seed + 1);
	fill(p, LEN, seed);
	CHECK(evicted_soon(p, LEN));
	CHECK(filled(p, LEN, seed));
	evict(p, LEN);
	pid = fork();
	if (!pid) {
		CHECK(filled(p, LEN, seed));
		_exit(tiered_end());
	}
	CHECK(status_of(pid) == 0);
	CHECK(filled(q, 100 * MIB, seed + 1));
	CHECK(!munmap(q, 100 * MIB));
}

static void numbers(void)
{
	int first = open("/dev/null", O_RDONLY), second;
	int before = open_fds();

	works(1);
	CHECK(open_fds() == before);
	second = open("/dev/null", O_RDONLY);
	CHECK(second == first + 1);
	close(first);
	close(second);
}

/* What daemons do: by the call, and one by one. */
static void closing(void)
{
	syscall(SYS_close_range, 3u, ~0u, 0u);
	works(3);
	for (int fd = 3; fd < 1024; fd++)
		close(fd);
	works(5);
	for (int fd = 3; fd < 300; fd++)
		CHECK(dup2(2, fd) == fd);
	works(7);
	for (int fd = 3; fd < 300; fd++)
		CHECK(!close(fd));
}

/* No number is left: fork needs none. */
static void exhausted(void)
{
	struct rlimit lim, low;
	int fd, n = 0;

	getrlimit(RLIMIT_NOFILE, &lim);
	low = lim;
	low.rlim_cur = 64;
	setrlimit(RLIMIT_NOFILE, &low);
	while ((fd = dup(2)) >= 0)
		n++;
	CHECK(errno == EMFILE && n > 0);
	works(9);
	syscall(SYS_close_range, 3u, ~0u, 0u);
	setrlimit(RLIMIT_NOFILE, &lim);
}

/* Whoever reads a pipe sees its end when the program closes its own. */
static void end_of_pipe(void)
{
	int fds[2];
	char c;

	NEED(!pipe(fds));
	works(11);
	close(fds[1]);
	CHECK(read(fds[0], &c, 1) == 0);
	close(fds[0]);
}

/* The first tiered allocation, while a pipe is open. */
static void end_of_pipe_early(void)
{
	int fds[2];
	pid_t pid;
	char c;

	NEED(!pipe(fds));
	pid = fork();
	if (!pid) {
		close(fds[0]);
		tiered_start();
		p = map(LEN);
		works(13);
		close(fds[1]);
		pause();
	}
	close(fds[1]);
	alarm(100);
	CHECK(read(fds[0], &c, 1) == 0);
	alarm(0);
	kill(pid, SIGKILL);
	CHECK(status_of(pid) == 128 + SIGKILL);
	close(fds[0]);
}

static bool is_locked(const char *name)
{
	pid_t pid = fork();

	if (!pid) {
		struct flock l = { .l_type = F_WRLCK };
		int fd = open(name, O_RDWR);

		_exit(fd < 0 || fcntl(fd, F_GETLK, &l) < 0 ?
			      99 :
			      l.l_type != F_UNLCK);
	}
	return status_of(pid) == 1;
}

/* A record lock goes when any descriptor of its file is closed in its
 * process; Horizon closes none of the program's. */
static void locks(void)
{
	char name[] = "/var/tmp/descriptors_unseen.XXXXXX";
	struct flock l = { .l_type = F_WRLCK };
	int fd = mkstemp(name);

	NEED(fd >= 0 && !fcntl(fd, F_SETLK, &l));
	CHECK(is_locked(name));
	tiered_start();
	p = p ? p : map(LEN);
	works(15);
	CHECK(is_locked(name));
	unlink(name);
	close(fd);
}

static void *with_own_table(void *arg)
{
	/* as ours do */
	CHECK(!syscall(SYS_close_range, 3u, ~0u, 2u /* UNSHARE */));
	works(17);
	return arg;
}

int main(void)
{
	pthread_t t;

	end_of_pipe_early();
	locks();
	numbers();
	closing();
	end_of_pipe();
	exhausted();
	NEED(!pthread_create(&t, NULL, with_own_table, NULL));
	pthread_join(t, NULL);
	return tiered_end();
}
