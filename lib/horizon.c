/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The public names. Linked into libhorizon and into the preload library; the
 * latter comes first in the search, so that a process has one engine.
 */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "base/stats.h"
#include "engine/arena.h"
#include "engine/gpu.h"
#include "engine/engine.h"
#include "horizon.h"

#define PUBLIC __attribute__((visibility("default")))

PUBLIC const char *horizon_version(void)
{
	return PACKAGE_VERSION;
}

PUBLIC int horizon_start(void)
{
	struct hz_gate g;
	bool ok;

	hz_gate_enter(&g);
	ok = (hz_arena_base || hz_arena_init(environ)) && hz_engine_start();
	hz_gate_leave(&g);
	return ok ? 0 : -EOPNOTSUPP;
}

PUBLIC void *horizon_alloc(size_t size)
{
	if (!size || horizon_start() < 0)
		return NULL;
	return hz_arena_alloc(size, HZ_UNIT_SIZE, false);
}

PUBLIC void horizon_free(void *p)
{
	if (p)
		hz_arena_free(p);
}

PUBLIC int horizon_owns(const void *p)
{
	return hz_arena_owns(p);
}

PUBLIC long horizon_evict(void *addr, size_t len)
{
	if (!hz_arena_owns(addr) || !hz_arena_owns((char *)addr + len - 1))
		return -EINVAL;
	return hz_arena_evict(addr, len);
}

PUBLIC int horizon_counter(const char *name, uint64_t *value)
{
	hz_gpu_settle();
	for (unsigned i = 0; i < HZ_STAT_COUNT; i++)
		if (!strcmp(hz_stat_rows[i].id, name)) {
			*value = hz_stat_get((enum hz_stat)i);
			return 0;
		}
	return -ENOENT;
}
