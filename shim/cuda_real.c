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
#include "hooks.h"

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

/* The file that this thread is opening: the driver's own constructor may call
 * a driver function. Then the handle, for this thread. */
static __thread const char *opening __attribute__((tls_model("initial-exec")));
static __thread void *opened __attribute__((tls_model("initial-exec")));

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

static void *next_dlopen(const char *path, int flags)
{
	return ((void *(*)(const char *, int))hz_cu_next_dlopen())(path, flags);
}

/* The knobs are read, so what they say may be stored for good. */
static bool decided(void)
{
	return __atomic_load_n(&hz_started, __ATOMIC_ACQUIRE);
}

static void keep(const char *path, void *handle)
{
	void *expected = NULL;

	if (hz_gpu_watching())
		index_hooks(handle);
	if (strlen(path) < PATH_BYTES)
		memcpy(driver_path, path, strlen(path) + 1);
	__atomic_compare_exchange_n(&driver, &expected, handle, false,
				    __ATOMIC_ACQ_REL, __ATOMIC_RELAXED);
}

static bool try_open(const char *path)
{
	int how = hz_cu_bind_how();
	struct link_map *map = NULL;
	void *handle;

	opening = path;
	hz_inside++; /* what its constructors map is not to be tiered */
	handle = next_dlopen(path, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE | how);
	hz_inside--;
	opening = NULL;
	if (!handle)
		return false;
	if (is_ourselves(handle) || !dlsym(handle, "cuInit")) {
		dlclose(handle);
		return false;
	}
	dlinfo(handle, RTLD_DI_LINKMAP, &map);
	hz_cu_bind(map, handle, how);
	opened = handle;
	/* Another thread may be reading the knobs; it comes again then. */
	if (decided())
		keep(path, handle);
	return true;
}

/* dlopen is no point of cancellation for who only calls the driver. */
static void *open_driver(void)
{
	void *expected = NULL;
	int saved = errno, cancel;

	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel);
	hz_start_early();
	opened = NULL;
	if (!hz_cu_find(*hint ? hint : NULL, try_open))
		__atomic_compare_exchange_n(&driver, &expected, NONE, false,
					    __ATOMIC_ACQ_REL, __ATOMIC_RELAXED);
	else if (hz_gpu_watching() && decided())
		hz_gpu_opened();
	pthread_setcancelstate(cancel, NULL);
	errno = saved;
	return opened;
}

static void *handle_of_driver(void)
{
	void *handle = __atomic_load_n(&driver, __ATOMIC_ACQUIRE);

	if (!handle)
		handle = opening ? next_dlopen(opening, RTLD_NOW | RTLD_NOLOAD)
				 : open_driver();
	return handle == NONE ? NULL : handle;
}

void *hz_cu_driver_handle(void)
{
	return handle_of_driver();
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

/* Without a driver nothing is stored, there may be one later; nor before the
 * knobs say whether we watch. */
hz_cu_fn hz_cu_resolve(unsigned i)
{
	hz_cu_fn fn = hz_cu_real((enum hz_cu)i), hook;

	if (!hz_cu_has((enum hz_cu)i) || opening || !decided())
		return fn;
	hook = hz_gpu_watching() ? find_hook((enum hz_cu)i) : NULL;
	if (hook)
		fn = hook;
	__atomic_store_n(&hz_cu_entry[i], fn, __ATOMIC_RELEASE);
	return fn;
}
