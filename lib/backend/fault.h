/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Port: faults. How a missing block is noticed, and how pages get from a
 * frame into the region and back.
 *
 * fault_uffd.c: userfaultfd in full mode (/dev/userfaultfd since Linux 6.1,
 * then the system call) with UFFDIO_MOVE (Linux 6.8). Where it is refused the
 * program runs without tiering.
 *
 * Threads: any thread may call map/unmap/wake, but two calls never name the
 * same block at once (the block's state sees to that). No function allocates.
 */
#ifndef HZ_FAULT_H
#define HZ_FAULT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct hz_fault {
	uintptr_t addr;
	int thread; /* its id: who waits */
	bool guard; /* a write to a protected page, not a missing one */
};

struct hz_fault_ops {
	const char *name;

	/* Find out whether it works here, with a real block moved in and
	 * out. 0 or -errno; *why then points to a static sentence with the
	 * remedy. */
	int (*probe)(const char **why);

	/* A descriptor for this address space, or -errno. */
	int (*open)(void);

	/* Missing pages of [addr, addr + len) are ours from now on. */
	int (*arm)(int fd, void *addr, size_t len);
	/* The same, and writes to protected pages are ours as well. A range
	 * that is armed already may be armed so. */
	int (*arm_writes)(int fd, void *addr, size_t len);
	int (*disarm)(int fd, void *addr, size_t len);

	/* Protect the pages of an armed range from writes, or (`on` false)
	 * open them and wake who waits. Missing pages are not protected. */
	int (*protect)(int fd, void *addr, size_t len, bool on);

	/* Pending faults, up to max; 0 when none. */
	int (*read)(int fd, struct hz_fault *fault, unsigned max);

	/* Move the pages of one frame to a missing block, or the block's
	 * pages to an empty frame, and wake who waits at the destination.
	 * Both lie in private anonymous memory with the same protection.
	 * All or nothing: after an error both are as they were.
	 *  0        moved
	 *  -EBUSY   a page is pinned or shared (only when moving out)
	 *  -EEXIST  the destination has pages already; nothing moved
	 *  -EAGAIN  try again (page locked, address space changing)
	 *  -ENOENT  the source has a hole; nothing moved
	 *  others   the mapping was changed behind our back */
	int (*move)(int fd, void *dst, void *src, size_t len);

	/* The same for a block of which only some pages are there: they go
	 * to the same places of an empty frame. (Linux 6.18: about 0.1 ms,
	 * and 1 to 8 us for each run of pages, the flush of other
	 * processors' TLBs.) */
	int (*move_holes)(int fd, void *dst, void *src, size_t len);

	/* Copy pages to missing ones; what is there already stays. For blocks
	 * in pieces, and where move() says EINVAL since the mapping was split
	 * behind our back. */
	int (*copy)(int fd, void *dst, void *src, size_t len);

	/* Take all pages of a block away from its addresses, to `dst`, which
	 * is replaced: pinned and shared ones too. Missing pages at `src` stay
	 * ours, those at `dst` are the kernel's. */
	int (*take)(void *dst, void *src, size_t len);

	/* Zeros into one missing page. -EEXIST when it is there already. */
	int (*zero_page)(int fd, void *page);

	/* Wake threads that wait for [addr, addr + len). */
	int (*wake)(int fd, void *addr, size_t len);

	/* Make every access to the missing range raise SIGBUS (content is
	 * lost). -EOPNOTSUPP below Linux 6.6. */
	int (*poison)(int fd, void *addr, size_t len);
};

extern const struct hz_fault_ops hz_fault_uffd;

#endif
