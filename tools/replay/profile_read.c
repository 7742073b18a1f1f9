/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A machine of the user's own: lines of KEY VALUE on top of one that is known.
 */
#include "config.h"
#include "replay/options.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "base/log.h"
#include "replay/mem.h"

#define KEY(name_, field_, unit_)                               \
	{                                                       \
#name_, offsetof(struct profile, field_), unit_ \
	}

/* Values are decimal numbers of `unit`s. */
static const struct {
	const char *name;
	size_t offset;
	double unit;
} keys[] = {
	KEY(vram_gib, vram, 1 << 30),
	KEY(ram_gib, ram, 1 << 30),
	KEY(store_gib, store, 1 << 30),
	KEY(link_out_gbps, bps[CH_OUT], 1e9),
	KEY(link_in_gbps, bps[CH_IN], 1e9),
	KEY(link_out_both_gbps, bps_both[CH_OUT], 1e9),
	KEY(link_in_both_gbps, bps_both[CH_IN], 1e9),
	KEY(store_write_gbps, bps[CH_WRITE], 1e9),
	KEY(store_read_gbps, bps[CH_READ], 1e9),
	KEY(fault_us, fault_ns, 1e3),
	KEY(tflops, flops, 1e12),
	KEY(vram_gbps, vram_bps, 1e9),
};

static bool take_line(struct profile *p, char *line, const char **why)
{
	char *key, *value, *end;
	double v;

	line[strcspn(line, "#\r\n")] = '\0';
	key = strtok(line, " \t=");
	value = strtok(NULL, " \t=");
	if (!key)
		return true;
	*why = "not KEY VALUE";
	if (!value || strtok(NULL, " \t="))
		return false;
	if (!strcmp(key, "base")) {
		const struct profile *base = profile_find(value);

		*why = "a base that is not known";
		if (base)
			*p = *base;
		return base;
	}
	v = strtod(value, &end);
	*why = "not a number in (0, 1e9]";
	if (*end || !(v >= 0 && v <= 1e9))
		return false;
	for (unsigned i = 0; i < hz_array_len(keys); i++) {
		if (strcmp(key, keys[i].name))
			continue;
		*(uint64_t *)((char *)p + keys[i].offset) =
			(uint64_t)(v * keys[i].unit);
		return true;
	}
	*why = "a key that is not known";
	return false;
}

static bool check(const struct profile *p, const char **why)
{
	*why = "memory or a rate is missing";
	if (!p->vram || !p->ram || !p->flops || !p->vram_bps)
		return false;
	for (unsigned c = 0; c < CHANNELS; c++)
		if ((c < CH_WRITE || p->store) &&
		    (!p->bps[c] || !p->bps_both[c]))
			return false;
	return true;
}

bool profile_read(struct profile *profile, const char *path)
{
	struct profile p = *profile;
	char line[256];
	const char *why = NULL;
	unsigned n = 0;
	bool good = true;
	FILE *in = fopen(path, "re");

	if (!in) {
		hz_log(HZ_ERROR, "replay", "%s: %m", path, -errno);
		return false;
	}
	while (good && fgets(line, sizeof(line), in)) {
		n++;
		good = take_line(&p, line, &why);
	}
	fclose(in);
	p.bps_both[CH_WRITE] = p.bps[CH_WRITE];
	p.bps_both[CH_READ] = p.bps[CH_READ];
	good = good && check(&p, &why);
	if (!good) {
		hz_log(HZ_ERROR, "replay", "%s: line %u: %s", path, n, why);
		return false;
	}
	p.name = mem_text(path);
	*profile = p;
	return true;
}
