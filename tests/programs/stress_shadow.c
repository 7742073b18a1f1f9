/* SPDX-License-Identifier: Apache-2.0 */
/*
 * stress_shadow [-s SECONDS] [-r SEED] [-t THREADS] [-x ACTION]...: everything
 * that a program can do to big memory, at random, in several threads, but the
 * actions of -x. Only wrong bytes and hangs fail. `make check` runs some
 * seconds; the long run is
 *
 *   TIERED_SECONDS=1200 TIERED_RUNS=tiered TIERED_SET='--store-size 4G' \
 *	run-tiered.sh stress_shadow.tiered -s 600 -t 8
 */
#include <fcntl.h>
#include <time.h>
#include <unistd.h>
#include "stress.h"

int stress_file = -1, stress_direct = -1;

static double end_time;
static unsigned first_seed = 1;

static double now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (double)ts.tv_sec + (double)ts.tv_nsec * 1e-9;
}

void *untiered(size_t len)
{
	void *p = mmap(NULL, len, RW, ANON | MAP_NORESERVE, -1, 0);

	NEED(p != MAP_FAILED && !owned(p));
	return p;
}

/* ---- one array ---- */

void wrong(struct worker *w, const struct array *a, const char *what)
{
	fprintf(stderr, "stress: %s (%s), thread %u after %llu, seed %u\n",
		what, w->doing, w->number, (unsigned long long)w->count,
		first_seed);
	if (a)
		fprintf(stderr, "stress: %p, %zu bytes, pattern %u of %zu%s\n",
			(void *)a->p, a->len, a->seed, a->pattern,
			w->pinned == a ? ", pinned" : "");
	_Exit(1);
}

void verify(struct worker *w, const struct array *a, const char *what)
{
	if (!filled(a->p, a->pattern, a->seed) ||
	    !zeros(a->p + a->pattern, a->len - a->pattern))
		wrong(w, a, what);
}

void write_all(struct worker *w, struct array *a)
{
	a->seed = w->number << 24 | (w->next_seed++ & 0xffffff);
	a->pattern = a->len;
	fill(a->p, a->len, a->seed);
}

void change(struct worker *w, struct array *a)
{
	(void)w;
	a->seed += 0x100;
	fill(a->p, a->pattern, a->seed);
}

void part_of(struct worker *w, const struct array *a, char **p, size_t *len)
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

void restore(struct array *a, size_t at, size_t len)
{
	size_t from = at < a->pattern ? at : a->pattern;

	fill_at(a->p + from, at + len - from, a->seed, from);
	if (a->pattern < at + len)
		a->pattern = at + len;
}

/* ---- what is done to it ---- */

static action look, evict_it, evict_parts;

static void look(struct worker *w, struct array *a)
{
	verify(w, a, "read");
}

static void evict_it(struct worker *w, struct array *a)
{
	evict(a->p, a->len);
	if (below(w, 2))
		verify(w, a, "evicted");
}

/* A byte here and there is used while blocks are out. */
static void evict_parts(struct worker *w, struct array *a)
{
	for (int i = 0; i < 8; i++) {
		size_t at = below(w, a->len), n = a->len - at;

		if (below(w, 3) == 0)
			evict(a->p, a->len);
		n = n < 64 ? n : 64;
		if (at + n <= a->pattern &&
		    !filled_at(a->p + at, n, a->seed, at))
			wrong(w, a, "a few bytes");
	}
}

/* What a pin (registered buffers) does not survive, as without Horizon,
 * `loosens`. Weights change in main only. */
static struct {
	const char *name;
	unsigned weight;
	action *run;
	bool loosens;
} actions[] = {
	{"look", 180, look, false},
	{"release", 90, release, true},
	{"resize", 90, resize, true},
	{"evict", 90, evict_it, false},
	{"evict parts", 60, evict_parts, false},
	{"change", 90, change, false},
	{"write all", 50, write_all, false},
	{"discard", 60, discard, true},
	{"advise", 50, advise, true},
	{"read", 50, read_into, false},
	{"write", 30, write_out, false},
	{"process_vm", 30, vm_read_write, false},
	{"pin", 30, pin_it, false},
	{"ring", 50, read_by_ring, false},
	{"protect", 30, protect, false},
	{"protect none", 20, protect_none, false},
	{"lock", 20, lock, false},
	{"trim", 30, trim, true},
	{"map over", 15, map_over, true},
	{"move fixed", 15, move_fixed, true},
	{"move away", 15, move_away, true},
	{"fork", 10, in_child, false},
	{"spawn", 5, spawn, false},
	{"rows at random", 120, rows_at_random, false},
	{"rows in order", 25, rows_in_order, false},
	{"rows by kernel", 50, rows_by_kernel, false},
	{"rows discarded", 15, rows_discard, false},
};

