/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the software driver tells a test beyond the driver's own interface.
 * All are exported by libcuda.so.1 here and by no real driver: look them up
 * with dlsym in the driver's own handle (a library in front of it may not
 * know them).
 *
 * Environment, read once at the first call:
 *   SOFTCUDA_DEVICES=N	       devices, default 1
 *   SOFTCUDA_VRAM=SIZE[,SIZE] bytes of each, the last for the rest, default 1G
 *   SOFTCUDA_DRIVER=VERSION   12020, 12040, 12080 or 13000 (default)
 *   SOFTCUDA_LAG=N	       entries that a device may lie behind, default 8
 *   SOFTCUDA_WORKERS=N	       threads that run blocks, default 2
 *   SOFTCUDA_VMM_MIXED=0|1    host and device handles in one range, default 1
 *   SOFTCUDA_CMA=01..	       concurrentManagedAccess of each, default 1
 *   SOFTCUDA_PAGEABLE=01..    pageableMemoryAccess of each, default 0
 *   SOFTCUDA_DISCARD=unmap|keep  flavour of a discard, default unmap
 *   SOFTCUDA_FAULTS=0	       no residency of managed memory by faults
 *   SOFTCUDA_LINK=H2D,D2H     bytes a second of a link, default no delay
 *   SOFTCUDA_FAIL=NAME:NTH[:CODE],...	the NTH call of NAME fails with CODE
 *			       (default 2), NAME a symbol, or as
 *			       cuGetProcAddress is asked for it
 *   SOFTCUDA_REPORT=FILE      one line of JSON, appended at exit
 */
/*
 * What this driver cannot show, so that nobody calls it proven here: speed,
 * kernels on blocks that are half resident, a stray access that stays inside
 * of the small allocations' 2 MiB blocks, a host access to native memory, and
 * managed memory of a device without concurrent access (its calls are refused,
 * its accesses are not). One page protection serves host and device, so a
 * system call that is handed managed memory whose block is not open answers
 * EFAULT: touch the memory first, or set SOFTCUDA_FAULTS=0. A program's own
 * SIGSEGV handler must be there before its first context.
 */
#ifndef SOFTCUDA_H
#define SOFTCUDA_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

struct softcuda_counters {
#define SOFT_GAUGE(name_, text_) uint64_t name_;
#define SOFT_COUNT(name_, text_) uint64_t name_;
#include "counters.def"
#undef SOFT_GAUGE
#undef SOFT_COUNT
};

/* A copy of all counters. */
void softcuda_counters(struct softcuda_counters *out);

/* How often a symbol was called, or all symbols that are asked for by this
 * name; failed calls count. */
uint64_t softcuda_calls(const char *name);

/* As SOFTCUDA_FAIL, added to what there is: 0, or -1 if it is malformed. */
int softcuda_fail(const char *rules);

#ifdef __cplusplus
}
#endif
#endif
