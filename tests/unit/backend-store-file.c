/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Opening the store: what may be given, how large it becomes, what is said.
 */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif
#include <criterion/criterion.h>
#include <criterion/redirect.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <dirent.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <unistd.h>
#include "backend/store.h"
#include "base/knobs.h"
#include "base/os.h"

#define BLOCKS(n_) ((uint64_t)(n_) << HZ_BLOCK_SHIFT)

static struct hz_store s;
static char dir[64];

static void make_dir(void)
{
	strcpy(dir, "store-file-XXXXXX");
	cr_assert_not_null(mkdtemp(dir));
}

static void remove_dir(void)
{
	char file[80];

	snprintf(file, sizeof(file), "%s/store", dir);
	unlink(file);
	cr_assert_eq(rmdir(dir), 0, "something was left behind");
}

static const char *in_dir(void)
{
	static char file[80];

	snprintf(file, sizeof(file), "%s/store", dir);
	return file;
}

/* What was said on stderr must hold `words`. */
static void said(const char *words)
{
	static char text[4096];
	size_t n;
	FILE *f;

	fflush(stderr);
	f = cr_get_redirected_stderr();
	n = fread(text, 1, sizeof(text) - 1, f);
	text[n] = '\0';
	cr_assert_not_null(strstr(text, words), "not in: %s", text);
}

static void with_dir(void)
{
	make_dir();
	cr_redirect_stderr();
}

TestSuite(store_file, .init = with_dir, .fini = remove_dir, .timeout = 60);

static off_t length(const char *path)
{
	struct stat st;

	return stat(path, &st) ? -1 : st.st_size;
}

Test(store_file, directory_gets_a_file_without_a_name)
{
	struct stat st;
	DIR *d;
	int entries = 0;

	cr_assert_eq(hz_store_open(&s, dir, BLOCKS(5), 0, true), 0);
	cr_assert_eq(s.capacity, 5);
	cr_assert_eq(s.size, BLOCKS(5));
	cr_assert_geq(s.align, 4096);
	cr_assert_not(s.fixed_size);
	cr_assert_eq(fstat(s.fd, &st), 0);
	cr_assert_eq(st.st_nlink, 0);
	cr_assert_eq(st.st_mode & 0777, 0600);
	cr_assert_leq(st.st_blocks, 2 * (off_t)BLOCKS(1) / 512, "sparse");
	cr_assert(fcntl(s.fd, F_GETFD) & FD_CLOEXEC);
	d = opendir(dir);
	while (readdir(d))
		entries++;
	closedir(d);
	cr_assert_eq(entries, 2);
	hz_store_close(&s);
}

Test(store_file, direct_is_a_wish)
{
	cr_assert_eq(hz_store_open(&s, dir, BLOCKS(2), 0, false), 0);
	cr_assert_not(s.direct);
	cr_assert_not(fcntl(s.fd, F_GETFL) & O_DIRECT);
	hz_store_close(&s);
	cr_assert_eq(hz_store_open(&s, dir, BLOCKS(2), 0, true), 0);
	cr_assert_eq(!!(fcntl(s.fd, F_GETFL) & O_DIRECT), s.direct);
	hz_store_close(&s);
}

Test(store_file, auto_is_most_of_what_is_free)
{
	struct statfs fs;
	uint64_t room;

	cr_assert_eq(statfs(dir, &fs), 0);
	room = (uint64_t)fs.f_bavail * (uint64_t)fs.f_bsize;
	if (room < BLOCKS(64))
		cr_skip("the disk is nearly full");
	cr_assert_eq(hz_store_open(&s, dir, HZ_SIZE_AUTO, 0, true), 0);
	cr_assert_lt(s.size, room);
	cr_assert_gt(s.size, room / 2);
	hz_store_close(&s);
	cr_assert_eq(hz_store_open(&s, dir, 0, 10, true), 0);
	cr_assert_lt(s.size, room / 5);
	hz_store_close(&s);
}

Test(store_file, file_is_made_and_kept)
{
	cr_assert_eq(hz_store_open(&s, in_dir(), BLOCKS(3), 0, true), 0);
	hz_store_close(&s);
	cr_assert_eq(length(in_dir()), BLOCKS(3));
}

