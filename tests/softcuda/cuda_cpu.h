/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A subset of CUDA C++ for g++ (gnu++17): by it a .cu source becomes a module
 * for the software driver. At the end of the source come the tables:
 *
 *	static const softcuda_kernel kernels[] = {
 *		CUDA_CPU_KERNEL(saxpy, CUDA_CPU_PLAIN),
 *		CUDA_CPU_KERNEL(reduce, CUDA_CPU_BARRIERS),
 *	};
 *	static const softcuda_global globals[] = {CUDA_CPU_GLOBAL(table)};
 *	CUDA_CPU_MODULE(kernels, globals)
 *
 * CUDA_CPU_BARRIERS: the kernel calls __syncthreads, __syncwarp or a shuffle,
 * and its threads become fibers; CUDA_CPU_PLAIN: it does not, and they are
 * turns of a loop. A barrier in a plain kernel stops the program.
 *
 * Rules of the subset: dynamic shared memory is declared by
 * CUDA_SHARED(type, name), static by __shared__ without an initial value;
 * shuffles and __syncwarp take the full mask and whole warps. A static
 * __shared__ variable, also one of a __device__ function, is the worker's,
 * and a worker has one block at a time.
 */
#ifndef CUDA_CPU_H
#define CUDA_CPU_H

#include <math.h>
#include <string.h>
#include <tuple>
#include <utility>

#include "cuda_cpu_fiber.h"

#define __global__
#define __device__
#define __host__
#define __constant__
#define __align__(bytes_) __attribute__((aligned(bytes_)))
#define __forceinline__ inline __attribute__((always_inline))
#define __restrict__	__restrict
#define __shared__	static thread_local
#define __launch_bounds__(...)

#define CUDA_SHARED(type_, name_) \
	type_ *name_ = reinterpret_cast<type_ *>(cuda_cpu_worker.dynamic)

#define threadIdx (cuda_cpu_worker.self->index)
#define blockIdx  (cuda_cpu_worker.block->index)
#define blockDim  (cuda_cpu_worker.block->block)
#define gridDim	  (cuda_cpu_worker.block->grid)
#define warpSize  32

/* Barriers */
static inline void __syncthreads()
{
	cuda_cpu_wait(CPU_AT_BLOCK);
}

static inline void cuda_cpu_whole(unsigned mask)
{
	if (mask != 0xffffffff)
		CUDA_CPU_DIE("a mask that is not full");
}

static inline void __syncwarp(unsigned mask = 0xffffffff)
{
	cuda_cpu_whole(mask);
	cuda_cpu_wait(CPU_AT_WARP);
}

/*
 * Each lane lays its word down and waits for the others. The next shuffle
 * uses the other slot, so nobody overwrites what a slower lane has yet to
 * read; two shuffles on, all lanes have met again.
 */
template <typename T>
static inline T cuda_cpu_shuffle(unsigned mask, T v, uint32_t lane)
{
	cuda_cpu_thread *self = cuda_cpu_worker.self, *from;
	uint32_t first = self->rank / CUDA_CPU_WARP * CUDA_CPU_WARP;
	uint32_t side = self->turn++ & 1;

	static_assert(sizeof(T) <= sizeof(self->slot[0]), "a word");
	memcpy(&self->slot[side], &v, sizeof(v));
	cuda_cpu_whole(mask);
	cuda_cpu_wait(CPU_AT_WARP);
	if (lane < CUDA_CPU_WARP && first + lane < cuda_cpu_worker.threads) {
		from = self - self->rank + first + lane;
		memcpy(&v, &from->slot[side], sizeof(v));
	}
	return v;
}

static inline uint32_t cuda_cpu_lane()
{
	return cuda_cpu_worker.self->rank % CUDA_CPU_WARP;
}

template <typename T>
static inline T __shfl_xor_sync(unsigned mask, T v, int bits)
{
	return cuda_cpu_shuffle(mask, v, cuda_cpu_lane() ^ bits);
}

template <typename T>
static inline T __shfl_down_sync(unsigned mask, T v, unsigned by)
{
	return cuda_cpu_shuffle(mask, v, cuda_cpu_lane() + by);
}

template <typename T>
static inline T __shfl_up_sync(unsigned mask, T v, unsigned by)
{
	return cuda_cpu_shuffle(mask, v, cuda_cpu_lane() - by);
}

template <typename T>
static inline T __shfl_sync(unsigned mask, T v, int lane)
{
	return cuda_cpu_shuffle(mask, v, lane % CUDA_CPU_WARP);
}

static inline unsigned __ballot_sync(unsigned mask, int v)
{
	cuda_cpu_thread *self = cuda_cpu_worker.self;
	uint32_t first = self->rank / CUDA_CPU_WARP * CUDA_CPU_WARP;
	uint32_t side = self->turn & 1, bits = 0;

	cuda_cpu_shuffle(mask, (uint64_t)(v != 0), 0);
	for (uint32_t i = 0; i < CUDA_CPU_WARP; i++)
		if (first + i < cuda_cpu_worker.threads)
			bits |= (self - self->rank + first + i)->slot[side]
				<< i;
	return bits;
}

/* Atomics: blocks run on several workers at once. All return the old value. */
static inline int atomicAdd(int *at, int v)
{
	return __atomic_fetch_add(at, v, __ATOMIC_RELAXED);
}

