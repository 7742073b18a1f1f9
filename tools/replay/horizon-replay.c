/* SPDX-License-Identifier: Apache-2.0 */
/*
 * horizon-replay: the policies of Horizon on a simulated machine.
 */
#include "config.h"
#include <stdio.h>
#include <string.h>
#include "replay/options.h"
#include "replay/synth.h"
#include "replay/view.h"

/* The second half of the steps: by then what learns has learned. */
static void mean_of(struct tally *m, const struct sim *sim)
{
	uint32_t from = sim->steps_done / 2;
	uint64_t n = hz_max(1u, sim->steps_done - from);

	memset(m, 0, sizeof(*m));
	for (uint32_t i = from; i < sim->steps_done; i++) {
		const struct tally *t = &sim->step[i];

		m->ns += t->ns;
		m->ideal_ns += t->ideal_ns;
		m->stall_ns += t->stall_ns;
		m->faults += t->faults;
		for (unsigned c = 0; c < CHANNELS; c++)
			m->moved[c] += t->moved[c];
	}
	m->ns /= n;
	m->ideal_ns /= n;
	m->stall_ns /= n;
	m->faults /= n;
	for (unsigned c = 0; c < CHANNELS; c++)
		m->moved[c] /= n;
}

static bool replay(const struct options *o, const struct work *work,
		   const struct run *run, const struct policy *policy,
		   const struct bound *bound, struct view *view)
{
	struct result r = {.work = work,
			   .policy = policy,
			   .profile = &o->profile,
			   .bound = bound};
	struct sim sim;

	r.failed = !sim_run(&sim, run, &o->profile, policy, o->goal, view);
	mean_of(&r.mean, &sim);
	if (o->json)
		table_json(&r);
	else
		table_row(&r);
	sim_free(&sim);
	return !r.failed;
}

static bool all_policies(const struct options *o, const struct work *work,
			 const struct bound *bound, const struct run *run,
			 const struct run *allocated)
{
	struct view *view = NULL;
	bool good = true;

	for (unsigned i = 0; i < o->policies; i++) {
		const struct policy *p = o->policy[i];
		const struct run *r = p->addresses ? allocated : run;

		if (o->html && i + 1 == o->policies)
			view = view_new(r);
		good &= replay(o, work, r, p, bound, view);
		if (view && good)
			good &= view_write(view, o->html, work, p, &o->profile);
	}
	if (view)
		view_free(view);
	return good;
}

static bool wants_addresses(const struct options *o)
{
	for (unsigned i = 0; i < o->policies; i++)
		if (o->policy[i]->addresses)
			return true;
	return false;
}

static bool one_work(struct options *o, struct work *work)
{
	struct profile whole = o->profile;
	struct run run, allocated = {.n = 0};
	struct bound bound;
	bool good;

	/* What the host keeps for itself is not there to be moved into. */
	o->profile.ram -= work_host_ram(work, whole.ram);
	run_make(&run, work, &o->how);
	if (wants_addresses(o))
		run_allocate(&allocated, &run);
	bound_find(&bound, &work->step, &o->profile);
	/* With room for everything nobody waits for the store. */
	bound.step.ideal_ns -= work_waits(work);
	good = all_policies(o, work, &bound, &run, &allocated);
	if (good && o->write_plan)
		good = plan_write(o->write_plan, work, &o->profile, o->goal);
	run_free(&run);
	run_free(&allocated);
	o->profile = whole;
	work_free(work);
	return good;
}

int main(int argc, char **argv)
{
	struct options o;
	struct work *work;
	bool good = true;

	options_read(&o, argc, argv);
	if (o.synth) {
		work = synth_make(o.synth, &o.profile);
		if (!work)
			return REPLAY_USAGE;
		good &= one_work(&o, work);
	}
	for (unsigned i = 0; i < o.traces; i++) {
		work = work_read(o.trace[i]);
		good &= work && one_work(&o, work);
	}
	cli_flush(&replay_cli, REPLAY_FAILED);
	return good ? REPLAY_OK : REPLAY_FAILED;
}
