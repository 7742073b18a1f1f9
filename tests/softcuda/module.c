/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Modules: shared objects as module.h says. Each load is an own instance with
 * own variables, so the bytes go through a file of their own. Functions live
 * as long as their module; a library is a module that is loaded at once for
 * the current context.
 */
#include <dlfcn.h>
#include <elf.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include "soft.h"

/* Loaded modules, for the end of their context; soft_lock. */
#define MAX_MODULES 256
static CUmodule loaded[MAX_MODULES];

/* The length of an ELF image: its section table is behind all else. */
static size_t image_bytes(const void *image)
{
	const Elf64_Ehdr *e = image;
	const Elf64_Phdr *p;
	size_t end, at;

	if (memcmp(e->e_ident, ELFMAG, SELFMAG) ||
	    e->e_ident[EI_CLASS] != ELFCLASS64 || e->e_type != ET_DYN)
		return 0;
	end = e->e_shoff + (size_t)e->e_shnum * e->e_shentsize;
	p = (const Elf64_Phdr *)((const char *)image + e->e_phoff);
	for (unsigned i = 0; i < e->e_phnum; i++) {
		at = p[i].p_offset + p[i].p_filesz;
		if (at > end)
			end = at;
	}
	return end;
}

/* dlopen() gives a library that it has by this name without looking at the
 * file, and descriptors come again: each name has another number of slashes. */
static void *open_copy(const void *image, size_t bytes)
{
	enum { NAMES = 1000 };
	static unsigned opened;
	unsigned n = __atomic_fetch_add(&opened, 1, __ATOMIC_RELAXED) % NAMES;
	int fd = memfd_create("softcuda-module", MFD_CLOEXEC);
	char slashes[NAMES + 1] = {0}, path[NAMES + 64];
	void *dl = NULL;

	if (fd < 0)
		return NULL;
	memset(slashes, '/', n + 1);
	snprintf(path, sizeof(path), "/proc/self/fd%s%d", slashes, fd);
	if (write(fd, image, bytes) == (ssize_t)bytes)
		dl = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	close(fd);
	return dl;
}

static bool table_valid(const struct softcuda_module *t)
{
	if (!t || t->abi != SOFTCUDA_MODULE_ABI)
		return false;
	for (uint32_t i = 0; i < t->n_kernels; i++)
		if (!t->kernels[i].name || !t->kernels[i].run_block ||
		    t->kernels[i].params_bytes > 32764)
			return false;
	return true;
}

static void functions_make(CUmodule m)
{
	for (uint32_t i = 0; i < m->table->n_kernels; i++) {
		CUfunction f = &m->functions[i];

		f->o.kind = SOFT_FUNCTION;
		f->module = m;
		f->kernel = &m->table->kernels[i];
		f->max_dynamic = 48 << 10;
	}
}

/* Its variables are device memory as far as copies are concerned. */
static void globals_map(CUmodule m)
{
	soft_guard(soft_map_lock);
	for (uint32_t i = 0; i < m->table->n_globals; i++) {
		const struct softcuda_global *g = &m->table->globals[i];
		struct soft_alloc *a = soft_alloc_new(
			SOFT_MEM_GLOBAL, (uintptr_t)g->address, g->bytes,
			m->ctx->dev->index, m->ctx);

		if (a && soft_map_add(a))
			free(a);
	}
}

static void globals_unmap(CUmodule m)
{
	soft_guard(soft_map_lock);
	for (uint32_t i = 0; i < m->table->n_globals; i++) {
		struct soft_alloc *a = soft_map_find(
			(uintptr_t)m->table->globals[i].address);

		if (!a || a->kind != SOFT_MEM_GLOBAL)
			continue;
		soft_map_remove(a);
		free(a);
	}
}

static CUresult module_new(CUcontext ctx, void *dl, CUmodule *out)
{
	CUmodule m = soft_new(SOFT_MODULE, sizeof(*m));
	bool kept = false;

	m->ctx = ctx;
	m->dl = dl;
	m->table = dlsym(dl, SOFTCUDA_MODULE_SYMBOL);
	/* kept for ever, so that a stale function is told from a live one */
	m->functions = calloc(m->table->n_kernels + 1, sizeof(*m->functions));
	if (!m->functions)
		return CUDA_ERROR_OUT_OF_MEMORY;
	functions_make(m);
	globals_map(m);
	soft_guard(soft_lock);
	for (unsigned i = 0; i < MAX_MODULES && !kept; i++)
		if (!loaded[i]) {
			loaded[i] = m;
			kept = true;
		}
	soft_count(live_modules, 1);
	*out = m;
	return CUDA_SUCCESS;
}

static CUresult load(const void *image, size_t bytes, CUmodule *out)
{
	CUcontext ctx;
	CUresult res = soft_current(&ctx);
	void *dl;

	if (res)
		return res;
	if (!bytes)
		return CUDA_ERROR_INVALID_IMAGE;
	dl = open_copy(image, bytes);
	if (!dl) {
		fprintf(stderr, "softcuda: module: %s\n", dlerror());
		return CUDA_ERROR_INVALID_IMAGE;
	}
	if (table_valid(dlsym(dl, SOFTCUDA_MODULE_SYMBOL)))
		return module_new(ctx, dl, out);
	dlclose(dl);
	return CUDA_ERROR_INVALID_IMAGE;
}

CUresult soft_module_load(const void *image, CUmodule *out)
{
	if (!image || !out)
		return CUDA_ERROR_INVALID_VALUE;
	return load(image, image_bytes(image), out);
}

CUresult soft_module_load_file(const char *path, CUmodule *out)
{
	struct stat st;
	void *image;
	CUresult res;
	int fd;

	if (!path || !out)
		return CUDA_ERROR_INVALID_VALUE;
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return CUDA_ERROR_FILE_NOT_FOUND;
	if (fstat(fd, &st) || st.st_size < (off_t)sizeof(Elf64_Ehdr)) {
		close(fd);
		return CUDA_ERROR_INVALID_IMAGE;
	}
	image = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
	close(fd);
	if (image == MAP_FAILED)
		return CUDA_ERROR_OPERATING_SYSTEM;
	res = memcmp(image, ELFMAG, SELFMAG)
		      ? CUDA_ERROR_INVALID_IMAGE
		      : load(image, (size_t)st.st_size, out);
	munmap(image, (size_t)st.st_size);
	return res;
}

/* The caller has waited for the context. */
void soft_module_unload(CUmodule m)
{
	pthread_mutex_lock(&soft_lock);
	for (unsigned i = 0; i < MAX_MODULES; i++)
		if (loaded[i] == m)
			loaded[i] = NULL;
	pthread_mutex_unlock(&soft_lock);
	globals_unmap(m);
	for (uint32_t i = 0; i < m->table->n_kernels; i++)
		m->functions[i].o.kind = SOFT_DEAD;
	dlclose(m->dl);
	soft_uncount(live_modules, 1);
	soft_delete(m);
}

void soft_modules_of_ctx_drop(CUcontext ctx)
{
	for (unsigned i = 0; i < MAX_MODULES; i++)
		if (loaded[i] && loaded[i]->ctx == ctx)
			soft_module_unload(loaded[i]);
}

CUresult soft_function(CUfunction handle, CUfunction *out)
{
	if (soft_is(handle, SOFT_KERNEL))
		handle = ((CUkernel)(void *)handle)->function;
	else if (soft_check(handle, SOFT_FUNCTION))
		return CUDA_ERROR_INVALID_HANDLE;
	*out = handle;
	return CUDA_SUCCESS;
}
