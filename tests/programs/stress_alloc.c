/* SPDX-License-Identifier: Apache-2.0 */
/*
 * stress_shadow: memory comes, grows, shrinks and goes.
 */
#include "stress.h"

/* Small ones more often than large ones. */
static size_t any_size(struct worker *w)
{
	size_t most = MOST >> below(w, 9);

	return 64 * KIB + below(w, most);
}

static size_t whole_pages(size_t len)
{
	return (len + PAGE - 1) / PAGE * PAGE;
}

void release(struct worker *w, struct array *a)
{
	if (a->mapped)
		NEED(!munmap(a->p, a->len));
	else
		free(a->p);
	w->total -= a->len;
	a->p = NULL;
}

/* *zero: is it known to be all zeros? */
static char *allocate(struct worker *w, size_t len, bool *zero)
{
	void *p;

	*zero = below(w, 2);
	if (*zero)
		return calloc(1, len);
	switch (below(w, 4)) {
	case 0:
		return aligned_alloc(PAGE << below(w, 12), whole_pages(len));
	case 1:
		return posix_memalign(&p, 64, len) ? NULL : p;
	default:
		return malloc(len);
	}
}

void create(struct worker *w, struct array *a)
{
	size_t len = any_size(w);
	bool zero = true;

	if (w->total + len > SHARE)
		return;
	a->mapped = below(w, 3) == 0;
	if (a->mapped) {
		len = whole_pages(len);
		a->p = mmap(NULL, len, RW,
			    ANON | (below(w, 8) ? 0 : MAP_POPULATE), -1, 0);
		NEED(a->p != MAP_FAILED);
	} else {
		a->p = allocate(w, len, &zero);
	}
	NEED(a->p);
	a->len = len;
	w->total += len;
	a->pattern = 0;
	if (zero && below(w, 2))
		verify(w, a, "new memory is zero");
	if (!zero || below(w, 4))
		write_all(w, a);
}

/* NULL: it would have to move and may not, or the kernel has several mappings
 * of it. */
static char *moved(struct worker *w, const struct array *a, size_t len)
{
	int flags = below(w, 4) ? MREMAP_MAYMOVE : 0;
	char *p;

	if (!a->mapped) {
		p = realloc(a->p, len);
		NEED(p);
		return p;
	}
	p = mremap(a->p, a->len, len, flags);
	if (p != MAP_FAILED)
		return p;
	NEED((errno == ENOMEM && !flags) || errno == EFAULT);
	return NULL;
}

void resize(struct worker *w, struct array *a)
{
	size_t len = any_size(w), old = a->len;
	char *p;

	if (w->total + len > SHARE + MOST)
		return;
	if (a->mapped)
		len = whole_pages(len);
	p = moved(w, a, len);
	if (!p) {
		verify(w, a, "not resized");
		return;
	}
	a->p = p;
	a->len = len;
	w->total += len - old;
	if (a->pattern > len)
		a->pattern = len;
	if (!a->mapped && len > old)
		memset(p + old, 0, len - old);
	if (below(w, 4))
		verify(w, a, "resized");
	if (below(w, 2))
		restore(a, a->pattern, len - a->pattern);
}

/* The back or the front of a mapping goes. */
void trim(struct worker *w, struct array *a)
{
	size_t cut = below(w, a->len / PAGE) * PAGE;

	if (!a->mapped || !cut)
		return;
	if (below(w, 2)) {
		NEED(!munmap(a->p + a->len - cut, cut));
		if (a->pattern > a->len - cut)
			a->pattern = a->len - cut;
	} else {
		NEED(!munmap(a->p, cut));
		a->p += cut;
		a->pattern = 0; /* the pattern counts from the start */
		memset(a->p, 0, a->len - cut);
	}
	a->len -= cut;
	w->total -= cut;
	verify(w, a, "trimmed");
}
