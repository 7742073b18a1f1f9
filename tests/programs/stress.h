/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the parts of stress_shadow share. An array holds a pattern of its seed
 * and zeros behind it, so that each of its bytes can be verified; rows hold
 * their own counters. What should be where is kept in memory that is never
 * tiered. Arrays and rows belong to one thread each.
 */
#ifndef STRESS_H
#define STRESS_H

#include <liburing.h>
#include <pthread.h>
#include <sys/mman.h>
#include "tiered.h"

#define ARRAYS	   12
#define MOST	   (32 * MIB)
#define SHARE	   (64 * MIB) /* bytes that a thread keeps at most */
#define PAGE	   ((size_t)4096)
#define FILE_BYTES (4 * MIB)

struct array {
	char *p;
	size_t len;
	size_t pattern; /* bytes of the pattern; zeros behind it */
	unsigned seed;
	bool mapped;
};

struct shadow;

/* Rows of ROW_BYTES; this thread owns each `step`-th, from `first` on. */
struct rows {
	char *p;
	size_t len;
	size_t count, first, step;
	struct shadow *shadow; /* of all rows */
};

struct worker {
	pthread_t id;
	uint32_t rnd;
	unsigned number, next_seed;
	size_t total;
	uint64_t count;
	const char *doing;
	int scratch, scratch_direct; /* a file of the thread's own */
	int pipe[2];
	bool has_ring;
	struct io_uring ring;
	struct array *pinned; /* registered with the ring, NULL: none */
	char *pin;
	size_t pin_len;
	char *bounce; /* FILE_BYTES that are never tiered */
	struct rows own, shared;
	struct array a[ARRAYS];
};

/* The same file twice, pattern 1 at any place; direct < 0: no O_DIRECT. */
extern int stress_file, stress_direct;

/* Memory that is not tiered: no plain request. */
void *untiered(size_t len);

static inline size_t below(struct worker *w, size_t n)
{
	return rnd(&w->rnd) % n;
}

/* Ends the process. */
_Noreturn void wrong(struct worker *w, const struct array *a, const char *what);
void verify(struct worker *w, const struct array *a, const char *what);
/* Some pages of it, at least one. */
void part_of(struct worker *w, const struct array *a, char **p, size_t *len);
/* [at, at + len) may hold anything: the pattern again, there and in what
 * would be a gap of zeros before it. */
void restore(struct array *a, size_t at, size_t len);
void write_all(struct worker *w, struct array *a);
void change(struct worker *w, struct array *a);

typedef void action(struct worker *w, struct array *a);

/* stress_alloc.c */
action create, resize, release, trim;
/* stress_vm.c */
action discard, advise, protect, protect_none, lock, map_over, move_fixed,
	move_away;
/* stress_io.c */
action read_into, write_out, vm_read_write, pin_it, read_by_ring;
void unpin(struct worker *w);
void io_start(struct worker *w);
void io_end(struct worker *w);
/* stress_fork.c */
action in_child, spawn;
/* stress_rows.c */
action rows_at_random, rows_in_order, rows_by_kernel, rows_discard;
void rows_start(struct worker *w);
void rows_end(struct worker *w);
void rows_share(struct worker *w, unsigned threads);
void rows_verify_some(struct worker *w);

#endif
