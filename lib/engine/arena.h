/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tiered memory as the shim sees it: the malloc family above min_size and the
 * mmap family on captured ranges. The one private header that the shim may
 * include, besides base/.
 *
 * Every function is thread-safe, never recurses into an interposed name and
 * never touches the program's memory while it holds a lock. `hz_arena_owns()`
 * is one subtraction and a compare.
 */
#ifndef HZ_ARENA_H
#define HZ_ARENA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/*
 * Depth of Horizon's own code on this thread; for ever 1 on our threads. An
 * allocation or a mapping asked for while it is not 0 is never tiered.
 */
extern __thread int hz_inside __attribute__((tls_model("initial-exec")));

extern uintptr_t hz_arena_base; /* 0 until the region exists */
extern size_t hz_arena_len;

static inline bool hz_arena_owns(const void *p)
{
	return (uintptr_t)p - hz_arena_base < hz_arena_len;
}

/* Does [addr, addr + len) meet the region at all? */
static inline bool hz_arena_meets(const void *addr, size_t len)
{
	uintptr_t a = (uintptr_t)addr, end = a + len;

	return hz_arena_len && a < hz_arena_base + hz_arena_len &&
	       end > hz_arena_base;
}

/* Load the knobs and reserve the region. Called once, before main. Starts no
 * thread and opens nothing: that happens at the first allocation that is
 * tiered. false: Horizon is off in this process. */
bool hz_arena_init(char **envp);

/* ---- malloc family: sizes >= hz_arena_min() ---- */
size_t hz_arena_min(void); /* SIZE_MAX when nothing is tiered */

/* `align` is a power of two. zero: all bytes read as zero. NULL: take it from
 * the next allocator (region full, engine refused, called from inside). */
void *hz_arena_alloc(size_t size, size_t align, bool zero);
void hz_arena_free(void *p);		/* p is a start of a malloc range */
size_t hz_arena_usable(const void *p);	/* 0 when p is not a start */
/* Grow or shrink without copying through faults. NULL: p is unchanged, the
 * caller copies to an allocation elsewhere. */
void *hz_arena_realloc(void *p, size_t size);

/* ---- mmap family ---- */
size_t hz_arena_min_map(void);

/* A captured anonymous mapping of `len` bytes (page multiple); NULL: ask the
 * kernel. */
void *hz_arena_map(size_t len, bool populate);

/* A captured private map, readable and writable, of the file that `fd` refers
 * to; likewise. */
void *hz_arena_map_file(size_t len, int fd, off_t off, bool populate);

/* Each returns what the system call would return: >= 0 or -errno. The range
 * must meet the region; parts outside it are passed on to the kernel. */
int hz_arena_munmap(void *addr, size_t len);
long hz_arena_mremap(void *old, size_t old_len, size_t new_len, int flags,
		     void *new_addr);
int hz_arena_mprotect(void *addr, size_t len, int prot);
int hz_arena_madvise(void *addr, size_t len, int advice);
int hz_arena_mlock(void *addr, size_t len, bool lock);
int hz_arena_msync(void *addr, size_t len, int flags);
/* The kernel keeps references to these pages that the engine cannot see
 * (vmsplice): they stay where they are, for good. Any addresses. */
void hz_arena_keep(const void *addr, size_t len);
/* Before a MAP_FIXED mapping (or shmat, ...) covers part of the region: give
 * these addresses to the kernel. `plain`: it is private anonymous memory that
 * may be read and written. */
int hz_arena_yield(void *addr, size_t len, bool plain);

/* Move the whole blocks of [addr, addr + len) out and wait; how many are out
 * afterwards. */
long hz_arena_evict(void *addr, size_t len);

/* The process ends, or seems to: the trace so far goes into its file. Any
 * thread, from a destructor; all else goes on. */
void hz_arena_end(void);

/* ---- fork ---- */
void hz_arena_fork_prepare(void);
void hz_arena_fork_parent(int pid_or_error);
void hz_arena_fork_child(void);

#endif
