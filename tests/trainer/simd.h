/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One vector type, as wide as the including file asks for by SIMD_AVX512,
 * SIMD_AVX2 or neither. Include it first: it changes the target of all that
 * follows, up to SIMD_END. Loads and stores are unaligned and sums have a fixed
 * order, so that where an array lies never changes a result.
 */
#ifndef SIMD_H
#define SIMD_H

#include <string.h>
#include <stdint.h>

#define SIMD_PRAGMA(text_) _Pragma(#text_)
#ifdef __clang__
#define SIMD_TARGET(isa_)                                               \
	SIMD_PRAGMA(clang attribute push(__attribute__((target(isa_))), \
	                                 apply_to = function))
#define SIMD_END SIMD_PRAGMA(clang attribute pop)
#else
#define SIMD_TARGET(isa_) \
	SIMD_PRAGMA(GCC push_options) SIMD_PRAGMA(GCC target(isa_))
#define SIMD_END SIMD_PRAGMA(GCC pop_options)
#endif

#ifdef __x86_64__
#include <immintrin.h>
#endif

#if defined(SIMD_AVX512)
#ifdef SIMD_BF16
SIMD_TARGET("avx512f,avx512bf16,avx2,fma")
#else
SIMD_TARGET("avx512f,avx2,fma")
#endif
#define LANES         16
#define vfma(a, b, c) _mm512_fmadd_ps(a, b, c)
#define vall(x)       _mm512_set1_ps(x)
#define vsqrt(x)      _mm512_sqrt_ps(x)
#define vmin(a, b)    _mm512_min_ps(a, b)
#define vmax(a, b)    _mm512_max_ps(a, b)
#elif defined(SIMD_AVX2)
SIMD_TARGET("avx2,fma")
#define LANES         8
#define vfma(a, b, c) _mm256_fmadd_ps(a, b, c)
#define vall(x)       _mm256_set1_ps(x)
#define vsqrt(x)      _mm256_sqrt_ps(x)
#define vmin(a, b)    _mm256_min_ps(a, b)
#define vmax(a, b)    _mm256_max_ps(a, b)
#else
#undef SIMD_END
#define SIMD_END
#define LANES         4
#define vfma(a, b, c) ((a) * (b) + (c))
#endif

typedef float vec __attribute__((vector_size(LANES * 4)));
typedef uint32_t bits __attribute__((vector_size(LANES * 4)));
typedef float loose
        __attribute__((vector_size(LANES * 4), aligned(4), may_alias));

#ifndef vall
#define LANEWISE(name_, type_, i_, expr_)          \
	static inline vec name_ type_              \
	{                                          \
		vec r;                             \
                                                   \
		for (int i_ = 0; i_ < LANES; i_++) \
			r[i_] = expr_;             \
		return r;                          \
	}
LANEWISE(vall, (float x), i, x)
LANEWISE(vsqrt, (vec x), i, __builtin_sqrtf(x[i]))
LANEWISE(vmin, (vec a, vec b), i, a[i] < b[i] ? a[i] : b[i])
LANEWISE(vmax, (vec a, vec b), i, a[i] > b[i] ? a[i] : b[i])
#endif

static inline vec vload(const float *p)
{
	return *(const loose *)p;
}

static inline void vstore(float *p, vec v)
{
	*(loose *)p = v;
}

/* The same for the first n lanes only; missing ones read as zero. */
static inline vec vload_n(const float *p, long n)
{
	vec v = {0};

	if (n >= LANES)
		return vload(p);
	memcpy(&v, p, n * sizeof(*p));
	return v;
}

static inline void vstore_n(float *p, vec v, long n)
{
	if (n >= LANES)
		vstore(p, v);
	else
		memcpy(p, &v, n * sizeof(*p));
}

static inline float vsum(vec v)
{
	float part[LANES];

	memcpy(part, &v, sizeof(part));
	for (int half = LANES / 2; half; half /= 2)
		for (int i = 0; i < half; i++)
			part[i] += part[i + half];
	return part[0];
}

/*
 * e^x = 2^n e^r, |r| <= ln(2)/2, by seven terms of the series: 1.2e-7 of
 * relative error. Adding 1.5 * 2^23 rounds to an integer and leaves that
 * integer in the low bits.
 */
static inline vec vexp(vec x)
{
	const vec magic = vall(12582912.0f);
	vec z, n, r, y;

	x = vmin(vmax(x, vall(-87.0f)), vall(88.0f));
	z = vfma(x, vall(1.44269504f), magic);
	n = z - magic;
	r = vfma(n, vall(-0.693359375f), x);
	r = vfma(n, vall(2.12194440e-4f), r);
	y = vall(1.0f / 720);
	y = vfma(y, r, vall(1.0f / 120));
	y = vfma(y, r, vall(1.0f / 24));
	y = vfma(y, r, vall(1.0f / 6));
	y = vfma(y, r, vall(0.5f));
	y = vfma(y, r, vall(1.0f));
	y = vfma(y, r, vall(1.0f));
	return y * (vec)(((bits)z + 127) << 23);
}

#endif
