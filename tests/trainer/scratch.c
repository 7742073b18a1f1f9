/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One allocation, a run of whole pages for each thread.
 */
#include "scratch.h"

#include <errno.h>
#include <omp.h>
#include <stdlib.h>
#include "kernel.h"

static struct {
	float *at;
	size_t each; /* floats */
} memory;

static size_t most(size_t a, size_t b)
{
	return a > b ? a : b;
}

static size_t need(const struct shape *s)
{
	size_t most_of = GEMM_SCRATCH;

	if (!s->narrow)
		return most_of;
	most_of = most(most_of, GEMM_NARROW_SCRATCH);
	most_of = most(most_of, 2 * SCRATCH_CHUNK);
	most_of = most(most_of, SCRATCH_ROWS * (size_t)s->hidden);
	return most(most_of, attention_scratch(s));
}

int scratch_open(int threads, const struct shape *s)
{
	enum { PAGE = 4096 / sizeof(float) };

	memory.each = (need(s) + PAGE - 1) / PAGE * PAGE;
	memory.at = aligned_alloc(4096, memory.each * sizeof(float) * threads);
	return memory.at ? 0 : -ENOMEM;
}

void scratch_close(void)
{
	free(memory.at);
	memory.at = NULL;
}

float *scratch(void)
{
	return memory.at + memory.each * omp_get_thread_num();
}
