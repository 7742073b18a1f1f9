/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The role of the process's memory-map lock. A prefetch is work of the
 * calling thread under the shared side; whoever makes, frees or advises memory
 * needs it alone, and waits for a prefetch's current piece.
 */
#include "soft.h"

static pthread_rwlock_t lock =
	PTHREAD_RWLOCK_WRITER_NONRECURSIVE_INITIALIZER_NP;

void soft_shared(void)
{
	pthread_rwlock_rdlock(&lock);
}

void soft_shared_end(void)
{
	pthread_rwlock_unlock(&lock);
}

void soft_exclusive(void)
{
	if (!pthread_rwlock_trywrlock(&lock))
		return;
	soft_count(exclusive_waits, 1);
	pthread_rwlock_wrlock(&lock);
}

void soft_exclusive_end_p(int *unused)
{
	pthread_rwlock_unlock(&lock);
}
