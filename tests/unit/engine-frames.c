/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Frames: what is done, and said, where a page cannot be made huge.
 */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif
#include <criterion/criterion.h>
#include <criterion/redirect.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include "backend/uffd_abi.h"
#include "base/knobs.h"
#include "base/log.h"
#include "base/os.h"
#include "engine/engine.h"

#define FRAMES 12

static struct hz_engine e = {
	.lock = HZ_LOCK_INIT(HZ_RANK_ENGINE, "engine"),
};
static struct hz_frame frames[FRAMES];
static char enabled[64]; /* stands for the kernel's file */
static int collapse_rc;
static unsigned collapses, armed;

static int arm(int uffd, void *addr, size_t len)
{
	armed += (unsigned)(len >> HZ_BLOCK_SHIFT);
	return 0;
}

static const struct hz_fault_ops fake = {.arm = arm};

/* No page is huge, and the file says what `enabled` holds. */
static int scan(int fd, unsigned long req, void *arg)
{
	return req == PAGEMAP_SCAN ? 0 : hz_os_linux.ioctl(fd, req, arg);
}

static int advise(void *addr, size_t len, int advice)
{
	if (advice != MADV_COLLAPSE)
		return hz_os_linux.madvise(addr, len, advice);
	collapses++;
	return collapse_rc;
}

static int open_fake(const char *path, int flags, int mode)
{
	return hz_os_linux.open(strstr(path, "transparent_hugepage") ? enabled
								     : path,
				flags, mode);
}

static void start(const char *text, int rc)
{
	int fd;

	strcpy(enabled, "thp-XXXXXX");
	fd = mkstemp(enabled);
	cr_assert_eq(write(fd, text, strlen(text)), (ssize_t)strlen(text));
	close(fd);
	cr_redirect_stderr();
	hz_log_set_level(HZ_INFO);
	collapse_rc = rc;
	hz_os.ioctl = scan;
	hz_os.madvise = advise;
	hz_os.open = open_fake;
	hz_knobs.numa = HZ_NUMA_OFF;
	e.fault = &fake;
	e.frame = frames;
	e.frames = FRAMES;
	e.cap = FRAMES;
	e.fbase = hz_os_reserve_aligned((size_t)FRAMES << HZ_BLOCK_SHIFT,
					HZ_BLOCK_SIZE);
	cr_assert_not_null(e.fbase);
	hz_frames_init(&e);
}

static void grow(uint32_t n)
{
	HZ_SCOPED_LOCK(&e.lock);

	cr_expect_eq(hz_frames_grow(&e, n, false), n);
}

/* What was said holds `words`, once, and not `other`. */
static void said(const char *words, const char *other)
{
	char text[4096];
	const char *at;
	size_t n;

	fflush(stderr);
	n = fread(text, 1, sizeof(text) - 1, cr_get_redirected_stderr());
	text[n] = '\0';
	at = strstr(text, words);
	cr_expect_not_null(at, "not in: %s", text);
	cr_expect_null(at ? strstr(at + 1, words) : NULL, "twice: %s", text);
	cr_expect_null(strstr(text, other), "in: %s", text);
	unlink(enabled);
}

static void are_usable(uint32_t n)
{
	cr_expect_eq(e.count[HZ_FRAME_ZERO], n);
	cr_expect_eq(e.pages, n);
	cr_expect_eq(armed, n);
}

Test(frames, off_is_said_once_and_not_tried_again)
{
	start("always madvise [never]\n", -EINVAL);
	grow(4);
	grow(4);
	are_usable(8);
	cr_expect_eq(collapses, 1);
	said("huge pages are off here", "fragmented");
}

Test(frames, no_such_file_is_off)
{
	start("", -EINVAL);
	unlink(enabled);
	grow(2);
	are_usable(2);
	said("huge pages are off here", "fragmented");
}

Test(frames, fragmented_memory_is_tried_again)
{
	start("always [madvise] never\n", -ENOMEM);
	grow(4);
	grow(4);
	are_usable(8);
	cr_expect_eq(collapses, 8);
	said("fragmented", "huge pages are off");
}

Test(frames, an_odd_block_is_not_all_of_them)
{
	start("always [madvise] never\n", -EINVAL);
	grow(2);
	cr_expect_eq(collapses, 2);
	are_usable(2);
	said("fragmented", "huge pages are off");
}
