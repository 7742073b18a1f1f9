/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A CPU module of the software driver: a kernel that takes 20 ms or more, and
 * one that takes nearly nothing.
 */
#include <time.h>
#include "module.h"

#define SPIN_NS 20000000

struct one {
	uint32_t *p;
};
static const struct softcuda_param one_params[] = {{0, 8}};

static uint64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static void slow(const struct softcuda_block *b)
{
	const struct one *a = b->params;
	uint64_t until = now_ns() + SPIN_NS;

	while (now_ns() < until)
		;
	++*a->p;
}

static void quick(const struct softcuda_block *b)
{
	const struct one *a = b->params;

	++*a->p;
}

static const struct softcuda_kernel kernels[] = {
	{"slow", one_params, 1, sizeof(struct one), 1024, 0, slow},
	{"quick", one_params, 1, sizeof(struct one), 1024, 0, quick},
};

__attribute__((visibility("default"))) extern const struct softcuda_module
	softcuda_module;
const struct softcuda_module softcuda_module = {
	.abi = SOFTCUDA_MODULE_ABI,
	.n_kernels = 2,
	.kernels = kernels,
};
