/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Faults by userfaultfd in full mode, pages moved by UFFDIO_MOVE.
 *
 * Rests on: userfaultfd(2), ioctl_userfaultfd(2); UFFDIO_MOVE of Linux 6.8
 * (private anonymous memory only; source and destination each inside one VMA
 * of equal protection; the destination registered; a pinned or shared page
 * answers EBUSY). Full mode means that accesses from inside the kernel
 * (read(2) into a missing block, futex, O_DIRECT) are served too; a
 * user-mode-only descriptor would fail them with EFAULT and is not taken.
 */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

#include "backend/fault.h"
#include "backend/uffd_abi.h"
#include "base/os.h"
#include "base/raw.h"
#include "base/util.h"

#define PROBE_BYTES HZ_BLOCK_SIZE

static int new_fd(void)
{
	int flags = O_CLOEXEC | O_NONBLOCK;
	int dev = hz_os.open("/dev/userfaultfd", O_RDWR | O_CLOEXEC, 0);
	int fd;

	/* Any failure of the device, EACCES too, falls to the system call. */
	if (dev >= 0) {
		fd = hz_os.ioctl(dev, USERFAULTFD_IOC_NEW,
				 (void *)(uintptr_t)flags);
		hz_os.close(dev);
		if (fd >= 0)
			return fd;
	}
	return hz_os.userfaultfd(flags);
}

/* UFFDIO_API may be called once on a descriptor: ask a throw-away one. */
static int uffd_open(void)
{
	struct uffdio_api api = {.api = UFFD_API,
				 .features = UFFD_FEATURE_MOVE |
					     UFFD_FEATURE_THREAD_ID};
	int fd = new_fd();
	int rc;

	if (fd < 0)
		return fd;
	rc = hz_os.ioctl(fd, UFFDIO_API, &api);
	if (rc == 0 && !(api.features & UFFD_FEATURE_MOVE))
		rc = -EOPNOTSUPP;
	/* EINVAL: the kernel does not know a feature that we asked for. */
	if (rc == -EINVAL)
		rc = -EOPNOTSUPP;
	if (rc < 0) {
		hz_os.close(fd);
		return rc;
	}
	return fd;
}

static int arm_for(int fd, void *addr, size_t len, uint64_t mode)
{
	struct uffdio_register reg = {
		.range = {.start = (uintptr_t)addr, .len = len},
		.mode = mode,
	};

	return hz_os.ioctl(fd, UFFDIO_REGISTER, &reg);
}

static int uffd_arm(int fd, void *addr, size_t len)
{
	return arm_for(fd, addr, len, UFFDIO_REGISTER_MODE_MISSING);
}

static int uffd_arm_writes(int fd, void *addr, size_t len)
{
	return arm_for(fd, addr, len,
		       UFFDIO_REGISTER_MODE_MISSING | UFFDIO_REGISTER_MODE_WP);
}

/* EAGAIN: the address space is changing (a fork, an mremap). */
static int uffd_protect(int fd, void *addr, size_t len, bool on)
{
	struct uffdio_writeprotect wp = {
		.range = {.start = (uintptr_t)addr, .len = len},
		.mode = on ? UFFDIO_WRITEPROTECT_MODE_WP : 0,
	};
	int rc;

	do {
		rc = hz_os.ioctl(fd, UFFDIO_WRITEPROTECT, &wp);
	} while (rc == -EAGAIN);
	return rc;
}

static int uffd_disarm(int fd, void *addr, size_t len)
{
	struct uffdio_range range = {.start = (uintptr_t)addr, .len = len};

	return hz_os.ioctl(fd, UFFDIO_UNREGISTER, &range);
}

static int uffd_read(int fd, struct hz_fault *fault, unsigned max)
{
	struct uffd_msg msg[64];
	unsigned n = 0;
	ssize_t got;

	max = hz_min(max, (unsigned)hz_array_len(msg));
	got = hz_os.read(fd, msg, max * sizeof(msg[0]));
	if (got == -EAGAIN || got == -EINTR)
		return 0;
	if (got < 0)
		return (int)got;
	for (size_t i = 0; i < (size_t)got / sizeof(msg[0]); i++)
		if (msg[i].event == UFFD_EVENT_PAGEFAULT)
			fault[n++] = (struct hz_fault){
				.addr = msg[i].arg.pagefault.address,
				.thread = (int)msg[i].arg.pagefault.feat.ptid,
				.guard = msg[i].arg.pagefault.flags &
					 UFFD_PAGEFAULT_FLAG_WP,
			};
	return (int)n;
}

