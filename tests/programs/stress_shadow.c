/* SPDX-License-Identifier: Apache-2.0 */
/*
 * stress_shadow [-s SECONDS] [-r SEED] [-t THREADS]: everything that a program
 * can do to big memory, at random, in several threads. The content of each
 * array is a pattern of its seed (or zeros), so that every byte is verified,
 * and the seeds live in small memory that is never tiered. Only wrong bytes
 * and hangs fail.
 */
#include <fcntl.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include "tiered.h"

#define ARRAYS 12
#define MOST   (32 * MIB)
#define SHARE  (64 * MIB) /* bytes that a thread keeps at most */
#define PAGE   ((size_t)4096)

struct array {
	char *p;
	size_t len;
	size_t pattern; /* bytes of the pattern; zeros behind it */
	unsigned seed;
	bool mapped;
};

struct worker {
	pthread_t id;
	uint32_t rnd;
	unsigned number, next_seed;
	size_t total;
	uint64_t count;
	struct array a[ARRAYS];
};

static double end_time;
static int file = -1; /* pattern 1 at any place */
static unsigned first_seed = 1;

static double now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (double)ts.tv_sec + (double)ts.tv_nsec * 1e-9;
}

static size_t below(struct worker *w, size_t n)
{
	return rnd(&w->rnd) % n;
}

/* Small ones more often than large ones. */
static size_t any_size(struct worker *w)
{
	size_t most = MOST >> below(w, 9);

	return 64 * KIB + below(w, most);
}

static void wrong(struct worker *w, const struct array *a, const char *what)
{
	fprintf(stderr,
		"stress: %s: array %p, %zu bytes, pattern %u of %zu, thread "
		"%u after %llu, seed %u\n",
		what, (void *)a->p, a->len, a->seed, a->pattern, w->number,
		(unsigned long long)w->count, first_seed);
	_Exit(1);
}

static void verify(struct worker *w, const struct array *a, const char *what)
{
	if (!filled(a->p, a->pattern, a->seed) ||
	    !zeros(a->p + a->pattern, a->len - a->pattern))
		wrong(w, a, what);
}

static void write_all(struct worker *w, struct array *a)
{
	a->seed = w->number << 24 | (w->next_seed++ & 0xffffff);
	a->pattern = a->len;
	fill(a->p, a->len, a->seed);
}

/* Put the pattern back behind `from`, where only zeros (or nothing certain)
 * can be. */
static void rewrite(struct array *a, size_t from)
{
	fill_at(a->p + from, a->len - from, a->seed, from);
	a->pattern = a->len;
}

static void release(struct worker *w, struct array *a)
{
	if (a->mapped)
		NEED(!munmap(a->p, a->len));
	else
		free(a->p);
	w->total -= a->len;
	a->p = NULL;
}

