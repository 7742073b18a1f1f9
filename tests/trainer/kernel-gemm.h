/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Matrix product, part of kernel-body.h. Each element of C is summed over k
 * in blocks of GEMM_K, in order, whatever part of C a thread computes; hence
 * the result depends neither on the number of threads nor on any address.
 */
#include "kernel.h"

#define TILE_COLS (2 * LANES)

_Static_assert(GEMM_M % TILE_ROWS == 0, "a block is whole tiles");
_Static_assert(TILE_COLS <= GEMM_WIDE, "a panel fits");

struct block {
	int i, j, k; /* first row, column, term */
	int rows, terms;
};

static inline int least(int a, int b)
{
	return a < b ? a : b;
}

/*
 * Lines up `wide` neighbours for each of `deep` terms, `full` apart; missing
 * neighbours are zero. `across` and `along` are the distances in from. Runs
 * of RUN terms take a cache line whole: where `across` is a multiple of the
 * page size, lines of all neighbours compete for one set of the cache.
 */
static inline void pack(float *to, const float *from, long across, long along,
                        int wide, int deep, int full)
{
	enum { RUN = 16 };

	if (wide < full)
		memset(to, 0, sizeof(*to) * full * deep);
	for (int p = 0; p < deep; p += RUN)
		for (int i = 0; i < wide; i++)
			for (int q = p; q < least(p + RUN, deep); q++)
				to[q * full + i] = from[q * along + i * across];
}

/* The same where neighbours are adjacent and none is missing. */
static inline void copy(float *to, const float *from, long along, int deep,
                        int full)
{
	for (int p = 0; p < deep; p++, from += along, to += full)
		for (int i = 0; i < full; i++)
			to[i] = from[i];
}

static void pack_b(const struct gemm *g, const struct block *b, int cols,
                   float *to)
{
	const float *from = (const float *)g->b + b->k * g->b_row +
	                    b->j * g->b_col;

	if (g->b_col == 1 && cols == TILE_COLS)
		copy(to, from, g->b_row, b->terms, TILE_COLS);
	else if (g->b_row == 1)
		pack(to, from, g->b_col, 1, cols, b->terms, TILE_COLS);
	else
		pack(to, from, g->b_col, g->b_row, cols, b->terms, TILE_COLS);
}

static void pack_a(const struct gemm *g, const struct block *b, float *to)
{
	for (int i = 0; i < b->rows; i += TILE_ROWS) {
		const float *from = (const float *)g->a +
		                    (b->i + i) * g->a_row + b->k * g->a_col;
		int rows = least(b->rows - i, TILE_ROWS);

		if (g->a_row == 1 && rows == TILE_ROWS)
			copy(to, from, g->a_col, b->terms, TILE_ROWS);
		else
			pack(to, from, g->a_row, g->a_col, rows, b->terms,
			     TILE_ROWS);
		to += TILE_ROWS * b->terms;
	}
}

static inline void tile(const float *a, const float *b, int terms,
                        vec acc[TILE_ROWS][2])
{
	for (int i = 0; i < TILE_ROWS; i++)
		acc[i][0] = acc[i][1] = vall(0);
	for (int p = 0; p < terms; p++) {
		vec b0 = vload(b), b1 = vload(b + LANES);

#pragma GCC unroll 12
		for (int i = 0; i < TILE_ROWS; i++) {
			vec x = vall(a[i]);

			acc[i][0] = vfma(x, b0, acc[i][0]);
			acc[i][1] = vfma(x, b1, acc[i][1]);
		}
		a += TILE_ROWS;
		b += TILE_COLS;
	}
}

/* Part of a tile's row into C: the first block of terms sets, later ones
 * add. */
static inline void put(const struct gemm *g, int i, int j, vec v, int n,
                       bool add)
{
	float *c = (float *)g->c + i * g->ldc + j;

	if (n <= 0)
		return;
	if (add)
		v += vload_n(c, n);
	else if (g->bias)
		v += vload_n((const float *)g->bias + j, n);
	vstore_n(c, v, n);
}

/* The tiles of one panel of B. */
static void column(const struct gemm *g, const struct block *b, int cols,
                   const float *pa, const float *pb)
{
	bool add = g->add || b->k > 0;

	for (int i = 0; i < b->rows; i += TILE_ROWS) {
		int top = b->i + i, rows = least(b->rows - i, TILE_ROWS);
		vec acc[TILE_ROWS][2];

		for (int r = 0; r < rows; r++)
			__builtin_prefetch((float *)g->c + (top + r) * g->ldc +
			                           b->j,
			                   1);
		tile(pa + (long)i * b->terms, pb, b->terms, acc);
		for (int r = 0; r < rows; r++) {
			put(g, top + r, b->j, acc[r][0], cols, add);
			put(g, top + r, b->j + LANES, acc[r][1], cols - LANES,
			    add);
		}
	}
}

/* Each part of B is read once for GEMM_M rows: where B holds the weights and
 * the rows are tokens, weights stream. */
static void gemm(const struct gemm *g, const struct rect *part, float *scratch)
{
	float *pa = scratch, *pb = scratch + GEMM_M * GEMM_K;
	struct block b;

	for (b.i = part->top; b.i < part->bottom; b.i += GEMM_M)
		for (b.k = 0; b.k < g->k; b.k += GEMM_K) {
			b.rows = least(part->bottom - b.i, GEMM_M);
			b.terms = least(g->k - b.k, GEMM_K);
			pack_a(g, &b, pa);
			for (b.j = part->left; b.j < part->right;
			     b.j += TILE_COLS) {
				int cols = least(part->right - b.j, TILE_COLS);

				pack_b(g, &b, cols, pb);
				column(g, &b, cols, pa, pb);
			}
		}
}
