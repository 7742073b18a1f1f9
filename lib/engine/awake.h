/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Threads that keep processors from sleeping while the program waits for memory
 * time and again; see policy/awake.h.
 *
 * With few processors all but one are kept busy, by threads of nice 19. Then
 * the thread that waits and hz-fault share the one that is left: to go from one
 * to the other is a switch of a few us, and nobody has to be woken elsewhere.
 * With more, two threads of the idle priority keep those two processors awake
 * on which they ran last: whoever is woken has the processor at once.
 *
 * They rest where others want the processor. To those of their own autogroup
 * and cgroup they give way at once; to others only then, since these share by
 * group. That, and that their time counts as the program's, is why it has to be
 * asked for. Not where a cgroup has a quota of CPU time: they would use it up.
 *
 * Rests on sched(7): neither nice 19 nor SCHED_IDLE needs a privilege. The
 * scheduler takes a processor that runs SCHED_IDLE only for an idle one (Linux
 * 5.4), and one that runs nice 19 for a busy one.
 */
#ifndef HZ_ENGINE_AWAKE_H
#define HZ_ENGINE_AWAKE_H

#include "engine/engine.h"

/* Before hz-fault runs; in hz-aux. A child has none of its parent's threads. */
void hz_awake_start(void);
/* Thread `tid` of the program had a fault, seen at `now`. In hz-fault. */
void hz_awake_fault(int tid, uint64_t now);
/* Make the threads when they are wanted for the first time, but not while a
 * fork is near. In hz-aux; lock held, dropped meanwhile. */
void hz_awake_make(struct hz_engine *e);

#endif
