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
	follow_plan(f, sim, &sim->run->work->step);
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
	follow_begin(sim, f);
}

static void end(struct sim *sim)
{
	follow_end(sim, sim->data);
}

static struct move pick(struct sim *sim, enum channel ch)
{
	return follow_pick(sim, sim->data, ch);
}

static void room(struct sim *sim, uint64_t bytes, uint32_t tensor)
{
	follow_room(sim, sim->data, bytes, tensor);
}

static bool keep_copy(struct sim *sim, uint32_t tensor)
{
	return follow_keep_copy(sim, sim->data, tensor);
}

const struct policy policy_oracle = {
	.name = "oracle",
	.help = "our plan, with the future known",
	.init = init,
	.fini = fini,
	.begin = begin,
	.end = end,
	.pick = pick,
	.room = room,
	.keep_copy = keep_copy,
};
