/* SPDX-License-Identifier: Apache-2.0 */
/*
 * stress_shadow: rows of some hundred bytes at random places of big arrays,
 * read and updated, as embedding tables and hash buckets are, and passes over
 * the same array in between. Each thread has a table of its own, and a share
 * of the rows of a table whose neighbours on each page are other threads'.
 */
#include <unistd.h>
#include "stress.h"

#define ROW_BYTES    400
#define ROW_WORDS    (ROW_BYTES / 8)
#define OWN_BYTES    (24 * MIB)
#define SHARED_BYTES (96 * MIB)
#define AT_ONCE	     64

/* Zeros until it is written; then a pattern of its version. Its first word
 * counts touches, so that a page may change by eight bytes. */
struct shadow {
	uint32_t version, touches;
};

static uint64_t *row_at(const struct rows *r, size_t i)
{
	return (uint64_t *)(void *)(r->p + i * ROW_BYTES);
}

static uint64_t word_of(size_t i, uint32_t version, size_t k)
{
	uint64_t x = (uint64_t)version << 40 ^ i * ROW_WORDS ^ k;

	return version ? x * 0x9e3779b97f4a7c15u : 0;
}

static void render(uint64_t *to, size_t i, const struct shadow *s)
{
	to[0] = s->touches;
	for (size_t k = 1; k < ROW_WORDS; k++)
		to[k] = word_of(i, s->version, k);
}

static _Noreturn void wrong_row(struct worker *w, const struct rows *r,
				size_t i, const uint64_t *have,
				const uint64_t *want)
{
	size_t k = 0;

	while (k + 1 < ROW_WORDS && have[k] == want[k])
		k++;
	fprintf(stderr,
		"stress: row %zu at %p (%s table), word %zu: %#llx instead of "
		"%#llx; version %u, %u touches\n",
		i, (void *)row_at(r, i), r == &w->own ? "own" : "shared", k,
		(unsigned long long)have[k], (unsigned long long)want[k],
		r->shadow[i].version, r->shadow[i].touches);
	wrong(w, NULL, "a row");
}

static void check_row(struct worker *w, const struct rows *r, size_t i,
		      const uint64_t *have)
{
	uint64_t want[ROW_WORDS];

	render(want, i, &r->shadow[i]);
	if (memcmp(have, want, ROW_BYTES))
		wrong_row(w, r, i, have, want);
}

/* ---- one row ---- */

static void read_row(struct worker *w, const struct rows *r, size_t i)
{
	check_row(w, r, i, row_at(r, i));
}

static void update_row(struct worker *w, struct rows *r, size_t i)
{
	read_row(w, r, i);
	r->shadow[i].version++;
	render(row_at(r, i), i, &r->shadow[i]);
}

static void touch_row(struct worker *w, struct rows *r, size_t i)
{
	(void)w;
	row_at(r, i)[0]++;
	r->shadow[i].touches++;
}

static void any_use(struct worker *w, struct rows *r, size_t i)
{
	switch (below(w, 4)) {
	case 0:
		update_row(w, r, i);
		break;
	case 1:
		touch_row(w, r, i);
		break;
	default:
		read_row(w, r, i);
	}
}

/* One of this thread's rows: few are hot, spread over the table. */
static size_t any_row(struct worker *w, const struct rows *r)
{
	size_t mine = (r->count - r->first + r->step - 1) / r->step;
	size_t n = below(w, mine);

	if (below(w, 2))
		n = n % (mine / 64 + 1) * 61 % mine;
	return r->first + n * r->step;
}

static struct rows *any_table(struct worker *w)
{
	return below(w, 2) ? &w->own : &w->shared;
}

/* ---- what stress_shadow does ---- */

void rows_at_random(struct worker *w, struct array *a)
{
	struct rows *r = any_table(w);

	(void)a;
	for (int i = 0; i < AT_ONCE; i++)
		any_use(w, r, any_row(w, r));
	if (below(w, 8) == 0)
		evict(r->p, r->len);
}

/* A part of it, from anywhere on. */
void rows_in_order(struct worker *w, struct array *a)
{
	struct rows *r = any_table(w);
	size_t from = any_row(w, r), n = r->count / (1 + below(w, 8));
	unsigned how = (unsigned)below(w, 3);

	(void)a;
	for (size_t i = from; i < r->count && i < from + n; i += r->step) {
		if (how == 0)
			update_row(w, r, i);
		else if (how == 1)
			touch_row(w, r, i);
		else
			read_row(w, r, i);
	}
}

/* Through a pipe: the kernel reads a row, or writes it. */
void rows_by_kernel(struct worker *w, struct array *a)
{
	struct rows *r = any_table(w);
	uint64_t copy[ROW_WORDS];

	(void)a;
	for (int n = 0; n < AT_ONCE / 4; n++) {
		size_t i = any_row(w, r);
		uint64_t *row = row_at(r, i);
		bool out = below(w, 2);

		if (!out) {
			r->shadow[i].version++;
			render(copy, i, &r->shadow[i]);
		}
		if (write(w->pipe[1], out ? row : copy, ROW_BYTES) !=
			    ROW_BYTES ||
		    read(w->pipe[0], out ? copy : row, ROW_BYTES) != ROW_BYTES)
			wrong(w, NULL, "a row through a pipe");
		check_row(w, r, i, out ? copy : row);
	}
}

/* Rows that lost a part of them are written again. */
void rows_discard(struct worker *w, struct array *a)
{
	struct rows *r = &w->own;
	size_t page = below(w, r->len / PAGE), from = page * PAGE;
	size_t to = from + (1 + below(w, 64)) * PAGE;

	(void)a;
	to = to < r->len ? to : r->len;
	NEED(!madvise(r->p + from, to - from, MADV_DONTNEED));
	for (size_t i = from / ROW_BYTES; i * ROW_BYTES < to && i < r->count;
	     i++) {
		if (i * ROW_BYTES < from || (i + 1) * ROW_BYTES > to)
			render(row_at(r, i), i, &r->shadow[i]);
		else
			r->shadow[i] = (struct shadow){0};
	}
}

void rows_verify_some(struct worker *w)
{
	for (int i = 0; i < AT_ONCE; i++) {
		struct rows *r = any_table(w);

		read_row(w, r, any_row(w, r));
	}
}

/* ---- start and end ---- */

static void make(struct rows *r, size_t len)
{
	r->p = map(len);
	r->len = len;
	r->count = len / ROW_BYTES;
	r->step = 1;
	r->shadow = untiered(r->count * sizeof(*r->shadow));
}

/* Each worker's shadow has a page of its own only by chance: what threads
 * write there are different words. */
void rows_share(struct worker *w, unsigned threads)
{
	struct rows all = {0};

	make(&all, SHARED_BYTES);
	all.step = threads;
	for (unsigned i = 0; i < threads; i++) {
		w[i].shared = all;
		w[i].shared.first = i;
	}
}

void rows_start(struct worker *w)
{
	make(&w->own, OWN_BYTES);
}

static void verify_all(struct worker *w, struct rows *r)
{
	for (size_t i = r->first; i < r->count; i += r->step)
		read_row(w, r, i);
}

void rows_end(struct worker *w)
{
	verify_all(w, &w->own);
	verify_all(w, &w->shared);
	NEED(!munmap(w->own.p, w->own.len));
}
