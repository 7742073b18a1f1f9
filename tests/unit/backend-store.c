/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Transfers: both backends, and the faulty one without faults, answer to the
 * same cases.
 */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif
#include <criterion/criterion.h>
#include <errno.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <sched.h>
#include <unistd.h>
#include "backend/store.h"
#include "base/knobs.h"
#include "base/os.h"
#include "../programs/store_faulty.h"

#define FOREVER   UINT64_MAX
#define MAX_DEPTH 8

static struct hz_store store;
static struct hz_queue *q;
static struct hz_xfer xfer[MAX_DEPTH];
static unsigned char *mem; /* MAX_DEPTH blocks */

static void open_store(const char *dir, uint64_t blocks)
{
	cr_assert_eq(
	        hz_store_open(&store, dir, blocks << HZ_BLOCK_SHIFT, 0, true),
	        0);
	mem = hz_os_reserve_aligned(MAX_DEPTH * HZ_BLOCK_SIZE, HZ_BLOCK_SIZE);
	cr_assert_not_null(mem);
	for (unsigned i = 0; i < MAX_DEPTH; i++)
		xfer[i] = (struct hz_xfer){.buf = mem + i * HZ_BLOCK_SIZE,
		                           .tag = i};
}

/* Containers may refuse io_uring; that is a case of its own below. */
static void open_queue(const struct hz_store_ops *ops, unsigned depth)
{
	int err = ops->open(&store, depth, 0, &q);

	if (ops == &hz_store_uring && (err == -EPERM || err == -ENOSYS))
		cr_skip("io_uring is refused here");
	cr_assert_eq(err, 0, "%s: %s", ops->name, strerror(-err));
}

static void begin(const struct hz_store_ops *ops, uint64_t blocks)
{
	open_store(".", blocks);
	open_queue(ops, MAX_DEPTH);
}

static void end(const struct hz_store_ops *ops)
{
	ops->close(q);
	hz_store_close(&store);
}

static void paint(void *p, uint64_t seed)
{
	uint64_t *w = p;

	for (size_t i = 0; i < HZ_BLOCK_SIZE / 8; i++)
		w[i] = (seed + 1) * 0x9e3779b97f4a7c15u + i;
}

static bool painted(const void *p, uint64_t seed)
{
	const uint64_t *w = p;

	for (size_t i = 0; i < HZ_BLOCK_SIZE / 8; i++)
		if (w[i] != (seed + 1) * 0x9e3779b97f4a7c15u + i)
			return false;
	return true;
}

/* One transfer from beginning to end; its result. */
static int once(const struct hz_store_ops *ops, struct hz_xfer *x,
                uint32_t slot, bool write)
{
	struct hz_xfer *done;
	unsigned ready;
	int n;

	x->slot = slot;
	x->write = write;
	cr_assert_eq(ops->submit(q, x), 0);
	n = ops->wait(q, FOREVER, &done, 1, &ready);
	cr_assert_eq(n, 1);
	cr_assert_eq(done, x);
	return x->res;
}

/* All of `order` at full depth. */
static void sweep(const struct hz_store_ops *ops, const uint32_t *order,
                  unsigned blocks, bool write)
{
	struct hz_xfer *done[MAX_DEPTH], *idle[MAX_DEPTH];
	unsigned idles = 0, next = 0, ended = 0, ready;

	for (unsigned i = 0; i < MAX_DEPTH; i++)
		idle[idles++] = &xfer[i];
	while (ended < blocks) {
		while (idles && next < blocks) {
			struct hz_xfer *x = idle[--idles];

			x->slot = order[next++];
			x->write = write;
			if (write)
				paint(x->buf, x->slot);
			else
				memset(x->buf, 0x55, HZ_BLOCK_SIZE);
			cr_assert_eq(ops->submit(q, x), 0);
		}
		cr_assert_eq(ops->flush(q), 0);
		int n = ops->wait(q, FOREVER, done, 3, &ready);

		cr_assert_gt(n, 0);
		for (int i = 0; i < n; i++) {
			cr_assert_eq(done[i]->res, 0);
			cr_assert(painted(done[i]->buf, done[i]->slot));
			idle[idles++] = done[i];
			ended++;
		}
	}
}

