/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Steps that nobody here can run, from shapes: --synth.
 */
#ifndef HZ_REPLAY_SYNTH_H
#define HZ_REPLAY_SYNTH_H

#include "replay/sim.h"

/* "gpt:layers=24,hidden=2048,...", see horizon-replay(1); NULL after one
 * message. Times are the profile's roofline. */
struct work *synth_make(const char *spec, const struct profile *profile);

#endif
