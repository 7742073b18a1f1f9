/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Opening the store: a file without a name in a directory, a file, or a block
 * device; how much it holds; O_DIRECT and alignment.
 *
 * Every process of a job opens its own store, so a file or a device that can
 * be reached by name is locked: two processes on the same slots would read
 * each other's bytes. flock(2) belongs to the open file; forked children, who
 * share the slots, open it again and hold the lock too, and exec gives it up.
 *
 * System calls that hz_os does not have are made here directly; none of them
 * is interposed, and errno stays as it was.
 */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif
#include "backend/store.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <linux/magic.h>
#include <string.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <time.h>
#include <unistd.h>
#include "backend/store_guard.h"
#include "base/knobs.h"
#include "base/log.h"
#include "base/os.h"
#include "base/raw.h"

#define REMEDY                                                        \
	"give --store a directory, file or block device that can be " \
	"written"

/* statx(2) as the kernel has it; the C library's may be older than the fields
 * that are wanted here. */
struct dio_statx {
	uint32_t mask;
	uint32_t other[37];
	uint32_t mem_align, offset_align;
	uint64_t spare[12];
};
#define WANT_DIOALIGN 0x2000u /* STATX_DIOALIGN */

/* What lies at the path. */
struct place {
	const char *path;
	int fd;
	mode_t type; /* S_IFDIR, S_IFREG, S_IFBLK; 0: nothing yet */
	bool ours;   /* made here: nothing in it is worth keeping */
};

static int look(struct place *p)
{
	struct stat st;
	int fd = hz_os.open(p->path, O_PATH | O_CLOEXEC, 0), err;

	p->type = 0;
	if (fd == -ENOENT)
		return 0;
	if (fd < 0)
		return fd;
	err = hz_syscall(SYS_fstat, fd, &st);
	hz_os.close(fd);
	if (!err)
		p->type = st.st_mode & S_IFMT;
	return err;
}

/* For file systems that have no O_TMPFILE. */
static int open_unlinked(const char *dir)
{
	char name[512];
	int fd = -EEXIST;

	for (int i = 0; i < 100 && fd == -EEXIST; i++) {
		int len = hz_format(name, sizeof(name), "%s/.horizon-%d-%llx",
				    dir, (int)getpid(),
				    (unsigned long long)hz_os.now());

		if ((size_t)len >= sizeof(name))
			return -ENAMETOOLONG;
		fd = hz_os.open(name,
				O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW |
					O_CLOEXEC,
				0600);
	}
	if (fd >= 0)
		hz_syscall(SYS_unlinkat, AT_FDCWD, name, 0);
	return fd;
}

static int open_place(struct place *p)
{
	int flags = O_RDWR | O_CLOEXEC;

	switch (p->type) {
	case S_IFDIR:
		p->ours = true;
		p->fd = hz_os.open(p->path, flags | O_TMPFILE | O_EXCL, 0600);
		if (p->fd == -EOPNOTSUPP || p->fd == -EISDIR ||
		    p->fd == -EINVAL)
			p->fd = open_unlinked(p->path);
		break;
	case S_IFBLK: /* O_EXCL: not one that is mounted */
		p->fd = hz_os.open(p->path, flags | O_EXCL, 0);
		break;
	case S_IFREG:
		p->fd = hz_os.open(p->path, flags, 0);
		break;
	case 0:
		p->ours = true;
		p->fd = hz_os.open(p->path, flags | O_CREAT, 0600);
		break;
	default:
		p->fd = -EINVAL;
	}
	if (p->fd >= 0 && p->type != S_IFDIR &&
	    hz_syscall(SYS_flock, p->fd, LOCK_EX | LOCK_NB) < 0) {
		hz_os.close(p->fd);
		p->fd = -EBUSY;
	}
	/* Held shared from here on: a forked child's own description can have
	 * it too, and a newcomer, who asks for it alone, cannot. */
	if (p->fd >= 0 && p->type != S_IFDIR)
		hz_syscall(SYS_flock, p->fd, LOCK_SH | LOCK_NB);
	return p->fd < 0 ? p->fd : 0;
}

int hz_store_reopen(const struct hz_store *store, const char *path)
{
	int flags = O_RDWR | O_CLOEXEC | (store->direct ? O_DIRECT : 0);
	int fd = hz_os.open(path, flags, 0);

	if (fd >= 0)
		hz_syscall(SYS_flock, fd, LOCK_SH | LOCK_NB);
	return fd;
}

/* The kernel takes an io_uring down after its process has ended, and with it
 * the lock and the exclusive use of a device: the program before us in a
 * script may just have finished. */
