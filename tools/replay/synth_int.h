/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What --synth says.
 */
#ifndef HZ_REPLAY_SYNTH_INT_H
#define HZ_REPLAY_SYNTH_INT_H

#include "replay/synth.h"

struct synth {
	const struct profile *profile;
	uint64_t layers, hidden, heads, seq, batch, micro, vocab;
	uint64_t efficiency; /* percent of the profile's FLOP/s that is reached
			      */
	uint64_t recompute;
	uint64_t tensors, events;
	bool f32, sgd, cpu, random;
};

struct work *synth_gpt(const struct synth *s);

#endif
