/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The inner loops for CPUs with AVX-512 and its dot products in bf16; all but
 * these products are as in kernel-avx512.c.
 */
#ifdef __x86_64__
#define SIMD_AVX512
#define SIMD_BF16
#define TILE_ROWS 12
#define KERNEL    kernel_avx512_bf16
#define NAME      "avx512-bf16"
#include "kernel-body.h"
#else
typedef int no_such_cpu; /* a file must hold something */
#endif
