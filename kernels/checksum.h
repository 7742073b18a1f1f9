/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Checksums of a block: is it all zero, and its 128-bit hash (XXH3).
 */
#ifndef HZ_CHECKSUM_H
#define HZ_CHECKSUM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* True if all `len` bytes (a multiple of 64, 64-byte aligned) are zero. */
bool hz_is_zero(const void *p, size_t len);

/* XXH3 128-bit. Two blocks that differ have the same hash with probability
 * 2^-128 unless someone computes collisions on purpose; the hash guards
 * against stale copies, not against an adversary inside the program. */
void hz_checksum(const void *p, size_t len, uint64_t out[2]);

#endif
