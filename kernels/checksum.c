/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which variant of the checksums this CPU runs. Chosen on the first call;
 * threads that race there choose the same.
 */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif
#include "checksum.h"
#include "checksum_impl.h"

const struct hz_checksum_variant *const hz_checksum_variants[] = {
#ifdef __x86_64__
	&hz_checksum_avx512,
	&hz_checksum_avx2,
#endif
	&hz_checksum_base,
};
const unsigned hz_checksum_variant_count =
	sizeof(hz_checksum_variants) / sizeof(hz_checksum_variants[0]);

static const struct hz_checksum_variant *best(void)
{
	static const struct hz_checksum_variant *chosen;
	const struct hz_checksum_variant *v;

	v = __atomic_load_n(&chosen, __ATOMIC_RELAXED);
	for (unsigned i = 0; !v; i++)
		if (hz_checksum_variants[i]->supported())
			v = hz_checksum_variants[i];
	__atomic_store_n(&chosen, v, __ATOMIC_RELAXED);
	return v;
}

bool hz_is_zero(const void *p, size_t len)
{
	return best()->is_zero(p, len);
}

void hz_checksum(const void *p, size_t len, uint64_t out[2])
{
	best()->hash(p, len, out);
}