#define ACTIONS (sizeof(actions) / sizeof(actions[0]))

static size_t any_action(struct worker *w)
{
	static size_t sum;
	size_t n, i = 0;

	if (!sum)
		for (size_t k = 0; k < ACTIONS; k++)
			sum += actions[k].weight;
	for (n = below(w, sum); n >= actions[i].weight; i++)
		n -= actions[i].weight;
	return i;
}

static void step(struct worker *w)
{
	struct array *a = &w->a[below(w, ARRAYS)];
	size_t i = any_action(w);

	w->count++;
	w->doing = a->p ? actions[i].name : "create";
	if (!a->p)
		create(w, a);
	if (!a->p)
		return;
	if (actions[i].loosens && w->pinned == a)
		unpin(w);
	actions[i].run(w, a);
}

/* ---- the threads ---- */

static void *work(void *arg)
{
	struct worker *w = arg;

	w->doing = "start";
	io_start(w);
	rows_start(w);
	while (now() < end_time)
		step(w);
	w->doing = "end";
	unpin(w);
	for (int i = 0; i < ARRAYS; i++)
		if (w->a[i].p) {
			verify(w, &w->a[i], "at the end");
			release(w, &w->a[i]);
		}
	rows_end(w);
	io_end(w);
	return NULL;
}

static void make_file(void)
{
	char name[] = "/var/tmp/stress_shadow.XXXXXX",
	     *p = untiered(FILE_BYTES);

	fill(p, FILE_BYTES, 1);
	stress_file = mkstemp(name);
	NEED(stress_file >= 0);
	NEED(write(stress_file, p, FILE_BYTES) == (ssize_t)FILE_BYTES);
	NEED(!fsync(stress_file));
	stress_direct = open(name, O_RDONLY | O_DIRECT);
	NEED(!unlink(name) && !munmap(p, FILE_BYTES));
}

static bool leave_out(const char *name)
{
	for (size_t i = 0; i < ACTIONS; i++)
		if (!strcmp(actions[i].name, name)) {
			actions[i].weight = 0;
			return true;
		}
	return false;
}

/* Whatever was left behind, in numbers. */
static void nothing_left(void)
{
	uint64_t bytes = counter("range_bytes"), ranges = counter("ranges");

	if (bytes || ranges)
		fprintf(stderr, "stress: %llu bytes in %llu ranges are left\n",
			(unsigned long long)bytes, (unsigned long long)ranges);
	CHECK(!bytes && !ranges);
	CHECK(counter("poisoned") == 0 && counter("store_errors") == 0);
}

static unsigned number(const char *text)
{
	return (unsigned)strtoul(text, NULL, 10);
}

int main(int argc, char **argv)
{
	unsigned threads = 4, seconds = getenv("TEST_SHORT") ? 2 : 5;
	size_t bytes;
	struct worker *w;
	int opt;

	while ((opt = getopt(argc, argv, "s:r:t:x:")) != -1) {
		if (opt == 's')
			seconds = number(optarg);
		else if (opt == 'r')
			first_seed = number(optarg);
		else if (opt == 't')
			threads = number(optarg);
		else if (opt != 'x' || !leave_out(optarg))
			return 2;
	}
	tiered_start();
	make_file();
	end_time = now() + seconds;
	bytes = threads * sizeof(*w);
	w = untiered(bytes);
	rows_share(w, threads);
	for (unsigned i = 0; i < threads; i++) {
		w[i].number = i + 1;
		w[i].rnd = (first_seed * 64 + i + 1) * 2654435761u | 1;
		NEED(!pthread_create(&w[i].id, NULL, work, &w[i]));
	}
	for (unsigned i = 0; i < threads; i++)
		pthread_join(w[i].id, NULL);
	NEED(!munmap(w->shared.p, w->shared.len));
	nothing_left();
	return tiered_end();
}
