/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The shared segment: between a writer and a reader, between processes, and
 * what is refused.
 */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif
#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include "base/log.h"
#include "base/os.h"
#include "base/stats.h"
#include "base/util.h"

/* A slot is too large for the stack of a test. */
static struct hz_stats_proc snap;

static void quiet(void)
{
	hz_log_set_level(HZ_ERROR);
}

TestSuite(stats, .init = quiet);

static const char *path_of(int fd)
{
	static char path[64];

	snprintf(path, sizeof(path), "/proc/%d/fd/%d", (int)getpid(), fd);
	return path;
}

/* As horizon-run has it: a segment, and a view of it that may be changed. */
static int make(struct hz_stats_segment **rw)
{
	int fd = hz_stats_create();

	cr_assert_geq(fd, 0);
	*rw = mmap(NULL, sizeof(**rw), PROT_READ | PROT_WRITE, MAP_SHARED, fd,
		   0);
	cr_assert_neq(*rw, MAP_FAILED);
	return fd;
}

static unsigned slots_in_use(const struct hz_stats_segment *s)
{
	unsigned n = 0;

	for (unsigned i = 0; i < HZ_STATS_PROCS; i++)
		n += hz_stats_snapshot(&s->proc[i], &snap);
	return n;
}

static void wait_for(pid_t pid)
{
	int status;

	cr_assert_eq(waitpid(pid, &status, 0), pid);
	cr_assert_eq(status, 0, "status %x", status);
}

Test(stats, the_table)
{
	for (unsigned i = 0; i < HZ_STAT_COUNT; i++) {
		cr_expect(strchr(hz_stat_rows[i].path, '.'));
		for (unsigned j = 0; j < i; j++) {
			cr_expect_str_neq(hz_stat_rows[i].id,
					  hz_stat_rows[j].id);
			cr_expect_str_neq(hz_stat_rows[i].path,
					  hz_stat_rows[j].path);
		}
	}
	cr_expect_str_eq(hz_stat_rows[HZ_STAT_fault_stall].id, "fault_stall");
	cr_expect_eq(hz_stat_rows[HZ_STAT_fault_stall].unit,
		     HZ_UNIT_NANOSECONDS);
	cr_expect_eq(hz_stat_rows[HZ_STAT_ram_peak].kind, HZ_STAT_PEAK);
	cr_expect_str_eq(hz_mode_fault_names[HZ_MODE_FAULT_USER], "user");
	cr_expect_str_eq(hz_mode_io_names[HZ_MODE_IO_THREADS], "threads");
}

Test(stats, a_new_segment)
{
	int err = 1, fd = hz_stats_create();
	const struct hz_stats_segment *s;
	struct stat st;

	cr_assert_geq(fd, 0);
	cr_expect_eq(fcntl(fd, F_GETFD), FD_CLOEXEC);
	s = hz_stats_map(fd, &err);
	cr_assert_not_null(s);
	cr_expect_eq(err, 0);
	cr_assert_eq(fstat(fd, &st), 0);
	cr_expect_eq(st.st_mode & 0777, 0600);
	/* sparse, and of a fixed size */
	cr_expect_lt(st.st_blocks * 512, (off_t)sizeof(*s));
	cr_expect_eq(ftruncate(fd, 4096), -1);
	cr_expect_eq(ftruncate(fd, 1 << 30), -1);
	cr_expect_eq(slots_in_use(s), 0);
}

Test(stats, counters_are_private_at_first)
{
	hz_stat_add(HZ_STAT_fault_demand, 3);
	hz_stat_sub(HZ_STAT_fault_demand, 1);
	cr_expect_eq(hz_stat_get(HZ_STAT_fault_demand), 2);
}

Test(stats, gauges_raise_their_peak)
{
	hz_stat_gauge(HZ_STAT_ram_resident, HZ_STAT_ram_peak, 10);
	hz_stat_gauge(HZ_STAT_ram_resident, HZ_STAT_ram_peak, 4);
	cr_expect_eq(hz_stat_get(HZ_STAT_ram_resident), 4);
	cr_expect_eq(hz_stat_get(HZ_STAT_ram_peak), 10);
}

