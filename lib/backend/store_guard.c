/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The mark of a store, and the file systems that cannot hold one.
 *
 * As in store_file.c, calls that hz_os does not have are raw ones.
 */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif
#include "backend/store_guard.h"

#include <errno.h>
#include <stdint.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <unistd.h>
#include "base/log.h"
#include "base/raw.h"
#include "base/util.h"

#define ATTRIBUTE "user.horizon.store"
#define MARK_MAX  48

/* By the magic numbers of linux/magic.h, some of which are younger than the
 * oldest headers that we build with. */
static const struct {
	uint32_t magic;
	const char *name;
} pseudo[] = {
	{0x00009fa0, "proc"},	     {0x62656572, "sysfs"},
	{0x0027e0eb, "cgroup"},	     {0x63677270, "cgroup2"},
	{0x64626720, "debugfs"},     {0x74726163, "tracefs"},
	{0x73636673, "securityfs"},  {0xf97cff8c, "selinuxfs"},
	{0x43415d53, "smackfs"},     {0xcafe4a11, "bpf"},
	{0x00001cd1, "devpts"},	     {0xde5e81e4, "efivarfs"},
	{0x6165676c, "pstore"},	     {0x958458f6, "hugetlbfs"},
	{0x42494e4d, "binfmt_misc"}, {0x62656570, "configfs"},
	{0x19800202, "mqueue"},	     {0x07655821, "resctrl"},
	{0x6e736673, "nsfs"},
};

const char *hz_store_pseudo(int fd)
{
	struct statfs fs;

	if (hz_syscall(SYS_fstatfs, fd, &fs) < 0)
		return NULL;
	for (unsigned i = 0; i < hz_array_len(pseudo); i++)
		if (pseudo[i].magic == (uint32_t)fs.f_type)
			return pseudo[i].name;
	return NULL;
}

static size_t mark_of(const struct stat *st, char mark[MARK_MAX])
{
	return (size_t)hz_format(mark, MARK_MAX, "1 %llu",
				 (unsigned long long)st->st_size);
}

static bool marked(int fd, const struct stat *st)
{
	char want[MARK_MAX], have[MARK_MAX];
	size_t len = mark_of(st, want);

	return hz_syscall(SYS_fgetxattr, fd, ATTRIBUTE, have, sizeof(have)) ==
		       (long)len &&
	       !memcmp(want, have, len);
}

bool hz_store_foreign(int fd)
{
	struct stat st;

	if (hz_syscall(SYS_fstat, fd, &st) < 0 || !S_ISREG(st.st_mode) ||
	    !st.st_size)
		return false;
	/* ENXIO: a hole from end to end. */
	return hz_syscall(SYS_lseek, fd, (off_t)0, SEEK_DATA) != -ENXIO &&
	       !marked(fd, &st);
}

int hz_store_mark(int fd)
{
	char mark[MARK_MAX];
	struct stat st;
	int err = (int)hz_syscall(SYS_fstat, fd, &st);

	return err ? err
		   : (int)hz_syscall(SYS_fsetxattr, fd, ATTRIBUTE, mark,
			      mark_of(&st, mark), 0);
}
