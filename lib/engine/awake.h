/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Two threads that keep processors from sleeping while the program waits for
 * memory time and again: one where its waiting thread ran last, one where
 * hz-fault did. Their priority is the idle one (SCHED_IDLE): they run when
 * nothing else does, and whoever is woken has the processor at once.
 *
 * Not where a cgroup has a quota of CPU time: they would use it up.
 *
 * Rests on sched(7): SCHED_IDLE needs no privilege. The scheduler takes a
 * processor that runs nothing else for an idle one (Linux 5.4).
 */
#ifndef HZ_ENGINE_AWAKE_H
#define HZ_ENGINE_AWAKE_H

#include <stdint.h>

/* Before hz-fault runs; in hz-aux. A child has none of its parent's threads. */
void hz_awake_start(void);
/* Thread `tid` of the program had a fault, seen at `now`. In hz-fault. */
void hz_awake_fault(int tid, uint64_t now);
/* Make the threads if they are wanted. In hz-aux, no lock held: it allocates.
 */
void hz_awake_make(void);

#endif