Test(stats, attach_to_the_jobs_segment)
{
	struct hz_stats_segment *s;
	int fd = make(&s), mine = 99;

	cr_assert_eq(hz_stats_attach(path_of(fd), &mine), 0);
	cr_expect_eq(mine, -1);
	hz_stats_mode(HZ_MODE_FAULT_MOVE, HZ_MODE_IO_URING, NULL);
	hz_stat_add(HZ_STAT_move_in_bytes, 5);

	cr_assert(hz_stats_snapshot(&s->proc[0], &snap));
	cr_expect_eq(snap.pid, (uint32_t)getpid());
	cr_expect_eq(snap.cell[HZ_STAT_move_in_bytes], 5);
	cr_expect_eq(snap.mode_fault, HZ_MODE_FAULT_MOVE);
	cr_expect_eq(snap.mode_io, HZ_MODE_IO_URING);
	cr_expect_str_empty(snap.reason);
	cr_expect_eq(snap.end_ns, 0);
	cr_expect_leq(snap.start_ns, hz_os.now());
	cr_expect_gt(snap.start_ticks, 0);
	cr_expect_str_eq(snap.command, program_invocation_short_name);
	cr_expect_eq(slots_in_use(s), 1);
}

Test(stats, a_segment_of_ones_own)
{
	int fd = -1, err;
	char link[64] = "";
	const struct hz_stats_segment *s;

	cr_assert_eq(hz_stats_attach("", &fd), 0);
	cr_assert_geq(fd, 0);
	cr_assert_gt(readlink(path_of(fd), link, sizeof(link) - 1), 0);
	cr_expect(strstr(link, HZ_STATS_NAME), "%s", link);
	hz_stat_add(HZ_STAT_forks, 1);
	s = hz_stats_map(fd, &err);
	cr_assert_not_null(s);
	cr_assert(hz_stats_snapshot(&s->proc[0], &snap));
	cr_expect_eq(snap.cell[HZ_STAT_forks], 1);
}

Test(stats, what_came_before_the_segment_counts)
{
	int fd;

	hz_stat_add(HZ_STAT_forks, 4);
	hz_stats_mode(HZ_MODE_FAULT_OFF, HZ_MODE_IO_THREADS, "early");
	cr_assert_eq(hz_stats_attach("", &fd), 0);
	hz_stat_add(HZ_STAT_forks, 1);
	cr_assert(hz_stats_snapshot(hz_stats_self, &snap));
	cr_expect_eq(snap.cell[HZ_STAT_forks], 5);
	cr_expect_eq(snap.mode_io, HZ_MODE_IO_THREADS);
	cr_expect_str_eq(snap.reason, "early");
}

Test(stats, reasons_are_cut)
{
	int fd;
	char reason[300];

	cr_assert_eq(hz_stats_attach("", &fd), 0);
	memset(reason, 'r', sizeof(reason));
	reason[299] = '\0';
	hz_stats_mode(HZ_MODE_FAULT_OFF, HZ_MODE_IO_OFF, reason);
	cr_assert(hz_stats_snapshot(hz_stats_self, &snap));
	cr_expect_eq(strlen(snap.reason), sizeof(snap.reason) - 1);
}

/* What other versions would have written. */
Test(stats, foreign_segments_are_refused)
{
	static const struct {
		size_t at, len;
	} fields[] = {
		{offsetof(struct hz_stats_segment, magic), 8},
		{offsetof(struct hz_stats_segment, version), 4},
		{offsetof(struct hz_stats_segment, procs), 4},
		{offsetof(struct hz_stats_segment, table_hash), 8},
		{offsetof(struct hz_stats_segment, size), 8},
	};

	for (unsigned i = 0; i < hz_array_len(fields); i++) {
		struct hz_stats_segment *s;
		int fd = make(&s), err = 0, mine = -1;

		*((unsigned char *)s + fields[i].at) ^= 1;
		cr_expect_null(hz_stats_map(fd, &err));
		cr_expect_eq(err, -EPROTO);
		if (i)
			continue;
		/* a writer leaves it alone and counts in its own */
		cr_expect_eq(hz_stats_attach(path_of(fd), &mine), 0);
		cr_expect_geq(mine, 0);
		cr_expect_eq(s->proc[0].pid, 0);
	}
}