static void shuffle(uint32_t *order, unsigned n, unsigned seed)
{
	for (unsigned i = 0; i < n; i++)
		order[i] = i;
	for (unsigned i = n - 1; i > 0; i--) {
		unsigned j = (unsigned)rand_r(&seed) % (i + 1);
		uint32_t t = order[i];

		order[i] = order[j];
		order[j] = t;
	}
}

static void blocks_come_back(const struct hz_store_ops *ops)
{
	uint32_t order[64];

	begin(ops, 64);
	shuffle(order, 64, 1);
	sweep(ops, order, 64, true);
	shuffle(order, 64, 2);
	sweep(ops, order, 64, false);
	end(ops);
}

static void wait_times_out(const struct hz_store_ops *ops)
{
	struct hz_xfer *done;
	unsigned ready = 77;
	uint64_t t;

	begin(ops, 4);
	cr_assert_eq(ops->wait(q, 0, &done, 1, &ready), 0);
	cr_assert_eq(ready, 0);
	t = hz_os.now();
	cr_assert_eq(ops->wait(q, 5000000, &done, 1, &ready), 0);
	cr_assert_geq(hz_os.now() - t, 5000000);
	end(ops);
}

static void depth_is_a_limit(const struct hz_store_ops *ops)
{
	struct hz_xfer *done[MAX_DEPTH];
	unsigned ready, got = 0;

	begin(ops, 16);
	for (unsigned i = 0; i < MAX_DEPTH; i++) {
		xfer[i].slot = i;
		xfer[i].write = true;
		cr_assert_eq(ops->submit(q, &xfer[i]), 0);
	}
	cr_assert_eq(ops->submit(q, &xfer[0]), -EAGAIN);
	while (got < MAX_DEPTH)
		got += (unsigned)ops->wait(q, FOREVER, done, MAX_DEPTH, &ready);
	cr_assert_eq(once(ops, &xfer[0], 9, true), 0);
	end(ops);
}

/* A piece moves its own bytes of the slot and no others. */
static void pieces_of_a_block(const struct hz_store_ops *ops)
{
	struct hz_xfer piece = {.from = 3 * 4096, .len = 4096};
	unsigned char *page;

	begin(ops, 4);
	paint(xfer[0].buf, 1);
	cr_assert_eq(once(ops, &xfer[0], 2, true), 0);
	page = xfer[1].buf;
	memset(page, 0xab, 8192);
	piece.buf = page;
	cr_assert_eq(once(ops, &piece, 2, true), 0);
	memset(page, 0x55, 8192);
	cr_assert_eq(once(ops, &piece, 2, false), 0);
	for (unsigned i = 0; i < 8192; i++)
		cr_assert_eq(page[i], i < 4096 ? 0xab : 0x55);
	memset(xfer[2].buf, 0x55, HZ_BLOCK_SIZE);
	cr_assert_eq(once(ops, &xfer[2], 2, false), 0);
	memset((char *)xfer[0].buf + piece.from, 0xab, piece.len);
	cr_assert_arr_eq(xfer[0].buf, xfer[2].buf, HZ_BLOCK_SIZE);
	end(ops);
}

static void fd_wakes_until_drained(const struct hz_store_ops *ops)
{
	int fd[2] = {eventfd(0, EFD_NONBLOCK), eventfd(0, EFD_NONBLOCK)};
	struct hz_xfer *done;
	unsigned ready;

	begin(ops, 4);
	cr_assert_eq(ops->watch(q, fd[0]), 0);
	cr_assert_eq(ops->watch(q, fd[1]), 0);
	cr_assert_eq(ops->wait(q, 0, &done, 1, &ready), 0);
	cr_assert_eq(eventfd_write(fd[1], 1), 0);
	for (int i = 0; i < 3; i++) {
		cr_assert_eq(ops->wait(q, FOREVER, &done, 1, &ready), 0);
		cr_assert_eq(ready, 2);
	}
	eventfd_read(fd[1], &(eventfd_t){0});
	cr_assert_eq(ops->wait(q, 1000000, &done, 1, &ready), 0);
	cr_assert_eq(ready, 0);
	end(ops);
}