/* Not every file system has user attributes, by which a store is known. */
static bool knows_stores(void)
{
	bool known;
	int fd = open(in_dir(), O_RDWR | O_CREAT, 0600);

	known = !fsetxattr(fd, "user.horizon.test", "1", 1, 0);
	close(fd);
	unlink(in_dir());
	return known;
}

Test(store_file, file_is_never_cut)
{
	hz_knobs.store_overwrite = !knows_stores();
	cr_assert_eq(hz_store_open(&s, in_dir(), BLOCKS(6), 0, true), 0);
	hz_store_close(&s);
	cr_assert_eq(hz_store_open(&s, in_dir(), BLOCKS(2), 0, true), 0);
	cr_assert_eq(s.capacity, 2);
	hz_store_close(&s);
	cr_assert_eq(length(in_dir()), BLOCKS(6));
	cr_assert_eq(hz_store_open(&s, in_dir(), HZ_SIZE_AUTO, 0, true), 0);
	cr_assert_eq(s.capacity, 6, "auto is the whole file");
	cr_assert(s.fixed_size);
	hz_store_close(&s);
	cr_assert_eq(hz_store_open(&s, in_dir(), BLOCKS(9), 0, true), 0);
	cr_assert_eq(s.capacity, 9);
	hz_store_close(&s);
	cr_assert_eq(length(in_dir()), BLOCKS(9));
}

Test(store_file, file_has_one_user)
{
	struct hz_store other;
	int status;
	pid_t pid;

	hz_knobs.store_overwrite = !knows_stores();
	cr_assert_eq(hz_store_open(&s, in_dir(), BLOCKS(3), 0, true), 0);
	cr_assert_eq(hz_store_open(&other, in_dir(), BLOCKS(3), 0, true),
	             -EBUSY);
	said("in use");
	pid = fork(); /* shares the store, and may end before us */
	if (!pid)
		_exit(0);
	cr_assert_eq(waitpid(pid, &status, 0), pid);
	cr_assert_eq(hz_store_open(&other, in_dir(), BLOCKS(3), 0, true),
	             -EBUSY);
	hz_store_close(&s);
	cr_assert_eq(hz_store_open(&other, in_dir(), BLOCKS(3), 0, true), 0);
	hz_store_close(&other);
}

static void put(const char *text, off_t len)
{
	int fd = open(in_dir(), O_RDWR | O_CREAT, 0600);

	cr_assert_eq(write(fd, text, strlen(text)), (ssize_t)strlen(text));
	if (len)
		cr_assert_eq(ftruncate(fd, len), 0);
	close(fd);
}

Test(store_file, content_of_others_is_refused)
{
	char text[8] = "";
	int fd;

	put("thesis", 0);
	cr_assert_eq(hz_store_open(&s, in_dir(), BLOCKS(3), 0, true), -EEXIST);
	said("content that is not from Horizon: name another file, or set "
	     "store_overwrite=1");
	cr_expect_eq(length(in_dir()), 6);
	fd = open(in_dir(), O_RDONLY);
	cr_assert_eq(read(fd, text, sizeof(text)), 6);
	cr_expect_str_eq(text, "thesis");
	close(fd);
	hz_knobs.store_overwrite = 1;
	cr_assert_eq(hz_store_open(&s, in_dir(), BLOCKS(3), 0, true), 0);
	hz_store_close(&s);
}

Test(store_file, content_behind_a_hole_is_content)
{
	int fd;

	put("", BLOCKS(5));
	fd = open(in_dir(), O_RDWR);
	cr_assert_eq(pwrite(fd, "x", 1, BLOCKS(4)), 1);
	close(fd);
	cr_assert_eq(hz_store_open(&s, in_dir(), BLOCKS(3), 0, true), -EEXIST);
}

Test(store_file, file_without_data_is_taken)
{
	put("", BLOCKS(3)); /* truncate(1) */
	cr_assert_eq(hz_store_open(&s, in_dir(), HZ_SIZE_AUTO, 0, true), 0);
	cr_expect_eq(s.capacity, 3);
	hz_store_close(&s);
	unlink(in_dir());
	put("", 0);
	cr_assert_eq(hz_store_open(&s, in_dir(), BLOCKS(2), 0, true), 0);
	hz_store_close(&s);
}

