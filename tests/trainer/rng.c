/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A counter put through the splitmix64 finaliser.
 */
#include "rng.h"

static uint64_t mix(uint64_t z)
{
	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
	return z ^ (z >> 31);
}

uint64_t rng_at(uint64_t stream, uint64_t i)
{
	return mix(mix(stream) + (i + 1) * 0x9e3779b97f4a7c15u);
}

/* The sum of four 16-bit uniforms: no logarithm, no rejection. */
float rng_normal(uint64_t stream, uint64_t i)
{
	uint64_t z = rng_at(stream, i);
	int32_t sum = (z & 0xffff) + (z >> 16 & 0xffff) + (z >> 32 & 0xffff) +
	              (z >> 48);

	return (sum - 2 * 65535) * (1.7320508f / 65536);
}
