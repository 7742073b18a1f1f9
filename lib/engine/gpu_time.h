/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which launches are timed while a trace is recorded, and what becomes of the
 * times. Nothing here calls the driver; the hooks put the events around a
 * launch, see shim/cuda_time.c.
 */
#ifndef HZ_ENGINE_GPU_TIME_H
#define HZ_ENGINE_GPU_TIME_H

#include <stdbool.h>
#include <stdint.h>

/* One launch in so many. */
#define HZ_GPU_TIME_EVERY 64u

/* Is a trace recorded, so that launches are timed? Atomic. */
extern bool hz_gpu_timing;

/* Is launch n, from 0 on, one that is timed? */
bool hz_gpu_time_is_turn(uint64_t n);
/* The same for the launch that this thread is about to make. */
bool hz_gpu_time_turn(void);

/* A launch as the trace names it. */
struct hz_gpu_launched {
	uint64_t number; /* of the trace's launches, from 0 on */
	uint32_t name;
};

/* This thread's next launch is a timed one ... */
void hz_gpu_time_expect(void);
/* ... and is in the trace: which one it is. False: it is not in it. */
bool hz_gpu_time_launched(struct hz_gpu_launched *what);
/* How long it took: an event of the trace. */
void hz_gpu_time_took(const struct hz_gpu_launched *what, uint64_t ns);

/* By gpu_record.c, with its lock held: this thread launched. */
void hz_gpu_time_recorded(uint32_t name, uint64_t number);

#endif
