/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The checksums for CPUs with AVX-512.
 */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif
#ifdef __x86_64__
#pragma GCC target("avx512f")
#define XXH_VECTOR XXH_AVX512
#define VARIANT	   hz_checksum_avx512
#define NAME	   "avx512"
#define SUPPORTED  (__builtin_cpu_init(), __builtin_cpu_supports("avx512f"))
#include "checksum_body.h"
#else
typedef int no_such_cpu; /* a file must hold something */
#endif
