/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The probes of --check that try system calls out: userfaultfd and io_uring.
 * What they make is gone when they return.
 */
#include "config.h"
#include <errno.h>
#include <fcntl.h>
#include <linux/userfaultfd.h>
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

/* Needed only by those to whom the system call is refused. */
static const char *fix_of_device(int err)
{
	if (err == -ENOENT)
		return "boot Linux 6.1 or later (in a container: docker run "
		       "--device /dev/userfaultfd)";
	return "sudo setfacl -m u:$USER:rw /dev/userfaultfd (or a group that "
	       "you are in: chgrp, chmod g+rw)";
}

void run_probe_device(struct line *l)
{
	int fd = uffd_from_device();
	int call = hz_os.userfaultfd(O_CLOEXEC | O_NONBLOCK);

	line_ok(l);
	if (fd >= 0)
		line_say(l, "may be opened");
	else
		line_say(l, call >= 0 ? "%m; not needed here" : "%m", fd);
	if (fd < 0 && call < 0)
		line_poor(l, fix_of_device(fd));
	if (fd >= 0)
		close(fd);
	if (call >= 0)
		close(call);
}

/* Refused by the setting in a file, which has a remedy of its own; by a
 * filter; or by a kernel that does not have the call. */
static const char *fix_of_call(int err, bool by_setting, const char *setting)
{
	if (by_setting)
		return setting;
	run_found.refused = true;
	if (run_is_filtered())
		return FIX_FILTER;
	return err == -ENOSYS ? "boot a kernel that has it" : setting;
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
		line_poor(l, fix_of_call(fd,
					 fd == -EPERM && *value == '0' &&
						 geteuid(),
					 "sudo sysctl -w "
					 "vm.unprivileged_userfaultfd=1"));
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
	uint64_t off = 0;

	line_ok(l);
	run_found.io = fd >= 0 && hz_knobs.io != HZ_IO_THREADS;
	line_say(l,
		 fd < 0 ? "%m; pread and pwrite in threads instead"
			: "a ring was set up",
		 err);
	number_in_file("/proc/sys/kernel/io_uring_disabled", &off);
	if (fd >= 0)
		close((int)fd);
	else
		line_poor(l, fix_of_call(err, err == -EPERM && off,
					 "sudo sysctl -w "
					 "kernel.io_uring_disabled=0"));
}
