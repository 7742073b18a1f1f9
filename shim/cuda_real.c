/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Opening the driver, and finding its functions.
 *
 * No lock: two threads may both open it, which gives the same handle twice,
 * and both store the same addresses. A lock would be held over dlopen(), and
 * a thread that is inside the loader may be the one that waits for it.
 */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif
#include "cuda_real.h"

#include <dlfcn.h>
#include <link.h>
#include <pthread.h>
#include <string.h>
#include "base/log.h"
#include "base/util.h"
#include "engine/gpu.h"
#include "guard.h"

#define PATH_BYTES 1024

const char *const hz_cu_names[HZ_CU_COUNT] = {
#define HZ_CU(name_) #name_,
#include "cuda_names.def"
#undef HZ_CU
};

/* Where the forwarders jump to; see cuda_stubs.S. */
extern HZ_PRIVATE hz_cu_fn hz_cu_entry[HZ_CU_COUNT];

/* NULL: not asked for yet. */
static hz_cu_fn real[HZ_CU_COUNT];

/* The handle of dlopen(); NULL before, NONE when there is no driver. */
static void *driver;
static char driver_path[PATH_BYTES];
static char hint[PATH_BYTES];
#define NONE ((void *)-1)

/* Hooks by the address of the driver's function: open addressing. */
#define BY_REAL 1024u
static struct {
	void *real;
	hz_cu_fn hook;
} by_real[BY_REAL];

/* The driver's own constructor may call a driver function. */
static __thread bool opening __attribute__((tls_model("initial-exec")));

/* A program that is linked with the driver would not have started; with us it
 * learns that there is nothing. The runtime library makes its error 35 of any
 * answer of cuGetProcAddress but the stub library's (34). */
static CUresult no_driver(void)
{
	return CUDA_ERROR_NO_DEVICE;
}

static CUresult missing(void)
{
	return CUDA_ERROR_NOT_FOUND;
}

static bool is_ourselves(void *handle)
{
	struct link_map *map = NULL;
	Dl_info self;

	return dlinfo(handle, RTLD_DI_LINKMAP, &map) || !map ||
	       !dladdr((void *)is_ourselves, &self) ||
	       (uintptr_t)map->l_addr == (uintptr_t)self.dli_fbase;
}

static unsigned slot_of(const void *p)
{
	return (unsigned)(((uintptr_t)p >> 4) * 0x9e3779b1u) % BY_REAL;
}

static void index_hook(void *fn, hz_cu_fn hook)
{
	unsigned at = slot_of(fn);

	while (by_real[at].real && by_real[at].real != fn)
		at = (at + 1) % BY_REAL;
	by_real[at].hook = hook;
	__atomic_store_n(&by_real[at].real, fn, __ATOMIC_RELEASE);
}

void *hz_cu_hook_of(void *fn)
{
	unsigned at = slot_of(fn);
	void *seen;

	while ((seen = __atomic_load_n(&by_real[at].real, __ATOMIC_ACQUIRE))) {
		if (seen == fn)
			return (void *)by_real[at].hook;
		at = (at + 1) % BY_REAL;
	}
	return fn;
}

static void index_hooks(void *handle)
{
	for (unsigned i = 0; i < hz_cu_hook_count; i++) {
		void *fn = dlsym(handle, hz_cu_names[hz_cu_hooks[i].i]);

		if (fn)
			index_hook(fn, hz_cu_hooks[i].hook);
	}
}

/* RTLD_DEEPBIND: the driver's calls of its own functions stay in it. */
static bool try_open(const char *path)
{
	void *(*open)(const char *, int) =
		(void *(*)(const char *, int))hz_cu_next_dlopen();
	void *handle = open(path, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE |
					  RTLD_DEEPBIND);
	struct link_map *map = NULL;
	void *expected = NULL;

	if (!handle)
		return false;
	if (is_ourselves(handle) || !dlsym(handle, "cuInit")) {
		dlclose(handle);
		return false;
	}
	dlinfo(handle, RTLD_DI_LINKMAP, &map);
	hz_cu_bind(map);
	if (hz_gpu_watching())
		index_hooks(handle);
	if (strlen(path) < PATH_BYTES)
		memcpy(driver_path, path, strlen(path) + 1);
	__atomic_compare_exchange_n(&driver, &expected, handle, false,
				    __ATOMIC_ACQ_REL, __ATOMIC_RELAXED);
	return true;
}

