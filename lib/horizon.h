/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Horizon: memory larger than RAM, tiered between RAM and a store.
 *
 * Most programs need none of this: `horizon-run -- COMMAND` tiers what they
 * allocate. A program that links libhorizon can allocate tiered memory by
 * itself; under the preload library the same calls reach the preload's
 * engine, so that there is one budget in a process.
 *
 * All functions are thread-safe. Errors are negative errno values.
 */
#ifndef HORIZON_H
#define HORIZON_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define HORIZON_VERSION_MAJOR 0
#define HORIZON_VERSION_MINOR 1
#define HORIZON_VERSION_PATCH 0

/* "0.1.0"; static storage. */
const char *horizon_version(void);

/* Load the knobs (horizon.conf(5), environment) and start the engine. 0 when
 * tiering works, also when it worked before; -EOPNOTSUPP when this machine or
 * the knobs refuse it (one line on stderr says why). */
int horizon_start(void);

/* `size` bytes of tiered memory, aligned to 64 KiB, content undefined; NULL
 * when nothing can be tiered. Owned by the caller: horizon_free(). */
void *horizon_alloc(size_t size);
void horizon_free(void *p);

/* 1 if p lies in tiered memory. */
int horizon_owns(const void *p);

/* Move the whole blocks (2 MiB) inside [addr, addr + len) to the store now,
 * and wait for it. Pinned and locked blocks stay. Returns the number of
 * blocks that are out of RAM afterwards, or -EINVAL when the range is not
 * tiered. */
long horizon_evict(void *addr, size_t len);

/* The counter `name` of horizon-stats(5) in this process. 0, or -ENOENT. */
int horizon_counter(const char *name, uint64_t *value);

#ifdef __cplusplus
}
#endif

#endif
