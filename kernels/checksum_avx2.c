/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The checksums for CPUs with AVX2.
 */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif
#ifdef __x86_64__
#pragma GCC target("avx2")
#define XXH_VECTOR XXH_AVX2
#define VARIANT	   hz_checksum_avx2
#define NAME	   "avx2"
#define SUPPORTED  (__builtin_cpu_init(), __builtin_cpu_supports("avx2"))
#include "checksum_body.h"
#else
typedef int no_such_cpu; /* a file must hold something */
#endif
