/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Matrix products. A block has a square tile of C, each thread SIDE x SIDE
 * elements of it; operands pass through shared memory GEMM_DEPTH terms at a
 * time, and the next terms are fetched while these are multiplied. The terms
 * of an element are added in order, whatever the tile.
 */
#include "gpu.h"

/* Rows of shared memory keep 16-byte alignment and change the bank. */
enum { PAD = 4 };

/* Of the i-th of a thread's rows or columns: four neighbours, then 64 on. */
static __device__ __forceinline__ int place(int thread, int i)
{
	return thread * 4 + i / 4 * (4 * GEMM_SIDE) + i % 4;
}

/*
 * One operand's way to shared memory: SIDE elements by each thread, those of
 * neighbouring threads being neighbours. A row of A or a column of B is
 * called a line; lines are ld apart, or the terms are.
 */
template <int SIDE, bool ALONG_K, typename T>
struct operand {
	static constexpr int TILE = SIDE * GEMM_SIDE;
	/* From one of a thread's elements to the next, in lines and terms. */
	static constexpr int LINES = ALONG_K ? GEMM_THREADS / GEMM_DEPTH : 0;
	static constexpr int TERMS = ALONG_K ? 0 : GEMM_THREADS / TILE;

	const T *from; /* its first element */
	long long step, ahead;
	int line, term; /* in the tile */
	int lines, terms; /* that there are, from the tile's first on */
	float next[SIDE];

	__device__ __forceinline__ operand(const T *at, int ld, int first,
					   int edge, int k, int self)
		: step((long long)ld * (ALONG_K ? LINES : TERMS)),
		  ahead((ALONG_K ? 1LL : ld) * GEMM_DEPTH),
		  line(ALONG_K ? self / GEMM_DEPTH : self % TILE),
		  term(ALONG_K ? self % GEMM_DEPTH : self / TILE),
		  lines(edge - first), terms(k)
	{
		long long l = first + line;

		from = at + (ALONG_K ? l * ld + term : term * ld + l);
	}

	__device__ __forceinline__ bool there(int i) const
	{
		return line + i * LINES < lines && term + i * TERMS < terms;
	}

	/* These terms, and goes on to the next. */
	__device__ __forceinline__ void fetch()
	{
		if (lines >= TILE && terms >= GEMM_DEPTH) {
#pragma unroll
			for (int i = 0; i < SIDE; i++)
				next[i] = get(from + i * step);
		} else {
#pragma unroll
			for (int i = 0; i < SIDE; i++)
				next[i] = there(i) ? get(from + i * step) : 0;
		}
		from += ahead;
		terms -= GEMM_DEPTH;
	}

	__device__ __forceinline__ void
	lay(float (*to)[SIDE * GEMM_SIDE + PAD]) const
	{
#pragma unroll
		for (int i = 0; i < SIDE; i++)
			to[term + i * TERMS][line + i * LINES] = next[i];
	}
};

template <int SIDE>
static __device__ __forceinline__ void
multiply(vec4 (&acc)[SIDE][SIDE / 4], const float *a, const float *b, int y,
	 int x)
{
	vec4 u[SIDE / 4], v[SIDE / 4];

#pragma unroll
	for (int i = 0; i < SIDE / 4; i++) {
		u[i] = load4(a + place(y, 4 * i));
		v[i] = load4(b + place(x, 4 * i));
	}
#pragma unroll
	for (int i = 0; i < SIDE; i++)
#pragma unroll
		for (int j = 0; j < SIDE / 4; j++)
			add4(acc[i][j], part4(u[i / 4], i % 4), v[j]);
}

