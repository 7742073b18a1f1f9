/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The last access events, in the order in which they were read: the raw
 * material of everything that learns. A ring in memory of the caller; the
 * oldest event is overwritten. Pure; the engine's lock guards it.
 */
#ifndef HZ_POLICY_TRACE_H
#define HZ_POLICY_TRACE_H

#include <stddef.h>
#include <stdint.h>
#include "policy/plan.h"

struct hz_event {
	uint64_t now; /* ns */
	uint32_t block;
	uint32_t how; /* enum hz_access */
};

struct hz_trace {
	struct hz_event *ring;
	uint32_t mask;  /* ring entries - 1 */
	uint64_t total; /* events ever added */
};

/* `entries` is a power of two. */
void hz_trace_init(struct hz_trace *trace, struct hz_event *ring,
                   uint32_t entries);
void hz_trace_add(struct hz_trace *trace, uint32_t block, enum hz_access how,
                  uint64_t now);

/* Events that can still be read. */
uint32_t hz_trace_count(const struct hz_trace *trace);

/* The event `age` before the newest (0 is the newest), or NULL. */
const struct hz_event *hz_trace_at(const struct hz_trace *trace, uint32_t age);

#endif