Test(stats, other_files_are_refused)
{
	int err = 0, fd = memfd_create("short", 0);

	cr_assert_eq(ftruncate(fd, 4096), 0);
	cr_expect_null(hz_stats_map(fd, &err));
	cr_expect_eq(err, -EPROTO);
	cr_expect_null(hz_stats_map(-1, &err));
	cr_expect_eq(err, -EBADF);
	cr_expect_eq(hz_stats_attach("/no/such/path", &fd), 0);
	cr_expect_geq(fd, 0);
}

static long refuse_mmap(void *addr, size_t len, int prot, int flags, int fd,
			off_t off)
{
	return -ENOMEM;
}

Test(stats, without_a_segment_counting_goes_on)
{
	int fd = 77;

	hz_log_set_level((enum hz_log_level) - 1);
	hz_os.mmap = refuse_mmap;
	cr_expect_eq(hz_stats_attach("", &fd), -ENOMEM);
	cr_expect_eq(fd, 77);
	hz_stat_add(HZ_STAT_forks, 2);
	cr_expect_eq(hz_stat_get(HZ_STAT_forks), 2);
	hz_stats_child();
	cr_expect_eq(hz_stat_get(HZ_STAT_forks), 0);
}

static void count_alone(const char *path)
{
	int fd;

	if (hz_stats_attach(path, &fd) || fd != -1)
		_exit(1);
	for (int i = 0; i < 50000; i++)
		hz_stat_add(HZ_STAT_fault_zero, 1);
	_exit(0);
}

Test(stats, two_processes_add)
{
	struct hz_stats_segment *s;
	int fd = make(&s);
	const char *path = path_of(fd);
	pid_t pid[2];

	for (int i = 0; i < 2; i++) {
		pid[i] = fork();
		if (!pid[i])
			count_alone(path);
	}
	wait_for(pid[0]);
	wait_for(pid[1]);
	for (int i = 0; i < 2; i++) {
		cr_assert(hz_stats_snapshot(&s->proc[i], &snap));
		cr_expect_eq(snap.cell[HZ_STAT_fault_zero], 50000);
		cr_expect(snap.pid == (uint32_t)pid[0] ||
			  snap.pid == (uint32_t)pid[1]);
	}
	cr_expect_eq(slots_in_use(s), 2);
}

static void count_as_child(void)
{
	hz_stats_child();
	for (unsigned i = 0; i < HZ_STAT_COUNT; i++)
		if (hz_stat_get(i))
			_exit(1);
	hz_stat_add(HZ_STAT_fault_zero, 7);
	_exit(0);
}

Test(stats, a_forked_child_counts_in_its_own_slot)
{
	struct hz_stats_segment *s;
	int fd = make(&s), mine;
	struct hz_stats_range r = {.kind = 1, .start = 4096};
	pid_t pid;

	cr_assert_eq(hz_stats_attach(path_of(fd), &mine), 0);
	hz_stats_mode(HZ_MODE_FAULT_MOVE, HZ_MODE_IO_URING, "");
	hz_stats_put_range(0, &r);
	hz_stat_add(HZ_STAT_fault_zero, 100);
	pid = fork();
	if (!pid)
		count_as_child();
	wait_for(pid);
	cr_assert(hz_stats_snapshot(&s->proc[0], &snap));
	cr_expect_eq(snap.cell[HZ_STAT_fault_zero], 100);
	cr_assert(hz_stats_snapshot(&s->proc[1], &snap));
	cr_expect_eq(snap.pid, (uint32_t)pid);
	cr_expect_eq(snap.cell[HZ_STAT_fault_zero], 7);
	cr_expect_eq(snap.mode_fault, HZ_MODE_FAULT_MOVE);
	cr_expect_not(hz_stats_snapshot_range(&s->proc[1].range[0], &r));
}