static void start_watching(void)
{
	static int done;

	if (!hz_gpu_watching())
		return;
	hz_gpu_opened();
	if (!__atomic_exchange_n(&done, 1, __ATOMIC_ACQ_REL))
		pthread_atfork(hz_gpu_fork_prepare, hz_gpu_fork_parent,
			       hz_gpu_fork_child);
}

static void *open_driver(void)
{
	void *expected = NULL;
	int saved = errno;

	opening = true;
	if (hz_cu_find(*hint ? hint : NULL, try_open))
		start_watching();
	else
		__atomic_compare_exchange_n(&driver, &expected, NONE, false,
					    __ATOMIC_ACQ_REL, __ATOMIC_RELAXED);
	opening = false;
	errno = saved;
	return __atomic_load_n(&driver, __ATOMIC_ACQUIRE);
}

static void *handle_of_driver(void)
{
	void *handle = __atomic_load_n(&driver, __ATOMIC_ACQUIRE);

	if (!handle && !opening)
		handle = open_driver();
	return handle == NONE ? NULL : handle;
}

bool hz_cu_driver(void)
{
	return handle_of_driver() != NULL;
}

bool hz_cu_is_open(void)
{
	void *handle = __atomic_load_n(&driver, __ATOMIC_ACQUIRE);

	return handle && handle != NONE;
}

const char *hz_cu_driver_path(void)
{
	return handle_of_driver() ? driver_path : NULL;
}

/* A file that the program names is a new chance. */
void hz_cu_suggest(const char *path)
{
	void *none = NONE;

	if (strlen(path) >= PATH_BYTES ||
	    (*hint && __atomic_load_n(&driver, __ATOMIC_ACQUIRE) != NONE))
		return;
	memcpy(hint, path, strlen(path) + 1);
	__atomic_compare_exchange_n(&driver, &none, NULL, false,
				    __ATOMIC_ACQ_REL, __ATOMIC_RELAXED);
}

hz_cu_fn hz_cu_real(enum hz_cu i)
{
	hz_cu_fn fn = __atomic_load_n(&real[i], __ATOMIC_ACQUIRE);
	void *handle;

	if (hz_likely(fn != NULL))
		return fn;
	handle = handle_of_driver();
	if (!handle)
		return (hz_cu_fn)no_driver;
	fn = (hz_cu_fn)dlsym(handle, hz_cu_names[i]);
	if (!fn)
		fn = (hz_cu_fn)missing;
	__atomic_store_n(&real[i], fn, __ATOMIC_RELEASE);
	return fn;
}

bool hz_cu_has(enum hz_cu i)
{
	hz_cu_fn fn = hz_cu_real(i);

	return fn != (hz_cu_fn)missing && fn != (hz_cu_fn)no_driver;
}

static hz_cu_fn find_hook(enum hz_cu i)
{
	for (unsigned k = 0; k < hz_cu_hook_count; k++)
		if (hz_cu_hooks[k].i == i)
			return hz_cu_hooks[k].hook;
	return NULL;
}

/* Without a driver nothing is stored: there may be one later. */
hz_cu_fn hz_cu_resolve(unsigned i)
{
	hz_cu_fn fn = hz_cu_real((enum hz_cu)i), hook;

	if (!hz_cu_has((enum hz_cu)i))
		return fn;
	hook = hz_gpu_watching() ? find_hook((enum hz_cu)i) : NULL;
	if (hook)
		fn = hook;
	__atomic_store_n(&hz_cu_entry[i], fn, __ATOMIC_RELEASE);
	return fn;
}