static void four_fds_at_most(const struct hz_store_ops *ops)
{
	int fd = eventfd(0, EFD_NONBLOCK);

	begin(ops, 4);
	for (int i = 0; i < 4; i++)
		cr_assert_eq(ops->watch(q, fd), 0);
	cr_assert_eq(ops->watch(q, fd), -ENOSPC);
	end(ops);
}

static void closed_fd_is_an_error(const struct hz_store_ops *ops)
{
	struct hz_xfer *done;
	unsigned ready;

	begin(ops, 4);
	cr_assert_eq(ops->watch(q, 1000), 0);
	cr_assert_eq(ops->wait(q, FOREVER, &done, 1, &ready), -EBADF);
	end(ops);
}

#define PINGS 2000
static struct {
	int ping, pong;
} wire;

static void *ring_the_bell(void *arg)
{
	eventfd_t n;

	for (int i = 0; i < PINGS; i++) {
		eventfd_write(wire.ping, 1);
		while (eventfd_read(wire.pong, &n))
			;
	}
	return NULL;
}

/* Each ping is sent only after the one before was answered: were one lost,
 * both sides would wait for ever. Transfers come and go all the while. */
static void no_wakeup_is_lost(const struct hz_store_ops *ops)
{
	struct hz_xfer *done[MAX_DEPTH];
	unsigned ready, pings = 0, inflight = 0;
	pthread_t bell;
	eventfd_t n;

	begin(ops, 8);
	wire.ping = eventfd(0, EFD_NONBLOCK);
	wire.pong = eventfd(0, 0);
	cr_assert_eq(ops->watch(q, wire.ping), 0);
	cr_assert_eq(pthread_create(&bell, NULL, ring_the_bell, NULL), 0);
	while (pings < PINGS) {
		if (!inflight && pings % 16 == 0) {
			xfer[0].slot = 1;
			xfer[0].write = true;
			cr_assert_eq(ops->submit(q, &xfer[0]), 0);
			inflight = 1;
		}
		int got = ops->wait(q, FOREVER, done, MAX_DEPTH, &ready);

		cr_assert_geq(got, 0);
		inflight -= (unsigned)got;
		if (ready && !eventfd_read(wire.ping, &n)) {
			pings++;
			eventfd_write(wire.pong, 1);
		}
	}
	pthread_join(bell, NULL);
	end(ops);
}

/* The file ends in the middle of slot 1, off every border. */
static void end_of_file_is_an_error(const struct hz_store_ops *ops)
{
	begin(ops, 8);
	cr_assert_eq(ftruncate(store.fd, HZ_BLOCK_SIZE + (1 << 20) + 100), 0);
	cr_assert_eq(once(ops, &xfer[0], 0, false), 0);
	cr_assert_eq(once(ops, &xfer[0], 1, false), -EIO);
	cr_assert_eq(once(ops, &xfer[0], 5, false), -EIO);
	end(ops);
}

static void size_limit_is_an_error(const struct hz_store_ops *ops)
{
	struct rlimit lim = {4 << HZ_BLOCK_SHIFT, RLIM_INFINITY};

	begin(ops, 8);
	signal(SIGXFSZ, SIG_IGN);
	cr_assert_eq(setrlimit(RLIMIT_FSIZE, &lim), 0);
	cr_assert_eq(once(ops, &xfer[0], 3, true), 0);
	cr_assert_eq(once(ops, &xfer[0], 6, true), -EFBIG);
	end(ops);
}

