/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The machines of profiles.def.
 */
#include "config.h"
#include "replay/sim.h"

#include <string.h>

const struct profile profiles[] = {
#define PROFILE(name_, vram_, ram_, store_, out_, in_, out2_, in2_, write_, \
		read_, lat_, wlat_, rlat_, fault_, flops_, vbps_, source_)  \
	{                                                                   \
		.name = name_,                                              \
		.source = source_,                                          \
		.vram = vram_,                                              \
		.ram = ram_,                                                \
		.store = store_,                                            \
		.bps = {out_, in_, write_, read_},                          \
		.bps_both = {out2_, in2_, write_, read_},                   \
		.latency_ns = {lat_, lat_, wlat_, rlat_},                   \
		.fault_ns = fault_,                                         \
		.flops = flops_,                                            \
		.vram_bps = vbps_,                                          \
	},
#include "replay/profiles.def"
#undef PROFILE
};

const unsigned profiles_count = hz_array_len(profiles);

const struct profile *profile_find(const char *name)
{
	for (unsigned i = 0; i < profiles_count; i++)
		if (!strcmp(profiles[i].name, name))
			return &profiles[i];
	return NULL;
}