/* Full of processes that run; then one of them is known to have ended. */
Test(stats, slots_of_the_ended_are_used_again)
{
	struct hz_stats_segment *s;
	int fd = make(&s), mine = -1;
	struct hz_stats_range r;

	for (unsigned i = 0; i < HZ_STATS_PROCS; i++) {
		s->proc[i].pid = 1000000 + i;
		s->proc[i].start_ns = 1;
	}
	cr_expect_eq(hz_stats_attach(path_of(fd), &mine), 0);
	cr_expect_geq(mine, 0); /* a segment of its own */

	s->proc[77].cell[HZ_STAT_forks] = 5;
	s->proc[77].range[3].kind = 1;
	s->proc[77].end_ns = 12345;
	cr_expect_eq(hz_stats_attach(path_of(fd), &mine), 0);
	cr_expect_eq(mine, -1);
	cr_expect_eq(hz_stats_self->pid, (uint32_t)getpid());
	cr_assert(hz_stats_snapshot(&s->proc[77], &snap));
	cr_expect_eq(snap.pid, (uint32_t)getpid());
	cr_expect_eq(snap.end_ns, 0);
	cr_expect_eq(snap.cell[HZ_STAT_forks], 0);
	cr_expect_not(hz_stats_snapshot_range(&s->proc[77].range[3], &r));
}

Test(stats, range_rows)
{
	int fd;
	struct hz_stats_range out, in = {.kind = 2,
					 .start = 0x7000,
					 .bytes = 10,
					 .resident_bytes = 4,
					 .store_bytes = 6,
					 .faults = 3,
					 .last_fault = 9};

	cr_assert_eq(hz_stats_attach("", &fd), 0);
	hz_stats_put_range(HZ_STATS_RANGES - 1, &in);
	cr_assert(hz_stats_snapshot_range(
		&hz_stats_self->range[HZ_STATS_RANGES - 1], &out));
	cr_expect(!memcmp(&in, &out, sizeof(in)));
	in.kind = 0;
	hz_stats_put_range(HZ_STATS_RANGES - 1, &in);
	cr_expect_not(hz_stats_snapshot_range(
		&hz_stats_self->range[HZ_STATS_RANGES - 1], &out));
}

/* All fields of one write are the same number, so a mixture shows. */
static void write_for_ever(const char *path)
{
	int fd;
	char reason[128];

	if (hz_stats_attach(path, &fd))
		_exit(1);
	for (uint64_t k = 1;; k++) {
		struct hz_stats_range r = {1 + k % 2, 1 + k % 2, k, k,
					   k,	      k,	 k, k};

		hz_stats_put_range(0, &r);
		memset(reason, 'a' + (int)(k % 26), sizeof(reason));
		reason[127] = '\0';
		hz_stats_mode((enum hz_mode_fault)(k % 26), HZ_MODE_IO_URING,
			      reason);
	}
}

static bool range_is_whole(const struct hz_stats_range *r)
{
	uint64_t k = r->start;

	return r->kind == 1 + k % 2 && r->bytes == k &&
	       r->resident_bytes == k && r->store_bytes == k &&
	       r->faults == k && r->last_fault == k;
}

static bool identity_is_whole(const struct hz_stats_proc *p)
{
	for (unsigned i = 0; p->reason[0] && i < 127; i++)
		if (p->reason[i] != 'a' + (int)p->mode_fault)
			return false;
	return true;
}

Test(stats, no_torn_reads)
{
	struct hz_stats_segment *s;
	int fd = make(&s), status;
	const char *path = path_of(fd);
	struct hz_stats_range r;
	unsigned ranges = 0, changes = 0;
	uint64_t before = 0;
	pid_t pid = fork();

	if (!pid)
		write_for_ever(path);
	/* until the writer was seen to write, however slow the machine */
	while (ranges < 20000 || changes < 20) {
		cr_assert_eq(waitpid(pid, &status, WNOHANG), 0);
		if (hz_stats_snapshot(&s->proc[0], &snap))
			cr_assert(identity_is_whole(&snap), "%.128s",
				  snap.reason);
		if (!hz_stats_snapshot_range(&s->proc[0].range[0], &r))
			continue;
		cr_assert(range_is_whole(&r), "%lu %lu %lu", r.start, r.bytes,
			  r.last_fault);
		ranges++;
		changes += r.start != before;
		before = r.start;
	}
	kill(pid, SIGKILL);
	waitpid(pid, &status, 0);
}

