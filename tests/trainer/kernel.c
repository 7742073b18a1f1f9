/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Choice of the inner loops by what the CPU can run.
 */
#include "kernel.h"

const struct kernel *kernel = &kernel_base;

enum { SETS = 4 };

static int usable(const struct kernel *list[static SETS])
{
	int n = 0;

#ifdef __x86_64__
	__builtin_cpu_init();
	if (__builtin_cpu_supports("avx512f") &&
	    __builtin_cpu_supports("avx512bf16"))
		list[n++] = &kernel_avx512_bf16;
	if (__builtin_cpu_supports("avx512f"))
		list[n++] = &kernel_avx512;
	if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))
		list[n++] = &kernel_avx2;
#endif
	list[n++] = &kernel_base;
	return n;
}

bool kernel_pick(int n)
{
	const struct kernel *list[SETS];

	if (n >= usable(list))
		return false;
	kernel = list[n];
	return true;
}
