/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Handles. The memory of an object is never given back to malloc: it is kept
 * by kind and used again, as the driver recycles its handles, so a stale
 * handle is told by its word in front instead of crashing.
 */
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include "soft.h"

pthread_mutex_t soft_lock = PTHREAD_MUTEX_INITIALIZER;
pthread_mutex_t soft_map_lock = PTHREAD_MUTEX_INITIALIZER;
pthread_mutex_t soft_phys_lock = PTHREAD_MUTEX_INITIALIZER;

static pthread_mutex_t free_lock = PTHREAD_MUTEX_INITIALIZER;
static struct soft_object *free_lists[SOFT_KINDS - SOFT_CTX];

void soft_unlock_p(pthread_mutex_t **lock)
{
	pthread_mutex_unlock(*lock);
}

uint64_t soft_now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

/* An object of a kind always has the same size. */
void *soft_new(enum soft_kind kind, size_t bytes)
{
	struct soft_object **list = &free_lists[kind - SOFT_CTX], *o;

	soft_guard(free_lock);
	o = *list;
	if (o) {
		*list = o->next_free;
		memset(o, 0, bytes);
	} else {
		o = calloc(1, bytes);
	}
	if (o)
		o->kind = o->was = kind;
	return o;
}

void soft_delete(void *object)
{
	struct soft_object *o = object;

	soft_guard(free_lock);
	o->kind = SOFT_DEAD;
	o->next_free = free_lists[o->was - SOFT_CTX];
	free_lists[o->was - SOFT_CTX] = o;
}

bool soft_is(const void *object, enum soft_kind kind)
{
	const struct soft_object *o = object;

	/* small numbers and odd addresses are no object of ours */
	if ((uintptr_t)o < 4096 || ((uintptr_t)o & 7))
		return false;
	return __atomic_load_n(&o->kind, __ATOMIC_ACQUIRE) == kind;
}

CUresult soft_check(const void *object, enum soft_kind kind)
{
	if (soft_is(object, kind))
		return CUDA_SUCCESS;
	soft_count(bad_handles, 1);
	return CUDA_ERROR_INVALID_HANDLE;
}