Test(stats, a_writer_that_was_killed_keeps_nobody_waiting)
{
	struct hz_stats_segment *s;
	int fd = make(&s), mine;
	struct hz_stats_range r = {.kind = 1};

	cr_assert_eq(hz_stats_attach(path_of(fd), &mine), 0);
	hz_stat_add(HZ_STAT_forks, 3);
	hz_stats_put_range(0, &r);
	s->proc[0].seq++;
	s->proc[0].range[0].seq++;
	cr_assert(hz_stats_snapshot(&s->proc[0], &snap));
	cr_expect_str_eq(snap.command, "?");
	cr_expect_eq(snap.cell[HZ_STAT_forks], 3);
	cr_expect_not(hz_stats_snapshot_range(&s->proc[0].range[0], &r));
}

Test(stats, the_cells_of_the_lock_are_kept)
{
	struct hz_stats_segment *s;
	int fd = make(&s), mine;

	cr_assert_eq(hz_stats_attach(path_of(fd), &mine), 0);
	cr_assert(hz_stats_snapshot(&s->proc[0], &snap));
	cr_expect_eq(snap.lock_ns, 0);
	hz_stat_add(HZ_STAT_forks, 3);
	hz_stats_locked();
	hz_stat_add(HZ_STAT_forks, 4);
	cr_assert(hz_stats_snapshot(&s->proc[0], &snap));
	cr_expect_neq(snap.lock_ns, 0);
	cr_expect_eq(snap.at_lock[HZ_STAT_forks], 3);
	cr_expect_eq(snap.cell[HZ_STAT_forks], 7);
}

Test(stats, the_standard_streams_are_the_programs)
{
	close(STDIN_FILENO);
	cr_expect_gt(hz_stats_create(), STDERR_FILENO);
	cr_expect_eq(fcntl(STDIN_FILENO, F_GETFD), -1);
}

/* Growing beyond the limit would be SIGXFSZ. */
Test(stats, no_segment_beyond_the_limit_of_files)
{
	struct rlimit limit;

	cr_assert_not(getrlimit(RLIMIT_FSIZE, &limit));
	limit.rlim_cur = sizeof(struct hz_stats_segment) - 1;
	cr_assert_not(setrlimit(RLIMIT_FSIZE, &limit));
	cr_expect_eq(hz_stats_create(), -EFBIG);
}

/* ---- in the middle of hz_stats_attach_once ---- */

static void (*in_the_middle)(void);

static uint64_t now_in_the_middle(void)
{
	hz_os.now = hz_os_linux.now;
	in_the_middle();
	return hz_os.now();
}

static void attach_with(void (*what)(void))
{
	int fd;

	in_the_middle = what;
	hz_os.now = now_in_the_middle;
	cr_assert_eq(hz_stats_attach_once("", &fd), 0);
	cr_assert_geq(fd, 0);
}

static pthread_t second;
static bool second_is_done;

static void *attach_second(void *arg)
{
	int fd;

	cr_expect_eq(hz_stats_attach_once("", &fd), 0);
	cr_expect_eq(fd, -1);
	hz_stats_mode_gpu(HZ_MODE_GPU_OBSERVE);
	__atomic_store_n(&second_is_done, true, __ATOMIC_RELEASE);
	return NULL;
}

/* It has time to do it wrong, if it does not wait. */
static void start_second(void)
{
	cr_assert_not(pthread_create(&second, NULL, attach_second, NULL));
	for (int i = 0;
	     i < 200 && !__atomic_load_n(&second_is_done, __ATOMIC_ACQUIRE);
	     i++)
		usleep(1000);
}

Test(stats, who_attaches_second_waits)
{
	attach_with(start_second);
	cr_assert_not(pthread_join(second, NULL));
	cr_assert(hz_stats_snapshot(hz_stats_self, &snap));
	cr_expect_eq(snap.mode_gpu, HZ_MODE_GPU_OBSERVE);
}

static void attach_again(void)
{
	int fd;

	cr_expect_eq(hz_stats_attach_once("", &fd), 0);
	cr_expect_eq(fd, -1);
}

Test(stats, a_signal_handler_does_not_wait, .timeout = 60)
{
	attach_with(attach_again);
}

static void attach_in_a_child(void)
{
	int fd, status;
	pid_t pid = fork();

	if (!pid)
		_exit(hz_stats_attach_once("", &fd) || fd < 0);
	cr_assert_eq(waitpid(pid, &status, 0), pid);
	cr_expect_eq(status, 0);
}

Test(stats, a_child_does_not_wait_for_its_parent, .timeout = 60)
{
	attach_with(attach_in_a_child);
}
