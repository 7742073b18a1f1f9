/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Our own events: pairs of them, of one context each, made when they are first
 * needed and destroyed before the program ends the context. What lies between
 * the two is read when both were reached, and never waited for.
 */
#ifndef HZ_CUDA_EVENTS_H
#define HZ_CUDA_EVENTS_H

#include <stdbool.h>
#include <stdint.h>
#include "cuda_abi.h"
#include "engine/gpu.h"

struct hz_cu_pair {
	uint32_t state; /* atomic; whose it is */
	CUevent from, to;
	struct hz_gpu_launched what;
};
struct hz_cu_pool;

/* May the driver be asked for anything now? */
bool hz_cu_may_ask(void);
/* Of the context that is current, NULL if there is none to be used. */
struct hz_cu_pool *hz_cu_pool(bool may_make, CUcontext *context);
/* Times of the launches that are known to be done go into the trace. */
void hz_cu_pool_read(struct hz_cu_pool *pool);
/* Not what the driver should have said: nothing more is asked for in this
 * context, and the first time is worth a message. */
void hz_cu_pool_fail(struct hz_cu_pool *pool, const char *what, CUresult rc);
/* It is this thread's now; NULL if there is none. */
struct hz_cu_pair *hz_cu_pair_take(struct hz_cu_pool *pool, CUcontext context);
/* Its context ended: its events are nobody's. */
bool hz_cu_pair_lost(const struct hz_cu_pair *p);
/* By its owner: nothing is between the two events; or the launch `what` is,
 * and it is to be read. */
void hz_cu_pair_give(struct hz_cu_pair *p);
void hz_cu_pair_ask(struct hz_cu_pair *p);

#endif
