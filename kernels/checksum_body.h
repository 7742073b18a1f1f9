/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The body of a variant. The file that includes it has chosen the target and
 * defined VARIANT (the exported row), NAME and SUPPORTED (an expression).
 *
 * Not a header: it has no guard, and it is compiled once a variant because
 * xxhash.h chooses its vectors when it is compiled. An IFUNC would choose at
 * load time, but its resolver would run before a preloaded library is ready.
 */
#define XXH_INLINE_ALL
#include <xxhash.h>
#include "checksum_impl.h"

#define LINE	  64
#define CHUNK	  256
#define WORDS(n_) ((n_) / sizeof(uint64_t))

static bool supported(void)
{
	return SUPPORTED;
}

/* `bytes` is a constant, so that the loop becomes a few vector loads. */
static inline bool any_bit(const uint64_t *w, size_t bytes)
{
	uint64_t any = 0;

	for (size_t i = 0; i < WORDS(bytes); i++)
		any |= w[i];
	return any != 0;
}

/* The first line alone: most blocks that are not zero say so there. */
static bool is_zero(const void *p, size_t len)
{
	const uint64_t *w = __builtin_assume_aligned(p, LINE);
	const uint64_t *end = w + WORDS(len);

	if (w < end && any_bit(w, LINE))
		return false;
	for (; (size_t)(end - w) >= WORDS(CHUNK); w += WORDS(CHUNK))
		if (any_bit(w, CHUNK))
			return false;
	for (; w < end; w += WORDS(LINE))
		if (any_bit(w, LINE))
			return false;
	return true;
}

static void hash(const void *p, size_t len, uint64_t out[2])
{
	XXH128_hash_t h = XXH3_128bits(p, len);

	out[0] = h.low64;
	out[1] = h.high64;
}

const struct hz_checksum_variant VARIANT = {
	.name = NAME,
	.supported = supported,
	.is_zero = is_zero,
	.hash = hash,
};
