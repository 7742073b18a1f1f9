/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The parts of <linux/userfaultfd.h> and <linux/fs.h> that are newer than the
 * headers of distributions still in use (UFFDIO_MOVE is Linux 6.8, POISON
 * 6.6, PAGEMAP_SCAN 6.7). Values are the kernel's ABI and never change;
 * every one is probed at run time before it is used.
 */
#ifndef HZ_UFFD_ABI_H
#define HZ_UFFD_ABI_H

#include <linux/ioctl.h>
#include <linux/types.h>
#include <linux/userfaultfd.h>

#ifndef USERFAULTFD_IOC_NEW
#define USERFAULTFD_IOC_NEW _IO(0xAA, 0x00)
#endif

#ifndef UFFD_FEATURE_MOVE
#define UFFD_FEATURE_MOVE (1ull << 16)
#endif

#ifndef UFFDIO_MOVE
struct uffdio_move {
	__u64 dst, src, len, mode;
	__s64 move; /* out: bytes moved or -errno */
};
#define UFFDIO_MOVE _IOWR(UFFDIO, 0x05, struct uffdio_move)
#define UFFDIO_MOVE_MODE_ALLOW_SRC_HOLES (1ull << 1)
#endif

#ifndef UFFDIO_POISON
struct uffdio_poison {
	struct uffdio_range range;
	__u64 mode;
	__s64 updated;
};
#define UFFDIO_POISON _IOWR(UFFDIO, 0x08, struct uffdio_poison)
#endif

/* PAGEMAP_SCAN on /proc/PID/pagemap */
#ifndef PAGEMAP_SCAN
struct page_region {
	__u64 start, end, categories;
};
struct pm_scan_arg {
	__u64 size, flags, start, end, walk_end, vec, vec_len, max_pages;
	__u64 category_inverted, category_mask, category_anyof_mask;
	__u64 return_mask;
};
#define PAGEMAP_SCAN	_IOWR('f', 16, struct pm_scan_arg)
#define PAGE_IS_PRESENT (1 << 3)
#define PAGE_IS_SWAPPED (1 << 4)
#define PAGE_IS_HUGE	(1 << 6)
#endif

#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23
#endif
#ifndef MADV_COLLAPSE
#define MADV_COLLAPSE 25
#endif

#endif
