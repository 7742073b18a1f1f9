/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A CPU module written by hand for the tests of the software driver: what
 * cuda_cpu.h writes from a .cu source, without a C++ compiler.
 */
#include <string.h>
#include "module.h"

#define OFFSET(type_, field_) \
	{offsetof(type_, field_), sizeof(((type_ *)0)->field_)}
#define COUNT(a_) (sizeof(a_) / sizeof((a_)[0]))

__attribute__((visibility("default"))) extern const struct softcuda_module
	softcuda_module;

static uint32_t scale_by = 3;

/* First index of a block and the one behind its last, of n elements. */
static void span(const struct softcuda_block *b, uint64_t n, uint64_t *from,
		 uint64_t *to)
{
	*from = (uint64_t)b->index.x * b->block.x;
	*to = *from + b->block.x;
	if (*to > n)
		*to = n;
	if (*from > *to)
		*from = *to;
}

/* ---- p[i] += v ---- */
struct add_args {
	uint32_t *p;
	uint32_t n, v;
};
static const struct softcuda_param add_params[] = {
	OFFSET(struct add_args, p),
	OFFSET(struct add_args, n),
	OFFSET(struct add_args, v),
};
static void add(const struct softcuda_block *b)
{
	const struct add_args *a = b->params;
	uint64_t i, to;

	for (span(b, a->n, &i, &to); i < to; i++)
		a->p[i] += a->v;
}

/* ---- p[i] *= scale_by ---- */
struct scale_args {
	uint32_t *p;
	uint64_t n;
};
static const struct softcuda_param scale_params[] = {
	OFFSET(struct scale_args, p),
	OFFSET(struct scale_args, n),
};
static void scale(const struct softcuda_block *b)
{
	const struct scale_args *a = b->params;
	uint64_t i, to;

	for (span(b, a->n, &i, &to); i < to; i++)
		a->p[i] *= scale_by;
}

/* ---- waits until *flag is not 0: holds its stream ---- */
struct hold_args {
	uint32_t *flag;
};
static const struct softcuda_param hold_params[] = {
	OFFSET(struct hold_args, flag),
};
static void hold(const struct softcuda_block *b)
{
	const struct hold_args *a = b->params;

	while (!__atomic_load_n(a->flag, __ATOMIC_ACQUIRE))
		;
}

/* ---- a large argument: *out is the sum of its words ---- */
struct big_args {
	uint32_t word[256];
	uint64_t *out;
};
static const struct softcuda_param big_params[] = {
	OFFSET(struct big_args, word),
	OFFSET(struct big_args, out),
};
static void big(const struct softcuda_block *b)
{
	const struct big_args *a = b->params;
	uint64_t sum = 0;

	for (unsigned i = 0; i < 256; i++)
		sum += a->word[i];
	*a->out = sum;
}

static void nothing(const struct softcuda_block *b)
{
}

static const struct softcuda_kernel kernels[] = {
	{"add", add_params, COUNT(add_params), sizeof(struct add_args), 1024, 0,
	 add},
	{"scale", scale_params, COUNT(scale_params), sizeof(struct scale_args),
	 256, 0, scale},
	{"hold", hold_params, COUNT(hold_params), sizeof(struct hold_args), 1,
	 0, hold},
	{"big", big_params, COUNT(big_params), sizeof(struct big_args), 32, 0,
	 big},
	{"nothing", NULL, 0, 0, 1024, 4096, nothing},
};
static const struct softcuda_global globals[] = {
	{"scale_by", &scale_by, sizeof(scale_by)},
};
const struct softcuda_module softcuda_module = {
	.abi = SOFTCUDA_MODULE_ABI,
	.n_kernels = COUNT(kernels),
	.n_globals = COUNT(globals),
	.kernels = kernels,
	.globals = globals,
};
