/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The line of --check about the store. What is made here is gone when the
 * probe returns.
 */
#include "config.h"
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>
#include "base/knobs.h"
#include "base/util.h"
#include "run_probe.h"

/* Types of file systems, or how their names begin, that are no disk here. */
static const struct {
	const char *type, *fix;
} places[] = {
	{"tmpfs", "horizon-run --store DIRECTORY (tmpfs is RAM: choose one on "
		  "a disk)"},
	{"devtmpfs", "horizon-run --store DIRECTORY (devtmpfs is RAM: choose "
		     "one on a disk)"},
	{"ramfs", "horizon-run --store DIRECTORY (ramfs is RAM: choose one on "
		  "a disk)"},
	{"nfs", "horizon-run --store DIRECTORY (one on a disk of this "
		"machine)"},
	{"cifs", "horizon-run --store DIRECTORY (one on a disk of this "
		 "machine)"},
	{"smb3", "horizon-run --store DIRECTORY (one on a disk of this "
		 "machine)"},
	{"ceph", "horizon-run --store DIRECTORY (one on a disk of this "
		 "machine)"},
	{"9p", "horizon-run --store DIRECTORY (one on a disk of this "
	       "machine)"},
	{"fuse", "horizon-run --store DIRECTORY (one that no process serves)"},
	{"overlay", "docker run -v DIRECTORY:/store, then horizon-run --store "
		    "/store"},
};

static const char *fix_of_type(const char *type)
{
	for (unsigned i = 0; i < hz_array_len(places); i++)
		if (!strncmp(type, places[i].type, strlen(places[i].type)))
			return places[i].fix;
	return NULL;
}

/* ---- one real transfer ---- */

/* As the engine does it: without a name, or with one for a moment. */
static int open_new(const char *dir)
{
	int fd = open(dir, O_TMPFILE | O_RDWR | O_EXCL | O_CLOEXEC, 0600);
	char name[PATH_MAX];

	if (fd >= 0 ||
	    (errno != EOPNOTSUPP && errno != EISDIR && errno != EINVAL))
		return fd;
	snprintf(name, sizeof(name), "%s/.horizon-check-XXXXXX", dir);
	fd = mkostemp(name, O_CLOEXEC);
	if (fd >= 0)
		unlink(name);
	return fd;
}

/* Some file systems take the flag and fail later. */
static int try_direct(int fd, bool fresh)
{
	void *page = aligned_alloc(HZ_PAGE_SIZE, HZ_PAGE_SIZE);
	int err = 0;

	if (!page)
		return -ENOMEM;
	memset(page, 0, HZ_PAGE_SIZE);
	if (fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_DIRECT) ||
	    (fresh ? pwrite(fd, page, HZ_PAGE_SIZE, 0)
		   : pread(fd, page, HZ_PAGE_SIZE, 0)) < 0)
		err = -errno;
	free(page);
	return err;
}

/* -errno where no file can be had at all; `direct` says whether O_DIRECT
 * works. A file or a device that is there is only read. */
static int try_out(const struct run_store *s, bool *direct)
{
	bool fresh = s->kind == RUN_STORE_DIR || !s->exists;
	int fd = fresh ? open_new(s->parent)
		       : open(s->parent, O_RDONLY | O_CLOEXEC);

	if (fd < 0)
		return -errno;
	*direct = !try_direct(fd, fresh);
	close(fd);
	return 0;
}

/* ---- the disk below ---- */

/* Of a partition the disk's; file systems of several disks have none. */
static bool rotates(const char *path)
{
	static const char *const files[] = {"queue", "../queue"};
	char name[96];
	struct stat st;
	uint64_t n;
	dev_t dev;

	if (stat(path, &st))
		return false;
	dev = S_ISBLK(st.st_mode) ? st.st_rdev : st.st_dev;
	for (unsigned i = 0; i < 2; i++) {
		snprintf(name, sizeof(name), "/sys/dev/block/%u:%u/%s/%s",
			 major(dev), minor(dev), files[i], "rotational");
		if (number_in_file(name, &n))
			return n;
	}
	return false;
}

/* What it would hold: see choose() in store_file.c. */
static uint64_t capacity(const struct run_store *s)
{
	uint64_t size = hz_size_resolve(hz_knobs.store_size, s->bytes);

	if (size == HZ_SIZE_AUTO)
		return s->bytes;
	return s->bytes ? hz_min(size, s->bytes) : size;
}

static void judge(struct line *l, const struct run_store *s, const char *type,
		  bool direct)
{
	uint64_t room = capacity(s);

	line_ok(l);
	if (fix_of_type(type))
		line_poor(l, fix_of_type(type));
	else if (!direct)
		line_poor(l, "horizon-run --store DIRECTORY (one on ext4, xfs "
			     "or btrfs)");
	else if (room && room < run_budget(&run_found.memory))
		line_poor(l, "horizon-run --store DIRECTORY (it holds less "
			     "than the RAM budget: one with more room), or a "
			     "larger --store-size");
	else if (rotates(s->parent))
		line_poor(l, "horizon-run --store DIRECTORY (one on an SSD, if "
			     "this is none: virtual disks may say so)");
}

void run_probe_store(struct line *l)
{
	static const char *const kinds[] = {"directory", "file", "device"};
	struct run_store s;
	char why[200], type[32], room[64] = "";
	bool direct = false;
	int err = run_store_look(hz_knobs.store, &s, why, sizeof(why));

	if (err) {
		line_say(l, "%s: %s", hz_knobs.store, why);
		line_off(l, s.foreign ? "horizon-run --store FILE (another "
					"one), or --set store_overwrite=1 to "
					"lose it"
				      : "horizon-run --store DIRECTORY (one "
					"that you can write)");
		return;
	}
	err = try_out(&s, &direct);
	if (err) {
		line_say(l, "%s: no file can be made (%m)", hz_knobs.store,
			 err);
		line_off(l, "horizon-run --store DIRECTORY (one that you can "
			    "write)");
		return;
	}
	run_found.store = true;
	run_fs_type(s.parent, type, sizeof(type));
	if (s.bytes)
		hz_format(room, sizeof(room), ", %B %s", s.bytes,
			  s.kind == RUN_STORE_DIR || !s.exists ? "free" : "");
	line_say(l, "%s: %s on %s%s, O_DIRECT %s%s", hz_knobs.store,
		 kinds[s.kind], type, room, direct ? "works" : "refused",
		 rotates(s.parent) ? ", a rotating disk" : "");
	judge(l, &s, type, direct);
}
