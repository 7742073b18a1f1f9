/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Embedding of bytes and places; a block a row of the table or of tokens.
 * Backwards a block gathers what belongs to its row, in order: no atomics.
 */
#include "gpu.h"

template <typename T>
static __device__ void embed(T *out, const T *token, const T *place,
			     const byte *in, int seq, int width)
{
	long long r = blockIdx.x;
	const T *a = token + (long long)in[r] * width;
	const T *b = place + r % seq * width;

	for (int c = threadIdx.x; c < width; c += blockDim.x)
		put(out + r * width + c, get(a + c) + get(b + c));
}

/* Which of the next rows hold the block's byte, a bit each. */
static __device__ void find_rows(unsigned *found, const byte *in, int first,
				 int rows)
{
	int r = first + threadIdx.x;
	unsigned bits = __ballot_sync(0xffffffff,
				      r < rows && in[r] == blockIdx.x);

	if (lane() == 0)
		found[threadIdx.x / WARP] = bits;
}

template <typename T>
static __device__ void embed_back_token(float *dtoken, const T *dout,
					const byte *in, int rows, int width,
					int add)
{
	__shared__ unsigned found[FLAT_THREADS / WARP];
	float *d = dtoken + (long long)blockIdx.x * width;

	for (int c = threadIdx.x; !add && c < width; c += FLAT_THREADS)
		d[c] = 0;
	for (int first = 0; first < rows; first += FLAT_THREADS) {
		find_rows(found, in, first, rows);
		__syncthreads();
		for (int i = 0; i < FLAT_THREADS; i += WARP)
			for (unsigned b = found[i / WARP]; b; b &= b - 1) {
				long long r = first + i + __ffs(b) - 1;

				for (int c = threadIdx.x; c < width;
				     c += FLAT_THREADS)
					d[c] += get(dout + r * width + c);
			}
		__syncthreads();
	}
}

template <typename T>
static __device__ void embed_back_place(float *dplace, const T *dout, int rows,
					int seq, int width, int add)
{
	float *d = dplace + (long long)blockIdx.x * width;

	for (int c = threadIdx.x; c < width; c += blockDim.x) {
		float sum = add ? d[c] : 0;

		for (long long r = blockIdx.x; r < rows; r += seq)
			sum += get(dout + r * width + c);
		d[c] = sum;
	}
}

#define EMBED(suffix_, t_)                                                   \
	KERNEL(embed_##suffix_)(t_ * out, const t_ *token, const t_ *place,  \
				const byte *in, int seq, int width)          \
	{                                                                    \
		embed(out, token, place, in, seq, width);                    \
	}                                                                    \
	KERNEL(embed_back_token_##suffix_)(float *dtoken, const t_ *dout,    \
					   const byte *in, int rows,         \
					   int width, int add)               \
	{                                                                    \
		embed_back_token(dtoken, dout, in, rows, width, add);        \
	}                                                                    \
	KERNEL(embed_back_place_##suffix_)(float *dplace, const t_ *dout,    \
					   int rows, int seq, int width,     \
					   int add)                          \
	{                                                                    \
		embed_back_place(dplace, dout, rows, seq, width, add);       \
	}

EMBED(f32, float)
EMBED(bf16, bf16)
