/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The inner loops for CPUs with AVX2.
 */
#ifdef __x86_64__
#define SIMD_AVX2
#define TILE_ROWS 6
#define KERNEL    kernel_avx2
#define NAME      "avx2"
#include "kernel-body.h"
#else
typedef int no_such_cpu; /* a file must hold something */
#endif
