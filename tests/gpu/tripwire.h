/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The tripwire of item 7. One arena of managed memory holds all tensors of the
 * program, each in its own 2 MiB blocks. Before a launch every tensor that the
 * launch's arguments do not name is put on the host; the CPU then has all of
 * its pages mapped. After the launch, a tensor with a page that is no longer
 * mapped was touched by the GPU: the arguments missed it.
 */
#ifndef HZ_GPU_TRIPWIRE_H
#define HZ_GPU_TRIPWIRE_H

#include "probe.h"

#define EXPORT	    __attribute__((visibility("default")))
#define TRIP_BLOCK  (2 * MIB)
#define TRIP_BLOCKS 4096u /* of the arena: 8 GiB */

/* A set of tensors; each is known by its first block. */
struct trip_set {
	uint64_t words[TRIP_BLOCKS / 64];
};

static inline void trip_add(struct trip_set *s, unsigned block)
{
	s->words[block / 64] |= 1ull << block % 64;
}

static inline bool trip_has(const struct trip_set *s, unsigned block)
{
	return s->words[block / 64] >> block % 64 & 1;
}

/* What the launch names. */
struct trip_names {
	struct trip_set all, by_map;
	bool known; /* the arguments could be read */
	bool map;   /* there was a tensor map among them */
	const char *kernel;
};

/* The real driver, below this library. */
void *trip_real(const char *name);

/* ---- tripwire_arena.c ---- */

/* The tensor that holds this address; false where it is none of ours. */
bool trip_tensor(uint64_t address, unsigned *block);
/* Puts tensors where they belong; ARMED are those that can now tell, the result
 * is how many should but cannot. */
unsigned trip_arm(const struct trip_set *named, struct trip_set *armed);
/* Those of ARMED that the GPU touched since. */
unsigned trip_touched(const struct trip_set *armed, struct trip_set *touched,
		      size_t *bytes);

/* ---- tripwire_scan.c ---- */

/* Reads the arguments of a launch. */
void trip_scan(CUfunction f, void **params, void **extra,
	       struct trip_names *names);
void trip_saw_map(const CUtensorMap *map, void *address);
void trip_scan_facts(const char *prefix);

#endif
