/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A run through a trace: steps, evaluation passes, times that vary; and the
 * same run with the addresses of an allocator. See work.h.
 */
#include "config.h"
#include "replay/work.h"

#include <stdlib.h>
#include <string.h>
#include "replay/mem.h"

/* The same numbers on every machine. */
static uint64_t random_next(uint64_t *state)
{
	*state ^= *state << 13;
	*state ^= *state >> 7;
	*state ^= *state << 17;
	return *state;
}

static uint64_t perturbed(uint64_t ns, unsigned percent, uint64_t *state)
{
	uint64_t r = random_next(state) >> 11;
	double x = (double)r / (double)(1ull << 53) * 2 - 1;

	return (uint64_t)((double)ns * (1 + x * percent / 100));
}

static void append(struct run *run, uint32_t k, uint64_t ns)
{
	const struct work *w = run->work;
	uint32_t i = run->n++, at = run->first_use[i];
	uint32_t n = w->first[k + 1] - w->first[k];

	run->kernel[i] = k;
	run->ns[i] = ns;
	memcpy(run->use + at, w->use + w->first[k], n * sizeof(*run->use));
	run->first_use[i + 1] = at + n;
}

/* Forward ends where most is alive. */
static uint32_t forward_kernels(const struct work *w)
{
	struct hz_plan_for machine = {.piece = 1};
	struct hz_step_bound bound;
	void *mem = mem_zeroed(hz_tensor_plan_bytes(&w->step), 1);

	hz_step_bound(&bound, mem, &w->step, &machine);
	free(mem);
	return bound.peak_kernel + 1;
}

/* What a pass leaves behind dies with it: the last use of each tensor that
 * dies in the step at all. */
static void end_pass(struct run *run, uint32_t from)
{
	const struct work *w = run->work;
	uint8_t *dies = mem_zeroed(run->tensors, 1);

	for (uint32_t u = 0; u < w->first[w->step.kernels]; u++)
		if (hz_use_how(w->use[u]) & HZ_USE_LAST)
			dies[hz_use_tensor(w->use[u])] = 1;
	for (uint32_t u = run->first_use[run->n]; u-- > run->first_use[from];) {
		uint32_t t = hz_use_tensor(run->use[u]);

		if (dies[t])
			run->use[u] |= HZ_USE_LAST;
		dies[t] = 0;
	}
	free(dies);
}

static void shuffled(uint32_t *order, uint32_t n, uint64_t *state)
{
	for (uint32_t i = n; i > 1; i--) {
		uint32_t j = (uint32_t)(random_next(state) % i);
		uint32_t x = order[i - 1];

		order[i - 1] = order[j];
		order[j] = x;
	}
}

/* Kernels in any order: nothing dies, or it might be read afterwards. */
static void no_deaths(struct run *run, uint32_t from)
{
	for (uint32_t u = from; u < run->first_use[run->n]; u++)
		run->use[u] &= ~(uint32_t)HZ_USE_LAST;
}

static void one_step(struct run *run, const struct run_how *how,
		     uint32_t kernels, uint64_t *state)
{
	const struct work *w = run->work;
	uint32_t *order = mem_resize(NULL, kernels, sizeof(*order));
	uint32_t from = run->first_use[run->n];

	for (uint32_t k = 0; k < kernels; k++)
		order[k] = k;
	if (how->shuffle)
		shuffled(order, kernels, state);
	for (uint32_t k = 0; k < kernels; k++)
		append(run, order[k],
		       perturbed(w->ns[order[k]], how->perturb, state));
	if (how->shuffle)
		no_deaths(run, from);
	free(order);
}

static void reserve(struct run *run, size_t passes)
{
	const struct work *w = run->work;
	size_t n = passes * w->step.kernels;

	run->kernel = mem_resize(NULL, n, sizeof(*run->kernel));
	run->ns = mem_resize(NULL, n, sizeof(*run->ns));
	run->first_use = mem_zeroed(n + 1, sizeof(*run->first_use));
	run->use = mem_resize(NULL, passes * w->first[w->step.kernels],
			      sizeof(*run->use));
	run->step_start = mem_zeroed(passes + 1, sizeof(*run->step_start));
	run->tensors = w->step.tensors;
	run->bytes = mem_resize(NULL, run->tensors, sizeof(*run->bytes));
	memcpy(run->bytes, w->bytes, run->tensors * sizeof(*run->bytes));
}

void run_make(struct run *run, const struct work *work,
	      const struct run_how *how)
{
	uint32_t steps = work->repeats ? how->steps : 1;
	uint32_t forward = how->eval ? forward_kernels(work) : 0;
	uint64_t state = 0x9e3779b97f4a7c15ull + how->seed;

	memset(run, 0, sizeof(*run));
	run->work = work;
	reserve(run, steps + (how->eval ? steps / how->eval : 0));
	for (uint32_t i = 0; i < steps; i++) {
		run->step_start[run->steps++] = run->n;
		one_step(run, how, work->step.kernels, &state);
		if (how->eval && (i + 1) % how->eval == 0) {
			uint32_t from = run->n;

			one_step(run, how, forward, &state);
			end_pass(run, from);
		}
	}
	run->step_start[run->steps] = run->n;
}

void run_free(struct run *run)
{
	free(run->kernel);
	free(run->ns);
	free(run->first_use);
	free(run->use);
	free(run->step_start);
	free(run->bytes);
	memset(run, 0, sizeof(*run));
}
