/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Our plan with the future known: the step is the trace's own.
 */
#include "config.h"
#include "replay/follow.h"

#include <stdlib.h>
#include "replay/mem.h"

static void init(struct sim *sim)
{
	struct follow *f = mem_resize(NULL, 1, sizeof(*f));

	sim->data = f;
	follow_init(f, sim);
	follow_plan(f, sim, &sim->run->work->step, NULL);
}

static void fini(struct sim *sim)
{
	follow_free(sim->data);
	free(sim->data);
}

static void begin(struct sim *sim)
{
	struct follow *f = sim->data;
	uint32_t k = sim->run->kernel[sim->pos];

	/* An evaluation pass is followed by a step from its start. */
	if (k <= f->at && sim->pos)
		f->base += f->step->kernels;
	f->at = k;
	follow_begin(sim);
}

const struct policy policy_oracle = {
	.name = "oracle",
	.help = "our plan, with the future known",
	.init = init,
	.fini = fini,
	.begin = begin,
	.end = follow_end,
	.pick = follow_pick,
	.room = follow_room,
	.keep_copy = follow_keep_copy,
};
