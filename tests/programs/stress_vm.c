/* SPDX-License-Identifier: Apache-2.0 */
/*
 * stress_shadow: the mmap family on parts of arrays.
 */
#include <unistd.h>
#include "stress.h"

#ifndef MADV_COLLAPSE
#define MADV_COLLAPSE 25
#endif
#ifndef MREMAP_DONTUNMAP
#define MREMAP_DONTUNMAP 4
#endif

/* Zeros are there; mostly the pattern comes back. */
static void emptied(struct worker *w, struct array *a, char *p, size_t len)
{
	if (!zeros(p, len))
		wrong(w, a, "is not zero");
	if (a->pattern)
		restore(a, (size_t)(p - a->p), len);
}

void discard(struct worker *w, struct array *a)
{
	static const int how[] = {MADV_DONTNEED, MADV_DONTNEED,
				  MADV_DONTNEED_LOCKED, MADV_FREE};
	int advice = how[below(w, 4)];
	size_t len;
	char *p;

	part_of(w, a, &p, &len);
	if (madvise(p, len, advice)) {
		NEED(errno == EINVAL && advice == MADV_DONTNEED_LOCKED);
		return;
	}
	if (advice != MADV_FREE) {
		emptied(w, a, p, len);
		return;
	}
	/* Anything until it is written. */
	if ((size_t)(p - a->p) < a->pattern)
		restore(a, (size_t)(p - a->p), len);
	else
		memset(p, 0, len);
}

/* Advice that changes no byte. What sets the memory apart for children is
 * taken back at once. */
void advise(struct worker *w, struct array *a)
{
	static const struct {
		int advice, undo;
	} kinds[] = {
		{MADV_NORMAL, -1},
		{MADV_RANDOM, MADV_NORMAL},
		{MADV_SEQUENTIAL, -1},
		{MADV_WILLNEED, -1},
		{MADV_HUGEPAGE, -1},
		{MADV_NOHUGEPAGE, MADV_HUGEPAGE},
		{MADV_MERGEABLE, MADV_UNMERGEABLE},
		{MADV_DONTDUMP, MADV_DODUMP},
		{MADV_POPULATE_READ, -1},
		{MADV_POPULATE_WRITE, -1},
		{MADV_COLLAPSE, -1},
		{20 /* COLD */, -1},
		{21 /* PAGEOUT */, -1},
		{MADV_DONTFORK, MADV_DOFORK},
		{MADV_WIPEONFORK, MADV_KEEPONFORK},
	};
	size_t i = below(w, sizeof(kinds) / sizeof(kinds[0])), len;
	char *p;

	part_of(w, a, &p, &len);
	if (madvise(p, len, kinds[i].advice))
		NEED(errno == EINVAL || errno == EAGAIN || errno == EBUSY ||
		     errno == ENOMEM);
	else if (kinds[i].undo >= 0)
		NEED(!madvise(p, len, kinds[i].undo) || errno == ENOMEM);
	if (below(w, 2))
		verify(w, a, "advised");
}

void protect(struct worker *w, struct array *a)
{
	size_t len;
	char *p;

	part_of(w, a, &p, &len);
	NEED(!mprotect(p, len, PROT_READ));
	verify(w, a, "protected");
	NEED(!mprotect(p, len, RW));
}

/* Neither the kernel nor the program gets at it, and nothing is lost. */
void protect_none(struct worker *w, struct array *a)
{
	size_t len;
	char *p;

	part_of(w, a, &p, &len);
	NEED(!mprotect(p, len, PROT_NONE));
	errno = 0;
	if (pwrite(w->scratch, p, PAGE, 0) != -1 || errno != EFAULT)
		wrong(w, a, "the kernel reads what is protected");
	evict(a->p, a->len);
	NEED(!mprotect(p, len, below(w, 2) ? PROT_READ : RW));
	verify(w, a, "was protected");
	NEED(!mprotect(p, len, RW));
	if (below(w, 2))
		change(w, a);
}

void lock(struct worker *w, struct array *a)
{
	size_t len;
	char *p;

	if (a->len > 2 * MIB)
		return;
	part_of(w, a, &p, &len);
	if (below(w, 2) ? mlock(p, len) : mlock2(p, len, MLOCK_ONFAULT))
		return; /* RLIMIT_MEMLOCK */
	evict(a->p, a->len);
	verify(w, a, "locked");
	NEED(!munlock(p, len));
}

/* Fresh memory over a part of it. */
void map_over(struct worker *w, struct array *a)
{
	size_t len;
	char *p;

	if (!a->mapped)
		return;
	part_of(w, a, &p, &len);
	NEED(mmap(p, len, RW, ANON | MAP_FIXED, -1, 0) == p);
	emptied(w, a, p, len);
	verify(w, a, "mapped over");
}

/* To a place of the program's choice: one that is not tiered, or tiered. */
void move_fixed(struct worker *w, struct array *a)
{
	int flags = below(w, 2) ? MAP_NORESERVE : 0;
	char *to;

	if (!a->mapped)
		return;
	to = mmap(NULL, a->len, RW, ANON | flags, -1, 0);
	NEED(to != MAP_FAILED);
	if (below(w, 2))
		fill(to, a->len, 2);
	evict(to, a->len);
	if (mremap(a->p, a->len, a->len, MREMAP_MAYMOVE | MREMAP_FIXED, to) ==
	    MAP_FAILED) {
		/* Several mappings. The kernel may have emptied the target,
		 * and what is there by now another thread's. */
		NEED(errno == EFAULT);
		NEED(!owned(to) || !munmap(to, a->len));
		verify(w, a, "not moved");
		return;
	}
	a->p = to;
	verify(w, a, "moved to a fixed place");
}

/* The old place stays, with zeros. */
void move_away(struct worker *w, struct array *a)
{
	char *to;

	if (!a->mapped)
		return;
	to = mremap(a->p, a->len, a->len, MREMAP_MAYMOVE | MREMAP_DONTUNMAP,
		    NULL);
	if (to == MAP_FAILED) {
		NEED(errno == EINVAL || errno == EFAULT || errno == ENOMEM);
		return;
	}
	if (!zeros(a->p, a->len))
		wrong(w, a, "the old place is not empty");
	NEED(!munmap(a->p, a->len));
	a->p = to;
	verify(w, a, "moved away");
}