static void full_disk_is_an_error(const struct hz_store_ops *ops)
{
	char dir[] = "store-XXXXXX";
	int res[8];

	cr_assert_not_null(mkdtemp(dir));
	if (unshare(CLONE_NEWNS) ||
	    mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) ||
	    mount("tmpfs", dir, "tmpfs", 0, "size=9m")) {
		rmdir(dir);
		cr_skip("mounting a small file system needs root");
	}
	open_store(dir, 8);
	open_queue(ops, MAX_DEPTH);
	for (uint32_t i = 0; i < 8; i++)
		res[i] = once(ops, &xfer[0], i, true);
	end(ops);
	umount(dir);
	rmdir(dir);
	for (int i = 0; i < 3; i++)
		cr_assert_eq(res[i], 0);
	cr_assert_eq(res[5], -ENOSPC);
	cr_assert_eq(res[6], -ENOSPC);
}

static void child_opens_its_own(const struct hz_store_ops *ops)
{
	int status;
	pid_t pid;

	begin(ops, 8);
	paint(xfer[0].buf, 42);
	cr_assert_eq(once(ops, &xfer[0], 2, true), 0);
	pid = fork();
	if (pid == 0) {
		alarm(30);
		ops->close(q);
		if (ops->open(&store, 2, 0, &q))
			_exit(1);
		memset(xfer[0].buf, 0, HZ_BLOCK_SIZE);
		if (once(ops, &xfer[0], 2, false))
			_exit(2);
		ops->close(q);
		_exit(painted(xfer[0].buf, 42) ? 0 : 3);
	}
	memset(xfer[1].buf, 0, HZ_BLOCK_SIZE);
	cr_assert_eq(once(ops, &xfer[1], 2, false), 0);
	cr_assert(painted(xfer[1].buf, 42));
	cr_assert_eq(waitpid(pid, &status, 0), pid);
	cr_assert_eq(status, 0);
	end(ops);
}

/* A thread with a queue of its own. */
static void *other_user(void *arg)
{
	const struct hz_store_ops *ops = arg;
	unsigned char *buf =
	        hz_os_reserve_aligned(HZ_BLOCK_SIZE, HZ_BLOCK_SIZE);
	struct hz_xfer x = {.buf = buf, .slot = 9}, *done;
	struct hz_queue *mine;
	unsigned ready;
	long bad = 0;

	for (uint64_t round = 0; round < 20; round++) {
		bad += ops->open(&store, 1, 0, &mine) != 0;
		for (int write = 1; write >= 0; write--) {
			x.write = write;
			if (write)
				paint(buf, round);
			bad += ops->submit(mine, &x) != 0;
			bad += ops->wait(mine, FOREVER, &done, 1, &ready) != 1;
			bad += x.res != 0;
		}
		bad += !painted(buf, round);
		ops->close(mine);
	}
	return (void *)bad;
}

static void queues_are_independent(const struct hz_store_ops *ops)
{
	uint32_t order[8];
	pthread_t thread;
	void *bad;

	begin(ops, 16);
	shuffle(order, 8, 3);
	cr_assert_eq(pthread_create(&thread, NULL, other_user, (void *)ops), 0);
	for (int i = 0; i < 10; i++) {
		sweep(ops, order, 8, true);
		sweep(ops, order, 8, false);
	}
	pthread_join(thread, &bad);
	cr_assert_null(bad);
	end(ops);
}

static void probe_accepts(const struct hz_store_ops *ops)
{
	begin(ops, 4);
	cr_assert_eq(hz_store_probe(&store, ops, 0), 0);
	end(ops);
}

/* Wishes that do not come true leave a queue that works. */
static void flags_are_wishes(const struct hz_store_ops *ops)
{
	uint32_t order[16];

	open_store(".", 32);
	open_queue(ops, 1);
	ops->close(q);
	cr_assert_eq(ops->open(&store, MAX_DEPTH,
	                       HZ_QUEUE_SQPOLL | HZ_QUEUE_IOPOLL |
	                               HZ_QUEUE_FIXED_FILE,
	                       &q),
	             0);
	cr_assert_eq(ops->watch(q, eventfd(0, EFD_NONBLOCK)), 0);
	shuffle(order, 16, 4);
	sweep(ops, order, 16, true);
	sweep(ops, order, 16, false);
	end(ops);
}

