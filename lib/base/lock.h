/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Mutexes with ranks. A thread may only take a lock of a higher rank than
 * every lock it holds; builds with HZ_DEBUG check this on each acquisition
 * and abort with both names. No lock is held over a copy, over an I/O, or
 * over a system call that can fault into a tiered block.
 *
 * hz_lock_reset() makes a lock usable in a forked child.
 */
#ifndef HZ_LOCK_H
#define HZ_LOCK_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include "base/util.h"

/* In acquisition order. What each one guards is said where it is declared. */
enum hz_lock_rank {
	HZ_RANK_GPU = 1,   /* map of the GPU's memory; first at a fork */
	HZ_RANK_GPU_LAUNCH, /* what its launches touch */
	HZ_RANK_START,	   /* engine start, once */
	HZ_RANK_FORK,	   /* one fork at a time */
	HZ_RANK_ENGINE,	   /* blocks, frames, ranges, plan */
	HZ_RANK_STORE,	   /* store slots; the threads backend's queue */
	HZ_RANK_STATS,	   /* segment rows */
	HZ_RANK_SMALL,	   /* page source of the small allocator */
	HZ_RANK_LOG,
};

struct hz_lock {
	pthread_mutex_t mtx;
	enum hz_lock_rank rank;
	const char *name;
};

#define HZ_LOCK_INIT(rank_, name_)                                      \
	{                                                               \
		.mtx = PTHREAD_MUTEX_INITIALIZER, .rank = (rank_),      \
		.name = (name_)                                         \
	}

void hz_lock(struct hz_lock *lock);
void hz_unlock(struct hz_lock *lock);
/* Wait no longer than so many ns; false: it is not held. */
bool hz_lock_for(struct hz_lock *lock, uint64_t ns);
void hz_lock_reset(struct hz_lock *lock);
/* Unlock it, held or not, by this thread or another: for what nobody will look
 * at any more. Usable in a signal handler. */
void hz_lock_open(struct hz_lock *lock);
/* Abort (HZ_DEBUG builds) unless the calling thread holds `lock`. */
void hz_lock_assert_held(const struct hz_lock *lock);

static inline void hz_scoped_unlock(struct hz_lock **lock)
{
	hz_unlock(*lock);
}

/* Hold `l_` until the end of the current scope. */
#define HZ_SCOPED_LOCK(l_)                                               \
	struct hz_lock *hz_cleanup(hz_scoped_unlock) hz_scoped_ = (l_); \
	hz_lock(hz_scoped_)

#endif
