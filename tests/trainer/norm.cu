/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Layer normalisation, and sums over the columns. stat keeps mean and
 * 1/deviation of a row.
 */
#include "gpu.h"

template <typename T>
static __device__ void norm_row(T *y, float *stat, const T *x, const T *w,
				const T *bias, int width)
{
	float mean = 0, square = 0, scale;

	for (int c = lane(); c < width; c += WARP)
		mean += get(x + c);
	mean = warp_sum(mean) / width;
	for (int c = lane(); c < width; c += WARP) {
		float d = get(x + c) - mean;

		square += d * d;
	}
	scale = 1 / sqrtf(warp_sum(square) / width + 1e-5f);
	for (int c = lane(); c < width; c += WARP)
		put(y + c, (get(x + c) - mean) * scale * get(w + c) +
				   get(bias + c));
	if (lane() == 0) {
		stat[0] = mean;
		stat[1] = scale;
	}
}

template <typename T>
static __device__ void norm_back_row(T *dx, const T *dy, const T *x,
				     const float *stat, const T *w, int width)
{
	float mean = stat[0], scale = stat[1], flat = 0, tilt = 0;

	for (int c = lane(); c < width; c += WARP) {
		float d = get(dy + c) * get(w + c);

		flat += d;
		tilt += d * (get(x + c) - mean);
	}
	flat = warp_sum(flat) / width;
	tilt = warp_sum(tilt) * scale / width;
	for (int c = lane(); c < width; c += WARP) {
		float d = get(dy + c) * get(w + c);

		d -= flat + (get(x + c) - mean) * scale * tilt;
		put(dx + c, get(dx + c) + scale * d);
	}
}

/* Over the groups of a block, for its columns; the first group gets it. */
static __device__ float column_sum(float v)
{
	__shared__ float part[COLUMN_GROUPS][WARP];

	__syncthreads(); /* part may still be read from the last time */
	part[threadIdx.y][threadIdx.x] = v;
	__syncthreads();
	v = 0;
	for (int i = 0; i < COLUMN_GROUPS; i++)
		v += part[i][threadIdx.x];
	return v;
}

/* Gradients of gain and bias: a block has 32 columns of all rows. */
template <typename T>
static __device__ void norm_columns(float *dw, float *dbias, const T *dy,
				    const T *x, const float *stat, int rows,
				    int width, int add)
{
	int c = blockIdx.x * WARP + threadIdx.x;
	bool there = c < width;
	float gain = 0, bias = 0;

	for (int r = threadIdx.y; there && r < rows; r += COLUMN_GROUPS) {
		float d = get(dy + (long long)r * width + c);
		float v = get(x + (long long)r * width + c);

		gain += d * ((v - stat[2 * r]) * stat[2 * r + 1]);
		bias += d;
	}
	gain = column_sum(gain);
	bias = column_sum(bias);
	if (!there || threadIdx.y)
		return;
	dw[c] = add ? dw[c] + gain : gain;
	dbias[c] = add ? dbias[c] + bias : bias;
}

template <typename T>
static __device__ void sum_columns(float *out, const T *x, int rows, int width,
				   int add)
{
	int c = blockIdx.x * WARP + threadIdx.x;
	bool there = c < width;
	float sum = 0;

	for (int r = threadIdx.y; there && r < rows; r += COLUMN_GROUPS)
		sum += get(x + (long long)r * width + c);
	sum = column_sum(sum);
	if (there && !threadIdx.y)
		out[c] = add ? out[c] + sum : sum;
}

#define NORM(suffix_, t_)                                                   \
	KERNEL(norm_##suffix_)(t_ * y, float *stat, const t_ *x,            \
			       const t_ *w, const t_ *bias, int rows,       \
			       int width)                                   \
	{                                                                   \
		long long r = warp_row();                                   \
                                                                            \
		if (r < rows)                                               \
			norm_row(y + r * width, stat + 2 * r,               \
				 x + r * width, w, bias, width);            \
	}                                                                   \
	KERNEL(norm_back_##suffix_)(t_ * dx, const t_ *dy, const t_ *x,     \
				    const float *stat, const t_ *w,         \
				    int rows, int width)                    \
	{                                                                   \
		long long r = warp_row();                                   \
                                                                            \
		if (r < rows)                                               \
			norm_back_row(dx + r * width, dy + r * width,       \
				      x + r * width, stat + 2 * r, w,       \
				      width);                               \
	}                                                                   \
	KERNEL(norm_columns_##suffix_)(float *dw, float *dbias,             \
				       const t_ *dy, const t_ *x,           \
				       const float *stat, int rows,         \
				       int width, int add)                  \
	{                                                                   \
		norm_columns(dw, dbias, dy, x, stat, rows, width, add);     \
	}                                                                   \
	KERNEL(sum_columns_##suffix_)(float *out, const t_ *x, int rows,    \
				      int width, int add)                   \
	{                                                                   \
		sum_columns(out, x, rows, width, add);                      \
	}

NORM(f32, float)
NORM(bf16, bf16)