static int uffd_wake(int fd, void *addr, size_t len);

/* The kernel says EAGAIN with the bytes done where it stops half way; the next
 * call names what is in the way. A page that is there was mapped by somebody
 * else: who waits for it may not have been woken. */
static int uffd_copy(int fd, void *dst, void *src, size_t len)
{
	size_t off = 0, step = len;

	while (off < len) {
		struct uffdio_copy cp = {.dst = (uintptr_t)dst + off,
					 .src = (uintptr_t)src + off,
					 .len = hz_min(step, len - off)};
		int rc = hz_os.ioctl(fd, UFFDIO_COPY, &cp);

		if (rc == 0) {
			off += cp.len;
		} else if (cp.copy > 0) {
			off += (size_t)cp.copy;
		} else if (rc == -ENOENT && step > HZ_PAGE_SIZE) {
			/* Perhaps more than one mapping lies there: the kernel
			 * copies to one at a time. */
			step = HZ_PAGE_SIZE;
		} else if (rc == -EEXIST) {
			uffd_wake(fd, (char *)dst + off, HZ_PAGE_SIZE);
			off += HZ_PAGE_SIZE;
		} else if (rc != -EAGAIN) {
			return rc;
		}
	}
	return 0;
}

#define MOVE_TRIES 2000
#define UNDO_TRIES 10000 /* a millisecond each */

/* Move as much as goes. The kernel moves what it can and then says EAGAIN
 * with the bytes done; the next call names what is in the way. A bare EAGAIN
 * is a page lock, never for long. *done is what arrived at dst. */
static int move_some(int fd, char *dst, char *src, size_t len, uint64_t mode,
		     size_t *done)
{
	int rc = 0;

	*done = 0;
	for (unsigned i = 0; *done < len && i < MOVE_TRIES; i++) {
		struct uffdio_move mv = {.dst = (uintptr_t)dst + *done,
					 .src = (uintptr_t)src + *done,
					 .len = len - *done,
					 .mode = mode};

		rc = hz_os.ioctl(fd, UFFDIO_MOVE, &mv);
		if (rc == 0)
			mv.move = (int64_t)mv.len;
		if (mv.move > 0)
			*done += (size_t)mv.move;
		else if (rc != -EAGAIN)
			return rc;
		else
			sched_yield();
	}
	return *done == len ? 0 : -EAGAIN;
}

/* Linux 6.18 was seen to move a page more than it counts when it stops half
 * way. Nothing was at dst before, so what lies there behind the counted pages
 * is such a page; where there is none this fails at once. */
static void return_uncounted(int fd, char *dst, char *src, size_t len,
			     size_t done)
{
	size_t back;

	while (done < len && move_some(fd, src + done, dst + done,
				       HZ_PAGE_SIZE, 0, &back) == 0)
		done += HZ_PAGE_SIZE;
}

/* All or nothing: a block of which the program sees one half and a frame has
 * the other must not exist. The way back is free: what just moved is
 * exclusive and nobody can have pinned it. */
static int uffd_move(int fd, void *dst, void *src, size_t len)
{
	size_t done, back;
	int rc = move_some(fd, dst, src, len, 0, &done);

	if (rc == 0)
		return 0;
	return_uncounted(fd, dst, src, len, done);
	if (!done || move_some(fd, src, dst, done, 0, &back) == 0)
		return rc;
	/* Cannot be, but bytes matter more than reasons: copy the rest. */
	if (uffd_copy(fd, (char *)src + back, (char *)dst + back,
		      done - back) == 0)
		hz_os_discard((char *)dst + back, done - back);
	return rc;
}

