/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Mutexes with ranks. In HZ_DEBUG builds each thread keeps the few locks that
 * it holds in thread-local memory, and a lock out of order aborts.
 */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif
#include <stdlib.h>
#include "base/lock.h"
#include "base/log.h"
#include "base/os.h"

#ifdef HZ_DEBUG

/* One a rank at most, so this cannot overflow. initial-exec: the lazy TLS of
 * a shared library would call malloc, that is, ourselves. */
static __thread const struct hz_lock *held[HZ_RANK_LOG + 1]
	__attribute__((tls_model("initial-exec")));

static void check_order(const struct hz_lock *lock)
{
	for (unsigned r = lock->rank; r <= HZ_RANK_LOG; r++) {
		if (!held[r])
			continue;
		hz_log(HZ_ERROR, "lock",
		       "%s (rank %d) taken under %s (rank %d)", lock->name,
		       (int)lock->rank, held[r]->name, (int)r);
		abort();
	}
}

static void note_held(const struct hz_lock *lock)
{
	held[lock->rank] = lock;
}

static void note_free(const struct hz_lock *lock)
{
	held[lock->rank] = NULL;
}

void hz_lock_assert_held(const struct hz_lock *lock)
{
	if (held[lock->rank] == lock)
		return;
	hz_log(HZ_ERROR, "lock", "%s is not held where it must be", lock->name);
	abort();
}

#else

static void check_order(const struct hz_lock *lock)
{
}

static void note_held(const struct hz_lock *lock)
{
}

static void note_free(const struct hz_lock *lock)
{
}

void hz_lock_assert_held(const struct hz_lock *lock)
{
}

#endif

void hz_lock(struct hz_lock *lock)
{
	check_order(lock);
	pthread_mutex_lock(&lock->mtx);
	note_held(lock);
}

bool hz_lock_for(struct hz_lock *lock, uint64_t ns)
{
	struct timespec t = hz_os_after(ns);

	check_order(lock);
	if (pthread_mutex_clocklock(&lock->mtx, CLOCK_MONOTONIC, &t))
		return false;
	note_held(lock);
	return true;
}

void hz_unlock(struct hz_lock *lock)
{
	hz_lock_assert_held(lock);
	note_free(lock);
	pthread_mutex_unlock(&lock->mtx);
}

void hz_lock_open(struct hz_lock *lock)
{
	note_free(lock);
	pthread_mutex_unlock(&lock->mtx);
}

/* The owner may be a thread that the child does not have, so the mutex is
 * made anew, not unlocked. */
void hz_lock_reset(struct hz_lock *lock)
{
	note_free(lock);
	lock->mtx = (pthread_mutex_t)PTHREAD_MUTEX_INITIALIZER;
}
