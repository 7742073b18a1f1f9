/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whom a call goes to that is not ours: system calls and glibc's second names
 * first, what RTLD_NEXT says from the constructor on. Another preloaded
 * library, or an allocator that the program is linked with, is found so.
 */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif
#include "next.h"

#include <dlfcn.h>
#include <stdarg.h>
#include <stddef.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>
#include "base/util.h"

void *__libc_malloc(size_t size);
void *__libc_calloc(size_t n, size_t size);
void *__libc_realloc(void *p, size_t size);
void *__libc_memalign(size_t align, size_t size);
void __libc_free(void *p);

/* glibc has no second name for this one; dlsym does not call it, so it may
 * call dlsym. */
static size_t first_usable_size(void *p)
{
	size_t (*f)(void *) = dlsym(RTLD_NEXT, "malloc_usable_size");

	return f ? f(p) : 0;
}

static void *raw_mmap(void *addr, size_t len, int prot, int flags, int fd,
                      off_t off)
{
	return (void *)syscall(SYS_mmap, addr, len, prot, flags, fd, off);
}

static int raw_munmap(void *addr, size_t len)
{
	return (int)syscall(SYS_munmap, addr, len);
}

static void *raw_mremap(void *addr, size_t old_len, size_t len, int flags, ...)
{
	void *to;
	va_list ap;

	va_start(ap, flags);
	to = flags & MREMAP_FIXED ? va_arg(ap, void *) : NULL;
	va_end(ap);
	return (void *)syscall(SYS_mremap, addr, old_len, len, flags, to);
}

static int raw_mprotect(void *addr, size_t len, int prot)
{
	return (int)syscall(SYS_mprotect, addr, len, prot);
}

static int raw_madvise(void *addr, size_t len, int advice)
{
	return (int)syscall(SYS_madvise, addr, len, advice);
}

static int raw_mlock(const void *addr, size_t len)
{
	return (int)syscall(SYS_mlock, addr, len);
}

static int raw_mlock2(const void *addr, size_t len, unsigned flags)
{
	return (int)syscall(SYS_mlock2, addr, len, flags);
}

static int raw_munlock(const void *addr, size_t len)
{
	return (int)syscall(SYS_munlock, addr, len);
}

static int raw_mlockall(int flags)
{
	return (int)syscall(SYS_mlockall, flags);
}

static int raw_munlockall(void)
{
	return (int)syscall(SYS_munlockall);
}

static int raw_msync(void *addr, size_t len, int flags)
{
	return (int)syscall(SYS_msync, addr, len, flags);
}

static void *raw_shmat(int id, const void *addr, int flags)
{
	return (void *)syscall(SYS_shmat, id, addr, flags);
}

static ssize_t raw_vmsplice(int fd, const struct iovec *iov, size_t n,
                            unsigned flags)
{
	return syscall(SYS_vmsplice, fd, iov, n, flags);
}

struct hz_next hz_next = {
        .malloc = __libc_malloc,
        .calloc = __libc_calloc,
        .realloc = __libc_realloc,
        .memalign = __libc_memalign,
        .free = __libc_free,
        .malloc_usable_size = first_usable_size,
        .mmap = raw_mmap,
        .munmap = raw_munmap,
        .mremap = raw_mremap,
        .mprotect = raw_mprotect,
        .madvise = raw_madvise,
        .mlock = raw_mlock,
        .mlock2 = raw_mlock2,
        .munlock = raw_munlock,
        .mlockall = raw_mlockall,
        .munlockall = raw_munlockall,
        .msync = raw_msync,
        .shmat = raw_shmat,
        .vmsplice = raw_vmsplice,
};

#define NAME(name_) { #name_, offsetof(struct hz_next, name_) }

static const struct name {
	const char *name;
	size_t offset;
} names[] = {
        NAME(malloc),     NAME(calloc),  NAME(realloc),
        NAME(memalign),   NAME(free),    NAME(malloc_usable_size),
        NAME(mmap),       NAME(munmap),  NAME(mremap),
        NAME(mprotect),   NAME(madvise), NAME(mlock),
        NAME(mlock2),     NAME(munlock), NAME(mlockall),
        NAME(munlockall), NAME(msync),   NAME(shmat),
        NAME(vmsplice),
};

/* The malloc family must come from one place: all of the names or none. */
void hz_next_resolve(void)
{
	struct hz_next found = hz_next;

	for (size_t i = 0; i < hz_array_len(names); i++) {
		void *f = dlsym(RTLD_NEXT, names[i].name);

		if (!f)
			return;
		__builtin_memcpy((char *)&found + names[i].offset, &f,
		                 sizeof(f));
	}
	hz_next = found;
}
