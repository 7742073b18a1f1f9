/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Random numbers by position, not by history: the i-th number of a stream
 * needs none of those before it, so any thread may draw any of them.
 */
#ifndef RNG_H
#define RNG_H

#include <stdint.h>

uint64_t rng_at(uint64_t stream, uint64_t i);
/* Mean 0, variance 1, nearly Gaussian, within +-3.5. */
float rng_normal(uint64_t stream, uint64_t i);

#endif
