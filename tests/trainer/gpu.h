/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What all kernels use. T is float, or bf16 in storage and float in between.
 */
#ifndef GPU_H
#define GPU_H

#ifdef __CUDACC__
#include <cuda_bf16.h>
#else
#include "cuda_cpu.h"
#endif
#include "launch.h"

typedef __nv_bfloat16 bf16;
typedef unsigned char byte;

/* By name, so that the host finds them. */
#define KERNEL(name_) extern "C" __global__ void name_

static __device__ __forceinline__ float get(const float *at)
{
	return *at;
}

static __device__ __forceinline__ float get(const bf16 *at)
{
	return __bfloat162float(*at);
}

static __device__ __forceinline__ void put(float *at, float v)
{
	*at = v;
}

static __device__ __forceinline__ void put(bf16 *at, float v)
{
	*at = __float2bfloat16(v);
}

/* Four floats that lie and are loaded together. */
#ifdef __CUDACC__
typedef float4 vec4;

static __device__ __forceinline__ float part4(const vec4 &v, int i)
{
	return i == 0 ? v.x : i == 1 ? v.y : i == 2 ? v.z : v.w;
}

static __device__ __forceinline__ void add4(vec4 &sum, float a, const vec4 &b)
{
	sum.x += a * b.x;
	sum.y += a * b.y;
	sum.z += a * b.z;
	sum.w += a * b.w;
}
#else
typedef float vec4 __attribute__((vector_size(16), may_alias));

static inline float part4(const vec4 &v, int i)
{
	return v[i];
}

static inline void add4(vec4 &sum, float a, const vec4 &b)
{
	sum += a * b;
}
#endif

static __device__ __forceinline__ vec4 load4(const float *at)
{
	return *reinterpret_cast<const vec4 *>(at);
}

/* Every lane gets the sum, added up in the same order by all. */
template <typename V>
static __device__ __forceinline__ V warp_sum(V v)
{
	for (int i = WARP / 2; i; i /= 2)
		v += __shfl_xor_sync(0xffffffff, v, i);
	return v;
}

static __device__ __forceinline__ float warp_max(float v)
{
	for (int i = WARP / 2; i; i /= 2)
		v = fmaxf(v, __shfl_xor_sync(0xffffffff, v, i));
	return v;
}

/* Every thread gets the block's sum; the block is whole warps. */
static __device__ double block_sum(double v)
{
	__shared__ double part[WARP];
	int warps = blockDim.x / WARP;

	v = warp_sum(v);
	__syncthreads(); /* part may still be read from the last time */
	if (threadIdx.x % WARP == 0)
		part[threadIdx.x / WARP] = v;
	__syncthreads();
	v = 0;
	for (int i = 0; i < warps; i++)
		v += part[i];
	return v;
}

/* Where a warp has a row: which. */
static __device__ __forceinline__ long long warp_row()
{
	return (long long)blockIdx.x * (blockDim.x / WARP) + threadIdx.x / WARP;
}

static __device__ __forceinline__ int lane()
{
	return threadIdx.x % WARP;
}

/* Where threads have elements: the first of one, and the distance. */
static __device__ __forceinline__ long long flat_first()
{
	return (long long)blockIdx.x * blockDim.x + threadIdx.x;
}

static __device__ __forceinline__ long long flat_step()
{
	return (long long)gridDim.x * blockDim.x;
}

#endif