/* Another file than the store ends where it ends. */
static void another_file(const struct hz_store_ops *ops)
{
	struct hz_xfer x;
	FILE *file = tmpfile();

	begin(ops, 4);
	cr_assert_not_null(file);
	paint(mem, 5);
	cr_assert_eq(fwrite(mem, 1, HZ_BLOCK_SIZE - 100, file),
	             HZ_BLOCK_SIZE - 100);
	cr_assert_eq(fflush(file), 0);
	paint(mem, 6);
	x = (struct hz_xfer){.buf = mem + HZ_BLOCK_SIZE,
	                     .fd = fileno(file),
	                     .at = 4096,
	                     .len = 8192};
	cr_assert_eq(once(ops, &x, 3, false), 0);
	cr_assert_eq(x.done, 8192);
	paint(mem, 5);
	cr_assert_eq(memcmp(mem + HZ_BLOCK_SIZE, mem + 4096, 8192), 0);
	x.len = HZ_BLOCK_SIZE - 4096;
	cr_assert_eq(once(ops, &x, 3, false), 0);
	cr_assert_eq(x.done, HZ_BLOCK_SIZE - 4096 - 100, "%u", x.done);
	cr_assert_eq(memcmp(mem + HZ_BLOCK_SIZE, mem + 4096, x.done), 0);
	x.at = HZ_BLOCK_SIZE;
	cr_assert_eq(once(ops, &x, 3, false), 0);
	cr_assert_eq(x.done, 0);
	fclose(file);
	end(ops);
}

#define EACH_BACKEND(case_)                  \
	Test(uring, case_, .timeout = 120)   \
	{                                    \
		case_(&hz_store_uring);      \
	}                                    \
	Test(threads, case_, .timeout = 120) \
	{                                    \
		case_(&hz_store_threads);    \
	}                                    \
	Test(faulty, case_, .timeout = 120)  \
	{                                    \
		case_(&store_faulty);        \
	}

EACH_BACKEND(blocks_come_back)
EACH_BACKEND(pieces_of_a_block)
EACH_BACKEND(another_file)
EACH_BACKEND(wait_times_out)
EACH_BACKEND(depth_is_a_limit)
EACH_BACKEND(fd_wakes_until_drained)
EACH_BACKEND(four_fds_at_most)
EACH_BACKEND(closed_fd_is_an_error)
EACH_BACKEND(no_wakeup_is_lost)
EACH_BACKEND(end_of_file_is_an_error)
EACH_BACKEND(size_limit_is_an_error)
EACH_BACKEND(full_disk_is_an_error)
EACH_BACKEND(child_opens_its_own)
EACH_BACKEND(queues_are_independent)
EACH_BACKEND(probe_accepts)
EACH_BACKEND(flags_are_wishes)

/* ---- what a result means ---- */

Test(account, short_and_interrupted)
{
	struct hz_store s = {.direct = true, .align = 4096};
	struct hz_xfer x = {.write = false};

	cr_assert_not(hz_xfer_account(&s, &x, -EINTR));
	cr_assert_not(hz_xfer_account(&s, &x, -EAGAIN));
	cr_assert_eq(x.done, 0);
	cr_assert_not(hz_xfer_account(&s, &x, 4096 + 512));
	cr_assert_eq(x.done, 4096, "go on at a border");
	cr_assert(hz_xfer_account(&s, &x, 512));
	cr_assert_eq(x.res, -EIO, "no way forward");
}

Test(account, whole_and_beyond)
{
	struct hz_store s = {.align = 4096};
	struct hz_xfer x = {.write = true};

	cr_assert_not(hz_xfer_account(&s, &x, 1));
	cr_assert_eq(x.done, 1, "buffered I/O has no borders");
	cr_assert(hz_xfer_account(&s, &x, HZ_BLOCK_SIZE - 1));
	cr_assert_eq(x.res, 0);
	x.done = 4096;
	cr_assert(hz_xfer_account(&s, &x, HZ_BLOCK_SIZE));
	cr_assert_eq(x.res, -EIO);
	x.done = 0;
	cr_assert(hz_xfer_account(&s, &x, 0));
	cr_assert_eq(x.res, -EIO);
	cr_assert(hz_xfer_account(&s, &x, -ENOSPC));
	cr_assert_eq(x.res, -ENOSPC);
}

