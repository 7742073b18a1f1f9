/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A CPU module of the software driver, with arguments of every shape that
 * carries addresses.
 */
#include <string.h>
#include "module.h"

#define COUNT(a_) (sizeof(a_) / sizeof((a_)[0]))
#define FIELD(type_, field_) \
	{offsetof(type_, field_), sizeof(((type_ *)0)->field_)}

/* ---- *p += v ---- */
struct add {
	uint32_t *p;
	uint32_t v;
};
static const struct softcuda_param add_params[] = {FIELD(struct add, p),
						   FIELD(struct add, v)};
static void add(const struct softcuda_block *b)
{
	const struct add *a = b->params;

	*a->p += a->v;
}

/* ---- 12 pointers, as an optimizer has ---- */
struct twelve {
	uint32_t *p[12];
};
static const struct softcuda_param twelve_params[] = {
	{0, 8},	 {8, 8},  {16, 8}, {24, 8}, {32, 8}, {40, 8},
	{48, 8}, {56, 8}, {64, 8}, {72, 8}, {80, 8}, {88, 8},
};
static void twelve(const struct softcuda_block *b)
{
}

/* ---- a table of pointers by value, as multi-tensor kernels have ---- */
struct table {
	uint32_t n, pad;
	uint32_t *p[511];
};
static const struct softcuda_param table_params[] = {
	{0, sizeof(struct table)},
};
static void table(const struct softcuda_block *b)
{
	const struct table *t = b->params;

	for (uint32_t i = 0; i < t->n; i++)
		++*t->p[i];
}

/* ---- a descriptor by value ---- */
struct described {
	unsigned char descriptor[128];
	uint64_t n;
};
static const struct softcuda_param described_params[] = {{0, 128}, {128, 8}};
static void described(const struct softcuda_block *b)
{
}

static void nothing(const struct softcuda_block *b)
{
}

static const struct softcuda_kernel kernels[] = {
	{"add", add_params, COUNT(add_params), sizeof(struct add), 1024, 0,
	 add},
	{"twelve", twelve_params, COUNT(twelve_params), sizeof(struct twelve),
	 1024, 0, twelve},
	{"table", table_params, COUNT(table_params), sizeof(struct table), 1024,
	 0, table},
	{"described", described_params, COUNT(described_params),
	 sizeof(struct described), 1024, 0, described},
	{"nothing", NULL, 0, 0, 1024, 0, nothing},
};

__attribute__((visibility("default"))) extern const struct softcuda_module
	softcuda_module;
const struct softcuda_module softcuda_module = {
	.abi = SOFTCUDA_MODULE_ABI,
	.n_kernels = COUNT(kernels),
	.kernels = kernels,
};