static inline unsigned atomicAdd(unsigned *at, unsigned v)
{
	return __atomic_fetch_add(at, v, __ATOMIC_RELAXED);
}

static inline unsigned long long atomicAdd(unsigned long long *at,
					   unsigned long long v)
{
	return __atomic_fetch_add(at, v, __ATOMIC_RELAXED);
}

template <typename T>
static inline T cuda_cpu_atomic_add(T *at, T v)
{
	T old, sum;

	__atomic_load(at, &old, __ATOMIC_RELAXED);
	do {
		sum = old + v;
	} while (!__atomic_compare_exchange(at, &old, &sum, false,
					    __ATOMIC_RELAXED,
					    __ATOMIC_RELAXED));
	return old;
}

static inline float atomicAdd(float *at, float v)
{
	return cuda_cpu_atomic_add(at, v);
}

static inline double atomicAdd(double *at, double v)
{
	return cuda_cpu_atomic_add(at, v);
}

static inline void __threadfence()
{
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
}

/* Loads and arithmetic */
template <typename T>
static inline T __ldg(const T *at)
{
	return *at;
}

static inline float rsqrtf(float x)
{
	return 1 / sqrtf(x);
}

static inline int __ffs(int x)
{
	return __builtin_ffs(x);
}

#define __expf(x_) expf(x_)
#define __logf(x_) logf(x_)

static inline float __fdividef(float x, float y)
{
	return x / y;
}

template <typename T>
static inline T min(T a, T b)
{
	return b < a ? b : a;
}

template <typename T>
static inline T max(T a, T b)
{
	return a < b ? b : a;
}

/* The upper half of a float, rounded to nearest, ties to even. */
struct __nv_bfloat16 {
	uint16_t bits;
};

static inline float __bfloat162float(__nv_bfloat16 x)
{
	uint32_t word = (uint32_t)x.bits << 16;
	float f;

	memcpy(&f, &word, sizeof(f));
	return f;
}

static inline __nv_bfloat16 __float2bfloat16(float f)
{
	uint32_t word;

	memcpy(&word, &f, sizeof(word));
	if (f != f)
		return {0x7fff};
	return {(uint16_t)((word + 0x7fff + (word >> 16 & 1)) >> 16)};
}

/*
 * The table. Arguments lie as on the device, each at its natural alignment.
 */
template <typename... P>
struct cuda_cpu_layout {
	static constexpr uint32_t n = sizeof...(P);
	softcuda_param at[n ? n : 1] = {};
	uint32_t bytes = 0;

	constexpr cuda_cpu_layout()
	{
		const uint32_t size[] = {(uint32_t)sizeof(P)..., 0};
		const uint32_t align[] = {(uint32_t)alignof(P)..., 1};

		for (uint32_t i = 0; i < n; i++) {
			bytes = (bytes + align[i] - 1) / align[i] * align[i];
			at[i] = {bytes, size[i]};
			bytes += size[i];
		}
	}
};

enum { CUDA_CPU_PLAIN = 0, CUDA_CPU_BARRIERS = 1 };

template <auto kernel, int kind>
struct cuda_cpu_kernel;

template <typename... P, void (*kernel)(P...), int kind>
struct cuda_cpu_kernel<kernel, kind> {
	static constexpr cuda_cpu_layout<P...> layout = {};

	template <size_t... i>
	static std::tuple<P...> arguments(const char *from,
					  std::index_sequence<i...>)
	{
		std::tuple<P...> to;

		(memcpy(&std::get<i>(to), from + layout.at[i].offset,
			sizeof(std::get<i>(to))),
		 ...);
		return to;
	}

	static void body(void *args)
	{
		std::apply(kernel, *(const std::tuple<P...> *)args);
	}

	static void run_block(const softcuda_block *b)
	{
		auto args = arguments((const char *)b->params,
				      std::index_sequence_for<P...>());

		cuda_cpu_block(__PRETTY_FUNCTION__, b, kind, body, &args);
	}

	static constexpr softcuda_kernel row(const char *name)
	{
		return {name, layout.at, layout.n, layout.bytes,
			CUDA_CPU_THREADS, 0, run_block};
	}
};

#define CUDA_CPU_KERNEL(kernel_, kind_) \
	cuda_cpu_kernel<kernel_, kind_>::row(#kernel_)
#define CUDA_CPU_GLOBAL(variable_) {#variable_, &variable_, sizeof(variable_)}

template <typename T, size_t n>
static constexpr uint32_t cuda_cpu_length(T (&)[n])
{
	return n;
}

static constexpr uint32_t cuda_cpu_length(decltype(nullptr))
{
	return 0;
}

/* Arrays of softcuda_kernel and softcuda_global; globals_ may be nullptr. */
#define CUDA_CPU_MODULE(kernels_, globals_)                             \
	extern "C" __attribute__((visibility("default")))               \
	const softcuda_module softcuda_module_table asm(                \
		SOFTCUDA_MODULE_SYMBOL) = {                             \
		SOFTCUDA_MODULE_ABI, cuda_cpu_length(kernels_),         \
		cuda_cpu_length(globals_), kernels_, globals_};

#endif