/* bias: of a column, or NULL. plus: lies as C does, may be C, or NULL. */
template <int SIDE, typename T, typename O>
static __device__ __forceinline__ void
finish(O *c, const vec4 (&acc)[SIDE][SIDE / 4], const T *bias, const O *plus,
       const gemm_shape &g, int y, int x)
{
	int row = blockIdx.y * (SIDE * GEMM_SIDE);
	int col = blockIdx.x * (SIDE * GEMM_SIDE);

#pragma unroll
	for (int i = 0; i < SIDE; i++)
#pragma unroll
		for (int j = 0; j < SIDE; j++) {
			int r = row + place(y, i), q = col + place(x, j);
			long long at = (long long)r * g.ldc + q;
			float v = g.alpha * part4(acc[i][j / 4], j % 4);

			if (r >= g.m || q >= g.n)
				continue;
			if (bias)
				v += get(bias + q);
			if (plus)
				v += get(plus + at);
			put(c + at, v);
		}
}

template <int SIDE, bool A_ALONG_K, bool B_ALONG_K, typename T, typename O>
static __device__ __forceinline__ void gemm(O *c, const T *a, const T *b,
					    const T *bias, const O *plus,
					    const gemm_shape &g)
{
	constexpr int TILE = SIDE * GEMM_SIDE;
	__shared__ __align__(16) float sa[GEMM_DEPTH][TILE + PAD];
	__shared__ __align__(16) float sb[GEMM_DEPTH][TILE + PAD];
	int row = blockIdx.y * TILE, col = blockIdx.x * TILE;
	int seq = blockIdx.z / g.heads, head = blockIdx.z % g.heads;
	int self = threadIdx.x, y = self / GEMM_SIDE, x = self % GEMM_SIDE;
	long long to = seq * g.c_seq + head * g.c_head;
	vec4 acc[SIDE][SIDE / 4] = {};
	operand<SIDE, A_ALONG_K, T> pa(a + seq * g.a_seq + head * g.a_head,
				       g.lda, row, g.m, g.k, self);
	operand<SIDE, B_ALONG_K, T> pb(b + seq * g.b_seq + head * g.b_head,
				       g.ldb, col, g.n, g.k, self);

	if (g.causal && col >= row + TILE)
		return; /* the whole block */
	pa.fetch();
	pb.fetch();
	for (int k0 = 0; k0 < g.k; k0 += GEMM_DEPTH) {
		pa.lay(sa);
		pb.lay(sb);
		__syncthreads();
		pa.fetch();
		pb.fetch();
#pragma unroll 4
		for (int k = 0; k < GEMM_DEPTH; k++)
			multiply<SIDE>(acc, sa[k], sb[k], y, x);
		__syncthreads();
	}
	finish<SIDE>(c + to, acc, bias, plus ? plus + to : nullptr, g, y, x);
}

/* nt: y = x w^T; nn: dx = dy w; tn: dw = dy^T x. */
#define GEMM(name_, side_, a_, b_, in_, out_)                               \
	KERNEL(__launch_bounds__(GEMM_THREADS, 2) name_)                    \
	(out_ * c, const in_ *a, const in_ *b, const in_ *bias,             \
	 const out_ *plus, gemm_shape g)                                    \
	{                                                                   \
		gemm<side_, a_, b_>(c, a, b, bias, plus, g);                \
	}
#define GEMM_SIZES(name_, a_, b_, in_, out_)                     \
	GEMM(name_##_small, GEMM_SMALL, a_, b_, in_, out_)    \
	GEMM(name_##_large, GEMM_LARGE, a_, b_, in_, out_)

GEMM_SIZES(gemm_nt_f32, true, true, float, float)
GEMM_SIZES(gemm_nn_f32, true, false, float, float)
GEMM_SIZES(gemm_tn_f32, false, false, float, float)
GEMM_SIZES(gemm_nt_bf16, true, true, bf16, bf16)
GEMM_SIZES(gemm_nn_bf16, true, false, bf16, bf16)
GEMM_SIZES(gemm_tn_bf16, false, false, bf16, bf16)
GEMM_SIZES(gemm_nt_bf16_f32, true, true, bf16, float)
GEMM_SIZES(gemm_tn_bf16_f32, false, false, bf16, float)