Test(store_file, a_store_that_others_wrote_over)
{
	if (!knows_stores())
		cr_skip("no user attributes here");
	cr_assert_eq(hz_store_open(&s, in_dir(), BLOCKS(3), 0, true), 0);
	hz_store_close(&s);
	cr_assert_eq(hz_store_open(&s, in_dir(), BLOCKS(3), 0, true), 0);
	hz_store_close(&s);
	cr_assert_eq(truncate(in_dir(), 0), 0); /* cp(1) */
	put("thesis", 0);
	cr_assert_eq(hz_store_open(&s, in_dir(), BLOCKS(3), 0, true), -EEXIST);
	said("content that is not from Horizon");
}

Test(store_file, files_of_the_kernel)
{
	cr_assert_eq(hz_store_open(&s, "/proc/self/comm", BLOCKS(3), 0, true),
		     -EINVAL);
	said("/proc/self/comm is on proc, which stores nothing");
}

Test(store_file, missing_directory)
{
	errno = 0;
	cr_assert_eq(hz_store_open(&s, "/no/such", BLOCKS(3), 0, true),
	             -ENOENT);
	cr_assert_eq(errno, 0);
	said("horizon: store: cannot open /no/such (No such file or "
	     "directory): give --store a directory, file or block device "
	     "that can be written");
}

Test(store_file, unwritable_place)
{
	cr_assert_lt(hz_store_open(&s, "/proc", BLOCKS(3), 0, true), 0);
	said("cannot open /proc (");
}

Test(store_file, character_device)
{
	cr_assert_eq(hz_store_open(&s, "/dev/null", BLOCKS(3), 0, true),
	             -EINVAL);
	said("give --store a directory, file or block device");
}

Test(store_file, too_small)
{
	cr_assert_eq(hz_store_open(&s, dir, BLOCKS(1) - 1, 0, true), -ENOSPC);
	said("cannot hold one block of 2");
	cr_assert_eq(hz_store_open(&s, dir, BLOCKS(1), 0, true), 0);
	cr_assert_eq(s.capacity, 1);
	hz_store_close(&s);
}

Test(store_file, limit_on_file_size)
{
	struct rlimit lim = {BLOCKS(4) + 17, RLIM_INFINITY};

	cr_assert_eq(setrlimit(RLIMIT_FSIZE, &lim), 0);
	cr_assert_eq(hz_store_open(&s, dir, BLOCKS(100), 0, true), 0,
	             "and no SIGXFSZ");
	cr_assert_eq(s.capacity, 4);
	hz_store_close(&s);
	lim.rlim_cur = 4096;
	cr_assert_eq(setrlimit(RLIMIT_FSIZE, &lim), 0);
	cr_assert_eq(hz_store_open(&s, dir, BLOCKS(100), 0, true), -ENOSPC);
}

/* A file system that takes O_DIRECT at open and refuses it at the first
 * write, as some overlays do. */
static ssize_t refuse_direct(int fd, const void *buf, size_t len, off_t off)
{
	if (fcntl(fd, F_GETFL) & O_DIRECT)
		return -EINVAL;
	return hz_os_linux.pwrite(fd, buf, len, off);
}

Test(store_file, direct_is_refused_at_the_first_write)
{
	hz_os.pwrite = refuse_direct;
	cr_assert_eq(hz_store_open(&s, dir, BLOCKS(3), 0, true), 0);
	cr_assert_not(s.direct);
	cr_assert_not(fcntl(s.fd, F_GETFL) & O_DIRECT);
	hz_store_close(&s);
}

/* A disk that loses what is written. */
static ssize_t lose(int fd, const void *buf, size_t len, off_t off)
{
	return (ssize_t)len;
}

Test(store_file, trial_reads_back)
{
	hz_os.pwrite = lose;
	cr_assert_eq(hz_store_open(&s, dir, BLOCKS(3), 0, true), -EIO);
	said("cannot be written to");
}
