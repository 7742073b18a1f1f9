/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One row for each set of instructions that the checksums are built for. All
 * rows give the same results; checksum.c takes the first that the CPU has.
 */
#ifndef HZ_CHECKSUM_IMPL_H
#define HZ_CHECKSUM_IMPL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct hz_checksum_variant {
	const char *name;
	bool (*supported)(void);
	bool (*is_zero)(const void *p, size_t len);
	void (*hash)(const void *p, size_t len, uint64_t out[2]);
};

/* Best first; the last one runs on every CPU. */
extern const struct hz_checksum_variant *const hz_checksum_variants[];
extern const unsigned hz_checksum_variant_count;

extern const struct hz_checksum_variant hz_checksum_avx512;
extern const struct hz_checksum_variant hz_checksum_avx2;
extern const struct hz_checksum_variant hz_checksum_base;

#endif
