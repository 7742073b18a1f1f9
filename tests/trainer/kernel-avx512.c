/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The inner loops for CPUs with AVX-512.
 */
#ifdef __x86_64__
#define SIMD_AVX512
#define TILE_ROWS 12
#define KERNEL    kernel_avx512
#define NAME      "avx512"
#include "kernel-body.h"
#else
typedef int no_such_cpu; /* a file must hold something */
#endif
