/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The probes of --check that try something out: userfaultfd, io_uring and
 * the store. What they make is gone when they return.
 */
#include "config.h"
#include <errno.h>
#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>
#include "backend/fault.h"
#include "base/knobs.h"
#include "base/os.h"
#include "base/util.h"
#include "run_probe.h"

/* Younger than the oldest headers that we build with. */
#ifndef USERFAULTFD_IOC_NEW
#define USERFAULTFD_IOC_NEW _IO(0xAA, 0x00)
#endif
#define FEATURE_MOVE ((uint64_t)1 << 16)

/* ---- faults ---- */

static int uffd_from_device(void)
{
	int dev = open("/dev/userfaultfd", O_RDWR | O_CLOEXEC);
	int fd, err;

	if (dev < 0)
		return -errno;
	fd = ioctl(dev, USERFAULTFD_IOC_NEW, O_CLOEXEC | O_NONBLOCK);
	err = -errno;
	close(dev);
	return fd < 0 ? err : fd;
}

/* The features of a descriptor that is thrown away; 0 if refused. */
static uint64_t uffd_features(int fd)
{
	struct uffdio_api api = {.api = UFFD_API};

	if (fd < 0)
		return 0;
	if (ioctl(fd, UFFDIO_API, &api))
		api.features = 0;
	close(fd);
	return api.features;
}

void run_probe_device(struct line *l)
{
	int fd = uffd_from_device();

	line_ok(l);
	if (fd >= 0)
		close(fd);
	line_say(l, fd < 0 ? "%m" : "may be opened", fd);
	if (fd < 0)
		line_poor(l, "sudo setfacl -m u:$USER:rw /dev/userfaultfd "
			     "(Linux 6.1; in a container: --device "
			     "/dev/userfaultfd)");
}

void run_probe_syscall(struct line *l)
{
	char value[32] = "no such file";
	int fd = hz_os.userfaultfd(O_CLOEXEC | O_NONBLOCK);

	line_ok(l);
	line_of_file("/proc/sys/vm/unprivileged_userfaultfd", value,
		     sizeof(value));
	if (fd >= 0)
		close(fd);
	line_say(l,
		 fd < 0 ? "unprivileged_userfaultfd = %s, %m"
			: "unprivileged_userfaultfd = %s, full mode works",
		 value, fd);
	if (fd < 0)
		line_poor(l,
			  "sudo sysctl -w vm.unprivileged_userfaultfd=1 (in a "
			  "container also a seccomp profile that allows "
			  "userfaultfd)");
}

void run_probe_move(struct line *l)
{
	uint64_t features = uffd_features(uffd_from_device());
	const char *why = NULL;

	if (!features)
		features = uffd_features(
			hz_os.userfaultfd(O_CLOEXEC | O_NONBLOCK));
	run_found.fault =
		hz_knobs.fault != HZ_FAULT_OFF && !hz_fault_uffd.probe(&why);
	line_ok(l);
	if (run_found.fault)
		line_say(l, "a block was moved out and in");
	else
		line_say(l, "%s", why ? why : "the knob fault is off");
	if (run_found.fault)
		return;
	if (hz_knobs.fault == HZ_FAULT_OFF)
		line_off(l, "horizon-run --set fault=auto");
	else if (features && !(features & FEATURE_MOVE))
		line_off(l, "boot Linux 6.8 or later");
	else
		line_off(l, "allow userfaultfd by one of the two lines above");
}

/* ---- io ---- */

void run_probe_uring(struct line *l)
{
	char params[256] = {0}; /* larger than struct io_uring_params */
	long fd = syscall(SYS_io_uring_setup, 4, params);
	int err = -errno;

	line_ok(l);
	run_found.io = fd >= 0 && hz_knobs.io != HZ_IO_THREADS;
	line_say(l,
		 fd < 0 ? "%m; pread and pwrite in threads instead"
			: "a ring was set up",
		 err);
	if (fd >= 0)
		close((int)fd);
	else
		line_poor(l,
			  "sudo sysctl -w kernel.io_uring_disabled=0 (in a "
			  "container also a seccomp profile that allows it)");
}

/* One real transfer: some file systems take the flag and fail later. */
static int try_direct(const struct run_store *s)
{
	bool dir = s->kind == RUN_STORE_DIR || !s->exists;
	int flags =
		O_DIRECT | O_CLOEXEC | (dir ? O_TMPFILE | O_RDWR : O_RDONLY);
	int err = 0, fd = open(s->parent, flags, 0600);
	void *page = aligned_alloc(HZ_PAGE_SIZE, HZ_PAGE_SIZE);

	if (fd < 0 || !page) {
		err = fd < 0 ? -errno : -ENOMEM;
	} else {
		memset(page, 0, HZ_PAGE_SIZE);
		if ((dir ? pwrite(fd, page, HZ_PAGE_SIZE, 0)
			 : pread(fd, page, HZ_PAGE_SIZE, 0)) < 0)
			err = -errno;
	}
	free(page);
	if (fd >= 0)
		close(fd);
	return err;
}

void run_probe_store(struct line *l)
{
	static const char *const kinds[] = {"directory", "file", "device"};
	struct run_store s;
	char why[200], type[32], room[64] = "";
	int err = run_store_look(hz_knobs.store, &s, why, sizeof(why));

	if (err) {
		line_say(l, "%s: %s", hz_knobs.store, why);
		line_off(l, "horizon-run --store DIRECTORY (one that you can "
			    "write)");
		return;
	}
	run_found.store = true;
	line_ok(l);
	run_fs_type(s.parent, type, sizeof(type));
	if (s.bytes)
		hz_format(room, sizeof(room), ", %B %s", s.bytes,
			  s.kind == RUN_STORE_DIR || !s.exists ? "free" : "");
	err = try_direct(&s);
	line_say(l, "%s: %s on %s%s, O_DIRECT %s", hz_knobs.store,
		 kinds[s.kind], type, room, err ? "refused" : "works");
	if (!strcmp(type, "tmpfs"))
		line_poor(l,
			  "horizon-run --store DIRECTORY (tmpfs is RAM: choose "
			  "one on a disk)");
	else if (err)
		line_poor(l,
			  "horizon-run --store DIRECTORY (one on ext4, xfs or "
			  "btrfs)");
}
