/* SPDX-License-Identifier: Apache-2.0 */
/*
 * dlopen of the driver by the program. We have its name, so the loader gives
 * us to everybody who asks for "libcuda.so.1"; what remains is:
 *   "libcuda.so", or a path of the driver: asks for "libcuda.so.1" instead,
 *     after the file was kept as the one to open;
 *   a path of another file than the driver that is open: as it is;
 *   no driver on this machine: the call must fail as without us;
 *   Horizon is off: the driver itself.
 * Every other name is passed on as it is.
 *
 * And dlsym, for one thing only: a name of the driver's that is younger than
 * the toolkit which our forwarders were made from, asked for with our handle,
 * is looked up in the driver instead. Whatever else is asked, and by whom, is
 * the loader's: RTLD_NEXT stays what it is.
 */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif
#include <dlfcn.h>
#include <link.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "base/util.h"
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

static const char *strings_of(const struct dl_phdr_info *in,
			      const ElfW(Dyn) *d)
{
	for (; d->d_tag != DT_NULL; d++)
		if (d->d_tag == DT_STRTAB)
			return (const char *)(d->d_un.d_ptr < in->dlpi_addr
						      ? d->d_un.d_ptr +
								in->dlpi_addr
						      : d->d_un.d_ptr);
	return NULL;
}

static bool needs(const struct dl_phdr_info *in, const ElfW(Dyn) *d)
{
	const char *strings = strings_of(in, d);

	for (; strings && d->d_tag != DT_NULL; d++)
		if (d->d_tag == DT_NEEDED &&
		    !strcmp(strings + d->d_un.d_val, "libcuda.so.1"))
			return true;
	return false;
}

static int object_needs(struct dl_phdr_info *in, size_t size, void *arg)
{
	for (int i = 0; i < in->dlpi_phnum; i++)
		if (in->dlpi_phdr[i].p_type == PT_DYNAMIC &&
		    needs(in, (const ElfW(Dyn) *)(in->dlpi_addr +
						  in->dlpi_phdr[i].p_vaddr)))
			return 1;
	return 0;
}

/* Without us, would it be? If somebody opened or called it, or is linked with
 * it. */
static bool is_loaded(void)
{
	return hz_cu_is_open() || dl_iterate_phdr(object_needs, NULL);
}

static bool same_file(const char *a, const char *b)
{
	struct stat sa, sb;

	return !stat(a, &sa) && !stat(b, &sb) && sa.st_dev == sb.st_dev &&
	       sa.st_ino == sb.st_ino;
}

const char *hz_cu_dlopen_name(const char *file, int flags)
{
	bool path;

	if (!file || !is_driver(file))
		return file;
	if ((flags & RTLD_NOLOAD) && !is_loaded())
		return "libcuda.so.1 (not loaded)";
	path = strchr(file, '/') != NULL;
	if (path && access(file, R_OK))
		return file; /* the loader says why */
	if (path)
		hz_cu_suggest(file);
	if (!hz_cu_driver())
		return path ? file : "libcuda.so.1 (no driver on this machine)";
	if (path && !same_file(file, hz_cu_driver_path()))
		return file;
	if (!hz_gpu_watching())
		return path || !strcmp(file, "libcuda.so")
			       ? file
			       : hz_cu_driver_path();
	return "libcuda.so.1";
}

/* ---- dlsym ---- */

static int by_name(const void *name, const void *entry)
{
	return strcmp(name, *(const char *const *)entry);
}

static bool is_known(const char *name)
{
	return bsearch(name, hz_cu_names, HZ_CU_COUNT, sizeof(*hz_cu_names),
		       by_name);
}

static bool is_ours(void *handle)
{
	struct link_map *map = NULL;
	Dl_info self;

	return !dlinfo(handle, RTLD_DI_LINKMAP, &map) && map &&
	       dladdr((void *)is_ours, &self) &&
	       (uintptr_t)map->l_addr == (uintptr_t)self.dli_fbase;
}

void *hz_cu_dlsym_handle(void *handle, const char *name)
{
	void *driver;

	if (handle == RTLD_DEFAULT || handle == RTLD_NEXT || !name ||
	    name[0] != 'c' || name[1] != 'u' || name[2] < 'A' ||
	    name[2] > 'Z' || is_known(name) || !is_ours(handle))
		return handle;
	driver = hz_cu_driver_handle();
	if (!driver || !dlsym(driver, name))
		return handle;
	hz_cu_unknown(name);
	return driver;
}

/* The one behind us, of whichever version the C library has. */
hz_cu_fn hz_cu_next_dlsym(void)
{
	static const char *const versions[] = {"GLIBC_2.34", "GLIBC_2.2.5",
					       "GLIBC_2.17"};
	static hz_cu_fn next;
	hz_cu_fn fn = __atomic_load_n(&next, __ATOMIC_ACQUIRE);

	for (size_t i = 0; !fn && i < hz_array_len(versions); i++)
		fn = (hz_cu_fn)dlvsym(RTLD_NEXT, "dlsym", versions[i]);
	__atomic_store_n(&next, fn, __ATOMIC_RELEASE);
	return fn;
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
