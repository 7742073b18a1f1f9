/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A system call that nobody interposes: the result or -errno. syscall(2) sets
 * errno, which a hook must not: it stays as it was.
 */
#ifndef HZ_RAW_H
#define HZ_RAW_H

#include <errno.h>
#include <sys/syscall.h>
#include <unistd.h>

#define hz_syscall(...)                           \
	({                                        \
		int saved_ = errno;               \
		long ret_ = syscall(__VA_ARGS__); \
		if (ret_ == -1)                   \
			ret_ = -errno;            \
		errno = saved_;                   \
		ret_;                             \
	})

#endif
