/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bf16, part of kernel-body.h: conversions, and the matrix product. Terms go
 * in pairs, the second one first, each by a fused multiplication and addition
 * that takes and leaves zero for a number too small to be normal: what the
 * instruction for dot products does. A product of two bf16 numbers is exact
 * in float, so that a set without fused operations makes the same sum.
 */

/* Two terms: the first in the lower half. */
typedef uint32_t pair;

enum { PAIRS = GEMM_K / 2 };

static void widen(float *y, const bf16 *x, long n)
{
	for (long i = 0; i < n; i++)
		y[i] = bf16_widen(x[i]);
}

static void narrow(bf16 *y, const float *x, long n)
{
	for (long i = 0; i < n; i++)
		y[i] = bf16_round(x[i]);
}

/* As pack() has it, but in pairs; a term without a second is paired with
 * zero. */
static inline void pack_pairs(pair *to, const bf16 *from, long across,
                              long along, int wide, int terms, int full)
{
	enum { RUN = 16 };
	int deep = terms / 2;

	if (wide < full)
		memset(to, 0, sizeof(*to) * full * ((terms + 1) / 2));
	for (int p = 0; p < deep; p += RUN)
		for (int i = 0; i < wide; i++)
			for (int q = p; q < least(p + RUN, deep); q++) {
				const bf16 *x =
				        from + 2 * q * along + i * across;

				to[q * full + i] = x[0] | (pair)x[along] << 16;
			}
	for (int i = 0; i < wide && terms % 2; i++)
		to[deep * full + i] = from[2 * deep * along + i * across];
}

/* One panel of `full` lines of A or B from where it begins. */
static void pack_panel(pair *to, const bf16 *from, long across, long along,
                       int wide, int terms, int full)
{
	if (across == 1 && wide == full)
		pack_pairs(to, from, 1, along, full, terms, full);
	else if (along == 1)
		pack_pairs(to, from, across, 1, wide, terms, full);
	else
		pack_pairs(to, from, across, along, wide, terms, full);
}

static void pack_rows(const struct gemm *g, const struct block *b, pair *to)
{
	for (int i = 0; i < b->rows; i += TILE_ROWS) {
		const bf16 *from = (const bf16 *)g->a + (b->i + i) * g->a_row +
		                   b->k * g->a_col;

		pack_panel(to, from, g->a_row, g->a_col,
		           least(b->rows - i, TILE_ROWS), b->terms, TILE_ROWS);
		to += TILE_ROWS * ((b->terms + 1) / 2);
	}
}

static inline bits load_pairs(const pair *p)
{
	bits v;

	memcpy(&v, p, sizeof(v));
	return v;
}

static inline vec dot_pair(vec sum, bits a, bits b)
{
#ifdef SIMD_BF16
	return (vec)_mm512_dpbf16_ps((__m512)sum, (__m512bh)a, (__m512bh)b);
#else
	const bits upper = (bits){0} + 0xffff0000u;

	sum = vfma((vec)(a & upper), (vec)(b & upper), sum);
	return vfma((vec)(a << 16), (vec)(b << 16), sum);
#endif
}

static inline void tile_pairs(const pair *a, const pair *b, int pairs,
                              vec acc[TILE_ROWS][2])
{
	for (int i = 0; i < TILE_ROWS; i++)
		acc[i][0] = acc[i][1] = vall(0);
	for (int p = 0; p < pairs; p++) {
		bits b0 = load_pairs(b), b1 = load_pairs(b + LANES);

#pragma GCC unroll 12
		for (int i = 0; i < TILE_ROWS; i++) {
			bits x = (bits){0} + a[i];

			acc[i][0] = dot_pair(acc[i][0], x, b0);
			acc[i][1] = dot_pair(acc[i][1], x, b1);
		}
		a += TILE_ROWS;
		b += TILE_COLS;
	}
}

/* The tiles of one panel of B, to sums: rows of GEMM_COLS. */
static void column_pairs(const struct block *b, const pair *pa, const pair *pb,
                         float *sums)
{
	int pairs = (b->terms + 1) / 2;

	for (int i = 0; i < b->rows; i += TILE_ROWS) {
		int rows = least(b->rows - i, TILE_ROWS);
		vec acc[TILE_ROWS][2];

		tile_pairs(pa + (long)i * pairs, pb, pairs, acc);
		for (int r = 0; r < rows; r++) {
			float *c = sums + (long)(i + r) * GEMM_COLS;

			for (int h = 0; h < 2; h++, c += LANES)
				vstore(c, b->k ? vload(c) + acc[r][h]
				               : acc[r][h]);
		}
	}
}

/* n complete sums of row i from column j on. */
static void finish(const struct gemm *g, int i, int j, int n, float *sum)
{
	long at = i * g->ldc + j;
	float *c = (float *)g->c + at;

	for (int q = 0; q < n && g->bias; q++)
		sum[q] += bf16_widen(((const bf16 *)g->bias)[j + q]);
	for (int q = 0; q < n && g->plus; q++)
		sum[q] += bf16_widen(g->plus[at + q]);
	if (!g->full)
		narrow((bf16 *)g->c + at, sum, n);
	else
		for (int q = 0; q < n; q++)
			c[q] = g->add ? sum[q] + c[q] : sum[q];
}

/* GEMM_M rows and GEMM_COLS columns at most, all terms. */
static void gemm_square(const struct gemm *g, struct block *b, int cols,
                        float *scratch)
{
	pair *pa = (pair *)(void *)scratch, *pb = pa + GEMM_M * PAIRS;
	float *sums = (float *)(void *)(pb + GEMM_WIDE * PAIRS);

	for (b->k = 0; b->k < g->k; b->k += GEMM_K) {
		b->terms = least(g->k - b->k, GEMM_K);
		pack_rows(g, b, pa);
		for (int j = 0; j < cols; j += TILE_COLS) {
			pack_panel(pb,
			           (const bf16 *)g->b + b->k * g->b_row +
			                   (b->j + j) * g->b_col,
			           g->b_col, g->b_row,
			           least(cols - j, TILE_COLS), b->terms,
			           TILE_COLS);
			column_pairs(b, pa, pb, sums + j);
		}
	}
	for (int r = 0; r < b->rows; r++)
		finish(g, b->i + r, b->j, cols, sums + (long)r * GEMM_COLS);
}

static __attribute__((noinline)) void
gemm_part(const struct gemm *g, const struct rect *part, float *scratch)
{
	struct block b;

	for (b.i = part->top; b.i < part->bottom; b.i += GEMM_M)
		for (b.j = part->left; b.j < part->right; b.j += GEMM_COLS) {
			b.rows = least(part->bottom - b.i, GEMM_M);
			gemm_square(g, &b, least(part->right - b.j, GEMM_COLS),
			            scratch);
		}
}

static void gemm_narrow(const struct gemm *g, const struct rect *part,
                        float *scratch)
{
#ifdef __x86_64__
	enum { SMALL_IS_ZERO = 0x8040 }; /* results, operands */
	unsigned before = _mm_getcsr();

	_mm_setcsr(before | SMALL_IS_ZERO);
	gemm_part(g, part, scratch);
	_mm_setcsr(before);
#else
	gemm_part(g, part, scratch);
#endif
}