static void create(struct worker *w, struct array *a)
{
	size_t len = any_size(w);
	bool zero = below(w, 2);

	if (w->total + len > SHARE)
		return;
	a->mapped = below(w, 3) == 0;
	if (a->mapped) {
		len = (len + PAGE - 1) / PAGE * PAGE;
		zero = true;
		a->p = mmap(NULL, len, RW, ANON, -1, 0);
		NEED(a->p != MAP_FAILED);
	} else if (zero) {
		a->p = calloc(1, len);
	} else if (below(w, 4) == 0) {
		a->p = aligned_alloc(PAGE << below(w, 12),
				     (len + PAGE - 1) / PAGE * PAGE);
	} else {
		a->p = malloc(len);
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

static void resize(struct worker *w, struct array *a)
{
	size_t len = any_size(w), old = a->len;
	char *p;

	if (w->total + len > SHARE + MOST)
		return;
	if (a->mapped) {
		len = (len + PAGE - 1) / PAGE * PAGE;
		p = mremap(a->p, old, len, MREMAP_MAYMOVE);
		NEED(p != MAP_FAILED);
	} else {
		p = realloc(a->p, len);
		NEED(p);
	}
	a->p = p;
	a->len = len;
	w->total += len - old;
	if (a->pattern > len)
		a->pattern = len;
	if (!a->mapped && len > old)
		memset(p + old, 0, len - old);
	verify(w, a, "resized");
	if (below(w, 2))
		rewrite(a, a->pattern);
}

/* Some pages of it. */
static void part_of(struct worker *w, const struct array *a, char **p,
		    size_t *len)
{
	uintptr_t from = ((uintptr_t)a->p + PAGE - 1) / PAGE;
	uintptr_t to = ((uintptr_t)a->p + a->len) / PAGE;
	size_t n = to - from, at = below(w, n);

	if (below(w, 3) == 0)
		at = 0;
	n = below(w, 3) ? 1 + below(w, n - at) : n - at;
	*p = (char *)((from + at) * PAGE);
	*len = n * PAGE;
}

static void discard(struct worker *w, struct array *a)
{
	size_t len, at;
	char *p;

	part_of(w, a, &p, &len);
	at = (size_t)(p - a->p);
	NEED(!madvise(p, len, MADV_DONTNEED));
	if (!zeros(p, len))
		wrong(w, a, "discarded");
	if (a->pattern == 0)
		return;
	fill_at(p, len, a->seed, at);
	if (at + len > a->pattern)
		rewrite(a, a->pattern);
	if (a->pattern < at + len)
		a->pattern = at + len;
}

static void protect(struct worker *w, struct array *a)
{
	size_t len;
	char *p;

	part_of(w, a, &p, &len);
	NEED(!mprotect(p, len, PROT_READ));
	verify(w, a, "protected");
	NEED(!mprotect(p, len, RW));
}

static void lock(struct worker *w, struct array *a)
{
	size_t len;
	char *p;

	if (a->len > 2 * MIB)
		return;
	part_of(w, a, &p, &len);
	if (mlock(p, len))
		return;
	verify(w, a, "locked");
	NEED(!munlock(p, len));
}

/* The back or the front of a mapping goes. */
static void trim(struct worker *w, struct array *a)
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

static void read_into(struct worker *w, struct array *a)
{
	size_t n = a->len < 4 * MIB ? a->len : 4 * MIB;

	if (pread(file, a->p, n, 0) != (ssize_t)n)
		wrong(w, a, "read(2)");
	if (!filled(a->p, n, 1))
		wrong(w, a, "read by the kernel");
	if (a->pattern == 0)
		a->seed = 1;
	if (a->pattern < n)
		a->pattern = n;
	fill(a->p, a->pattern, a->seed);
}

static void change(struct worker *w, struct array *a)
{
	a->seed += 0x100;
	fill(a->p, a->pattern, a->seed);
}

static void evict_it(struct worker *w, struct array *a)
{
	evict(a->p, a->len);
	if (below(w, 2))
		verify(w, a, "evicted");
}

static void in_child(struct worker *w)
{
	int status = -1;
	pid_t pid = fork();

	if (!pid) {
		alarm(300);
		for (int i = 0; i < ARRAYS; i++)
			if (w->a[i].p && below(w, 2))
				verify(w, &w->a[i], "in a child");
		for (int i = 0; i < ARRAYS; i++)
			if (w->a[i].p && below(w, 3) == 0) {
				change(w, &w->a[i]);
				verify(w, &w->a[i], "changed in a child");
			}
		_exit(0);
	}
	NEED(pid > 0);
	if (below(w, 2) && w->a[0].p)
		change(w, &w->a[0]);
	status = status_of(pid);
	if (status) {
		fprintf(stderr, "stress: a child's status is %d\n", status);
		_Exit(1);
	}
}

static void step(struct worker *w)
{
	struct array *a = &w->a[below(w, ARRAYS)];
	unsigned what = (unsigned)below(w, 100);

	w->count++;
	if (!a->p)
		create(w, a);
	else if (what < 25)
		verify(w, a, "read");
	else if (what < 37)
		release(w, a);
	else if (what < 47)
		resize(w, a);
	else if (what < 57)
		evict_it(w, a);
	else if (what < 67)
		change(w, a);
	else if (what < 75)
		discard(w, a);
	else if (what < 81)
		read_into(w, a);
	else if (what < 86)
		protect(w, a);
	else if (what < 89)
		lock(w, a);
	else if (what < 93)
		trim(w, a);
	else if (what < 94)
		in_child(w);
	else
		write_all(w, a);
}

static void *work(void *arg)
{
	struct worker *w = arg;

	while (now() < end_time)
		step(w);
	for (int i = 0; i < ARRAYS; i++)
		if (w->a[i].p) {
			verify(w, &w->a[i], "at the end");
			release(w, &w->a[i]);
		}
	return NULL;
}

static void make_file(void)
{
	char name[] = "/var/tmp/stress_shadow.XXXXXX", *p = map(4 * MIB);

	fill(p, 4 * MIB, 1);
	file = mkstemp(name);
	NEED(file >= 0 && !unlink(name));
	NEED(write(file, p, 4 * MIB) == (ssize_t)(4 * MIB));
	NEED(!munmap(p, 4 * MIB));
}

int main(int argc, char **argv)
{
	unsigned threads = 4, seconds = 20;
	struct worker *w;
	int opt;

	while ((opt = getopt(argc, argv, "s:r:t:")) != -1) {
		unsigned n = (unsigned)strtoul(optarg ? optarg : "", NULL, 10);

		if (opt == 's')
			seconds = n;
		else if (opt == 'r')
			first_seed = n;
		else if (opt == 't')
			threads = n;
		else
			return 2;
	}
	tiered_start();
	make_file();
	end_time = now() + seconds;
	w = calloc(threads, sizeof(*w));
	NEED(w);
	for (unsigned i = 0; i < threads; i++) {
		w[i].number = i + 1;
		w[i].rnd = (first_seed * 64 + i + 1) * 2654435761u | 1;
		NEED(!pthread_create(&w[i].id, NULL, work, &w[i]));
	}
	for (unsigned i = 0; i < threads; i++)
		pthread_join(w[i].id, NULL);
	free(w);
	CHECK(counter("range_bytes") == 0 && counter("ranges") == 0);
	CHECK(counter("poisoned") == 0 && counter("store_errors") == 0);
	return tiered_end();
}
