/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The driver and the allocator.
 *
 * A library that is opened with RTLD_DEEPBIND takes malloc and free from the
 * C library, not from us. What it allocates is so never tiered, as it should
 * be; but memory that the C library allocates for it (strdup, getline,
 * realpath) came from the interposed malloc, and the C library's free does not
 * know it. Ours knows both: the slots through which the driver calls free and
 * realloc are filled with what an ordinary dlopen would have put there.
 *
 * Another allocator, of the program or preloaded, does not know what the C
 * library's malloc gave. With one the driver is opened as any library, so that
 * one allocator serves all from the first instruction; then its calls of its
 * own functions, and of those that map memory, are led past us.
 */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif
#include <dlfcn.h>
#include <link.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include "base/os.h"
#include "base/util.h"
#include "cuda_real.h"

#if defined(__x86_64__)
#define IS_SLOT(type_) ((type_) == R_X86_64_JUMP_SLOT || \
			(type_) == R_X86_64_GLOB_DAT)
#else
#define IS_SLOT(type_) ((type_) == R_AARCH64_JUMP_SLOT || \
			(type_) == R_AARCH64_GLOB_DAT)
#endif

static const char *const frees[] = {"free", "realloc", "reallocarray",
				    "malloc_usable_size"};
static const char *const maps[] = {
	"mmap",	    "mmap64",  "munmap",	"mremap",
	"mprotect", "madvise", "posix_madvise", "mlock",
	"mlock2",   "munlock", "mlockall",	"munlockall",
	"msync",    "shmat",   "vmsplice",	"dlopen"};

struct binding {
	const struct link_map *map;
	void *handle;
	bool deep;
};

struct tables {
	const ElfW(Sym) *sym;
	const char *str;
	const ElfW(Rela) *rela[2]; /* DT_RELA, DT_JMPREL */
	size_t bytes[2];
};

/* glibc has relocated the addresses in the dynamic section; other loaders
 * leave them as they are in the file. */
static const void *at(const struct link_map *map, ElfW(Addr) v)
{
	return (const void *)(v < map->l_addr ? v + map->l_addr : v);
}

static struct tables read_tables(const struct link_map *map)
{
	struct tables t = {0};

	for (const ElfW(Dyn) *d = map->l_ld; d->d_tag != DT_NULL; d++) {
		if (d->d_tag == DT_SYMTAB)
			t.sym = at(map, d->d_un.d_ptr);
		else if (d->d_tag == DT_STRTAB)
			t.str = at(map, d->d_un.d_ptr);
		else if (d->d_tag == DT_RELA)
			t.rela[0] = at(map, d->d_un.d_ptr);
		else if (d->d_tag == DT_JMPREL)
			t.rela[1] = at(map, d->d_un.d_ptr);
		else if (d->d_tag == DT_RELASZ)
			t.bytes[0] = d->d_un.d_val;
		else if (d->d_tag == DT_PLTRELSZ)
			t.bytes[1] = d->d_un.d_val;
	}
	return t;
}

/* The slot may be read-only by now (RELRO); nobody else uses the library yet.
 * It is left writable: what the page's protection was is not known. */
static void fill(void **slot, void *value)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	uintptr_t from = hz_align_down((uintptr_t)slot, page);

	if (!value || *slot == value)
		return;
	if (hz_os.mprotect((void *)from, page, PROT_READ | PROT_WRITE) == 0)
		__atomic_store_n(slot, value, __ATOMIC_RELEASE);
}

static bool is_in(const char *name, const char *const *list, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (!strcmp(name, list[i]))
			return true;
	return false;
}

/* What a call of this name is to reach; NULL: what it reaches now. */
static void *target(const struct binding *b, const char *name)
{
	if (b->deep)
		return is_in(name, frees, hz_array_len(frees))
			       ? dlsym(RTLD_DEFAULT, name)
			       : NULL;
	if (is_in(name, maps, hz_array_len(maps)))
		return dlsym(RTLD_NEXT, name);
	if (name[0] == 'c' && name[1] == 'u' && name[2] >= 'A' &&
	    name[2] <= 'Z')
		return dlsym(b->handle, name);
	return NULL;
}

static void bind_one(const struct binding *b, const struct tables *t,
		     const ElfW(Rela) *r)
{
	const char *name;

	if (!IS_SLOT(ELF64_R_TYPE(r->r_info)))
		return;
	name = t->str + t->sym[ELF64_R_SYM(r->r_info)].st_name;
	fill((void **)(b->map->l_addr + r->r_offset), target(b, name));
}

void hz_cu_bind(const void *link_map, void *handle, int how)
{
	const struct binding b = {
		.map = link_map, .handle = handle, .deep = how != 0};
	struct tables t = read_tables(b.map);

	if (!t.sym || !t.str)
		return;
	for (int k = 0; k < 2; k++) {
		size_t n = t.rela[k] ? t.bytes[k] / sizeof(*t.rela[k]) : 0;

		for (size_t i = 0; i < n; i++)
			bind_one(&b, &t, &t.rela[k][i]);
	}
}

static const void *object_of(const void *p)
{
	Dl_info in;

	return p && dladdr(p, &in) ? in.dli_fbase : NULL;
}

int hz_cu_bind_how(void)
{
	const void *first = object_of(dlsym(RTLD_DEFAULT, "free"));
	const void *next = object_of(dlsym(RTLD_NEXT, "free"));
	const void *libc = object_of(dlsym(RTLD_NEXT, "gnu_get_libc_version"));

	return first == object_of((const void *)maps) && next == libc
		       ? RTLD_DEEPBIND
		       : 0;
}
