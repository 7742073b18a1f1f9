/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Ring of access events.
 */
#include "policy/trace.h"

void hz_trace_init(struct hz_trace *trace, struct hz_event *ring,
                   uint32_t entries)
{
	trace->ring = ring;
	trace->mask = entries - 1;
	trace->total = 0;
}

void hz_trace_add(struct hz_trace *trace, uint32_t block, enum hz_access how,
                  uint64_t now)
{
	struct hz_event *e = &trace->ring[trace->total++ & trace->mask];

	e->now = now;
	e->block = block;
	e->how = how;
}

uint32_t hz_trace_count(const struct hz_trace *trace)
{
	uint64_t entries = (uint64_t)trace->mask + 1;

	return (uint32_t)hz_min(trace->total, entries);
}

const struct hz_event *hz_trace_at(const struct hz_trace *trace, uint32_t age)
{
	if (age >= hz_trace_count(trace))
		return NULL;
	return &trace->ring[(trace->total - 1 - age) & trace->mask];
}
