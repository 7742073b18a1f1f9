/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Bounds. See bound.h.
 */
#include "config.h"
#include "replay/bound.h"

#include <stdlib.h>
#include "base/log.h"
#include "replay/follow.h"
#include "replay/mem.h"

/* More uses than this: the closed form. */
#define LP_USES 50000

static void by_lp(struct bound *b, const struct hz_step *step,
		  const struct hz_plan_for *machine)
{
	struct hz_tensor_plan plan;
	void *mem = mem_resize(NULL, hz_tensor_plan_bytes(step), 1);
	double bytes;

	hz_tensor_plan_make(&plan, mem, step, machine);
	if (bound_lp(step, plan.gap, machine->fast, &bytes)) {
		b->bytes = (uint64_t)bytes;
		b->kind = BOUND_LP;
	}
	free(mem);
}

void bound_find(struct bound *b, const struct hz_step *step,
		const struct profile *profile)
{
	struct hz_plan_for machine = follow_machine(profile, HZ_GOAL_BYTES);
	void *mem = mem_resize(NULL, hz_tensor_plan_bytes(step), 1);

	hz_step_bound(&b->step, mem, step, &machine);
	free(mem);
	b->kind = BOUND_CLOSED;
	b->bytes = 0;
	if (b->step.live_peak <= machine.fast)
		return;
	b->bytes = 2 * (b->step.live_peak - machine.fast);
	if (!bound_lp_built)
		hz_log_once(HZ_WARN, "replay",
			    "lower bounds by the closed form (built without "
			    "Clp)");
	else if (step->first[step->kernels] <= LP_USES)
		by_lp(b, step, &machine);
}
