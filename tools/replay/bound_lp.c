/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The least bytes over the link, as a linear programme.
 *
 * For each gap between two uses, x bytes are away. A version of a tensor, from
 * a write to the next, is written out once: y >= x for each of its gaps. E_k
 * is what is away at kernel k: what was away before, and the gaps that open,
 * less those that close; it has to be what does not fit. The sum of all x and
 * y is least. E keeps the columns short, so that it is solved in seconds.
 */
#include "config.h"
#include "replay/bound.h"

#include <float.h>
#include <stdlib.h>
#include <string.h>
#include "replay/mem.h"

#ifdef HAVE_CLP
#include <coin/Clp_C_Interface.h>

const bool bound_lp_built = true;

#define MIB ((double)(1 << 20))

/* Columns by rows: entries in order of their columns. */
struct lp {
	int columns, rows, entries, entries_max;
	int *start, *row;
	double *value, *low, *high, *cost, *row_low, *row_high;
};

static void entry(struct lp *lp, int row, double value)
{
	if (lp->entries == lp->entries_max) {
		lp->entries_max = hz_max(4096, 2 * lp->entries_max);
		lp->row = mem_resize(lp->row, (size_t)lp->entries_max,
				     sizeof(*lp->row));
		lp->value = mem_resize(lp->value, (size_t)lp->entries_max,
				       sizeof(*lp->value));
	}
	lp->row[lp->entries] = row;
	lp->value[lp->entries++] = value;
}

static void column(struct lp *lp, double cost, double low, double high)
{
	lp->start[lp->columns] = lp->entries;
	lp->cost[lp->columns] = cost;
	lp->low[lp->columns] = low;
	lp->high[lp->columns++] = high;
}

/* The first kernel in which all is there again, and one in which it is not. */
static bool is_away(const struct hz_gap *g, uint32_t k, uint32_t n)
{
	return (k > g->opened && k < g->closes) || k + n < g->closes;
}

/* x of one gap: the balance of E, and y >= x. */
static void gap_column(struct lp *lp, const struct hz_gap *g, double size,
		       uint32_t n, bool writes)
{
	uint32_t a = (g->opened + 1) % n, b = g->closes % n;

	column(lp, 1, 0, size);
	/* Row 0 says what is away at kernel 0; the others are differences. */
	if (is_away(g, 0, n))
		entry(lp, 0, -1);
	if (a)
		entry(lp, (int)a, -1);
	if (b)
		entry(lp, (int)b, 1);
	if (!writes)
		return;
	entry(lp, lp->rows, -1);
	lp->row_low[lp->rows] = 0;
	lp->row_high[lp->rows++] = DBL_MAX;
}

static bool counts(const struct hz_gap *g)
{
	return g->next != HZ_NONE && g->closes > g->opened + 1;
}

static void gap_columns(struct lp *lp, const struct hz_step *s,
			const struct hz_gap *gap)
{
	for (uint32_t u = 0; u < s->first[s->kernels]; u++) {
		double size = (double)s->bytes[hz_use_tensor(s->use[u])] / MIB;

		if (counts(&gap[u]))
			gap_column(lp, &gap[u], size, s->kernels,
				   gap[u].wrote != HZ_NONE);
	}
}

/* y of each version: one column with the rows of its gaps. */
static void version_columns(struct lp *lp, const struct hz_step *s,
			    const struct hz_gap *gap)
{
	uint32_t uses = s->first[s->kernels];
	uint32_t *head = mem_resize(NULL, uses, sizeof(*head));
	uint32_t *next = mem_resize(NULL, uses, sizeof(*next));
	int *row_of = mem_resize(NULL, uses, sizeof(*row_of));
	int row = (int)s->kernels;

	memset(head, 0xff, uses * sizeof(*head));
	for (uint32_t u = 0; u < uses; u++) {
		if (!counts(&gap[u]) || gap[u].wrote == HZ_NONE)
			continue;
		row_of[u] = row++;
		next[u] = head[gap[u].wrote];
		head[gap[u].wrote] = u;
	}
	for (uint32_t w = 0; w < uses; w++) {
		if (head[w] == HZ_NONE)
			continue;
		column(lp, 1, 0, DBL_MAX);
		for (uint32_t u = head[w]; u != HZ_NONE; u = next[u])
			entry(lp, row_of[u], 1);
	}
	free(head);
	free(next);
	free(row_of);
}

static void alive_at(const struct hz_step *s, const struct hz_gap *gap,
		     double *alive)
{
	uint32_t n = s->kernels;

	memset(alive, 0, n * sizeof(*alive));
	for (uint32_t u = 0; u < s->first[n]; u++) {
		const struct hz_gap *g = &gap[u];
		double size = (double)s->bytes[hz_use_tensor(s->use[u])] / MIB;
		uint32_t end = g->next == HZ_NONE ? g->opened + 1 : g->closes;

		for (uint32_t k = g->opened; k < end; k++)
			alive[k % n] += size;
	}
}

static void away_columns(struct lp *lp, const struct hz_step *s,
			 const struct hz_gap *gap, double fast)
{
	uint32_t n = s->kernels;
	double *alive = mem_resize(NULL, n, sizeof(*alive));

	alive_at(s, gap, alive);
	for (uint32_t k = 0; k < n; k++) {
		column(lp, 0, hz_max(0.0, alive[k] - fast), DBL_MAX);
		entry(lp, (int)k, 1);
		if (k + 1 < n)
			entry(lp, (int)k + 1, -1);
	}
	free(alive);
}

static bool solve(struct lp *lp, double *least)
{
	Clp_Simplex *model = Clp_newModel();
	bool good;

	Clp_setLogLevel(model, 0);
	lp->start[lp->columns] = lp->entries;
	Clp_loadProblem(model, lp->columns, lp->rows, lp->start, lp->row,
			lp->value, lp->low, lp->high, lp->cost, lp->row_low,
			lp->row_high);
	Clp_dual(model, 0);
	good = Clp_status(model) == 0;
	*least = Clp_objectiveValue(model);
	Clp_deleteModel(model);
	return good;
}

bool bound_lp(const struct hz_step *s, const struct hz_gap *gap, uint64_t fast,
	      double *bytes)
{
	uint32_t n = s->kernels, uses = s->first[n];
	size_t most = 2 * (size_t)uses + n + 1;
	struct lp lp = {.rows = (int)n};
	bool good;

	lp.start = mem_zeroed(most, sizeof(*lp.start));
	lp.cost = mem_zeroed(most, sizeof(*lp.cost));
	lp.low = mem_zeroed(most, sizeof(*lp.low));
	lp.high = mem_zeroed(most, sizeof(*lp.high));
	lp.row_low = mem_zeroed(most, sizeof(*lp.row_low));
	lp.row_high = mem_zeroed(most, sizeof(*lp.row_high));
	gap_columns(&lp, s, gap);
	version_columns(&lp, s, gap);
	away_columns(&lp, s, gap, (double)fast / MIB);
	good = solve(&lp, bytes);
	*bytes *= MIB;
	free(lp.start);
	free(lp.row);
	free(lp.value);
	free(lp.cost);
	free(lp.low);
	free(lp.high);
	free(lp.row_low);
	free(lp.row_high);
	return good;
}
#else
const bool bound_lp_built = false;

bool bound_lp(const struct hz_step *s, const struct hz_gap *gap, uint64_t fast,
	      double *bytes)
{
	return false;
}
#endif
