/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Arrays hold memory, of any shape and with all their levels, and our count of
 * it is the driver's; one that is to be mapped later holds none. What the
 * driver refuses leaves the count as it was.
 */
#include <string.h>
#include "driver.h"

#define FLOAT	 0x20
#define BYTES	 0x01
#define TOO_MUCH (1u << 20)

static uint64_t vram, live;

/* The driver's own count, and how many there are. */
static void agree(unsigned arrays)
{
	uint64_t bytes = soft_bytes();

	expect(soft_live() == live + arrays);
	expect(counted("vram_resident", bytes) == bytes);
	expect(counted("gpu_allocations", arrays) == arrays);
	vram = bytes;
}

static const CUDA_ARRAY3D_DESCRIPTOR shapes[] = {
	{100, 0, 0, FLOAT, 1, 0},
	{30, 20, 0, BYTES, 4, 0},
	{9, 5, 3, FLOAT, 2, 0},
	{16, 0, 5, BYTES, 1, CU_ARRAY_LAYERED},
	{24, 24, 6, FLOAT, 1, CU_ARRAY_CUBEMAP},
	{4, 4, 12, BYTES, 1, CU_ARRAY_CUBEMAP | CU_ARRAY_LAYERED},
};
enum { SHAPES = sizeof(shapes) / sizeof(shapes[0]) };

static void of_every_shape(void)
{
	CUDA_ARRAY_DESCRIPTOR flat = {33, 7, FLOAT, 1};
	CUmipmappedArray m[SHAPES];
	CUarray a[SHAPES + 1];
	unsigned n = 0;

	for (unsigned i = 0; i < SHAPES; i++) {
		ok(SYM(cuArray3DCreate_v2)(&a[i], &shapes[i]));
		agree(++n);
		ok(SYM(cuMipmappedArrayCreate)(&m[i], &shapes[i], 1 + i * 2));
		agree(++n);
	}
	ok(SYM(cuArrayCreate_v2)(&a[SHAPES], &flat));
	agree(++n);
	for (unsigned i = 0; i < SHAPES; i++) {
		ok(SYM(cuArrayDestroy)(a[i]));
		agree(--n);
		ok(SYM(cuMipmappedArrayDestroy)(m[i]));
		agree(--n);
	}
	ok(SYM(cuArrayDestroy)(a[SHAPES]));
	agree(0);
	expect(vram == 0);
}

static void mapped_later(void)
{
	CUDA_ARRAY3D_DESCRIPTOR d = {64, 64, 0, FLOAT, 1, CU_ARRAY_DEFERRED};
	CUmipmappedArray m;
	CUarray a;

	ok(SYM(cuArray3DCreate_v2)(&a, &d));
	ok(SYM(cuMipmappedArrayCreate)(&m, &d, 3));
	expect(counted("gpu_allocations", 0) == 0);
	expect(counted("vram_resident", 0) == 0);
	ok(SYM(cuArrayDestroy)(a));
	ok(SYM(cuMipmappedArrayDestroy)(m));
}

static void refused(void)
{
	CUDA_ARRAY3D_DESCRIPTOR huge = {TOO_MUCH, TOO_MUCH, 0, FLOAT, 4, 0};
	CUmipmappedArray m;
	CUarray a, level;
	CUresult rc;

	expect(SYM(cuArray3DCreate_v2)(&a, &huge) == ERROR_OUT_OF_MEMORY);
	expect(SYM(cuMipmappedArrayCreate)(&m, &huge, 2) ==
	       ERROR_OUT_OF_MEMORY);
	agree(0);
	ok(SYM(cuMipmappedArrayCreate)(&m, &shapes[1], 3));
	ok(SYM(cuMipmappedArrayGetLevel)(&level, m, 1));
	/* A level is no array of its own. */
	expect(SYM(cuArrayDestroy)(level));
	agree(1);
	soft_fail("cuMipmappedArrayDestroy:1:999");
	rc = SYM(cuMipmappedArrayDestroy)(m);
	expect(rc == 999);
	agree(1);
	ok(SYM(cuMipmappedArrayDestroy)(m));
	agree(0);
}

/* The driver gives the handle of the one that ended to the next. */
static void handles_come_again(void)
{
	CUarray first = NULL, a;
	unsigned again = 0;

	for (unsigned i = 0; i < 64; i++) {
		ok(SYM(cuArray3DCreate_v2)(&a, &shapes[i % SHAPES]));
		again += a == first;
		first = a;
		agree(1);
		ok(SYM(cuArrayDestroy)(a));
	}
	expect(again > 0);
	agree(0);
}

/* With the context they go, destroyed or not. */
static void with_the_context(void)
{
	CUmipmappedArray m;
	CUarray a;

	ok(SYM(cuArray3DCreate_v2)(&a, &shapes[0]));
	ok(SYM(cuMipmappedArrayCreate)(&m, &shapes[1], 2));
	agree(2);
	driver_end();
	agree(0);
}

int main(void)
{
	driver_start();
	live = soft_live();
	agree(0);
	of_every_shape();
	mapped_later();
	refused();
	handles_come_again();
	with_the_context();
	expect(counted("gpu_untracked", 0) == 0);
	puts("done");
	return 0;
}