/* ---- a device that moves little at a time ---- */

static int calls;

static ssize_t some(size_t len)
{
	int turn = __atomic_fetch_add(&calls, 1, __ATOMIC_RELAXED);

	if (turn % 3 == 0)
		return -EINTR;
	return len > 300000 ? 300000 + turn : (ssize_t)len;
}

static ssize_t short_pread(int fd, void *buf, size_t len, off_t off)
{
	ssize_t n = some(len);

	return n < 0 ? n : hz_os_linux.pread(fd, buf, len, off) < 0 ? -EIO : n;
}

static ssize_t short_pwrite(int fd, const void *buf, size_t len, off_t off)
{
	ssize_t n = some(len);

	return n < 0 ? n : hz_os_linux.pwrite(fd, buf, len, off) < 0 ? -EIO : n;
}

Test(threads, short_transfers_go_on, .timeout = 60)
{
	uint32_t order[8];

	begin(&hz_store_threads, 8);
	hz_os.pread = short_pread;
	hz_os.pwrite = short_pwrite;
	shuffle(order, 8, 5);
	sweep(&hz_store_threads, order, 8, true);
	sweep(&hz_store_threads, order, 8, false);
	cr_assert_gt(calls, 8 * 2 * 7);
	end(&hz_store_threads);
}

/* ---- io_uring refused, as in a container ---- */

static bool refuse_io_uring(void)
{
	struct sock_filter code[] = {
	        BPF_STMT(BPF_LD | BPF_W | BPF_ABS,
	                 offsetof(struct seccomp_data, nr)),
	        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_io_uring_setup, 0, 1),
	        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
	        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog prog = {hz_array_len(code), code};

	return !prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) &&
	       !prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &prog);
}

Test(uring, refused_by_seccomp)
{
	open_store(".", 4);
	if (!refuse_io_uring())
		cr_skip("no seccomp here");
	errno = 0;
	cr_assert_eq(hz_store_probe(&store, &hz_store_uring, 0), -EPERM);
	cr_assert_eq(errno, 0);
	cr_assert_eq(hz_store_probe(&store, &hz_store_threads, 0), 0);
	hz_store_close(&store);
}

/* ---- the faulty store ---- */

Test(faulty, does_what_it_says, .timeout = 60)
{
	int errors = 0;

	cr_assert(store_faults_parse("read-error=3,full=6,delay-us=100,"
	                             "reorder=1,seed=9"));
	begin(&store_faulty, 8);
	for (uint32_t i = 0; i < 8; i++)
		cr_assert_eq(once(&store_faulty, &xfer[0], i, true),
		             i < 5 ? 0 : -ENOSPC);
	for (uint32_t i = 0; i < 6; i++)
		errors += once(&store_faulty, &xfer[0], i, false) == -EIO;
	cr_assert_eq(errors, 2);
	cr_assert_eq(store_fault_counts.full, 3);
	end(&store_faulty);
}

Test(faulty, spoils_reads, .timeout = 60)
{
	cr_assert(store_faults_parse("corrupt=2"));
	cr_assert_not(store_faults_parse("corupt=2"));
	begin(&store_faulty, 8);
	paint(xfer[0].buf, 5);
	cr_assert_eq(once(&store_faulty, &xfer[0], 0, true), 0);
	cr_assert_eq(once(&store_faulty, &xfer[0], 0, false), 0);
	cr_assert(painted(xfer[0].buf, 5));
	cr_assert_eq(once(&store_faulty, &xfer[0], 0, false), 0);
	cr_assert_not(painted(xfer[0].buf, 5));
	end(&store_faulty);
}
