/* SPDX-License-Identifier: Apache-2.0 */
/*
 * dlopen of the driver by the program. We have its name, so the loader gives
 * us to everybody who asks for "libcuda.so.1"; what remains is:
 *   "libcuda.so", or a path of the driver: asks for "libcuda.so.1" instead,
 *     after the file was kept as the one to open;
 *   no driver on this machine: the call must fail as without us;
 *   Horizon is off: the driver itself.
 * Every other name is passed on as it is. dlsym is not interposed: whoever
 * has our handle finds everything in it, and RTLD_NEXT stays the loader's.
 */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif
#include <dlfcn.h>
#include <string.h>
#include <unistd.h>
#include "cuda_real.h"
#include "engine/gpu.h"

/* libcuda.so, with or without a version of digits. */
static bool is_driver(const char *file)
{
	const char *name = strrchr(file, '/');

	name = name ? name + 1 : file;
	if (strncmp(name, "libcuda.so", 10))
		return false;
	return !name[10] ||
	       (name[10] == '.' && name[11] &&
		strspn(name + 10, "0123456789.") == strlen(name + 10));
}

const char *hz_cu_dlopen_name(const char *file, int flags)
{
	bool path;

	if (!file || !is_driver(file))
		return file;
	/* "Is it loaded?" By somebody who has called it, that is. */
	if ((flags & RTLD_NOLOAD) && !hz_cu_is_open())
		return "libcuda.so.1 (not loaded)";
	path = strchr(file, '/') != NULL;
	if (path && access(file, R_OK))
		return file; /* the loader says why */
	if (path)
		hz_cu_suggest(file);
	if (!hz_cu_driver())
		return path ? file : "libcuda.so.1 (no driver on this machine)";
	if (!hz_gpu_watching())
		return path || !strcmp(file, "libcuda.so")
			       ? file
			       : hz_cu_driver_path();
	return "libcuda.so.1";
}

hz_cu_fn hz_cu_next_dlopen(void)
{
	static hz_cu_fn next;
	hz_cu_fn fn = __atomic_load_n(&next, __ATOMIC_ACQUIRE);

	if (!fn) {
		fn = (hz_cu_fn)dlsym(RTLD_NEXT, "dlopen");
		__atomic_store_n(&next, fn, __ATOMIC_RELEASE);
	}
	return fn;
}
