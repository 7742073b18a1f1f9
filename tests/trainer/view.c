/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Floats where they lie, bf16 by way of a buffer.
 */
#include "view.h"

#include "kernel.h"

static bf16 *half(struct view v, long i)
{
	return (bf16 *)v.at + i;
}

float *view_open(struct view v, long i, long n, float *buffer)
{
	if (!v.narrow)
		return (float *)v.at + i;
	kernel->widen(buffer, half(v, i), n);
	return buffer;
}

float *view_blank(struct view v, long i, float *buffer)
{
	return v.narrow ? buffer : (float *)v.at + i;
}

void view_close(struct view v, long i, long n, const float *at)
{
	if (v.narrow)
		kernel->narrow(half(v, i), at, n);
}

void view_settle(struct view v, long i, long n, float *at)
{
	view_close(v, i, n, at);
	view_open(v, i, n, at);
}
