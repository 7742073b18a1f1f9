/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A trace that a reader took is whole, and the planner can plan it.
 */
#include "config.h"
#include "fuzz/fuzz.h"

#include <stdlib.h>
#include "replay/work.h"

/* More than this is not planned: a fuzzer wants many short runs. */
#define USES_MAX 4096

static void must(bool holds)
{
	if (!holds)
		abort();
}

static void check(const struct hz_step *s)
{
	must(s->kernels > 0 && s->first[0] == 0);
	for (uint32_t k = 0; k < s->kernels; k++) {
		must(s->first[k] <= s->first[k + 1]);
		for (uint32_t u = s->first[k]; u < s->first[k + 1]; u++)
			must(hz_use_tensor(s->use[u]) < s->tensors);
	}
}

static void plan(const struct hz_step *s, enum hz_goal goal)
{
	const struct hz_plan_for machine = {.fast = (uint64_t)1 << 30,
					    .second = (uint64_t)1 << 30,
					    .out_bps = 1000000000,
					    .in_bps = 1000000000,
					    .write_bps = 100000000,
					    .read_bps = 100000000,
					    .piece = HZ_BLOCK_SIZE,
					    .goal = goal};
	struct hz_tensor_plan p;
	void *mem = malloc(hz_tensor_plan_bytes(s));

	must(mem);
	hz_tensor_plan_make(&p, mem, s, &machine);
	for (uint32_t u = 0; u < s->first[s->kernels]; u++) {
		const struct hz_gap *g = &p.gap[u];

		must(g->evict <= s->bytes[hz_use_tensor(s->use[u])]);
		must(g->write <= g->evict && g->store <= g->evict);
		must(g->next == HZ_NONE || g->closes > g->opened);
	}
	free(mem);
}

void fuzz_work(const struct work *work)
{
	const struct hz_step *s = &work->step;

	check(s);
	if (s->first[s->kernels] > USES_MAX || s->kernels > USES_MAX)
		return;
	plan(s, HZ_GOAL_TIME);
	plan(s, HZ_GOAL_BYTES);
}