static int open_soon(struct place *p)
{
	const struct timespec pause = {.tv_nsec = 50000000};
	int err = open_place(p);

	for (int i = 0; err == -EBUSY && i < 20; i++) {
		nanosleep(&pause, NULL);
		err = open_place(p);
	}
	return err;
}

/* Before the first byte is written. */
static int judge(const struct place *p)
{
	const char *pseudo = hz_store_pseudo(p->fd);

	if (pseudo) {
		hz_log(HZ_ERROR, "store",
		       "%s is on %s, which stores nothing: " REMEDY, p->path,
		       pseudo);
		return -EINVAL;
	}
	if (p->type == S_IFBLK || hz_knobs.store_overwrite ||
	    !hz_store_foreign(p->fd))
		return 0;
	hz_log(HZ_ERROR, "store",
	       "%s has content that is not from Horizon: name another file, or "
	       "set store_overwrite=1 to lose it",
	       p->path);
	return -EEXIST;
}

static int open_path(struct place *p)
{
	int err = look(p);

	if (!err)
		err = open_soon(p);
	if (err == -EBUSY)
		hz_log(HZ_ERROR, "store",
		       "%s is in use, mounted or cannot be locked (%m): give "
		       "each program a file or device of its own, or a "
		       "directory",
		       p->path, err);
	else if (err)
		hz_log(HZ_ERROR, "store", "cannot open %s (%m): " REMEDY,
		       p->path, err);
	else
		err = judge(p);
	if (err && p->fd >= 0)
		hz_os.close(p->fd);
	return err;
}

/* ---- size ---- */

static uint64_t size_limit(void)
{
	struct rlimit lim;

	if (hz_syscall(SYS_prlimit64, 0, RLIMIT_FSIZE, NULL, &lim) < 0 ||
	    lim.rlim_cur == RLIM_INFINITY)
		return UINT64_MAX;
	return lim.rlim_cur;
}

/* Bytes that `p` has now, and those that it could have. */
static int measure(const struct place *p, uint64_t *now, uint64_t *room)
{
	struct statfs fs;
	struct stat st;
	int err;

	if (p->type == S_IFBLK) {
		err = hz_os.ioctl(p->fd, BLKGETSIZE64, now);
		*room = *now;
		return err < 0 ? err : 0;
	}
	err = hz_syscall(SYS_fstat, p->fd, &st);
	if (!err)
		err = hz_syscall(SYS_fstatfs, p->fd, &fs);
	if (err)
		return err;
	if (fs.f_type == TMPFS_MAGIC)
		hz_log_once(HZ_WARN, "store",
			    "%s is in memory (tmpfs): what goes there frees "
			    "nothing; give --store a place on a disk",
			    p->path);
	*now = st.st_size;
	*room = (uint64_t)fs.f_bavail * fs.f_bsize +
		(uint64_t)st.st_blocks * 512;
	return 0;
}

static uint64_t choose(const struct place *p, uint64_t now, uint64_t room,
		       uint64_t size, uint32_t percent)
{
	uint64_t want = size;

	if (percent)
		want = room / 100 * percent;
	else if (size == HZ_SIZE_AUTO && now >= HZ_BLOCK_SIZE)
		want = now;
	else if (size == HZ_SIZE_AUTO)
		want = room / 10 * 9;
	if (p->type == S_IFBLK)
		return hz_min(want, room);
	/* A write beyond the limit would raise SIGXFSZ. */
	return hz_min(want, size_limit());
}

/* Make the file long enough; it stays sparse, and is never cut. */
static int grow(int fd, uint64_t now, uint32_t *slots)
{
	int err = 0;

	while (*slots && (uint64_t)*slots << HZ_BLOCK_SHIFT > now) {
		off_t len = (off_t)*slots << HZ_BLOCK_SHIFT;

		err = hz_syscall(SYS_ftruncate, fd, len);
		if (err != -EFBIG)
			break;
		*slots /= 2; /* more than this file system's files hold */
		err = 0;
	}
	return err;
}

/* A file with a name may be found by a later program. */
static void mark(const struct place *p)
{
	int err = p->type == S_IFREG || !p->type ? hz_store_mark(p->fd) : 0;

	if (err)
		hz_log(HZ_INFO, "store",
		       "%s takes no extended attribute (%m): to use it again, "
		       "empty it or set store_overwrite=1",
		       p->path, err);
}

