/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The driver behind the shim.
 *
 * It is opened by absolute path, at the first call of a driver function or
 * when the program opens libcuda itself; nothing of ours initialises it.
 * Every exported name has an index; hz_cu_entry says where its forwarder
 * goes: the lazy resolver at first, then the hook or the driver's function.
 */
#ifndef HZ_CUDA_REAL_H
#define HZ_CUDA_REAL_H

#include <stdbool.h>
#include "cuda_abi.h"

#define HZ_PRIVATE __attribute__((visibility("hidden")))

enum hz_cu {
#define HZ_CU(name_) HZ_CU_##name_,
#include "cuda_names.def"
#undef HZ_CU
	HZ_CU_COUNT
};

typedef void (*hz_cu_fn)(void);

/* ---- cuda_real.c ---- */
extern const char *const hz_cu_names[HZ_CU_COUNT];

/* The driver, opened; false if this machine has none. */
bool hz_cu_driver(void);
/* Was it opened already? Opens nothing. */
bool hz_cu_is_open(void);
/* Its handle, NULL if there is none. */
void *hz_cu_driver_handle(void);
/* Its path once it is open, else NULL. */
const char *hz_cu_driver_path(void);
/* The driver's function; hz_cu_missing() where it has none. Never a hook. */
hz_cu_fn hz_cu_real(enum hz_cu i);
/* Does the driver have it? */
bool hz_cu_has(enum hz_cu i);
/* Where the forwarder goes; called by the stubs. */
HZ_PRIVATE hz_cu_fn hz_cu_resolve(unsigned i);
/* The program named this file: try it before the places that we know. */
void hz_cu_suggest(const char *path);
/* The hook of the driver's function `real`, or `real` itself. */
void *hz_cu_hook_of(void *real);

/* A call of the driver from inside a hook: HZ_REAL(cuMemFree_v2)(p). */
#define HZ_REAL(name_) ((CUresult(*) HZ_SIG_##name_)hz_cu_real(HZ_CU_##name_))

/* ---- cuda_find.c ---- */
/* Call `fn` with each file that may be the driver, best first, until it
 * returns true. `hint` may be NULL. */
bool hz_cu_find(const char *hint, bool (*fn)(const char *path));

/* ---- cuda_bind.c ---- */
/* RTLD_DEEPBIND or 0: how the driver is to be opened. */
int hz_cu_bind_how(void);
/* It was opened so, as `handle` and `map` (a struct link_map): set right what
 * it calls by name. */
void hz_cu_bind(const void *map, void *handle, int how);

/* ---- cuda_dlopen.c ---- */
HZ_PRIVATE const char *hz_cu_dlopen_name(const char *file, int flags);
HZ_PRIVATE hz_cu_fn hz_cu_next_dlopen(void);
HZ_PRIVATE void *hz_cu_dlsym_handle(void *handle, const char *name);
HZ_PRIVATE hz_cu_fn hz_cu_next_dlsym(void);

/* ---- cuda_hooks.c ---- */
struct hz_cu_hook {
	enum hz_cu i;
	hz_cu_fn hook;
};
extern const struct hz_cu_hook hz_cu_hooks[];
extern const unsigned hz_cu_hook_count;
/* A function of a name that we do not know was handed out. */
void hz_cu_unknown(const char *name);

#endif
