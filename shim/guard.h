/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What every hook needs: the mark of an exported name, the guard around a
 * call into the engine, and the way from -errno to errno.
 *
 * `hz_inside` is a thread-local counter of initial-exec model, so that reading
 * it takes no lock and allocates nothing. While it is not 0 this thread is in
 * Horizon's own code (the engine's threads for ever): what it asks for goes to
 * the next allocator or to the kernel and is never tiered.
 */
#ifndef HZ_GUARD_H
#define HZ_GUARD_H

#include <errno.h>
#include "engine/arena.h"

#define HZ_EXPORT __attribute__((visibility("default")))

/* The value of a call into the engine. */
#define HZ_GUARDED(call_)                        \
	({                                       \
		hz_inside++;                     \
		__typeof__(call_) hz_r_ = call_; \
		hz_inside--;                     \
		hz_r_;                           \
	})

/* As the C library reports a system call's result. */
static inline long hz_sysret(long r)
{
	if (r >= -4095 && r < 0) {
		errno = (int)-r;
		return -1;
	}
	return r;
}

#endif