static int size_store(struct hz_store *s, const struct place *p, uint64_t size,
		      uint32_t percent)
{
	uint64_t now, room, slots;
	int err = measure(p, &now, &room);

	if (!err) {
		slots = choose(p, now, room, size, percent) >> HZ_BLOCK_SHIFT;
		s->capacity = hz_min(slots, (uint64_t)HZ_NONE - 1);
		if (p->type != S_IFBLK)
			err = grow(s->fd, now, &s->capacity);
	}
	if (!err && !s->capacity)
		err = -ENOSPC;
	if (!err)
		mark(p);
	s->size = (uint64_t)s->capacity << HZ_BLOCK_SHIFT;
	s->fixed_size = !p->ours;
	if (err)
		hz_log(HZ_ERROR, "store",
		       "%s cannot hold one block of %B (%m): raise "
		       "--store-size "
		       "or the limit on file sizes, or give --store a place "
		       "with more room",
		       p->path, (uint64_t)HZ_BLOCK_SIZE, err);
	return err;
}

/* ---- O_DIRECT ---- */

static int set_direct(int fd, bool on)
{
	int flags = hz_syscall(SYS_fcntl, fd, F_GETFL);

	if (flags < 0)
		return flags;
	flags = on ? flags | O_DIRECT : flags & ~O_DIRECT;
	return hz_syscall(SYS_fcntl, fd, F_SETFL, flags);
}

static void go_buffered(struct hz_store *s, const char *path)
{
	s->direct = false;
	set_direct(s->fd, false);
	hz_log_once(HZ_WARN, "store",
		    "O_DIRECT is off: %s refuses it; buffered I/O takes page "
		    "cache and time, a store on ext4, xfs or a device does not",
		    path);
}

/* 0, or -EINVAL when blocks do not fit the alignment. */
static int find_align(struct hz_store *s, const char *path)
{
	struct dio_statx x;
	uint32_t align;

	memset(&x, 0, sizeof(x));
	s->align = HZ_PAGE_SIZE;
	if (!s->direct)
		return 0;
	if (set_direct(s->fd, true) < 0) {
		go_buffered(s, path);
		return 0;
	}
	if (hz_syscall(SYS_statx, s->fd, "", AT_EMPTY_PATH, WANT_DIOALIGN,
		       &x) < 0 ||
	    !(x.mask & WANT_DIOALIGN))
		return 0; /* before Linux 6.1: the trial will tell */
	align = hz_max(x.mem_align, x.offset_align);
	if (!align)
		go_buffered(s, path);
	else if (align > HZ_BLOCK_SIZE || (align & (align - 1)))
		return -EINVAL;
	else
		s->align = hz_max(align, s->align);
	return 0;
}

/* Write the last slot and read it back. */
static int trial(struct hz_store *s)
{
	struct hz_xfer x = {.slot = s->capacity - 1, .write = true};
	unsigned char *p = hz_os_reserve_aligned(HZ_BLOCK_SIZE, HZ_BLOCK_SIZE);

	if (!p)
		return -ENOMEM;
	x.buf = p;
	for (size_t i = 0; i < HZ_BLOCK_SIZE; i += 512)
		p[i] = i / 512 % 251 + 1;
	hz_xfer_run(s, &x);
	if (!x.res) {
		memset(p, 0, HZ_BLOCK_SIZE);
		x.write = false;
		hz_xfer_run(s, &x);
	}
	for (size_t i = 0; i < HZ_BLOCK_SIZE && !x.res; i += 512)
		if (p[i] != i / 512 % 251 + 1)
			x.res = -EIO;
	hz_os.munmap(p, HZ_BLOCK_SIZE);
	return x.res;
}

static int prove(struct hz_store *s, const char *path, bool direct)
{
	int err;

	s->direct = direct;
	err = find_align(s, path);
	if (err) {
		hz_log(HZ_ERROR, "store",
		       "%s wants an alignment that blocks of %B do not have "
		       "(%m): " REMEDY,
		       path, (uint64_t)HZ_BLOCK_SIZE, err);
		return err;
	}
	err = trial(s);
	if (err == -EINVAL && s->direct) {
		go_buffered(s, path);
		err = trial(s);
	}
	if (err)
		hz_log(HZ_ERROR, "store",
		       "a block cannot be written to %s and read back "
		       "(%m): " REMEDY,
		       path, err);
	return err;
}

int hz_store_open(struct hz_store *store, const char *path, uint64_t size,
		  uint32_t size_percent, bool direct)
{
	struct place p = {.path = path, .fd = -1};
	struct hz_store s = {0};
	int err = open_path(&p);

	if (err)
		return err;
	s.fd = p.fd;
	err = size_store(&s, &p, size, size_percent);
	if (!err)
		err = prove(&s, path, direct);
	if (err)
		hz_os.close(s.fd);
	else
		*store = s;
	return err;
}

void hz_store_close(struct hz_store *store)
{
	hz_os.close(store->fd);
	store->fd = -1;
}
