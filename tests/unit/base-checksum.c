/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Zero detection against bytes set one by one, and the hash: equal for all
 * variants that this CPU runs, equal to the published test of XXH3, different
 * for blocks that differ.
 */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif
#include <criterion/criterion.h>
#include <stdalign.h>
#include <string.h>
#include "base/util.h"
#include "checksum.h"
#include "checksum_impl.h"

#define BYTES 8192
static alignas(64) unsigned char block[HZ_BLOCK_SIZE];

/* Every bit pattern that could be lost by a comparison of another width. */
static const unsigned char values[] = {0x01, 0x80, 0xff};

static void fill(size_t len, uint32_t seed)
{
	for (size_t i = 0; i < len; i++) {
		seed = seed * 1664525u + 1013904223u;
		block[i] = (unsigned char)(seed >> 24);
	}
}

static const struct hz_checksum_variant *variant(unsigned i)
{
	const struct hz_checksum_variant *v = hz_checksum_variants[i];

	return v->supported() ? v : NULL;
}

static void one_byte(const struct hz_checksum_variant *v, size_t len)
{
	cr_expect(v->is_zero(block, len), "%s: %zu zero bytes", v->name, len);
	for (size_t at = 0; at < len; at++) {
		block[at] = values[at % sizeof(values)];
		cr_assert_not(v->is_zero(block, len), "%s: byte %zu of %zu",
			      v->name, at, len);
		block[at] = 0;
	}
}

/* Lengths on each side of a step of the loops. */
Test(checksum, one_byte_anywhere_is_not_zero)
{
	static const size_t lens[] = {64,  128, 192, 256,  320,
				      448, 512, 576, 1088, 4096};

	for (unsigned i = 0; i < hz_checksum_variant_count; i++)
		for (unsigned j = 0; variant(i) && j < hz_array_len(lens); j++)
			one_byte(variant(i), lens[j]);
}

Test(checksum, one_byte_of_a_block_is_not_zero)
{
	static const size_t at[] = {0,
				    63,
				    64,
				    255,
				    256,
				    319,
				    4095,
				    HZ_BLOCK_SIZE / 2,
				    HZ_BLOCK_SIZE - 65,
				    HZ_BLOCK_SIZE - 1};

	cr_expect(hz_is_zero(block, sizeof(block)));
	for (unsigned i = 0; i < hz_array_len(at); i++) {
		block[at[i]] = 1;
		cr_expect_not(hz_is_zero(block, sizeof(block)), "byte %zu",
			      at[i]);
		block[at[i]] = 0;
	}
}

Test(checksum, nothing_behind_the_end_counts)
{
	block[128] = 1;
	for (unsigned i = 0; i < hz_checksum_variant_count; i++) {
		if (!variant(i))
			continue;
		cr_expect(variant(i)->is_zero(block, 128));
		cr_expect(variant(i)->is_zero(block, 0));
	}
}

/* The empty input and others, as XXH3's specification fixes them for seed 0.
 */
Test(checksum, known_values)
{
	uint64_t h[2];

	for (unsigned i = 0; i < hz_checksum_variant_count; i++) {
		if (!variant(i))
			continue;
		variant(i)->hash(block, 0, h);
		cr_expect_eq(h[0], 0x6001c324468d497full, "%s",
			     variant(i)->name);
		cr_expect_eq(h[1], 0x99aa06d3014798d8ull, "%s",
			     variant(i)->name);
	}
}

Test(checksum, variants_agree)
{
	static const size_t lens[] = {1,    16,	   17,		 128,  129,
				      240,  241,   1024,	 1025, 4096,
				      8191, BYTES, HZ_BLOCK_SIZE};
	uint64_t want[2], got[2], plain[2];

	fill(sizeof(block), 7);
	for (unsigned j = 0; j < hz_array_len(lens); j++) {
		hz_checksum_base.hash(block, lens[j], want);
		hz_checksum(block, lens[j], plain);
		cr_expect(!memcmp(plain, want, sizeof(want)), "%zu bytes",
			  lens[j]);
		for (unsigned i = 0; i < hz_checksum_variant_count; i++) {
			if (!variant(i))
				continue;
			variant(i)->hash(block, lens[j], got);
			cr_expect(!memcmp(got, want, sizeof(want)),
				  "%s, %zu bytes", variant(i)->name, lens[j]);
		}
	}
}

Test(checksum, every_bit_counts)
{
	uint64_t whole[2], h[2];

	fill(BYTES, 11);
	hz_checksum(block, BYTES, whole);
	for (size_t bit = 0; bit < BYTES * 8; bit += 5) {
		block[bit / 8] ^= (unsigned char)(1 << bit % 8);
		hz_checksum(block, BYTES, h);
		cr_assert(h[0] != whole[0] && h[1] != whole[1], "bit %zu", bit);
		block[bit / 8] ^= (unsigned char)(1 << bit % 8);
	}
	hz_checksum(block, BYTES, h);
	cr_expect(!memcmp(h, whole, sizeof(h)));
}

Test(checksum, the_last_variant_runs_everywhere)
{
	cr_expect_eq(hz_checksum_variants[hz_checksum_variant_count - 1],
		     &hz_checksum_base);
	cr_expect(hz_checksum_base.supported());
}
