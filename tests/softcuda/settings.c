/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The environment, read once; see softcuda.h. A bad value ends the process:
 * a test that runs under other settings than it asked for proves nothing.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "soft.h"

struct soft_settings soft_set = {
	.devices = 1,
	.driver = 13000,
	.lag = 8,
	.workers = 2,
	.vmm_mixed = true,
	.faults = true,
};

static void bad(const char *name, const char *text)
{
	fprintf(stderr, "softcuda: %s: bad value '%s'\n", name, text);
	_Exit(125);
}

/* Horizon's sizes: digits, perhaps a fraction, and one of K M G T, binary. */
static uint64_t size(const char *name, const char *text, char **end)
{
	static const char letters[] = "KMGTkmgt";
	uint64_t v = strtoull(text, end, 10), part = 0, scale = 1;
	const char *at;

	if (*end == text || *text == '-')
		bad(name, text);
	if (**end == '.')
		for (++*end; **end >= '0' && **end <= '9'; ++*end) {
			part = part * 10 + (uint64_t)(**end - '0');
			scale *= 10;
		}
	at = **end ? strchr(letters, **end) : NULL;
	if (scale > 1000000 || (scale > 1 && !at))
		bad(name, text);
	if (at) {
		unsigned shift = 10 * ((unsigned)(at - letters) % 4 + 1);

		v = (v << shift) + (part << shift) / scale;
		(*end)++;
	}
	return v;
}

static unsigned number(const char *name, unsigned fallback, unsigned min,
		       unsigned max)
{
	const char *text = getenv(name);
	unsigned long v;
	char *end;

	if (!text || !*text)
		return fallback;
	v = strtoul(text, &end, 10);
	if (end == text || *end || v < min || v > max)
		bad(name, text);
	return (unsigned)v;
}

static void sizes(const char *name, uint64_t *out, unsigned n, uint64_t value)
{
	const char *text = getenv(name);
	char *end = (char *)"";

	if (text && *text)
		value = size(name, text, &end);
	for (unsigned i = 0; i < n; i++) {
		out[i] = value;
		if (*end == ',')
			value = size(name, end + 1, &end);
	}
	if (*end)
		bad(name, text);
}

/* One digit a device, the last one for the rest. */
static void flags(const char *name, bool *out, bool value)
{
	const char *text = getenv(name);

	for (unsigned i = 0; i < SOFT_MAX_DEVICES; i++) {
		if (text && *text) {
			if (*text != '0' && *text != '1')
				bad(name, text);
			value = *text++ == '1';
		}
		out[i] = value;
	}
}

void soft_settings_read(void)
{
	const char *discard = getenv("SOFTCUDA_DISCARD");
	uint64_t link[2];

	soft_set.devices = number("SOFTCUDA_DEVICES", 1, 0, SOFT_MAX_DEVICES);
	soft_set.driver = number("SOFTCUDA_DRIVER", 13000, 11000, 13999);
	soft_set.lag = number("SOFTCUDA_LAG", 8, 0, SOFT_QUEUE - 1);
	soft_set.workers = number("SOFTCUDA_WORKERS", 2, 1, 64);
	soft_set.vmm_mixed = number("SOFTCUDA_VMM_MIXED", 1, 0, 1);
	soft_set.faults = number("SOFTCUDA_FAULTS", 1, 0, 1);
	sizes("SOFTCUDA_VRAM", soft_set.vram, SOFT_MAX_DEVICES,
	      (uint64_t)1 << 30);
	sizes("SOFTCUDA_LINK", link, 2, 0);
	soft_set.link_h2d = link[0];
	soft_set.link_d2h = link[1];
	flags("SOFTCUDA_CMA", soft_set.concurrent, true);
	flags("SOFTCUDA_PAGEABLE", soft_set.pageable, false);
	if (discard && strcmp(discard, "keep") && strcmp(discard, "unmap"))
		bad("SOFTCUDA_DISCARD", discard);
	soft_set.discard_keeps = discard && !strcmp(discard, "keep");
	soft_set.report = getenv("SOFTCUDA_REPORT");
}
