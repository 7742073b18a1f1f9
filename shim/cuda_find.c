/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where the driver may lie: the knob, what the program named itself, where the
 * loader looks for the program's libraries (its RPATH or RUNPATH, and
 * LD_LIBRARY_PATH as it was at the start), the loader's cache, the usual
 * directories.
 *
 * The loader cannot be asked for the file: it would give us ourselves, who
 * have the name. It can be asked for its directories.
 */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif
#include <dlfcn.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include "base/knobs.h"
#include "base/log.h"
#include "base/os.h"
#include "base/util.h"
#include "cuda_real.h"

#define NAME "libcuda.so.1"

#if defined(__x86_64__)
#define CACHE_FLAGS 0x0303 /* an ELF library of the x86-64 ABI */
#define MULTIARCH   "x86_64-linux-gnu"
#else
#define CACHE_FLAGS 0x0a03
#define MULTIARCH   "aarch64-linux-gnu"
#endif

static const char *const usual[] = {
	"/usr/lib/" MULTIARCH,
	"/lib/" MULTIARCH,
	"/usr/lib64",
	"/lib64",
	"/usr/lib",
	"/lib",
	"/usr/lib/wsl/lib",
	"/usr/local/nvidia/lib64",
	"/usr/local/nvidia/lib",
	"/run/opengl-driver/lib",
};

static bool exists(const char *path)
{
	int fd = hz_os.open(path, O_RDONLY | O_CLOEXEC, 0);

	if (fd < 0)
		return false;
	hz_os.close(fd);
	return true;
}

static bool try_dir(const char *dir, size_t len, bool (*fn)(const char *))
{
	char path[1024];

	if (!len || len + sizeof("/" NAME) > sizeof(path))
		return false;
	memcpy(path, dir, len);
	memcpy(path + len, "/" NAME, sizeof("/" NAME));
	return exists(path) && fn(path);
}

static bool is_usual(const char *dir)
{
	for (size_t i = 0; i < hz_array_len(usual); i++)
		if (!strcmp(dir, usual[i]))
			return true;
	return false;
}

/* The list ends with directories of the system; their turn is after the
 * cache. */
static bool try_dirs(Dl_serinfo *list, bool (*fn)(const char *))
{
	unsigned n = list->dls_cnt;

	while (n && is_usual(list->dls_serpath[n - 1].dls_name))
		n--;
	for (unsigned i = 0; i < n; i++) {
		const char *dir = list->dls_serpath[i].dls_name;

		if (try_dir(dir, strlen(dir), fn))
			return true;
	}
	return false;
}

static bool try_search_path(bool (*fn)(const char *))
{
	void *(*open)(const char *, int) =
		(void *(*)(const char *, int))hz_cu_next_dlopen();
	void *program = open(NULL, RTLD_NOW);
	Dl_serinfo size, *list = NULL;
	bool found = false;

	if (!program)
		return false;
	if (!dlinfo(program, RTLD_DI_SERINFOSIZE, &size))
		list = hz_os_reserve(size.dls_size);
	if (list) {
		*list = size;
		found = !dlinfo(program, RTLD_DI_SERINFO, list) &&
			try_dirs(list, fn);
		hz_os.munmap(list, size.dls_size);
	}
	dlclose(program);
	return found;
}

/* ---- the loader's cache, format 1.1 ---- */

static const char cache_magic[] = "glibc-ld.so.cache1.1";

struct cache {
	char magic[20];
	uint32_t count, string_bytes;
	uint32_t unused[5];
	struct {
		int32_t flags;
		uint32_t name, path; /* offsets in the file */
		uint32_t os;
		uint64_t hwcap;
	} entry[];
};

/* The string at this offset, if it ends inside the file. */
static const char *cache_text(const void *file, size_t bytes, uint32_t at)
{
	const char *p = (const char *)file + at;

	return at < bytes && memchr(p, '\0', bytes - at) ? p : NULL;
}

static bool try_entries(const struct cache *c, size_t bytes,
			bool (*fn)(const char *))
{
	size_t most = (bytes - sizeof(*c)) / sizeof(c->entry[0]);

	for (size_t i = 0; i < hz_min(most, (size_t)c->count); i++) {
		const char *name = cache_text(c, bytes, c->entry[i].name);
		const char *path = cache_text(c, bytes, c->entry[i].path);

		if (c->entry[i].flags == CACHE_FLAGS && name && path &&
		    !strcmp(name, NAME) && exists(path) && fn(path))
			return true;
	}
	return false;
}

static bool try_cache(bool (*fn)(const char *))
{
	int fd = hz_os.open("/etc/ld.so.cache", O_RDONLY | O_CLOEXEC, 0);
	struct stat st;
	bool found = false;
	long at = -1;

	if (fd < 0)
		return false;
	if (!fstat(fd, &st) && st.st_size > (off_t)sizeof(struct cache))
		at = hz_os.mmap(NULL, (size_t)st.st_size, PROT_READ,
				MAP_PRIVATE, fd, 0);
	hz_os.close(fd);
	if (at < 0 && at > -4096)
		return false;
	if (!memcmp((void *)at, cache_magic, sizeof(cache_magic) - 1))
		found = try_entries((void *)at, (size_t)st.st_size, fn);
	hz_os.munmap((void *)at, (size_t)st.st_size);
	return found;
}

bool hz_cu_find(const char *hint, bool (*fn)(const char *path))
{
	if (hz_knobs.cuda_driver[0]) {
		if (fn(hz_knobs.cuda_driver))
			return true;
		hz_log(HZ_WARN, "gpu",
		       "%s is no CUDA driver (knob cuda_driver)",
		       hz_knobs.cuda_driver);
	}
	if ((hint && fn(hint)) || try_search_path(fn) || try_cache(fn))
		return true;
	for (size_t i = 0; i < hz_array_len(usual); i++)
		if (try_dir(usual[i], strlen(usual[i]), fn))
			return true;
	return false;
}