/* The frame was empty: whatever is in it after an error goes back. */
static int uffd_move_holes(int fd, void *dst, void *src, size_t len)
{
	size_t done, back;
	int rc = move_some(fd, dst, src, len, UFFDIO_MOVE_MODE_ALLOW_SRC_HOLES,
			   &done);

	/* The tables are there and nobody else moves these pages: whatever is
	 * in the way passes. */
	for (unsigned i = 0; rc < 0 && i < UNDO_TRIES; i++) {
		if (move_some(fd, src, dst, len,
			      UFFDIO_MOVE_MODE_ALLOW_SRC_HOLES, &back) == 0)
			break;
		nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
	}
	return rc;
}

/* mremap(2); MREMAP_DONTUNMAP is Linux 5.7. */
static int uffd_take(void *dst, void *src, size_t len)
{
	long at = hz_syscall(SYS_mremap, src, len, len,
			     MREMAP_MAYMOVE | MREMAP_FIXED | 4 /* DONTUNMAP */,
			     dst);

	return at < 0 ? (int)at : 0;
}

static int uffd_zero_page(int fd, void *page)
{
	struct uffdio_zeropage z = {
		.range = {.start = (uintptr_t)page, .len = HZ_PAGE_SIZE}};
	int rc;

	do {
		rc = hz_os.ioctl(fd, UFFDIO_ZEROPAGE, &z);
	} while (rc == -EAGAIN);
	return rc;
}

static int uffd_wake(int fd, void *addr, size_t len)
{
	struct uffdio_range range = {.start = (uintptr_t)addr, .len = len};

	return hz_os.ioctl(fd, UFFDIO_WAKE, &range);
}

static int uffd_poison(int fd, void *addr, size_t len)
{
	struct uffdio_poison p = {
		.range = {.start = (uintptr_t)addr, .len = len}};
	int rc = hz_os.ioctl(fd, UFFDIO_POISON, &p);

	return rc == -EINVAL || rc == -ENOTTY ? -EOPNOTSUPP : rc;
}

/* ---- probe ---- */

static const char *remedy(int err)
{
	switch (err) {
	case -EPERM:
	case -EACCES:
		return "userfaultfd is not permitted: as root `sysctl "
		       "vm.unprivileged_userfaultfd=1' or give access to "
		       "/dev/userfaultfd; in a container allow the system "
		       "call in its seccomp profile";
	case -ENOSYS:
		return "the kernel has no userfaultfd, or a container's "
		       "seccomp profile hides it";
	case -EOPNOTSUPP:
		return "the kernel has no UFFDIO_MOVE: Linux 6.8 or newer is "
		       "needed";
	default:
		return "userfaultfd does not work here";
	}
}

/* One page there and back, with its content looked at. */
static int probe_moves(int fd, char *a, char *b)
{
	int rc = uffd_arm(fd, b, PROBE_BYTES);

	a[0] = 42;
	if (rc == 0)
		rc = uffd_move(fd, b, a, HZ_PAGE_SIZE);
	if (rc == 0 && b[0] != 42)
		rc = -EIO;
	return rc;
}

static int uffd_probe(const char **why)
{
	char *mem = hz_os_reserve_aligned(2 * PROBE_BYTES, HZ_BLOCK_SIZE);
	int fd = uffd_open();
	int rc = fd < 0 ? fd : mem ? 0 : -ENOMEM;

	if (rc == 0)
		rc = probe_moves(fd, mem, mem + PROBE_BYTES);
	if (fd >= 0)
		hz_os.close(fd);
	if (mem)
		hz_os.munmap(mem, 2 * PROBE_BYTES);
	if (rc < 0)
		*why = remedy(rc);
	return rc;
}

const struct hz_fault_ops hz_fault_uffd = {
	.name = "move",
	.probe = uffd_probe,
	.open = uffd_open,
	.arm = uffd_arm,
	.arm_writes = uffd_arm_writes,
	.disarm = uffd_disarm,
	.protect = uffd_protect,
	.read = uffd_read,
	.move = uffd_move,
	.move_holes = uffd_move_holes,
	.take = uffd_take,
	.copy = uffd_copy,
	.zero_page = uffd_zero_page,
	.wake = uffd_wake,
	.poison = uffd_poison,
};
