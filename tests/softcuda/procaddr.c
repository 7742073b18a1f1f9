/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cuGetProcAddress: of the variants of a name, the newest whose version is
 * not above the one asked for, nor above the driver's own. Flag 2 prefers the
 * per-thread family where the name has one.
 */
#include <string.h>
#include "soft.h"
#include "symbols.h"

#define FLAGS (CU_GET_PROC_ADDRESS_LEGACY_STREAM | \
	       CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM)

/* The first row of a name, or SOFT_SYMBOLS. */
static unsigned first_of(const char *name)
{
	unsigned lo = 0, hi = SOFT_SYMBOLS;

	while (lo < hi) {
		unsigned mid = (lo + hi) / 2;

		if (strcmp(soft_symbols[mid].asked, name) < 0)
			lo = mid + 1;
		else
			hi = mid;
	}
	if (lo < SOFT_SYMBOLS && !strcmp(soft_symbols[lo].asked, name))
		return lo;
	return SOFT_SYMBOLS;
}

static const struct soft_symbol *newest(unsigned at, int version, bool pt)
{
	const char *name = soft_symbols[at].asked;
	const struct soft_symbol *best = NULL;

	for (; at < SOFT_SYMBOLS; at++) {
		const struct soft_symbol *s = &soft_symbols[at];

		if (strcmp(s->asked, name))
			break;
		if (s->per_thread == pt && (int)s->version <= version &&
		    s->version <= soft_set.driver)
			best = s;
	}
	return best;
}

static CUresult look_up(const char *name, void **out, int version,
			cuuint64_t flags, CUdriverProcAddressQueryResult *how)
{
	const struct soft_symbol *s = NULL;
	CUdriverProcAddressQueryResult why;
	unsigned at;

	if (!name || !out || (flags & ~(cuuint64_t)FLAGS) || flags == FLAGS)
		return CUDA_ERROR_INVALID_VALUE;
	at = first_of(name);
	if (at < SOFT_SYMBOLS) {
		if (flags & CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM)
			s = newest(at, version, true);
		if (!s)
			s = newest(at, version, false);
	}
	why = s			  ? CU_GET_PROC_ADDRESS_SUCCESS
	      : at < SOFT_SYMBOLS ? CU_GET_PROC_ADDRESS_VERSION_NOT_SUFFICIENT
				  : CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND;
	*out = s ? (void *)s->address : NULL;
	if (how)
		*how = why;
	return s ? CUDA_SUCCESS : CUDA_ERROR_NOT_FOUND;
}

SOFT_API(cuGetProcAddress,
	 (const char *symbol, void **pfn, int version, cuuint64_t flags),
	 (symbol, pfn, version, flags))
{
	return look_up(symbol, pfn, version, flags, NULL);
}

SOFT_API(cuGetProcAddress_v2,
	 (const char *symbol, void **pfn, int version, cuuint64_t flags,
	  CUdriverProcAddressQueryResult *status),
	 (symbol, pfn, version, flags, status))
{
	return look_up(symbol, pfn, version, flags, status);
}
